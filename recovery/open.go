package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/recovery/lock"
	"hank/state"
	"hank/state/journal"
)

// Open takes an execution, brings it into order and returns it. What it found and did is
// in Report. The order:
//
//  1. The locks. Another runtime: *HeldError. What was read before them is read again: where
//     another command has changed it meanwhile, the opening begins again. (lock.written)
//  2. The state, from the furthest verified of state.json, its backup and the journal
//     (load.Load). A newer hank's: *state.NewerError; only the
//     lock's file, and a workspace that was missing, are written by then. Then whatever is in
//     the way of hank's own directories goes to quarantine, the store is opened, and git is
//     asked (consultGit), which knows every checkpoint. Nothing at all left: *DecisionError,
//     until Fresh allows to start from scratch. A state of Hankweave's is adopted.
//  3. A store where there is none: without it no checkpoint can be made. Where checkpoints
//     are lost with the old one: *DecisionError, until ReplaceStore allows a new one.
//  4. The journal: healed, or begun again from the state where it is damaged or
//     behind; what was damaged goes to quarantine.
//  5. The stages, in the order of their list: the indexes of packs; the branches; where the execution is now;
//     the newest checkpoint; the hand-over from Hankweave; a change of the workspace
//     that was interrupted; runs that are over (isOver) or paused.
//
// Readers (Read, ReadSummary) take the same state and go through the same stages.
func Open(ctx context.Context, root string, o execution.Options) (*execution.Execution, error) {
	o = o.WithDefaults()
	if err := layout.Nameable(root); err != nil {
		return nil, err
	}
	if err := cmp.Or(lock.MayActIn(root, o.Workspace), interrupted(root, o)); err != nil {
		return nil, err
	}
	rep := finding.Report{}
	meta, metaErr := layout.ReadMetaFile(o.FS, layout.Layout{Root: root}.Meta())
	l := layout.Layout{Root: root, Workspace: layout.ResolveWorkspace(meta, root)}
	if metaErr != nil {
		unreadableMeta(metaErr).report(&rep)
		if o.Workspace != "" {
			l.Workspace = o.Workspace
		}
	}
	meta.Doubt(&rep)
	if err := layout.CheckOwner(l); err != nil {
		return nil, err
	}
	if err := makeWorkspace(l, meta, metaErr, &rep); err != nil {
		if v, lookErr := ReadSummary(root); lookErr == nil && v.Blocked != nil { // the state has a say in what is to be done
			err = v.Blocked
		}
		return nil, err
	}
	if err := lock.RespectUnreadable(o.FS, l, meta); err != nil {
		return nil, err
	}
	k, err := lock.Acquire(o.FS, l, o.Command, o.BreakLock, o.Now(), o.FullDisk)
	if err != nil {
		return nil, err
	}
	now, err := layout.ReadMetaFile(o.FS, l.Meta())
	if interrupted(root, o) != nil || (err == nil) != (metaErr == nil) || !reflect.DeepEqual(now, meta) { // another command was faster
		if err := k.Release(); err != nil {
			return nil, err
		}
		return Open(ctx, root, o)
	}
	x := &execution.Execution{Layout: l, Opts: o, FS: o.FS, Metadata: meta, Lock: k, Report: rep}
	if err := open(ctx, x); err != nil {
		return nil, errors.Join(err, x.DisallowOnQuestion(err), x.CloseAndUnlock(nil))
	}
	return x, nil
}

func open(ctx context.Context, x *execution.Execution) error {
	m, err := load.Load(x.FS, x.Layout, x.Metadata.Lineage, x.Lock.Info.Process.BootID, &x.Report)
	if err != nil {
		return fmt.Errorf("reading the state: %w", err)
	}
	x.Files, x.OnDisk = m.Files, m.OnDisk
	if m.Foreign {
		if err := respectRunning(x, m.State); err != nil {
			return err
		}
	}
	if err := x.QuarantineObstacles(); err != nil {
		return fmt.Errorf("setting aside what is in the way: %w", err)
	}
	if err := layout.MakeOwnDirs(x.FS, x.Layout); err != nil {
		return err
	}
	storeErr := openStore(x)
	if x.Opts.Refill != nil {
		if storeErr, err = refill(ctx, x, storeErr); err != nil {
			return err
		}
	}
	a, err := consultGit(&m, x.Store, &x.Report)
	if err != nil {
		return err
	}
	reportJournal(m, &x.Report)
	if m.State == nil {
		if err := beginState(x, &m, storeErr); err != nil {
			return err
		}
	}
	if m.State.Lineage == "" { // another system's state becomes ours
		named := *m.State
		named.Lineage = cmp.Or(x.Metadata.Lineage, layout.NewID(16))
		m.State = &named
	}
	x.Report.Source = m.Source
	x.Current.Store(m.State)
	if storeErr != nil {
		if err := makeStore(x, storeErr); err != nil {
			return err
		}
	}
	x.LearnSecrets()
	if err := openJournal(x, m); err != nil {
		return err
	}
	return finishOpen(ctx, x, a)
}

// openJournal opens the journal for writing, or begins it again.
func openJournal(x *execution.Execution, m load.Result) error {
	if m.Apart {
		if err := x.QuarantineFile(x.Layout.Events(), errors.New("it is the journal that Hankweave kept, whole and not damaged; hank's own begins with the state that it led to")); err != nil {
			return err
		}
		if err := vfs.MkdirAll(x.FS, x.Layout.Events(), 0o700); err != nil {
			return err
		}
	}
	if m.Found == nil {
		base, next, err := x.BaseEvent(m.State, max(m.State.Seq, m.High)+1, m.Rebase)
		if err != nil {
			return err
		}
		if x.Journal, err = journal.Create(x.FS, x.Layout.Events(), base.Seq-1, base); err != nil {
			return err
		}
		x.Current.Store(next)
		return nil
	}
	j, err := journal.OpenFound(x.FS, x.Layout.Events(), *m.Found, x.QuarantineCopy)
	if err != nil {
		return err
	}
	x.Journal = j
	layout.KeepKnown(x.FS, x.Layout, m.Found, x.Lock.Info.Process.BootID)
	if m.Rebase == "" {
		return nil
	}
	return rebase(x, m.State, max(m.State.Seq, m.Found.Highest)+1, m.Rebase)
}

// finishOpen is what Create and Open have in common: the workspace and the stages.
func finishOpen(ctx context.Context, x *execution.Execution, a githistory.Comparison) error {
	// What a codon has left there is for sameWorkspace: its agent may still be ended.
	if blocked := x.Metadata.Replaced(x.Layout, x.State(), func(*state.Run) bool { return false }); blocked != nil {
		return restoring(blocked, x.State(), x.State().Next() == len(x.State().ExecutionPlan()))
	}
	if err := openWorkspace(x); err != nil {
		return err
	}
	clearUp(x)
	if err := x.KeepLeftOut(); err != nil {
		return err
	}
	defer func() { x.AllowanceDue = false }()
	return goThroughStages(ctx, x, a)
}
