package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hank/internal/flock"
	"hank/internal/race"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
)

// An agent deletes hank's directory after the last transition: what is in memory is
// written before the execution is closed.
func TestAFolderDeletedBeforeTheEndIsWrittenAnew(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := begin(t, root, 3, CreateOptions{})
	ok(t, a.start())
	ok(t, a.x.Watch())
	ok(t, a.upto(3))
	ok(t, a.exit(""))
	for os.RemoveAll(a.x.Layout.Hankweave()) != nil { // a save may be under way
	}
	want := told(t, a.x.State())
	var decision *finding.DecisionError
	if err := a.x.Close(); !errors.As(err, &decision) || !strings.Contains(err.Error(), execution.FixCommand) {
		t.Errorf("the checkpoints are gone, and closing says: %v", err)
	}
	if _, err := Open(a.ctx, root, execution.Options{}); !errors.As(err, &decision) || !strings.Contains(err.Error(), execution.FixCommand) {
		t.Fatalf("the checkpoints are gone: %v", err)
	}
	x := must(Open(a.ctx, root, execution.Options{ReplaceStore: true}))(t)
	if got := told(t, x.State()); len(x.State().Runs) != 1 || x.State().Next() != 3 {
		t.Errorf("the state became\n%s\nand was\n%s", got, want)
	}
	ok(t, x.Close())
}

// Stock git's gc writes packed-refs anew while an agent works: nothing was
// changed, so nothing is said and nothing is written.
func TestPackedReferencesAreNoTampering(t *testing.T) {
	t.Parallel()
	a := begin(t, t.TempDir(), 3, CreateOptions{})
	ok(t, a.start())
	pack := func() {
		t.Helper()
		out, err := exec.Command("git", "--git-dir="+a.x.Layout.Store(), "pack-refs", "--all", "--prune").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	pack()
	ok(t, a.x.Watch())
	for range 2 {
		ok(t, a.upto(a.x.State().Next()+1))
		pack()
		ok(t, a.x.Inspect())
		if found := a.x.Noticed(); len(found) > 0 {
			t.Errorf("it was noticed: %q", found)
		}
	}
	packed := filepath.Join(a.x.Layout.Store(), "packed-refs")
	ok(t, os.WriteFile(packed, nil, 0o600))
	ok(t, a.x.Inspect())
	if found := a.x.Noticed(); len(found) == 0 {
		t.Error("references that were taken away were not noticed")
	}
	ok(t, a.x.Close())
}

// An agent takes the runtime's descriptors away: files that cannot be opened for
// that were not changed, and stay.
func TestFilesThatCannotBeOpenedForWantOfDescriptorsStay(t *testing.T) {
	t.Parallel()
	var armed atomic.Bool // the state writer asks beside the test
	fsys := vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		saves := strings.HasPrefix(filepath.Base(c.Name), "state.json") // the writer may be late on a slow machine
		if armed.Load() && !saves && (c.Op == vfstest.OpOpen || c.Op == vfstest.OpCreate || c.Op == vfstest.OpReadDir) {
			return syscall.EMFILE
		}
		return nil
	})
	a := begin(t, t.TempDir(), 3, CreateOptions{Options: execution.Options{FS: fsys}})
	ok(t, a.start())
	ok(t, a.x.Watch())
	ok(t, a.upto(2))
	l := a.x.Layout
	armed.Store(true)
	for _, look := range []func() error{func() error { return a.x.Monitor.CheckFiles(a.x.Meta(), nil) }, a.x.Monitor.CheckStore} {
		if err := look(); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("without descriptors: %v", err)
		}
	}
	armed.Store(false)
	if left, _ := os.ReadDir(l.Quarantine()); len(left) > 0 {
		t.Errorf("%d files are in quarantine", len(left))
	}
	for _, name := range []string{l.Meta(), l.Lock(), filepath.Join(l.Store(), "HEAD"), filepath.Join(l.Store(), "config")} {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
	ok(t, a.x.Inspect())
	ok(t, a.x.Close())
}

