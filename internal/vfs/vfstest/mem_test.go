package vfstest

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"hank/internal/vfs"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, m vfs.FS, name string) vfs.File {
	t.Helper()
	f, err := m.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	return f
}

func write(t *testing.T, f vfs.File, s string) {
	t.Helper()
	_, err := f.Write([]byte(s))
	must(t, err)
}

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 0)) }

func read(t *testing.T, m vfs.FS, name string) string {
	t.Helper()
	b, err := vfs.ReadFile(m, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "(none)"
	}
	must(t, err)
	return string(b)
}

func TestCrashKeepsExactlyWhatWasSynced(t *testing.T) {
	t.Parallel()
	m := NewMem()
	f := create(t, m, "/f")
	write(t, f, "synced")
	must(t, f.Sync())
	if got := read(t, m.Crash(seeded(1), 0), "/f"); got != "(none)" {
		t.Fatalf("the name was never synced, and yet: %q", got)
	}
	must(t, m.SyncDir("/"))
	write(t, f, " lost")
	must(t, m.Rename("/f", "/g"))
	must(t, m.Mkdir("/d", 0o700))
	image := m.Crash(seeded(1), 0)
	if got := read(t, image, "/f"); got != "synced" {
		t.Fatalf("/f holds %q", got)
	}
	if got := read(t, image, "/g"); got != "(none)" {
		t.Fatalf("/g holds %q", got)
	}
	if _, err := image.Lstat("/d"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("/d: %v", err)
	}
	all := m.Crash(seeded(1), 100)
	if got := read(t, all, "/g"); got != "synced lost" {
		t.Fatalf("with everything kept /g holds %q", got)
	}
	if got := read(t, all, "/f"); got != "(none)" {
		t.Fatalf("with everything kept /f holds %q", got)
	}
}

func TestCrashImageIsIndependent(t *testing.T) {
	t.Parallel()
	m := NewMem()
	f := create(t, m, "/f")
	must(t, m.Link("/f", "/hard"))
	write(t, f, "one")
	must(t, f.Sync())
	must(t, m.SyncDir("/"))
	image := m.Crash(seeded(1), 50)
	g := create(t, image, "/f")
	_, err := g.WriteAt([]byte("T"), 0)
	must(t, err)
	_, err = g.WriteAt([]byte("image"), 3)
	must(t, err)
	write(t, f, "more")
	if a, b := read(t, m, "/f"), read(t, image, "/f"); a != "onemore" || b != "Tneimage" {
		t.Fatalf("the machine sees %q, the image %q", a, b)
	}
	if got := read(t, image, "/hard"); got != "Tneimage" {
		t.Fatalf("the hard link became a second file: %q", got)
	}
}

// TestCrashReachesEveryPartialState shows that the interesting losses happen:
// a torn page, a hole of zeros, a new file without its old name gone, a rename
// that lost both names.
func TestCrashReachesEveryPartialState(t *testing.T) {
	t.Parallel()
	m := NewMem()
	f := create(t, m, "/f")
	must(t, m.SyncDir("/"))
	big := bytes.Repeat([]byte{'x'}, 3*page)
	write(t, f, string(big))
	g := create(t, m, "/tmp")
	write(t, g, "new")
	must(t, g.Sync())
	must(t, m.SyncDir("/"))
	must(t, m.Rename("/tmp", "/final"))
	seen := map[string]bool{}
	for seed := range uint64(400) {
		image := m.Crash(seeded(seed), 50)
		data := []byte(read(t, image, "/f"))
		for _, b := range data {
			if b != 'x' && b != 0 {
				t.Fatalf("a byte that nobody wrote: %q", b)
			}
		}
		seen["torn"] = seen["torn"] || len(data)%page != 0
		seen["hole"] = seen["hole"] || bytes.Contains(data, append(make([]byte, page), 'x'))
		seen["zeroed tail"] = seen["zeroed tail"] || len(data) > 0 && data[len(data)-1] == 0
		tmp, final := read(t, image, "/tmp"), read(t, image, "/final")
		seen["names "+tmp+" "+final] = true
	}
	for _, want := range []string{"torn", "hole", "zeroed tail", "names new (none)", "names (none) new", "names new new", "names (none) (none)"} {
		if !seen[want] {
			t.Errorf("never seen in 400 crashes: %s", want)
		}
	}
}

