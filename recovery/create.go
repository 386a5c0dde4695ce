package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/state"
)

// CreateOptions say what a new execution is made from.
type CreateOptions struct {
	Options
	Workspace string // empty is agentRoot in the execution
	Data      string // absolute; linked into the workspace; may be empty
	DataHash  string
	HankPath  string
	Output    string
	Version   string // of hank
}

// Create makes an execution at root and opens it. The steps, each durable
// before the next:
//
//  1. The folders.
//  2. The locks. If there is an execution by now, because another process was
//     faster or an earlier creation was cut short, it is opened instead.
//  3. A .gitignore that hides hank's folder, the meta, and the journal with its
//     first event: an empty state. From here on there is an execution, and
//     Open repairs whatever is missing.
//  4. The store; the data's link.
func Create(ctx context.Context, root string, o CreateOptions) (*Execution, error) {
	o.Options = o.Options.withDefaults()
	l := Layout{Root: root, Workspace: o.Workspace}
	if l.Workspace == "" {
		l.Workspace = DefaultWorkspace(root)
	}
	if err := makeFolders(o.FS, l); err != nil {
		return nil, fmt.Errorf("creating the execution: %w", err)
	}
	k, err := acquire(o.FS, l, o.Command, o.BreakLock, o.Now())
	if err != nil {
		return nil, err
	}
	if exists(o.FS, root) {
		if err := k.release(); err != nil {
			return nil, err
		}
		o.Options.Workspace = o.Workspace
		return Open(ctx, root, o.Options)
	}
	x := &Execution{Layout: l, opts: o.Options, fs: o.FS, lock: k, Report: Report{Source: "new"}}
	if err := x.create(o); err != nil {
		return nil, errors.Join(err, x.giveBack(nil))
	}
	if err := x.attach(ctx, advice{}); err != nil {
		return nil, errors.Join(err, x.giveBack(nil))
	}
	return x, nil
}

func makeFolders(fsys vfs.FS, l Layout) error {
	if err := vfs.MkdirAll(fsys, l.Root, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{l.Hankweave(), l.Events(), l.Runs(), l.Index(), l.Quarantine()} {
		if err := vfs.MkdirAll(fsys, dir, 0o700); err != nil {
			return err
		}
	}
	return vfs.MkdirAll(fsys, l.Workspace, 0o755)
}

func (x *Execution) create(o CreateOptions) error {
	if err := vfs.WriteFile(x.fs, x.Layout.hank(".gitignore"), []byte("*\n"), 0o600); err != nil {
		return fmt.Errorf("creating the execution: %w", err)
	}
	now := state.At(o.Now())
	meta := Meta{Version: MetaVersion, ReadOnlySourceDataPath: o.Data, DataHash: o.DataHash, HankPath: o.HankPath,
		CreatedAt: now, LastUsed: now, HankweaveVersion: o.Version, Environment: here(),
		Lineage: newID(16), Root: x.Layout.Root, Output: o.Output}
	if o.Data != "" {
		meta.LinkType = "symlink"
		if resolved, err := filepath.EvalSymlinks(o.Data); err == nil {
			meta.ResolvedDataPath = resolved
		}
	}
	if x.Layout.Workspace != DefaultWorkspace(x.Layout.Root) {
		meta.Workspace = x.Layout.Workspace
	}
	meta.Inode, _ = inodeOf(x.Layout.Hankweave())
	if err := writeMeta(x.fs, x.Layout.Meta(), meta); err != nil {
		return fmt.Errorf("writing execution-meta.json: %w", err)
	}
	x.meta = meta
	x.current.Store(&state.State{Lineage: meta.Lineage})
	if err := x.openJournal(memory{state: x.State(), rebase: "a new execution"}); err != nil {
		return err
	}
	return x.makeStore(fs.ErrNotExist)
}

func (x *Execution) storeOptions() checkpoint.Options {
	return checkpoint.Options{FS: x.fs, Dir: x.Layout.Store(), CacheFile: x.Layout.StatCache(), BootID: x.lock.info.Process.BootID, Now: x.opts.Now}
}

// openStore opens the checkpoint store. One that is not there, or is none,
// is for makeStore.
func (x *Execution) openStore() error {
	store, err := checkpoint.Open(x.storeOptions())
	if err == nil {
		x.Store = store
	}
	return err
}

// makeStore makes the store that could not be opened. Where checkpoints are
// lost with it a person must agree (ReplaceStore).
func (x *Execution) makeStore(why error) error {
	var damaged *checkpoint.DamagedError
	ruined := errors.As(why, &damaged)
	if !ruined && !errors.Is(why, fs.ErrNotExist) {
		return why
	}
	if x.State().InitialCheckpoint != "" && !x.opts.ReplaceStore {
		return x.needStore(fmt.Sprintf("the checkpoint store cannot be used (%v)", why))
	}
	if ruined {
		if err := x.setAside(x.Layout.Store(), why); err != nil {
			return err
		}
	}
	o := x.storeOptions()
	if err := vfs.MkdirAll(x.fs, filepath.Dir(o.Dir), 0o700); err != nil {
		return err
	}
	var err error
	x.Store, err = checkpoint.Init(o)
	return err
}

func (x *Execution) needStore(what string) error {
	return &DecisionError{What: what, Options: []string{
		"put it back from a copy into " + x.Layout.Store(),
		"hank doctor --fix goes on from the workspace as it is; earlier checkpoints stay lost",
	}}
}

// openWorkspace opens the agents' folder.
func (x *Execution) openWorkspace() error {
	var err error
	x.Workspace, err = checkpoint.OpenWorkspace(x.Layout.Workspace)
	return err
}

// makeWorkspace makes sure that there is a workspace. Only the meta says where
// one is that does not lie in the execution.
func makeWorkspace(l Layout, m Meta, metaErr error, rep *Report) error {
	_, err := os.Stat(l.Workspace)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch {
	case m.Workspace != "":
		return &DecisionError{What: "the workspace " + l.Workspace + " is gone", Options: []string{"put it back", "hank rollback --to last-success after making an empty folder there restores its checkpointed files"}}
	case metaErr != nil && Exists(l.Root):
		return &DecisionError{What: fmt.Sprintf("it cannot be told where the workspace of %s is: %v", l.Root, metaErr),
			Options: []string{"--workspace DIR names it", "make an empty folder " + l.Workspace + " if that is where it was; its files are in the checkpoints"}}
	}
	rep.add(Mended, "the workspace %s was gone; an empty one was made, its files are in the checkpoints", l.Workspace)
	return os.MkdirAll(l.Workspace, 0o755)
}