// A file in the way of a directory that the run does not need is no error of the
// run.
func TestAFileInTheWayOfAFolderDoesNotStopARun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index", "quarantine"} {
		a := begin(t, t.TempDir(), 3, CreateOptions{})
		ok(t, a.start())
		ok(t, a.x.Watch())
		ok(t, a.upto(2))
		path := filepath.Join(a.x.Layout.Hankweave(), name)
		ok(t, os.RemoveAll(path))
		ok(t, os.WriteFile(path, nil, 0o600))
		if err := a.x.Inspect(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = a.x.Close() // the stat cache may have no place
	}
}

// The journal is changed between the look at it and the write: the write is
// made again, in a journal that begins anew, and nothing is lost.
func TestAJournalChangedJustBeforeAWriteIsWrittenAnew(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"longer": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString("hers\n")
			return err
		},
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"deleted": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			a := begin(t, root, 2, CreateOptions{})
			ok(t, a.start())
			var said []string
			a.x.Opts.Warn = func(line string) { said = append(said, line) }
			ok(t, a.x.Watch())
			mask, done := a.x.Opts.Mask, false
			a.x.Opts.Mask = func(text string) string {
				if !done { // after the look, before the write
					done = true
					ok(t, change(filepath.Join(a.x.Layout.Events(), "events.jsonl")))
				}
				return mask(text)
			}
			ok(t, a.play(attempt{}))
			if !done || !strings.Contains(strings.Join(said, "\n"), "the journal (") {
				t.Errorf("nothing was said of it: %q", said)
			}
			ok(t, a.play(attempt{}))
			ok(t, a.exit(""))
			want := told(t, a.close())
			again := reopen(t, root)
			if got := told(t, again.State()); got != want {
				t.Errorf("the state became\n%s\nand was\n%s", got, want)
			}
			ok(t, again.Close())
		})
	}
}

// deleting is a file system on which an agent deletes hank's directory right before
// a call, and once more before the next one: rm -rf comes back for what was made
// behind it.
type deleting struct {
	vfs.FS
	folder string
	mu     sync.Mutex
	left   int // calls until then; 0: it is over, or has not begun
}

func (d *deleting) call() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return
	}
	if d.left--; d.left < 2 {
		for os.RemoveAll(d.folder) != nil { // a save may be under way
		}
	}
}

func (d *deleting) begin(after int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = after
}

// end ends it, and reports whether the directory was deleted.
func (d *deleting) end() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.left < 2
	d.left = 0
	return was
}

func (d *deleting) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	d.call()
	return d.FS.OpenFile(name, flag, perm)
}

func (d *deleting) Rename(from, to string) error { d.call(); return d.FS.Rename(from, to) }

func (d *deleting) Remove(name string) error { d.call(); return d.FS.Remove(name) }

func (d *deleting) Mkdir(name string, perm fs.FileMode) error {
	d.call()
	return d.FS.Mkdir(name, perm)
}

func (d *deleting) Lstat(name string) (fs.FileInfo, error) { d.call(); return d.FS.Lstat(name) }

func (d *deleting) ReadDir(name string) ([]fs.DirEntry, error) { d.call(); return d.FS.ReadDir(name) }

func (d *deleting) SyncDir(name string) error { d.call(); return d.FS.SyncDir(name) }

