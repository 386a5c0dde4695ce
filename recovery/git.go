package recovery

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/repair"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/state"
)

// heed carries out what git advises, once the journal is open: tips that
// nobody knows move to recovery branches, a checkpoint whose acknowledgement
// was cut off is acknowledged, and every branch leads to where the state has
// it.
func heed(x *execution.Execution, a githistory.Advice) error {
	for _, l := range a.Lost {
		misled := misled(a, x.Store, x.State(), l)
		if !githistory.OfHistory(l.Branch) && !misled {
			continue // when its objects come back, nothing but the reference leads to them
		}
		if err := dropTip(x, l, misled); err != nil {
			return err
		}
	}
	if err := keepStrays(x, a.Strays); err != nil {
		return err
	}
	for _, w := range a.Evict {
		if err := evict(x, w); err != nil {
			return err
		}
	}
	if a.Forward != nil {
		if err := rollForward(x, *a.Forward); err != nil {
			return err
		}
	}
	return mendBranches(x, a.Behind)
}

// rollForward appends the event that a crash cut off. A checkpoint that does
// not follow from the state is not acknowledged after all.
func rollForward(x *execution.Execution, w githistory.Witness) error {
	t, err := w.Record.Transition(w.SHA)
	if err != nil {
		return evict(x, w)
	}
	var illegal *state.IllegalMoveError
	if err := x.Record(t); errors.As(err, &illegal) {
		return evict(x, w)
	} else if err != nil {
		return err
	}
	x.Report.Add(finding.Mended, "checkpoint %.12s was complete when hank ended, and is acknowledged now", w.SHA)
	return nil
}

// evict keeps a tip on a recovery branch and puts its own branch back. A tip
// that the branch has only fallen back to needs no keeping.
func evict(x *execution.Execution, w githistory.Witness) error {
	back := githistory.KnownHeads(x.State())[w.Branch]
	if back != "" && !isWhole(x, back) {
		return nil // nothing to put it back to
	}
	if behind, err := leadsTo(x, back, w.SHA); err != nil {
		return err
	} else if behind {
		x.Report.Add(finding.Mended, "branch %s had fallen back to checkpoint %.12s; it leads to %.12s again", w.Branch, w.SHA, back)
	} else {
		if err := x.Store.SetRef(githistory.Heads+x.RecoveryBranch(), "", checkpoint.SHA(w.SHA)); err != nil {
			return err
		}
		x.Report.Add(finding.Mended, "checkpoint %.12s on %s was never acknowledged; it is kept on a recovery branch", w.SHA, w.Branch)
	}
	return x.Store.SetRef(githistory.Heads+w.Branch, checkpoint.SHA(w.SHA), checkpoint.SHA(back))
}

// leadsTo tells whether a commit has another among its first parents.
func leadsTo(x *execution.Execution, from, to state.SHA) (bool, error) {
	found := false
	err := x.Store.Log(checkpoint.SHA(from), func(info checkpoint.Info) (bool, error) {
		found = state.SHA(info.SHA) == to
		return !found, nil
	})
	if checkpoint.IsMissing(err) {
		err = nil
	}
	return found, err
}

// dropTip removes a branch whose checkpoint cannot be read. What it led to is
// written down; when the objects come back, so does the branch. A reference that
// was damaged into another name has lost nothing: see keepStrays and mendBranches.
func dropTip(x *execution.Execution, l githistory.LostTip, misled bool) error {
	if misled {
		x.Report.Add(finding.Mended, "branch %s led to checkpoint %.12s, which is not there", l.Branch, l.SHA)
	} else {
		x.Report.Add(finding.Lost, "checkpoint %.12s, the newest of branch %s, cannot be read (%s)", l.SHA, l.Branch, cause(l.Why))
	}
	if err := noteReference(x, githistory.Heads+l.Branch, checkpoint.SHA(l.SHA), l.Why); err != nil {
		return err
	}
	return x.Store.SetRef(githistory.Heads+l.Branch, checkpoint.SHA(l.SHA), "")
}