func TestCrashIsRepeatable(t *testing.T) {
	t.Parallel()
	m := NewMem()
	for _, name := range []string{"/a", "/b", "/c", "/d", "/e"} {
		write(t, create(t, m, name), name+" content")
	}
	dump := func(m *Mem) (s string) {
		for _, n := range []string{"/a", "/b", "/c", "/d", "/e"} {
			s += read(t, m, n) + "|"
		}
		return s
	}
	for seed := range uint64(20) {
		if a, b := dump(m.Crash(seeded(seed), 50)), dump(m.Crash(seeded(seed), 50)); a != b {
			t.Fatalf("seed %d: %q and %q", seed, a, b)
		}
	}
}

// TestSyncedBytesAlwaysSurvive: whatever is written, cut and synced, an image
// holds what the last Sync saw, except where later unsynced changes touched it.
func TestSyncedBytesAlwaysSurvive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := NewMem()
		f := create(t, m, "/f")
		must(t, m.SyncDir("/"))
		for range rapid.IntRange(1, 12).Draw(rt, "ops") {
			if rapid.IntRange(0, 4).Draw(rt, "op") == 0 {
				must(t, f.Truncate(rapid.Int64Range(0, 3*page).Draw(rt, "size")))
				continue
			}
			p := bytes.Repeat([]byte{rapid.ByteRange('a', 'z').Draw(rt, "b")}, rapid.IntRange(1, 2*page).Draw(rt, "n"))
			_, err := f.WriteAt(p, rapid.Int64Range(0, 2*page).Draw(rt, "off"))
			must(t, err)
		}
		must(t, f.Sync())
		want := read(t, m, "/f")
		rng := seeded(rapid.Uint64().Draw(rt, "seed"))
		if got := read(t, m.Crash(rng, 50), "/f"); got != want {
			rt.Fatalf("synced %d bytes, found %d others", len(want), len(got))
		}
		_, err := f.WriteAt([]byte("tail"), int64(len(want)))
		must(t, err)
		if got := read(t, m.Crash(rng, 50), "/f"); len(got) < len(want) || got[:len(want)] != want {
			rt.Fatal("an unsynced append damaged what was synced")
		}
	})
}

func TestHookSeesTheStateBeforeEachMutatingCall(t *testing.T) {
	t.Parallel()
	m := NewMem()
	var ops []Op
	var sizes []int64
	m.SetHook(func(c Call) {
		if !c.Mutates() || c.N != len(ops)+1 {
			t.Errorf("unexpected %v", c)
		}
		ops = append(ops, c.Op)
		if fi, err := m.Lstat("/d/f"); err == nil {
			sizes = append(sizes, fi.Size())
		}
	})
	must(t, m.Mkdir("/d", 0o700))
	f := create(t, m, "/d/f")
	write(t, f, "abc")
	must(t, f.Truncate(1))
	must(t, f.Sync())
	must(t, m.SyncDir("/d"))
	must(t, m.Link("/d/f", "/d/g"))
	must(t, m.Rename("/d/g", "/d/h"))
	must(t, m.Remove("/d/h"))
	must(t, f.Close())
	want := []Op{OpMkdir, OpCreate, OpWrite, OpTruncate, OpSync, OpSyncDir, OpLink, OpRename, OpRemove}
	if !slices.Equal(ops, want) || m.Calls() != len(want) {
		t.Fatalf("the hook saw %v", ops)
	}
	if !slices.Equal(sizes, []int64{0, 3, 1, 1, 1, 1, 1}) {
		t.Fatalf("the hook saw sizes %v", sizes)
	}
}

func TestLoseUnsyncedIsNotSavedByALaterSync(t *testing.T) {
	t.Parallel()
	m := NewMem()
	f := create(t, m, "/f")
	must(t, m.SyncDir("/"))
	write(t, f, "ghost")
	m.LoseUnsynced("/f")
	must(t, f.Sync())
	if a, b := read(t, m, "/f"), read(t, m.Crash(seeded(1), 100), "/f"); a != "ghost" || b != "" {
		t.Fatalf("seen %q, on the platter %q", a, b)
	}
}

