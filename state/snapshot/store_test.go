package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

const folder = "/x/.hankweave"

// version returns the n-th content: several pages that carry a checksum.
func version(n int) []byte {
	body := bytes.Repeat(fmt.Appendf(nil, "version %d;", n), 1000)
	return fmt.Appendf(body, "%08x", crc32.ChecksumIEEE(body))
}

func verify(b []byte) error {
	if len(b) < 8 || fmt.Sprintf("%08x", crc32.ChecksumIEEE(b[:len(b)-8])) != string(b[len(b)-8:]) {
		return errors.New("the checksum is wrong")
	}
	return nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newDisk(t testing.TB) *vfstest.Mem {
	t.Helper()
	m := vfstest.NewMem()
	must(t, vfs.MkdirAll(m, folder+"/quarantine", 0o700))
	return m
}

// store keeps state.json below dir and moves damaged files into dir/quarantine.
func store(fsys vfs.FS, dir string) *Store {
	s := &Store{FS: fsys, Path: filepath.Join(dir, "state.json"), Verify: verify}
	s.Quarantine = func(name string, why error) error {
		q := filepath.Join(dir, "quarantine")
		list, err := fsys.ReadDir(q)
		if err != nil {
			return err
		}
		if err := fsys.Rename(name, filepath.Join(q, fmt.Sprintf("%03d.%s", len(list), filepath.Base(name)))); err != nil {
			return err
		}
		return errors.Join(fsys.SyncDir(q), fsys.SyncDir(dir))
	}
	return s
}

func put(t testing.TB, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	must(t, vfs.ReplaceFile(fsys, filepath.Join(folder, name), data, 0o600, vfs.Durable))
}

func quarantined(t testing.TB, fsys vfs.FS) (list []string) {
	t.Helper()
	entries, err := fsys.ReadDir(folder + "/quarantine")
	must(t, err)
	for _, e := range entries {
		list = append(list, e.Name()[4:])
	}
	return list
}

// noLinks is a file system without hard links.
func noLinks(fsys vfs.FS) vfs.FS {
	return vfstest.Inject(fsys, vfstest.From(1, syscall.EPERM, vfstest.Match("", vfstest.OpLink)))
}

func TestSaveKeepsTheVersionBefore(t *testing.T) {
	t.Parallel()
	for name, fsys := range map[string]func(vfs.FS) vfs.FS{"links": func(f vfs.FS) vfs.FS { return f }, "no links": noLinks} {
		for _, disk := range []string{"memory", "real"} {
			t.Run(name+" "+disk, func(t *testing.T) {
				base, dir := vfs.OS, t.TempDir()
				if disk == "memory" {
					base, dir = newDisk(t), folder
				}
				must(t, vfs.MkdirAll(base, filepath.Join(dir, "quarantine"), 0o700))
				s := store(fsys(base), dir)
				for _, c := range s.Load() {
					if !errors.Is(c.Err, fs.ErrNotExist) || c.Data != nil {
						t.Fatalf("found %+v", c)
					}
				}
				for n := 1; n < 5; n++ {
					must(t, s.Save(version(n)))
					list := s.Load()
					if list[0].Source != Primary || list[0].Err != nil || !bytes.Equal(list[0].Data, version(n)) {
						t.Fatalf("primary after version %d: %v", n, list[0].Err)
					}
					if n > 1 && (list[1].Source != Backup || list[1].Err != nil || !bytes.Equal(list[1].Data, version(n-1))) {
						t.Fatalf("backup after version %d: %v", n, list[1].Err)
					}
				}
				entries, err := base.ReadDir(dir)
				must(t, err)
				if len(entries) != 3 {
					t.Fatalf("the folder holds %v", entries)
				}
				fi, err := base.Lstat(s.Path)
				must(t, err)
				if fi.Mode().Perm() != 0o600 {
					t.Fatalf("mode %v", fi.Mode())
				}
			})
		}
	}
}

func TestTheBackupIsOnlyMadeFromAVerifiedPrimary(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	s := store(m, folder)
	must(t, s.Save(version(1)))
	must(t, s.Save(version(2)))
	put(t, m, "state.json", version(2)[:5000])
	list := s.Load()
	var damaged *DamagedError
	if !errors.As(list[0].Err, &damaged) || list[0].Data != nil || list[1].Err != nil {
		t.Fatalf("found %v, %v", list[0].Err, list[1].Err)
	}
	must(t, s.Save(version(3)))
	list = s.Load()
	if !bytes.Equal(list[0].Data, version(3)) || !bytes.Equal(list[1].Data, version(1)) {
		t.Fatalf("found %v, %v", list[0].Err, list[1].Err)
	}
	if q := quarantined(t, m); !slices.Equal(q, []string{"state.json"}) {
		t.Fatalf("in quarantine: %v", q)
	}
}

func TestAFileBeingWrittenIsNeverLoadedButQuarantined(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	s := store(m, folder)
	put(t, m, "state.json.tmp", version(9))
	for _, c := range s.Load() {
		if c.Err == nil {
			t.Fatalf("%s was loaded", c.Path)
		}
	}
	must(t, s.Save(version(1)))
	put(t, m, "state.json.tmp", version(8))
	put(t, m, "state.json.bak", []byte("junk"))
	must(t, s.QuarantineDamaged(s.Load()))
	if q := quarantined(t, m); !slices.Equal(q, []string{"state.json.tmp", "state.json.bak", "state.json.tmp"}) {
		t.Fatalf("in quarantine: %v", q)
	}
	if list := s.Load(); !bytes.Equal(list[0].Data, version(1)) || !errors.Is(list[1].Err, fs.ErrNotExist) {
		t.Fatalf("found %v, %v", list[0].Err, list[1].Err)
	}
}

// TestASaveAfterACrashBetweenTheRenamesLeavesNoThirdName: the backup is then a
// link of the primary, and a rename of one over the other does nothing.
func TestASaveAfterACrashBetweenTheRenamesLeavesNoThirdName(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	s := store(m, folder)
	must(t, s.Save(version(1)))
	must(t, m.Link(s.Path, s.Path+".bak"))
	must(t, s.Save(version(2)))
	if list := s.Load(); !bytes.Equal(list[0].Data, version(2)) || !bytes.Equal(list[1].Data, version(1)) {
		t.Fatalf("found %v, %v", list[0].Err, list[1].Err)
	}
	if entries, err := m.ReadDir(folder); err != nil || len(entries) != 3 {
		t.Fatalf("the folder holds %v (%v)", entries, err)
	}
}

func TestDamagedContentIsNeverSaved(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	s := store(m, folder)
	must(t, s.Save(version(1)))
	calls := m.Calls()
	if err := s.Save([]byte("half a state")); err == nil || m.Calls() != calls {
		t.Fatalf("saved: %v, %d calls", err, m.Calls()-calls)
	}
}

func TestAPlantedNameDoesNotHangOrEscape(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "quarantine"), 0o700))
	s := store(vfs.OS, dir)
	must(t, s.Save(version(1)))
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, []byte("precious"), 0o600))
	for _, name := range []string{".tmp", ".bak.tmp"} {
		must(t, os.Symlink(outside, s.Path+name))
	}
	must(t, s.Save(version(2)))
	if got, err := os.ReadFile(outside); err != nil || string(got) != "precious" {
		t.Fatalf("a link was written through: %q, %v", got, err)
	}
	must(t, os.Remove(s.Path))
	must(t, os.Mkdir(s.Path, 0o700))
	if list := s.Load(); list[0].Err == nil || list[1].Err != nil {
		t.Fatalf("found %v, %v", list[0].Err, list[1].Err)
	}
	must(t, s.Save(version(3))) // what stood there is set aside
	if got, err := os.ReadFile(s.Path); err != nil || string(got) != string(version(3)) {
		t.Fatalf("saved over a folder: %q, %v", got, err)
	}
}