// misled tells whether a branch that leads to nothing is known to belong
// elsewhere. Of a branch of the history a state knows it that is not behind; the
// others go to the newest that is left of them.
func misled(a githistory.Advice, store *checkpoint.Store, s *state.State, l githistory.LostTip) bool {
	back := a.Strays[l.Branch]
	if at, known := githistory.KnownHeads(s)[l.Branch]; known {
		if a.Behind && githistory.OfHistory(l.Branch) {
			return false
		}
		back = at
	}
	return back != "" && back != l.SHA && githistory.IsWhole(store, back)
}

// keepStrays puts back the recovery branches whose references are gone; those of
// the history follow from the state.
func keepStrays(x *execution.Execution, strays map[string]state.SHA) error {
	refs, _, err := x.Store.ReadableRefs(githistory.Heads)
	if err != nil {
		return err
	}
	for branch, tip := range strays {
		if githistory.OfHistory(branch) || refs[githistory.Heads+branch] != "" || x.State().RemovedAt(branch) != nil || !isWhole(x, tip) {
			continue
		}
		if err := x.Store.SetRef(githistory.Heads+branch, "", checkpoint.SHA(tip)); err != nil {
			return err
		}
		x.Report.Add(finding.Mended, "branch %s was gone; it leads to checkpoint %.12s again, the newest that is left of it", branch, tip)
	}
	return nil
}

// setAsideDamagedRefs takes files that hold no reference out of the way.
func setAsideDamagedRefs(x *execution.Execution) error {
	_, damaged, err := x.Store.ReadableRefs("refs/")
	if err != nil {
		return err
	}
	for _, d := range damaged {
		if err := x.SetAside(d.Path, d); err != nil {
			return err
		}
	}
	return nil
}

// mendBranches puts back every branch that is gone, or has fallen back, although
// the state knows its tip and the store has it. Without its branch a checkpoint would be
// garbage. Of a state that may be behind nobody knows whether a newer one was
// lost with the branch.
func mendBranches(x *execution.Execution, behind bool) error {
	refs, err := x.Store.Refs(githistory.Heads)
	if err != nil {
		return err
	}
	for branch, head := range githistory.KnownHeads(x.State()) {
		at := refs[githistory.Heads+branch]
		if head == "" || at != "" && !behind || at == checkpoint.SHA(head) || x.State().RemovedAt(branch) != nil || !isWhole(x, head) {
			continue
		}
		if at != "" { // the history may have been rebuilt beyond it
			if fallen, err := leadsTo(x, head, state.SHA(at)); err != nil {
				return err
			} else if !fallen {
				continue
			}
		}
		if err := x.Store.SetRef(githistory.Heads+branch, at, checkpoint.SHA(head)); err != nil {
			return err
		}
		if at != "" {
			x.Report.Add(finding.Mended, "branch %s had fallen back to checkpoint %.12s; it leads to %.12s again", branch, at, head)
			continue
		}
		if !Begun(x.Store, branch, head) {
			continue // it was never there
		}
		newest := ""
		if behind {
			newest = ", the newest that is left of it"
		}
		x.Report.Add(finding.Mended, "branch %s was gone; it leads to checkpoint %.12s again%s", branch, head, newest)
	}
	return nil
}

// Begun reports whether a branch that leads to a checkpoint was ever there: that
// of a run is made with the run's first checkpoint, and until then the state may
// have for it the rig checkpoint of the attempt that the run goes on with.
func Begun(store execution.Commits, branch string, head state.SHA) bool {
	run, ofRun := strings.CutPrefix(branch, "run-")
	info, err := store.CommitInfo(checkpoint.SHA(head))
	title, _, _ := strings.Cut(info.Message, "\n")
	return !ofRun || err != nil || strings.Contains(title, " [run:"+run+"]")
}

