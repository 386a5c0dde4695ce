package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// mapShared maps a file for writing; nothing but the mapping stays open.
func mapShared(t fataler, name string) []byte {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	fi, err := f.Stat()
	must(t, err)
	data, err := unix.Mmap(int(f.Fd()), 0, int(fi.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	return data
}

// rigsOnEveryVolume gives a workspace on the file system of the tests, and one
// that is kept in memory, where there is such.
func rigsOnEveryVolume(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Run("disk", func(t *testing.T) { f(t, newRig(t)) })
	t.Run("memory", func(t *testing.T) {
		var st unix.Statfs_t
		if unix.Statfs("/dev/shm", &st) != nil || st.Type != unix.TMPFS_MAGIC {
			t.Skip("SKIP: there is no /dev/shm")
		}
		dir, err := os.MkdirTemp("/dev/shm", "hank-test-")
		if err != nil {
			t.Skip("SKIP: /dev/shm cannot be written to")
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		f(t, newRigIn(t, dir))
	})
}

// A second store through a mapping that was made before the checkpoint changes
// neither size nor times nor inode.
func TestAStoreThroughAMappingThatStaysOpenIsSeen(t *testing.T) {
	t.Parallel()
	rigsOnEveryVolume(t, func(t *testing.T, r *rig) {
		r.write("mapped", "first")
		data := mapShared(t, r.path("mapped"))
		open := true
		defer func() {
			if open {
				unix.Munmap(data)
			}
		}()
		for round, text := range []string{"0th  ", "1st  ", "2nd  ", "3rd  "} {
			copy(data, text)
			if round == 3 { // nobody has it open any more when the scan looks
				must(t, unix.Munmap(data))
				open = false
			}
			r.age()
			snap := r.snapshot(Selection{All: true})
			if want := r.oracle(); snap.Tree != want {
				t.Fatalf("round %d: tree %s, stock git says %s", round, snap.Tree, want)
			}
			r.commit(snap)
			if round == 1 {
				r.reopen() // what is unsure stays so in the file
			}
		}
	})
}

// A mapping that is made after the checkpoint, read from before it is written
// to, and gone again at the next one.
func TestAStoreThroughAMappingBetweenTwoCheckpointsIsSeen(t *testing.T) {
	t.Parallel()
	rigsOnEveryVolume(t, func(t *testing.T, r *rig) {
		r.write("mapped", "first")
		r.age()
		r.commit(r.snapshot(Selection{All: true}))
		data := mapShared(t, r.path("mapped"))
		if data[0] != 'f' {
			t.Fatal("the mapping shows something else")
		}
		r.age()
		copy(data, "2nd  ")
		must(t, unix.Munmap(data))
		r.age()
		if got, want := r.snapshot(Selection{All: true}).Tree, r.oracle(); got != want {
			t.Errorf("tree %s, stock git says %s", got, want)
		}
	})
}

// Without this the mend would cost a reading of everything, each time.
func TestOnlyWhatIsOpenForWritingIsReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"idle", "reading", "writing"} {
		r.write(name, name)
	}
	reading, err := os.Open(r.path("reading"))
	must(t, err)
	defer reading.Close()
	writing, err := os.OpenFile(r.path("writing"), os.O_WRONLY, 0)
	must(t, err)
	defer writing.Close()
	r.age()
	r.commit(r.snapshot(Selection{All: true}))
	var again []string
	r.store.reading = func(name string) { again = append(again, filepath.Base(name)) }
	r.snapshot(Selection{All: true})
	if len(again) != 1 || again[0] != "writing" {
		t.Errorf("read again: %q", again)
	}
}
