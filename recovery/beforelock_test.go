package recovery

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

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
