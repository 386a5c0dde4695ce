package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/internal/registry"
	"hank/internal/shell"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/recovery/lock"
	"hank/state"
)

// CreateOptions say what a new execution is made from.
type CreateOptions struct {
	execution.Options
	Workspace string // empty is agentRoot in the execution
	Data      string // absolute; linked into the workspace; may be empty
	HankPath  string
	Output    string // absolute; may be empty

	Replay  string // what its runs replay
	Sandbox string // what --sandbox says; empty: it was not given
	Version string // of hank

	OutputIsSetting bool // Output is that of a setting, and not of an option
}

// Create makes an execution at root and opens it. The steps, each durable
// before the next:
//
//  1. The directory of the execution, hank's own in it, and the workspace.
//  2. The locks. If there is an execution by now, because another process was
//     faster or an earlier creation was interrupted, it is opened instead.
//  3. A .gitignore that hides hank's directory, the meta, and the journal with its
//     first event: an empty state. From here on there is an execution, and
//     Open repairs whatever is missing.
//  4. The store; the data's link.
//
// What a failed creation has made is gone again: nothing has happened in it.
func Create(ctx context.Context, root string, o CreateOptions) (*execution.Execution, error) {
	o.Options = o.Options.WithDefaults()
	l := layout.Layout{Root: root, Workspace: o.Workspace}
	if l.Workspace == "" {
		l.Workspace = layout.DefaultWorkspace(root)
	}
	for _, path := range []string{root, l.Workspace, o.Data, o.HankPath, o.Output} {
		if err := layout.Nameable(path); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(lock.MayActIn(root, o.Workspace), layout.Obstructed(root)); err != nil {
		return nil, err
	}
	made, err := makeDirs(o.FS, l)
	if err != nil {
		made.remove(o.FS)
		return nil, fmt.Errorf("creating the execution in %s: %w", root, err)
	}
	k, err := lock.Acquire(o.FS, l, o.Command, o.BreakLock, o.Now(), o.FullDisk)
	if err != nil {
		var held *lock.HeldError
		if !errors.As(err, &held) || held.Path != l.Hankweave() { // else it is somebody's now
			made.remove(o.FS)
		}
		return nil, err
	}
	if layout.ExistsIn(o.FS, root) {
		if err := k.Release(); err != nil {
			return nil, err
		}
		o.Options.Workspace = o.Workspace
		return Open(ctx, root, o.Options)
	}
	x := &execution.Execution{Layout: l, Opts: o.Options, FS: o.FS, Lock: k, Report: finding.Report{Source: "new"}}
	err = create(x, o)
	if err == nil {
		err = finishOpen(ctx, x, githistory.Comparison{})
	}
	if err != nil {
		return nil, unmake(x, made, err)
	}
	return x, nil
}

// ofCreation are what hank's directory may hold without an execution: a creation that was killed
// leaves them, and logs is there before a detached run begins.
var ofCreation = []string{".gitignore", ".gitignore.tmp", "runtime.lock", "runtime.lock.tmp", "execution-meta.json.tmp", "logs"}

// Remains says what shows that the directory root, in which there is no execution, may
// have held one: a workspace with files, an archive, a directory of hank's with
// something in it, or an empty one where this machine knows of an execution. Empty:
// nothing does. elsewhere: the workspace is to be another directory.
func Remains(root string, elsewhere bool) string {
	l := layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}
	for _, dir := range []string{l.Workspace, l.Archive()} {
		if dir == l.Workspace && elsewhere {
			continue
		}
		if n := entriesIn(dir); n > 0 {
			return fmt.Sprintf("%s has %s in it", dir, layout.Entries(n))
		}
	}
	list, err := os.ReadDir(l.Hankweave())
	if err != nil {
		return ""
	}
	if slices.ContainsFunc(list, func(e fs.DirEntry) bool {
		return !slices.Contains(ofCreation, e.Name()) && !layout.IsEmptyTree(filepath.Join(l.Hankweave(), e.Name()))
	}) {
		return fmt.Sprintf("%s has something in it, but neither state nor journal nor checkpoints", l.Hankweave())
	}
	known, _ := registry.List()
	if slices.ContainsFunc(known, func(e registry.Entry) bool { return e.Root == root }) {
		return fmt.Sprintf("there was an execution, and %s is empty", l.Hankweave())
	}
	return ""
}

// entriesIn counts what is in a directory besides the data. One that cannot be read is
// found by whoever needs it.
func entriesIn(dir string) int {
	list, _ := os.ReadDir(dir)
	return len(slices.DeleteFunc(list, func(e fs.DirEntry) bool { return e.Name() == layout.DataName }))
}

// dirs are those that a creation has made, the outer ones first.
type dirs []string

// makeDirs makes the directories that can be locked, and those they lie in.
func makeDirs(fsys vfs.FS, l layout.Layout) (made dirs, err error) {
	for _, f := range []struct {
		path string
		perm fs.FileMode
	}{{l.Root, 0o755}, {l.Hankweave(), 0o700}, {l.Workspace, 0o755}} {
		var missing dirs
		for at := f.path; ; at = filepath.Dir(at) {
			if _, err := fsys.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
				break
			}
			missing = append(dirs{at}, missing...)
		}
		made = append(made, missing...)
		if err := vfs.MkdirAll(fsys, f.path, f.perm); err != nil {
			return made, err
		}
	}
	return made, nil
}

