package recovery

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"hank/internal/short"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
)

// betweenFS does something once, when a file is opened whose name ends so.
type betweenFS struct {
	vfs.FS
	suffix string
	do     func()
	once   sync.Once
}

func (b *betweenFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := b.FS.OpenFile(name, flag, perm)
	if filepath.Base(name) == b.suffix {
		b.once.Do(b.do)
	}
	return f, err
}

// TestWhatWasReadBeforeTheLockIsReadAgain: another command may have changed it until the lock
// was taken. An opening wrote execution-meta.json back as it had been before.
func TestWhatWasReadBeforeTheLockIsReadAgain(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "x")
	ok(t, begin(t, root, 1, CreateOptions{}).x.Close())
	l := layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}
	between := func(do func()) execution.Options {
		return execution.Options{FS: &betweenFS{FS: fast, suffix: filepath.Base(l.Meta()), do: do}}
	}
	x := must(Open(context.Background(), root, between(func() {
		m, bytes := must(layout.ReadMetaFile(fast, l.Meta()))(t), int64(77)
		m.CheckpointCap, m.Sandbox = &bytes, "workspace"
		ok(t, layout.WriteMeta(fast, l.Meta(), m))
	})))(t)
	if m := x.Meta(); m.CheckpointCap == nil || *m.CheckpointCap != 77 || m.Sandbox != "workspace" {
		t.Errorf("the execution has %+v", m)
	}
	ok(t, x.Close())
	if m := must(layout.ReadMetaFile(fast, l.Meta()))(t); m.CheckpointCap == nil || *m.CheckpointCap != 77 || m.Sandbox != "workspace" {
		t.Errorf("the file has %+v", m)
	}

	_, err := Open(context.Background(), root, between(func() { put(t, l.Importing(), []byte("run-\n")) }))
	var asks *finding.DecisionError
	if !errors.As(err, &asks) {
		t.Errorf("an import that was killed meanwhile: %v", err)
	}
}

// TestAnOpeningThatIsKilledWithItsLocksHasChangedNothing: between the locks and the state only the
// file of the lock is written, and a workspace that was missing. The next opening finds everything as
// it was.
func TestAnOpeningThatIsKilledWithItsLocksHasChangedNothing(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := boxed(t, 12)
	for name, damage := range map[string]func(){
		"whole":                  func() {},
		"without state.json":     func() { remove(t, b.l.State()); remove(t, b.l.State()+".bak") },
		"with a damaged journal": func() { put(t, filepath.Join(b.l.Events(), "events.jsonl"), []byte("nonsense\n")) },
		"without the references": func() { remove(t, filepath.Join(b.l.Store(), "refs")) },
		"without the workspace":  func() { remove(t, b.l.Workspace) },
	} {
		b.reset()
		damage()
		remove(t, b.l.Lock())
		before := hash(t, b.l.Hankweave())
		cmd := exec.Command(os.Args[0], "__hold", b.root, "-")
		cmd.Env = append(os.Environ(), "HANK_FAILPOINT=lock.written")
		if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("%s: it was not killed: %v, %s", name, err, out)
		}
		if _, err := os.Lstat(b.l.Lock()); err != nil {
			t.Errorf("%s: the file of the lock was not written: %v", name, err)
		}
		if v, err := Read(b.root); err != nil || v.Live {
			t.Errorf("%s: a reader says %v, live %t", name, err, err == nil && v.Live)
		}
		remove(t, b.l.Lock())
		if hash(t, b.l.Hankweave()) != before {
			t.Errorf("%s: more than the file of the lock was written", name)
		}
		if list, err := os.ReadDir(b.l.Workspace); err != nil || name == "without the workspace" && len(list) > 0 {
			t.Errorf("%s: the workspace has %v, %v", name, list, err)
		}
		b.recovers(name)
	}
}

// TestAKilledCreationHeldNothing: its lock and its temporary files say nothing of an execution.
func TestAKilledCreationHeldNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := layout.Layout{Root: root}
	ok(t, os.MkdirAll(l.Events(), 0o700))
	for _, name := range []string{"runtime.lock", "runtime.lock.tmp", ".gitignore.tmp", ".gitignore", "execution-meta.json.tmp"} {
		put(t, filepath.Join(l.Hankweave(), name), []byte("{}"))
	}
	if what := Remains(root, false); what != "" {
		t.Errorf("a killed creation has left %s", what)
	}
	put(t, filepath.Join(l.Events(), "events.jsonl"), []byte("{}"))
	if Remains(root, false) == "" {
		t.Error("a journal is nothing")
	}
}
