package scan_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/internal/short"
)

// mapShared maps a file for writing; nothing but the mapping stays open.
func mapShared(t testkit.Fataler, name string) []byte {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	testkit.Must(t, err)
	defer f.Close()
	fi, err := f.Stat()
	testkit.Must(t, err)
	data, err := unix.Mmap(int(f.Fd()), 0, int(fi.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	testkit.Must(t, err)
	return data
}

// rigsOnEveryVolume gives a workspace on the file system of the tests, and one
// that is kept in memory, where there is such.
func rigsOnEveryVolume(t *testing.T, f func(t *testing.T, r *checkpointtest.Rig)) {
	t.Run("disk", func(t *testing.T) { f(t, checkpointtest.NewRig(t)) })
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
		f(t, checkpointtest.NewRigIn(t, dir))
	})
}

// A second store through a mapping that was made before the checkpoint changes
// neither size nor times nor inode.
func TestAStoreThroughAMappingThatStaysOpenIsSeen(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	rigsOnEveryVolume(t, func(t *testing.T, r *checkpointtest.Rig) {
		r.Write("mapped", "first")
		data := mapShared(t, r.Path("mapped"))
		open := true
		defer func() {
			if open {
				unix.Munmap(data)
			}
		}()
		for round, text := range []string{"0th  ", "1st  ", "2nd  ", "3rd  "} {
			copy(data, text)
			if round == 3 { // nobody has it open any more when the scan looks
				testkit.Must(t, unix.Munmap(data))
				open = false
			}
			r.Age()
			snap := r.Snapshot(match.Selection{All: true})
			if want := r.Oracle(); snap.Tree != want {
				t.Fatalf("round %d: tree %s, stock git says %s", round, snap.Tree, want)
			}
			r.Commit(snap)
			if round == 1 {
				r.Reopen() // what is unsure stays so in the file
			}
		}
	})
}

// A mapping that is made after the checkpoint, read from before it is written
// to, and gone again at the next one.
func TestAStoreThroughAMappingBetweenTwoCheckpointsIsSeen(t *testing.T) {
	t.Parallel()
	rigsOnEveryVolume(t, func(t *testing.T, r *checkpointtest.Rig) {
		r.Write("mapped", "first")
		r.Age()
		r.Commit(r.Snapshot(match.Selection{All: true}))
		data := mapShared(t, r.Path("mapped"))
		if data[0] != 'f' {
			t.Fatal("the mapping shows something else")
		}
		r.Age()
		copy(data, "2nd  ")
		testkit.Must(t, unix.Munmap(data))
		r.Age()
		if got, want := r.Snapshot(match.Selection{All: true}).Tree, r.Oracle(); got != want {
			t.Errorf("tree %s, stock git says %s", got, want)
		}
	})
}

// Without this the mend would cost a reading of everything, each time.
func TestOnlyWhatIsOpenForWritingIsReadAgain(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	for _, name := range []string{"idle", "reading", "writing"} {
		r.Write(name, name)
	}
	reading, err := os.Open(r.Path("reading"))
	testkit.Must(t, err)
	defer reading.Close()
	writing, err := os.OpenFile(r.Path("writing"), os.O_WRONLY, 0)
	testkit.Must(t, err)
	defer writing.Close()
	r.Age()
	r.Commit(r.Snapshot(match.Selection{All: true}))
	var again []string
	r.Store.Reading = func(name string) { again = append(again, filepath.Base(name)) }
	r.Snapshot(match.Selection{All: true})
	if len(again) != 1 || again[0] != "writing" {
		t.Errorf("read again: %q", again)
	}
}