// remove removes the directories again, those that are empty.
func (made dirs) remove(fsys vfs.FS) {
	for _, dir := range slices.Backward(made) {
		_ = fsys.Remove(dir) // one that is not empty has become somebody's
	}
}

// unmake ends a creation that has failed, and takes away what it has made.
func unmake(x *execution.Execution, made dirs, why error) error {
	err := x.CloseAll(nil).ErrorOrNil()
	if slices.Contains(made, x.Layout.Hankweave()) && x.Held() == nil {
		if to, readErr := os.Readlink(x.Layout.Data()); readErr == nil && to == x.Metadata.ReadOnlySourceDataPath {
			_ = x.FS.Remove(x.Layout.Data())
		}
		_ = vfs.RemoveTree(x.FS, x.Layout.Hankweave()) // as far as it can be
		made.remove(x.FS)
	}
	return errors.Join(why, err, x.Lock.Release())
}

func create(x *execution.Execution, o CreateOptions) error {
	if err := layout.MakeOwnDirs(x.FS, x.Layout); err != nil {
		return fmt.Errorf("creating the execution: %w", err)
	}
	now := state.At(o.Now())
	meta := layout.Meta{Version: layout.MetaVersion, ReadOnlySourceDataPath: o.Data, HankPath: o.HankPath,
		CreatedAt: now, LastUsed: now, HankweaveVersion: o.Version, Environment: layout.Here(),
		Root: x.Layout.Root, Output: o.Output, OutputIsSetting: o.OutputIsSetting, Replay: o.Replay, Sandbox: o.Sandbox}
	meta.SetLineage(layout.NewID(16))
	if o.Data != "" {
		meta.LinkType = "symlink"
		if resolved, err := filepath.EvalSymlinks(o.Data); err == nil {
			meta.ResolvedDataPath = resolved
		}
	}
	if x.Layout.Workspace != layout.DefaultWorkspace(x.Layout.Root) {
		meta.Workspace = x.Layout.Workspace
	}
	begun := &state.State{Lineage: meta.Lineage}
	if o.Limit != nil { // with the first event: there is no moment without them
		begun.Limits, meta.CheckpointCap, x.AllowedBefore = o.Limit(state.Limits{}), o.CheckpointCap, &execution.Allowances{}
	}
	meta.Inode, _ = layout.InodeOf(x.Layout.Hankweave())
	if err := layout.WriteMeta(x.FS, x.Layout.Meta(), meta); err != nil {
		return fmt.Errorf("writing execution-meta.json: %w", err)
	}
	x.Metadata = meta
	x.Current.Store(begun)
	if err := openJournal(x, load.Result{State: x.State(), Rebase: "a new execution"}); err != nil {
		return err
	}
	if begun.Limits.Any() { // the event is for who reads events
		if err := x.Record(state.LimitsSet{Limits: begun.Limits}); err != nil {
			return err
		}
	}
	return makeStore(x, fs.ErrNotExist)
}

func storeOptions(x *execution.Execution) checkpoint.Options {
	return checkpoint.Options{FS: x.FS, Dir: x.Layout.Store(), CacheFile: x.Layout.StatCache(), BootID: x.Lock.Info.Process.BootID, Now: x.Opts.Now}
}

// openStore opens the checkpoint store. One that is not there, or is none, is for makeStore.
func openStore(x *execution.Execution) error {
	store, err := checkpoint.Open(storeOptions(x))
	if err == nil {
		x.Store = store
	}
	return err
}

// makeStore makes the store that could not be opened. Where checkpoints are
// lost with it the user must agree (ReplaceStore).
func makeStore(x *execution.Execution, why error) error {
	var damaged *checkpoint.DamagedError
	if !errors.As(why, &damaged) && !errors.Is(why, fs.ErrNotExist) {
		return why
	}
	if lost := lostStore(x.Layout, x.State(), why); lost != nil && !x.Opts.ReplaceStore {
		return lost
	}
	return newStore(x, why)
}

// lostStore asks what is to become of an execution whose store cannot be used; nil: no
// checkpoint is lost with it.
func lostStore(l layout.Layout, s *state.State, why error) *finding.DecisionError {
	if execution.Head(s) == "" && s.Intent == nil {
		return nil
	}
	return needStore(l, why)
}

func needStore(l layout.Layout, why error) *finding.DecisionError {
	what := "the checkpoint store " + l.Store() + " is gone"
	if damaged := new(checkpoint.DamagedError); errors.As(why, &damaged) { // which may not exist, too: it lacks something
		what = "the checkpoint store " + l.Store() + " is damaged: " + damaged.Why
	}
	return execution.NeedStore(l, what, execution.AllLost)
}

