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
func regain(ctx context.Context, x *execution.Execution) error {
	p := &branchPlan{store: x.Store, state: x.State()}
	if err := p.readRefs(); err != nil {
		return err
	}
	if err := p.restoreRefs(false); err != nil {
		return err
	}
	return applyAll(ctx, x, p.repairs)
}

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