// story is a sequence of saves, one of them over a primary that was damaged.
type story struct {
	old, next int // what is saved, and what is being saved
	once      bool
}

func (s *story) play(t *testing.T, fsys vfs.FS, disk *vfstest.Mem) error {
	st := store(fsys, folder)
	for n := 1; n <= 4; n++ {
		s.next = n
		if n == 4 {
			// From here on version 2, the backup, is what is left.
			flip(t, disk)
			s.old = 2
		}
		if err := st.Save(version(n)); err != nil {
			return err
		}
		s.old, s.once = n, true
	}
	return nil
}

// flip damages the primary in place, and durably, unless it is not there.
func flip(t *testing.T, m *vfstest.Mem) {
	f, err := m.OpenFile(folder+"/state.json", os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte{'!'}, 4321)
	must(t, err)
	must(t, f.Sync())
	must(t, f.Close())
}

// check: at least one whole version is there, the best is the old or the new
// one, and saving goes on.
func (s *story) check(t *testing.T, name string, m *vfstest.Mem, wrap func(vfs.FS) vfs.FS) {
	t.Helper()
	st := store(wrap(m), folder)
	list := st.Load()
	var best []byte
	for _, c := range list {
		if c.Err == nil && best == nil {
			best = c.Data
		}
		if c.Err == nil && bytes.Contains(c.Data, []byte{'!'}) {
			t.Fatalf("%s: a damaged %s was taken", name, c.Source)
		}
	}
	switch {
	case best == nil && s.once:
		t.Fatalf("%s: nothing whole is left (%v, %v)", name, list[0].Err, list[1].Err)
	case best != nil && !bytes.Equal(best, version(s.old)) && !bytes.Equal(best, version(s.next)):
		t.Fatalf("%s: found %.12q, want version %d or %d", name, best, s.old, s.next)
	}
	must(t, st.QuarantineDamaged(st.Load()))
	if err := st.Save(version(77)); err != nil {
		t.Fatalf("%s: saving on: %v", name, err)
	}
	again := store(m.Crash(rand.New(rand.NewPCG(1, 1)), 0), folder).Load()
	if again[0].Err != nil || !bytes.Equal(again[0].Data, version(77)) {
		t.Fatalf("%s: saved, but after a crash: %v", name, again[0].Err)
	}
	if best != nil && (again[1].Err != nil && !errors.Is(again[1].Err, fs.ErrNotExist)) {
		t.Fatalf("%s: the backup after a save: %v", name, again[1].Err)
	}
}