// An agent deletes hank's directory at any moment of a codon, also while hank makes
// it again: what was recorded is on the disk when the execution is closed.
func TestAFolderDeletedAtAnyMomentIsWrittenAnew(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	for n := 2; ; n++ {
		root := t.TempDir()
		disk := &deleting{FS: fast, folder: layout.Layout{Root: root}.Hankweave()}
		a := begin(t, root, 3, CreateOptions{Options: execution.Options{FS: disk}})
		ok(t, a.start())
		ok(t, a.x.Watch())
		ok(t, a.play(attempt{}))
		before := a.x.State()
		disk.begin(n)
		err := a.play(attempt{})
		if err == nil {
			err = a.exit(state.EndStopped)
		}
		deleted := disk.end()
		after := a.x.State()
		closed := a.x.Close()
		if !deleted {
			ok(t, errors.Join(err, closed))
			break
		}
		x, openErr := Open(a.ctx, root, execution.Options{FS: fast, ReplaceStore: true})
		if openErr != nil {
			t.Errorf("call %d: %v, then closing: %v, then opening: %v", n, err, closed, openErr)
			continue
		}
		if x.State().Lineage != before.Lineage || x.State().Newest().Len() < after.Newest().Len() {
			t.Errorf("call %d: of %d records %d are left: %v, then closing: %v", n, after.Newest().Len(), x.State().Newest().Len(), err, closed)
		}
		ok(t, x.Close())
	}
}

// standIns are what an agent, or a rival, may put where hank's directory was that was
// deleted. at is the directory's name, and copied a copy of it.
var standIns = map[string]struct {
	place func(t *testing.T, at, copied string)
	taken bool
}{
	"nothing":         {func(*testing.T, string, string) {}, true},
	"an empty folder": {func(t *testing.T, at, _ string) { ok(t, os.Mkdir(at, 0o755)) }, true},
	"what hank makes on its way": {func(t *testing.T, at, _ string) {
		ok(t, os.MkdirAll(filepath.Join(at, "events"), 0o700))
	}, true},
	"its own copy": {func(t *testing.T, at, copied string) { copyAll(t, copied, at) }, true},
	"half a state": {func(t *testing.T, at, copied string) {
		ok(t, os.Mkdir(at, 0o700))
		put(t, filepath.Join(at, "state.json"), must(os.ReadFile(filepath.Join(copied, "state.json")))(t)[:300])
	}, true},
	"half a meta": {func(t *testing.T, at, copied string) {
		ok(t, os.Mkdir(at, 0o700))
		put(t, filepath.Join(at, "execution-meta.json"), must(os.ReadFile(filepath.Join(copied, "execution-meta.json")))(t)[:30])
	}, true},
	"somebody's file": {func(t *testing.T, at, _ string) {
		ok(t, os.Mkdir(at, 0o700))
		put(t, filepath.Join(at, "theirs.txt"), []byte("theirs"))
	}, true},
	"another execution":           {another("."), false},
	"another execution's state":   {another("state.json"), false},
	"another execution's journal": {another("events"), false},
	"another execution's store":   {another("checkpoints"), false},
	"a state of Hankweave": {func(t *testing.T, at, _ string) {
		ok(t, os.Mkdir(at, 0o700))
		put(t, filepath.Join(at, "state.json"), []byte(`{"runs":[],"executionPlan":[],"planVersion":1}`))
	}, false},
	"the mark of an import": {func(t *testing.T, at, _ string) {
		ok(t, os.Mkdir(at, 0o700))
		put(t, filepath.Join(at, "importing"), []byte("x\n"))
	}, false},
	"a folder that is held": {func(t *testing.T, at, _ string) {
		ok(t, os.Mkdir(at, 0o700))
		held := must(flock.OpenDir(at))(t)
		ok(t, flock.Exclusive(held))
		t.Cleanup(func() { _ = flock.Close(held) })
	}, false},
	"a folder that is held for a moment": {func(t *testing.T, at, _ string) {
		ok(t, os.Mkdir(at, 0o700))
		held := must(flock.OpenDir(at))(t)
		ok(t, flock.Exclusive(held))
		time.AfterFunc(100*time.Millisecond, func() { _ = errors.Join(os.Remove(at), flock.Close(held)) })
	}, true},
	"a lock of Hankweave": {func(t *testing.T, at, _ string) {
		ok(t, os.Mkdir(at, 0o700))
		put(t, filepath.Join(at, "runtime.lock"), fmt.Appendf(nil, "%d\n", os.Getpid()))
	}, false},
	"a file": {func(t *testing.T, at, _ string) { put(t, at, []byte("x")) }, false},
	"a link": {func(t *testing.T, at, copied string) { ok(t, os.Symlink(copied, at)) }, false},
}