// anchor makes sure that the next checkpoint has something to stand on. Where
// the newest one cannot be read, a person must put it back, or accept
// (ReplaceStore) that the history begins anew from the workspace as it is.
//
// With ReplaceStore the store is whole behind it: see partFromLost.
func anchor(ctx context.Context, x *execution.Execution) error {
	if !x.Opts.ReplaceStore {
		return stand(ctx, x)
	}
	if err := x.Store.DistrustCache(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{func(ctx context.Context) error { return salvage(ctx, x) }, func(ctx context.Context) error { return refillFromWorkspace(ctx, x) }, func(ctx context.Context) error { return stand(ctx, x) }, func(p0 context.Context) error { return regain(p0, x) }, func(ctx context.Context) error { return partFromLost(ctx, x) }} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// regain puts back branches whose newest checkpoints can be read again, before
// what is left of others takes their names.
func regain(_ context.Context, x *execution.Execution) error { return mendBranches(x, false) }

// stand is anchor's care for the newest checkpoint.
func stand(ctx context.Context, x *execution.Execution) error {
	head := x.Head()
	if head == "" {
		return nil
	}
	tree, err := x.Tree(head)
	if err == nil && x.Store.Has(tree) && (!x.Opts.ReplaceStore || isWhole(x, head)) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("its tree %.12s: %w", tree, checkpoint.ErrMissing)
	}
	if !checkpoint.IsMissing(err) {
		return fmt.Errorf("the newest checkpoint: %w", err)
	}
	if !x.Opts.ReplaceStore {
		return x.NeedStore(fmt.Sprintf("checkpoint %.12s, which the workspace was last at, cannot be read (%v)", head, err))
	}
	if i := x.State().Intent; i != nil {
		if err := giveUp(ctx, x, i, err); err != nil {
			return err
		}
	}
	snap, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, "")
	if err != nil {
		return err
	}
	const note = "the workspace as it was when earlier checkpoints had been lost"
	t := state.CheckpointCreated{Kind: state.KindManual, Branch: x.RecoveryBranch(), Base: true, Note: note}
	if r := x.State().Newest(); r != nil {
		t.RunID, t.Branch = r.RunID, r.GitBranch
	}
	sha, err := x.Commit(ctx, execution.Commit{Title: githistory.Title{Status: state.KindManual, RunID: t.RunID, Name: note}, Snapshot: snap, Branch: t.Branch, Transition: t})
	if err != nil {
		return err
	}
	x.Report.Add(finding.Lost, "checkpoint %.12s and perhaps others cannot be read; the workspace as it is became checkpoint %.12s, and the execution goes on from it", head, sha)
	return nil
}

// salvage puts damaged packs into quarantine, less what can still be read of
// them.
func salvage(ctx context.Context, x *execution.Execution) error {
	found, err := repair.Salvage(ctx, x.Store.DB, x.SetAside)
	for _, f := range found {
		switch name := filepath.Base(f.Pack); {
		case f.Lost == 0:
			x.Report.Add(finding.Mended, "%s is damaged (%s); all of its %d objects were saved into a new one, it is in quarantine", name, cause(f.Why), f.Saved)
		case f.Lost < 0:
			x.Report.Add(finding.Mended, "the index of %s is damaged (%s) and in quarantine; it was made anew if the pack is whole", name, cause(f.Why))
		default:
			x.Report.Add(finding.Lost, "%s is damaged (%s) and in quarantine; %d of its objects were saved, %d cannot be read", name, cause(f.Why), f.Saved, f.Lost)
		}
	}
	return err
}

// cause says why something cannot be read, without the path that it is known
// by and without advice.
func cause(err error) string {
	var damaged *checkpoint.DamagedError
	if !errors.As(err, &damaged) {
		return err.Error()
	}
	if damaged.Err != nil && !strings.Contains(damaged.Err.Error(), damaged.Path) {
		return damaged.Why + ": " + cause(damaged.Err)
	}
	return damaged.Why
}