// seeds is how many crashes are tried per moment; HANK_SEEDS makes the long form.
func seeds(usual int) uint64 {
	if n, err := strconv.Atoi(os.Getenv("HANK_SEEDS")); err == nil {
		return uint64(n)
	}
	return uint64(usual)
}

func TestAWholeVersionSurvivesACrashAfterEveryCall(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(vfs.FS) vfs.FS{"links": func(f vfs.FS) vfs.FS { return f }, "no links": noLinks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newDisk(t)
			s := &story{}
			images := 0
			crash := func(when string) {
				for _, percent := range []int{0, 10, 50, 100} {
					for seed := range seeds(8) {
						if seed > 0 && percent%100 == 0 {
							break
						}
						images++
						name := fmt.Sprintf("%s, %d %%, seed %d", when, percent, seed)
						s.check(t, name, m.Crash(rand.New(rand.NewPCG(seed, 0)), percent), wrap)
					}
				}
			}
			m.SetHook(func(c vfstest.Call) {
				if !strings.HasSuffix(c.Name, "state.json") || c.Op != vfstest.OpWrite && c.Op != vfstest.OpSync { // flip is not the store's
					crash("before " + c.String())
				}
			})
			must(t, s.play(t, wrap(m), m))
			m.SetHook(nil)
			crash("at the end")
			t.Logf("%d images of %d calls", images, m.Calls())
		})
	}
}

func TestAnErrorOfEveryCallLeavesTheOldVersion(t *testing.T) {
	t.Parallel()
	mutating := func(c vfstest.Call) bool { return c.Mutates() }
	for name, fail := range map[string]func(n int) func(vfstest.Call) error{
		"EIO":    func(n int) func(vfstest.Call) error { return vfstest.Nth(n, syscall.EIO, nil) },
		"ENOSPC": func(n int) func(vfstest.Call) error { return vfstest.From(n, vfstest.Short(syscall.ENOSPC), mutating) },
	} {
		fired, n := true, 0
		for fired {
			n++
			m := newDisk(t)
			s := &story{}
			decide := fail(n)
			fired = false
			err := s.play(t, vfstest.Inject(m, func(c vfstest.Call) error {
				err := decide(c)
				fired = fired || err != nil
				return err
			}), m)
			if err == nil && s.old != 4 {
				t.Fatalf("%s at call %d was lost", name, n)
			}
			for seed := range uint64(3) {
				s.check(t, fmt.Sprintf("%s at call %d (%v), seed %d", name, n, err, seed), m.Crash(rand.New(rand.NewPCG(seed, 0)), 50), func(f vfs.FS) vfs.FS { return f })
			}
			s.check(t, fmt.Sprintf("%s at call %d (%v)", name, n, err), m, func(f vfs.FS) vfs.FS { return f })
		}
		t.Logf("%s: %d calls", name, n-1)
	}
}

func BenchmarkSave(b *testing.B) {
	for _, size := range []int{9 << 10, 900 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			dir := b.TempDir()
			must(b, os.Mkdir(filepath.Join(dir, "quarantine"), 0o700))
			s := store(vfs.OS, dir)
			s.Verify = func([]byte) error { return nil }
			data := bytes.Repeat([]byte("x"), size)
			for b.Loop() {
				must(b, s.Save(data))
			}
		})
	}
}