// newStore begins a store in the place of one that cannot be used. A damaged
// one may be said not to exist, too: it lacks something.
func newStore(x *execution.Execution, why error) error {
	if _, err := x.FS.Lstat(x.Layout.Store()); err == nil {
		if err := x.QuarantineFile(x.Layout.Store(), why); err != nil {
			return err
		}
	}
	o := storeOptions(x)
	if err := vfs.MkdirAll(x.FS, filepath.Dir(o.Dir), 0o700); err != nil {
		return err
	}
	var err error
	x.Store, err = checkpoint.Init(o)
	return err
}

// openWorkspace opens the agents' directory.
func openWorkspace(x *execution.Execution) error {
	var err error
	x.Workspace, err = x.Layout.OpenWorkspace()
	return err
}

// clearUp ends a restore that was killed, perhaps of another execution: what it
// had taken aside is in no checkpoint until it is back. Where it cannot, the next
// move fails and says so.
func clearUp(x *execution.Execution) {
	kept, refused, err := restore.ClearUp(x.Store, x.Workspace)
	for _, path := range kept {
		x.Report.Add(finding.Mended, "a restore was interrupted that had moved a file aside, and another one is in its place: it is now %q", path)
	}
	for _, r := range refused {
		x.Report.Add(finding.Warning, "a restore had been interrupted: %q %s; remove it by hand", r.Path, r.Why)
	}
	if err != nil {
		x.Opts.Warn("warning: " + err.Error())
	}
}

// makeWorkspace makes sure that there is a workspace. Only the meta says where
// one is that does not lie in the execution.
func makeWorkspace(l layout.Layout, m layout.Meta, metaErr error, rep *finding.Report) error {
	if err := blockedWorkspace(l, m, metaErr); err != nil {
		return err
	}
	if _, err := os.Stat(l.Workspace); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	missingWorkspace(l).report(rep)
	return os.MkdirAll(l.Workspace, 0o755)
}

// restoring is a question about the workspace with the command that brings its files
// back: a run does nothing where the hank is completed, or where its codon has failed.
func restoring(e *finding.DecisionError, s *state.State, done bool) *finding.DecisionError {
	r, moved := s.Newest(), s.Position != nil && s.Position.EndOf == ""
	switch {
	case e == nil:
	case done:
		e.Command = strings.Replace(e.Command, "hank run --restore", "hank rollback --to last-success --yes", 1)
	case r != nil && r.Status == state.StatusFailed && r.Len() > 0 && r.Codon(r.Len()-1).Status == state.Failed && r.Codon(r.Len()-1).Interrupted == "" && !moved:
		e.Command = strings.Replace(e.Command, "hank run --restore", "hank retry --restore", 1)
	}
	return e
}

// missingWorkspace is what becomes of a workspace that is not there. For a reader it is
// a warning: the user may have it elsewhere.
func missingWorkspace(l layout.Layout) Repair {
	return Repair{Severity: finding.Mended, Ahead: finding.Warning, Found: fmt.Sprintf("the workspace %s is gone", l.Workspace),
		Will: "its files are in the checkpoints: `hank doctor` names the command that brings them back", Did: "an empty one was made, its files are in the checkpoints"}
}

// unreadableMeta is what becomes of an execution-meta.json that cannot be read.
func unreadableMeta(why error) Repair {
	return Repair{Severity: finding.Mended, Found: fmt.Sprintf("execution-meta.json cannot be read (%v)", why),
		Will: "the next command writes it again", Did: "it is written again"}
}

// blockedWorkspace says what the user must do before anything can be done in the workspace; nil: nothing.
func blockedWorkspace(l layout.Layout, m layout.Meta, metaErr error) *finding.DecisionError {
	fi, err := os.Lstat(l.Workspace)
	there, followErr := os.Stat(l.Workspace)
	switch {
	case followErr == nil && there.IsDir():
		return layout.ClosedWorkspace(l)
	case err == nil:
		return &finding.DecisionError{What: fmt.Sprintf("%s is where the workspace %s must be", layout.What(l.Workspace, fi), l.Workspace),
			Options: []string{"put the directory back", "move away what is there; the files come back from the last checkpoint with `hank run --restore`, after a failed codon with `hank retry --restore`, and with `hank rollback --to last-success --yes` where the hank is completed"},
			Command: fmt.Sprintf("mv %s %s && hank run --restore", shell.Quote(l.Workspace), shell.Quote(layout.Unused(l.Workspace+".aside")))}
	case !errors.Is(err, fs.ErrNotExist):
		return nil // whoever opens it says why
	case m.Workspace != "":
		return &finding.DecisionError{What: "the workspace " + l.Workspace + " is gone", Options: []string{"put it back", "`hank rollback --to last-success --yes` after making an empty directory there restores its checkpointed files"}}
	case metaErr != nil && layout.Exists(l.Root):
		return &finding.DecisionError{What: fmt.Sprintf("it cannot be told where the workspace of %s is: %v", l.Root, metaErr),
			Options: []string{"`hank run --workspace DIR` names it", "make an empty directory " + l.Workspace + " if that is where it was; its files are in the checkpoints"}}
	}
	return nil
}