// copyAll copies a directory. A file that a save replaces meanwhile may be gone when it
// is to be read: then it is copied again.
func copyAll(t *testing.T, from, to string) {
	t.Helper()
	for exec.Command("cp", "-a", from, to).Run() != nil {
		ok(t, os.RemoveAll(to))
		if _, err := os.Lstat(from); err != nil {
			t.Fatal(err)
		}
	}
}

// another puts a part of another execution there.
func another(part string) func(t *testing.T, at, copied string) {
	return func(t *testing.T, at, _ string) {
		root := t.TempDir()
		a := begin(t, root, 2, CreateOptions{})
		ok(t, a.start())
		ok(t, a.play(attempt{}))
		ok(t, a.exit(state.EndStopped))
		a.close()
		from := layout.Layout{Root: root}.Hankweave()
		if part != "." {
			ok(t, os.Mkdir(at, 0o700))
		}
		copyAll(t, filepath.Join(from, part), filepath.Join(at, part))
	}
}

// What has the name of a deleted directory is taken if nobody holds it and it is
// not another execution's. A person must look at the checkpoints; a copy of
// hank's own has brought them along.
func TestWhatStandsWhereADeletedFolderWas(t *testing.T) {
	t.Parallel()
	for name, c := range standIns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy")
			a := begin(t, root, 3, CreateOptions{})
			ok(t, a.start())
			ok(t, a.x.Watch())
			ok(t, a.play(attempt{}))
			a.settle()
			at := a.x.Layout.Hankweave()
			copyAll(t, at, copied)
			ok(t, os.RemoveAll(at))
			c.place(t, at, copied)
			was := hash(t, filepath.Dir(at))
			var lost *lock.LostError
			if err := a.x.Note("x", 1); !c.taken {
				if !errors.As(err, &lost) || !lost.Deleted {
					t.Errorf("a transition says: %v", err)
				}
				if err := a.x.Close(); !errors.As(err, &lost) && !errors.As(a.x.Broken, &lost) {
					t.Errorf("closing says: %v", err)
				}
				if hash(t, filepath.Dir(at)) != was {
					t.Error("something was written")
				}
				return
			} else if err != nil {
				t.Fatal(err)
			}
			whole := name == "its own copy"
			var decision *finding.DecisionError
			if err := a.exit(state.EndStopped); !errors.As(err, &decision) {
				t.Errorf("a checkpoint: %v", err)
			}
			want := a.x.State()
			if err := a.x.Close(); !errors.As(err, &decision) {
				t.Errorf("closing says: %v", err)
			}
			if whole {
				ok(t, reopen(t, root).Close())
			}
			x := must(Open(a.ctx, root, execution.Options{FS: fast, ReplaceStore: true}))(t)
			if x.State().Lineage != want.Lineage || x.State().Newest().Len() != want.Newest().Len() {
				t.Errorf("it is of lineage %s and has %d records", x.State().Lineage, x.State().Newest().Len())
			}
			if lost := x.Report.Has(finding.Lost); lost == whole {
				t.Errorf("checkpoints are lost: %v: %+v", lost, x.Report.Findings)
			}
			ok(t, x.Close())
		})
	}
}