func TestInjectedErrorsFailTheChosenCallAndNoOther(t *testing.T) {
	t.Parallel()
	m := NewMem()
	fsys := Inject(m, Nth(2, syscall.EIO, Match("f", OpWrite)))
	f := create(t, fsys, "/f")
	write(t, f, "one")
	if n, err := f.Write([]byte("two")); n != 0 || verdict(err) != syscall.EIO.Error() {
		t.Fatalf("wrote %d, %v", n, err)
	}
	write(t, f, "three")
	if got := read(t, m, "/f"); got != "onethree" {
		t.Fatalf("the file holds %q", got)
	}

	fsys = Inject(m, From(1, Short(syscall.ENOSPC), Match("", OpWrite, OpSyncDir, OpRename)))
	g := create(t, fsys, "/g")
	for range 2 {
		if n, err := g.Write([]byte("abcd")); n != 2 || verdict(err) != syscall.ENOSPC.Error() {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	if err := fsys.SyncDir("/"); verdict(err) != syscall.ENOSPC.Error() {
		t.Fatal(err)
	}
	if err := fsys.Rename("/g", "/h"); verdict(err) != syscall.ENOSPC.Error() {
		t.Fatal(err)
	}
	if got := read(t, m, "/g"); got != "abab" {
		t.Fatalf("the file holds %q", got)
	}
}

// TestInjectionReachesEveryCall fails each call of a program in turn: each
// failure must come back, so no method of FS or File slips past Inject.
func TestInjectionReachesEveryCall(t *testing.T) {
	t.Parallel()
	program := func(fsys vfs.FS) (calls int, firstErr error) {
		try := func(err error) {
			calls++
			if err != nil && firstErr == nil {
				firstErr = err
			}
		}
		try(fsys.Mkdir("/d", 0o700))
		f, err := fsys.OpenFile("/d/f", os.O_RDWR|os.O_CREATE, 0o600)
		if try(err); err != nil {
			return calls, firstErr
		}
		_, err = f.Write([]byte("x"))
		try(err)
		_, err = f.WriteAt([]byte("y"), 0)
		try(err)
		_, err = f.ReadAt(make([]byte, 1), 0)
		try(err)
		_, err = f.Seek(0, 0)
		if err != nil {
			return calls, err
		}
		_, err = f.Read(make([]byte, 1))
		try(err)
		_, err = f.Stat()
		try(err)
		try(f.Truncate(1))
		try(f.Sync())
		try(fsys.Link("/d/f", "/d/g"))
		try(fsys.Rename("/d/g", "/d/h"))
		_, err = fsys.Lstat("/d/f")
		try(err)
		_, err = fsys.ReadDir("/d")
		try(err)
		try(fsys.SyncDir("/d"))
		try(fsys.Remove("/d/h"))
		return calls, firstErr
	}
	total, err := program(Inject(NewMem(), func(Call) error { return nil }))
	must(t, err)
	for n := 1; n <= total; n++ {
		if _, err := program(Inject(NewMem(), Nth(n, syscall.EIO, nil))); !errors.Is(err, syscall.EIO) {
			t.Errorf("failure of call %d was lost: %v", n, err)
		}
	}
}

// Two images are alike if a program sees the same in both, whatever is on the
// platter of one.
func TestSumTellsImagesApart(t *testing.T) {
	t.Parallel()
	seed := maphash.MakeSeed()
	sums := map[uint64]string{}
	m := NewMem()
	see := func(step string) {
		sum := m.Sum(seed)
		if m.Crash(seeded(1), 100).Sum(seed) != sum {
			t.Errorf("%s: an image of everything has another sum", step)
		}
		if before, known := sums[sum]; known {
			t.Errorf("%s: the sum is that of %s", step, before)
		}
		sums[sum] = step
	}
	see("nothing")
	must(t, m.Mkdir("/d", 0o700))
	see("a folder")
	f := create(t, m, "/d/a")
	see("an empty file")
	write(t, f, "text")
	see("a file")
	before := m.Sum(seed)
	must(t, f.Sync())
	must(t, m.SyncDir("/d"))
	if m.Sum(seed) != before {
		t.Error("a sync changes the sum")
	}
	must(t, m.Rename("/d/a", "/d/b"))
	see("another name")
	must(t, m.Rename("/d/b", "/b"))
	see("another folder")
}
