package recovery

import (
	"context"
	"fmt"
	"path/filepath"

	"hank/checkpoint"
	"hank/checkpoint/repair"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
)

// repairStore makes the store one that is whole without what is lost. The user has
// agreed to that (ReplaceStore): the history begins again from the workspace as it is
// where the newest checkpoint is lost.
func repairStore(ctx context.Context, x *execution.Execution) error {
	if err := x.Store.DistrustCache(); err != nil {
		return err
	}
	for _, step := range []func(context.Context, *execution.Execution) error{salvage, refillFromWorkspace, ensureHead, restoreBranches, truncateLostHistory} {
		if err := step(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// restoreBranches restores branches whose newest checkpoints can be read again, before
// what is left of others takes their names; also recovery branches whose references are gone.
func restoreBranches(ctx context.Context, x *execution.Execution) error {
	p := &branchPlan{store: x.Store, state: x.State()}
	if err := p.readRefs(); err != nil {
		return err
	}
	gone, err := (githistory.History{Store: x.Store}).Unreferenced()
	if err != nil {
		return err
	}
	p.restoreRecoveryBranches(gone)
	if err := p.restoreKnownBranches(false); err != nil {
		return err
	}
	return repairAll(ctx, x, p.repairs)
}

// readHead says why the newest checkpoint cannot be read; nil: it can be, or there is none.
func readHead(s *state.State, store *checkpoint.Store) error {
	head := execution.Head(s)
	if head == "" {
		return nil
	}
	info, err := store.CommitInfo(checkpoint.SHA(head))
	if err == nil && !store.Has(info.Tree) {
		err = fmt.Errorf("its tree %.12s: %w", info.Tree, checkpoint.ErrMissing)
	}
	return err
}

// needHead asks what is to become of an execution whose newest checkpoint is lost.
func needHead(l layout.Layout, s *state.State, why error) *finding.DecisionError {
	head := fmt.Sprintf("checkpoint %.12s", execution.Head(s))
	return execution.NeedStore(l, fmt.Sprintf("%s, which the workspace was last at, cannot be read (%v)", head, why), head+" cannot be recovered, and those that can be read remain")
}

// ensureHead makes sure that the next checkpoint has a parent that can be read.
func ensureHead(ctx context.Context, x *execution.Execution) error {
	head, err := x.Head(), readHead(x.State(), x.Store)
	switch {
	case err == nil && isWhole(x, head):
		return nil
	case err == nil:
		err = checkpoint.ErrMissing
	case !checkpoint.IsMissing(err):
		return fmt.Errorf("the newest checkpoint: %w", err)
	}
	if i := x.State().Intent; i != nil {
		if err := abandonIntent(ctx, x, i, err); err != nil {
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
	x.Report.Add(finding.Lost, "checkpoint %.12s (and possibly others) cannot be read; the current workspace was saved as checkpoint %.12s, and the execution continues from it", head, sha)
	return nil
}

// salvage puts damaged packs into quarantine, less what can still be read of them.
func salvage(ctx context.Context, x *execution.Execution) error {
	found, err := repair.Salvage(ctx, x.Store.DB, x.QuarantineFile)
	for _, f := range found {
		switch name := filepath.Base(f.Pack); {
		case f.Lost == 0:
			x.Report.Add(finding.Mended, "%s is damaged (%s); all of its %d objects were saved into a new one, it is in quarantine", name, cause(f.Why), f.Saved)
		case f.Lost < 0:
			x.Report.Add(finding.Lost, "%s is damaged (%s) and in quarantine with its index; which objects it had is not known, and none of them was saved", name, cause(f.Why))
		default:
			x.Report.Add(finding.Lost, "%s is damaged (%s) and in quarantine; %d of its objects were saved, %d cannot be read", name, cause(f.Why), f.Saved, f.Lost)
		}
	}
	return err
}
