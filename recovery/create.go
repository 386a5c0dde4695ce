package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-multierror"

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

// Create makes an execution at root and opens it. An execution whose creation
// was cut short is made anew: nothing had been acknowledged. The steps, each
// durable before the next:
//
//  1. The folders, and a .gitignore that hides hank's own one.
//  2. The locks.
//  3. The meta, and the journal with its first event: an empty state. From
//     here on there is an execution, and Open repairs whatever is missing.
//  4. The store; the data's link.
func Create(ctx context.Context, root string, o CreateOptions) (*Execution, error) {
	o.Options = o.Options.withDefaults()
	l := Layout{Root: root, Workspace: o.Workspace}
	if l.Workspace == "" {
		l.Workspace = DefaultWorkspace(root)
	}
	if err := vfs.MkdirAll(o.FS, root, 0o755); err != nil {
		return nil, fmt.Errorf("creating the execution: %w", err)
	}
	for _, dir := range []string{l.Hankweave(), l.Events(), l.Runs(), l.Index(), l.Quarantine()} {
		if err := vfs.MkdirAll(o.FS, dir, 0o700); err != nil {
			return nil, fmt.Errorf("creating the execution: %w", err)
		}
	}
	if err := vfs.MkdirAll(o.FS, l.Workspace, 0o755); err != nil {
		return nil, fmt.Errorf("creating the workspace: %w", err)
	}
	if err := vfs.WriteFile(o.FS, l.hank(".gitignore"), []byte("*\n"), 0o600); err != nil {
		return nil, fmt.Errorf("creating the execution: %w", err)
	}
	k, err := acquire(o.FS, l, o.Command, o.BreakLock, o.Now())
	if err != nil {
		return nil, err
	}
	x, err := create(l, o, k)
	if err != nil {
		return nil, errors.Join(err, k.release())
	}
	if err := x.attach(ctx); err != nil {
		return nil, errors.Join(err, x.abandon())
	}
	if o.Data != "" {
		if err := linkData(o.Data, l.Data()); err != nil {
			return nil, errors.Join(fmt.Errorf("linking the data into the workspace: %w", err), x.Close())
		}
	}
	return x, nil
}

func create(l Layout, o CreateOptions, k *lock) (*Execution, error) {
	now := state.At(o.Now())
	meta := Meta{Version: MetaVersion, ReadOnlySourceDataPath: o.Data, DataHash: o.DataHash, HankPath: o.HankPath,
		CreatedAt: now, LastUsed: now, HankweaveVersion: o.Version, Environment: here(),
		Lineage: newID(16), Root: l.Root, Output: o.Output}
	if o.Data != "" {
		meta.LinkType = "symlink"
		if resolved, err := filepath.EvalSymlinks(o.Data); err == nil {
			meta.ResolvedDataPath = resolved
		}
	}
	if l.Workspace != DefaultWorkspace(l.Root) {
		meta.Workspace = l.Workspace
	}
	meta.Inode, _ = inodeOf(l.Hankweave())
	if err := writeMeta(o.FS, l.Meta(), meta); err != nil {
		return nil, fmt.Errorf("writing execution-meta.json: %w", err)
	}
	x := &Execution{Layout: l, opts: o.Options, fs: o.FS, meta: meta, lock: k, Report: Report{Source: "new"}}
	x.current.Store(&state.State{Lineage: meta.Lineage})
	return x, x.openJournal(memory{state: x.State(), rebase: "a new execution"})
}

// abandon gives back what a failed opening had taken, saving nothing.
func (x *Execution) abandon() error {
	var failed *multierror.Error
	if x.journal != nil {
		failed = multierror.Append(failed, x.journal.Close())
	}
	if x.saver != nil {
		failed = multierror.Append(failed, x.saver.close())
	}
	if x.Store != nil {
		failed = multierror.Append(failed, x.Store.Close())
	}
	if x.Workspace != nil {
		failed = multierror.Append(failed, x.Workspace.Close())
	}
	return inOneLine(multierror.Append(failed, x.lock.release()))
}

func (x *Execution) storeOptions() checkpoint.Options {
	return checkpoint.Options{FS: x.fs, Dir: x.Layout.Store(), CacheFile: x.Layout.StatCache(), BootID: x.lock.info.Process.BootID, Now: x.opts.Now}
}

// openStore opens the checkpoint store, or makes it when the execution has
// none yet.
func (x *Execution) openStore() error {
	o := x.storeOptions()
	var err error
	x.Store, err = checkpoint.Open(o)
	if err == nil {
		return nil
	}
	var damaged *checkpoint.DamagedError
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case !missing && !errors.As(err, &damaged):
		return err
	case x.State().InitialCheckpoint != "" && !x.opts.ReplaceStore:
		return &DecisionError{
			What:    fmt.Sprintf("the checkpoint store cannot be used (%v)", err),
			Options: []string{"put it back from a copy into " + x.Layout.Store(), "hank doctor --fix starts a new store from the workspace as it is; earlier checkpoints stay lost"},
		}
	case !missing:
		if err := x.setAside(x.Layout.Store(), err); err != nil {
			return err
		}
	}
	if err := vfs.MkdirAll(x.fs, filepath.Dir(o.Dir), 0o700); err != nil {
		return err
	}
	x.Store, err = checkpoint.Init(o)
	return err
}

// openWorkspace opens the agents' folder.
func (x *Execution) openWorkspace() error {
	var err error
	x.Workspace, err = checkpoint.OpenWorkspace(x.Layout.Workspace)
	return err
}

func makeWorkspace(l Layout, m Meta, rep *Report) error {
	_, err := os.Stat(l.Workspace)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if m.Workspace != "" {
		return &DecisionError{What: "the workspace " + l.Workspace + " is gone", Options: []string{"put it back", "hank rollback --to last-success after making an empty folder there restores its checkpointed files"}}
	}
	rep.add(Mended, "the workspace %s was gone; an empty one was made, its files are in the checkpoints", l.Workspace)
	return os.MkdirAll(l.Workspace, 0o755)
}
