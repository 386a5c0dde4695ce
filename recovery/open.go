package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/recovery/lock"
	"hank/state"
	"hank/state/journal"
	"hank/state/snapshot"
)

// Open takes an execution, brings it into order and returns it. What it found
// and did is in Report. The order:
//
//  1. The locks. Another runtime: *HeldError. What stands where hank's own
//     folders and files must be is set aside.
//  2. The state, from the furthest verified of state.json, its backup and the
//     journal (recall), and of git (advise), which knows every checkpoint. A
//     newer hank's: *state.NewerError, nothing written. Nothing at all left:
//     *DecisionError, until Fresh allows to begin anew. A state of Hankweave's
//     is adopted (foreign.go).
//  3. The store: without it no checkpoint can be made. One that is gone or
//     damaged: *DecisionError, until ReplaceStore allows a new one.
//  4. The journal: healed, or begun anew from the state where it is damaged
//     or behind; what was damaged goes to quarantine.
//  5. The branches (heed): a tip that the journal just missed is rolled
//     forward; one that nobody knows moves to recovery/.
//  6. A change of the workspace that a crash cut short is finished.
//  7. Runs whose process is proven gone are closed (markCrashes).
func Open(ctx context.Context, root string, o execution.Options) (*execution.Execution, error) {
	o = o.WithDefaults()
	if err := layout.Nameable(root); err != nil {
		return nil, err
	}
	if err := lock.MayActIn(root, o.Workspace); err != nil {
		return nil, err
	}
	if mark, cut := importing(o.FS, root); cut && o.Refill == nil {
		return nil, importCut(root, mark)
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
		if v, lookErr := Glance(root); lookErr == nil && v.Blocked != nil { // the state has a say in what is to be done
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
	x := &execution.Execution{Layout: l, Opts: o, FS: o.FS, Metadata: meta, Lock: k, Report: rep, Settled: true}
	if err := open(ctx, x); err != nil {
		return nil, errors.Join(err, x.DisallowOnQuestion(err), x.GiveBack(nil))
	}
	return x, nil
}

func open(ctx context.Context, x *execution.Execution) error {
	m, err := load.Recall(x.FS, x.Layout, x.Metadata.Lineage, x.Lock.Info.Process.BootID, &x.Report)
	if err != nil {
		return fmt.Errorf("reading the state: %w", err)
	}
	x.Files, x.OnDisk = m.Files, m.OnDisk
	if m.Foreign {
		if err := respectRunning(x, m.State); err != nil {
			return err
		}
	}
	if err := x.ClearWay(); err != nil {
		return fmt.Errorf("setting aside what is in the way: %w", err)
	}
	if err := layout.MakeOwnFolders(x.FS, x.Layout); err != nil {
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
	if err := openJournal(x, m); err != nil {
		return err
	}
	return attach(ctx, x, a)
}

// openJournal opens the journal for writing, or begins it anew.
func openJournal(x *execution.Execution, m load.Memory) error {
	if m.Apart {
		if err := x.SetAside(x.Layout.Events(), errors.New("it is the journal that Hankweave kept, whole and not damaged; hank's own begins with the state that it led to")); err != nil {
			return err
		}
		if err := vfs.MkdirAll(x.FS, x.Layout.Events(), 0o700); err != nil {
			return err
		}
	}
	if m.Found == nil {
		base, err := x.BaseEvent(m.State, max(m.State.Seq, m.High)+1, m.Rebase)
		if err != nil {
			return err
		}
		x.Journal, err = journal.Create(x.FS, x.Layout.Events(), base.Seq-1, base)
		return err
	}
	j, err := journal.OpenFound(x.FS, x.Layout.Events(), *m.Found, x.Quarantine)
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

// attach is what Create and Open have in common: what git advises, the saver,
// and bringing the workspace into order.
func attach(ctx context.Context, x *execution.Execution, a githistory.Advice) error {
	// What a codon has left there is for SameWorkspace: its agent may still be ended.
	if blocked := x.Metadata.Replaced(x.Layout, x.State(), func(*state.Run) bool { return false }); blocked != nil {
		return restoring(blocked, x.State().Next() == len(x.State().ExecutionPlan()))
	}
	if err := openWorkspace(x); err != nil {
		return err
	}
	clearUp(x)
	if x.Store != nil {
		if err := x.KeepLeftOut(); err != nil {
			return err
		}
	}
	branches, _, err := planBranches(x.Store, x.State(), a)
	if err != nil {
		return fmt.Errorf("comparing the branches with the state: %w", err)
	}
	if err := applyAll(ctx, x, branches); err != nil {
		return err
	}
	x.Settled = false
	defer func() { x.Settled = true }()
	inode, err := layout.InodeOf(x.Layout.Hankweave())
	if err != nil {
		return err
	}
	if err := relocate(x, inode); err != nil {
		return err
	}
	if err := startSaver(x); err != nil {
		return err
	}
	x.Merger = execution.NewMerger(x.Store, x.Opts.Warn)
	if err := errors.Join(renewMeta(x, inode), x.LinkData()); err != nil {
		return err
	}
	dropEmptyRuns(x)
	if err := repairStore(ctx, x); err != nil {
		return err
	}
	if err := handOver(ctx, x); err != nil {
		return err
	}
	intent, _ := planIntent(x.State(), nil) // whether it can be finished shows in the attempt
	if err := applyAll(ctx, x, intent); err != nil {
		return err
	}
	return endRuns(ctx, x)
}

// dropEmptyRuns removes the folders of runs that a crash kept from beginning.
// What holds anything stays, and so does what cannot be removed.
func dropEmptyRuns(x *execution.Execution) {
	folders, err := x.FS.ReadDir(x.Layout.Runs())
	if err != nil {
		return
	}
	known := map[string]bool{}
	for _, r := range x.State().Runs {
		known[string(r.RunID)] = true
	}
	for _, folder := range folders {
		if folder.IsDir() && !known[folder.Name()] {
			_ = x.FS.Remove(x.Layout.RunFolder(state.RunID(folder.Name())))
		}
	}
}

// startSaver begins to keep state.json. What is damaged of it, or of another
// execution, or was left by an interrupted save, goes to quarantine: there is
// a whole state now.
func startSaver(x *execution.Execution) error {
	snaps := &snapshot.Store{FS: x.FS, Path: x.Layout.State(), Verify: func(text []byte) error { return ownState(x, text) }, Quarantine: x.SetAside}
	v := &execution.Saver{Store: snaps, Serial: x.State().Serial, Held: x.Held, OnDisk: x.OnDisk}
	v.Saved = func(s *state.State, end journal.Place) {
		if x.Held() == nil { // else it would be written into somebody else's folder
			load.WriteHead(x.FS, x.Layout, x.Lock.Info.Process.BootID, s, end)
		}
	}
	v.Failed = func(err error) {
		var lost *lock.LostError
		if errors.As(err, &lost) {
			return // the next transition says it, and ends the run
		}
		x.Opts.Warn(fmt.Sprintf("%v; the journal holds everything, and the next save tries again", err))
	}
	x.Saver = v.Start()
	if err := snaps.SetAside(notOurs(x)); err != nil {
		return err
	}
	x.Saver.Ask(x.State(), x.Journal.End(), true)
	return nil
}

// notOurs returns what opening has found of state.json and its backup. What is
// whole, but of another execution, is as bad as damaged.
func notOurs(x *execution.Execution) []snapshot.Candidate {
	list := make([]snapshot.Candidate, len(x.Files))
	for i, f := range x.Files {
		list[i] = f.Candidate
		if err := ours(x, f.Lineage); f.Err == nil && err != nil {
			list[i].Err = &snapshot.DamagedError{Path: f.Path, Err: err}
		}
	}
	return list
}

// ownState tells whether a text is a whole state of this execution. Of one that
// hank wrote, the digest vouches for its lineage.
func ownState(x *execution.Execution, text []byte) error {
	if err := state.Verify(text); err != nil {
		return err
	}
	lineage, _ := state.Peek(text)
	return ours(x, lineage)
}

// ours tells whether a lineage is this execution's, or that of another system,
// which has none.
func ours(x *execution.Execution, lineage string) error {
	if lineage != "" && lineage == x.Origin {
		return execution.ErrOfOrigin
	}
	if lineage != "" && lineage != x.State().Lineage {
		return fmt.Errorf("it is of another execution (lineage %.8s)", lineage)
	}
	return nil
}