// A copy of hank's own from before the newest checkpoint has not what later ones
// are made of: nothing that leans on it is acknowledged as a checkpoint.
func TestAnOlderCopyWhereADeletedFolderWas(t *testing.T) {
	t.Parallel()
	root, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	a := begin(t, root, 4, CreateOptions{})
	ok(t, a.start())
	ok(t, a.x.Watch())
	ok(t, a.play(attempt{}))
	copyAll(t, a.x.Layout.Hankweave(), copied)
	a.write("only-behind-it", "x\n")
	ok(t, a.play(attempt{}))
	for os.RemoveAll(a.x.Layout.Hankweave()) != nil { // a save may be under way
	}
	for os.Rename(copied, a.x.Layout.Hankweave()) != nil { // one that has made it again meanwhile
		ok(t, os.RemoveAll(a.x.Layout.Hankweave()))
	}
	var decision *finding.DecisionError
	if err := a.play(attempt{}); !errors.As(err, &decision) {
		t.Fatalf("a codon ends with: %v", err)
	}
	records := a.x.State().Newest().Len()
	_ = a.x.Close() // says the same
	if _, err := Open(a.ctx, root, execution.Options{FS: fast}); !errors.As(err, &decision) {
		t.Errorf("opening says: %v", err)
	}
	x := must(Open(a.ctx, root, execution.Options{FS: fast, ReplaceStore: true}))(t)
	if got := x.State().Newest().Len(); got != records || !x.Report.Has(finding.Lost) {
		t.Errorf("of %d records %d are left: %+v", records, got, x.Report.Findings)
	}
	if !isWhole(x, x.Head()) {
		t.Error("the newest checkpoint is not whole")
	}
	ok(t, x.Close())
}

// What is deleted behind the last checkpoint is written when the execution is
// closed, or closing says that it is not.
func TestWhatIsDeletedBehindTheLastCheckpoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		act  func(t *testing.T, at string)
		kept bool
	}{
		"state.json": {func(t *testing.T, at string) {
			ok(t, errors.Join(os.Remove(filepath.Join(at, "state.json")), os.RemoveAll(filepath.Join(at, "state.json.bak"))))
		}, true},
		"moved": {func(t *testing.T, at string) { ok(t, os.Rename(at, at+"-moved")) }, false},
		"what is in it, without the store": {func(t *testing.T, at string) {
			for _, name := range []string{"state.json", "state.json.bak", "events", "execution-meta.json"} {
				ok(t, os.RemoveAll(filepath.Join(at, name)))
			}
		}, true},
		"all, and a file is there": {func(t *testing.T, at string) {
			ok(t, os.RemoveAll(at))
			put(t, at, []byte("x"))
		}, false},
	} {
		root := t.TempDir()
		a := begin(t, root, 3, CreateOptions{})
		ok(t, a.start())
		ok(t, a.x.Watch())
		ok(t, a.play(attempt{}))
		ok(t, a.exit(state.EndStopped))
		a.settle()
		ok(t, a.x.StateWriter.Save(a.x.State()))
		c.act(t, a.x.Layout.Hankweave())
		want := told(t, a.x.State())
		err := a.x.Close()
		if !c.kept {
			var lost *lock.LostError
			if !errors.As(err, &lost) || strings.Count(err.Error(), "while hank worked in it") != 1 {
				t.Errorf("%s: closing says: %v", name, err)
			}
			continue
		}
		ok(t, err)
		if _, err := os.Lstat(a.x.Layout.State()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		x := reopen(t, root)
		if got := told(t, x.State()); got != want {
			t.Errorf("%s: the state became\n%s\nand was\n%s", name, got, want)
		}
		ok(t, x.Close())
	}
}

// hasty is a file system on which an agent deletes a file as soon as it is there.
type hasty struct {
	vfs.FS
	name string
}

func (h *hasty) Rename(from, to string) error {
	err := h.FS.Rename(from, to)
	if err == nil && to == h.name {
		err = os.Remove(to)
	}
	return err
}

// A state.json that is deleted as soon as it is saved is noticed, too.
func TestAStateDeletedAsSoonAsItIsSavedIsNoticed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	disk := &hasty{FS: fast}
	a := begin(t, root, 3, CreateOptions{Options: execution.Options{FS: disk}})
	ok(t, a.start())
	ok(t, a.x.Watch())
	a.settle()
	a.x.StateWriter.Disk.Lock() // no save is under way
	disk.name = a.x.Layout.State()
	a.x.StateWriter.Disk.Unlock()
	ok(t, a.play(attempt{}))
	ok(t, a.x.StateWriter.Close())
	if err := a.x.StateWriter.Changed(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it says: %v", err)
	}
	a.x.StateWriter.Store.FS = fast
	a.x.StateWriter.Start()
	ok(t, a.x.Close())
}
