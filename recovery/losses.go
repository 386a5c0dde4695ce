package recovery

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/repair"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/state"
)

// refillFromWorkspace stores again what is lost of the store and still in the workspace:
// what has not changed since gives old checkpoints back what they lack.
func refillFromWorkspace(ctx context.Context, x *execution.Execution) error {
	l, err := repair.FindMissing(ctx, x.Store.DB, nil)
	if err != nil || len(l.Cuts)+len(l.Tips) == 0 && isWhole(x, x.Head()) {
		return err
	}
	return storeWorkspace(ctx, x)
}

func storeWorkspace(ctx context.Context, x *execution.Execution, include ...string) error {
	if _, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, "", include...); err != nil {
		x.Store.Abort()
		return err
	}
	return x.Store.Flush(ctx)
}

// IsLeft reports whether the workspace can go back to a checkpoint: what is lost of
// it in the store is still in the workspace, and stored again.
func IsLeft(ctx context.Context, x *execution.Execution, sha state.SHA) (bool, error) {
	whole, err := x.Store.IsComplete(ctx, checkpoint.SHA(sha))
	if err != nil || whole {
		return whole, err
	}
	tree, err := x.Tree(sha)
	if err != nil {
		return false, nil // no file can bring that back
	}
	there, err := execution.Conflicts(x.Store, x.Workspace, "", tree) // ignored ones too
	if checkpoint.IsMissing(err) {
		there, err = nil, nil
	}
	if err != nil {
		return false, err
	}
	if err := storeWorkspace(ctx, x, there...); err != nil {
		return false, err
	}
	return x.Store.IsComplete(ctx, checkpoint.SHA(sha))
}

// isWhole reports whether a checkpoint and all that is in it can be read; there
// is nothing to be read of none.
func isWhole(x *execution.Execution, sha state.SHA) bool {
	return sha == "" || githistory.IsWhole(x.Store, sha)
}

// truncateLostHistory makes the store whole without what is lost, and names that:
//
//  1. What git cannot tell any more without what is lost is told by a checkpoint
//     of the whole state.
//  2. Commits that follow from what is lost become shallow, durably.
//  3. Branches whose newest checkpoint is lost go back to the nearest one that
//     is whole. Where they led to is written down in quarantine.
//  4. Checkpoints that are left, and that only what is lost has led to, get
//     their branch again, or a recovery branch.
//
// A crash in between leaves more losses for the next call, and never fewer
// checkpoints.
func truncateLostHistory(ctx context.Context, x *execution.Execution) error {
	known := githistory.KnownCheckpoints(x.State())
	shas := make([]checkpoint.SHA, len(known))
	branchOf := map[checkpoint.SHA]string{}
	for i, k := range known {
		shas[i] = checkpoint.SHA(k.SHA)
		branchOf[shas[i]] = k.Branch
	}
	l, err := repair.FindMissing(ctx, x.Store.DB, shas)
	if err != nil {
		return fmt.Errorf("looking for what is lost: %w", err)
	}
	if len(l.Cuts)+len(l.Tips)+len(l.Unreferenced) > 0 {
		if err := keepRecords(ctx, x); err != nil {
			return err
		}
	}
	if err := shorten(x, l.Cuts); err != nil {
		return err
	}
	for _, tip := range l.Tips {
		if err := moveLostTip(x, tip); err != nil {
			return err
		}
	}
	for _, sha := range l.Unreferenced {
		if err := keepUnreferenced(x, sha, branchOf[sha]); err != nil {
			return err
		}
	}
	if !x.Report.Has(finding.Lost) {
		return nil
	}
	return nameLost(ctx, x)
}

// shorten ends branches before what is lost.
func shorten(x *execution.Execution, cuts []checkpoint.SHA) error {
	cut, joined, err := repair.EndHistories(x.Store.DB, cuts)
	for _, sha := range cut {
		x.Report.Add(finding.Lost, "what came right before checkpoint %.12s cannot be read; the history now begins with it there", sha)
	}
	for _, sha := range joined {
		x.Report.Add(finding.Mended, "what came before checkpoint %.12s is there again", sha)
	}
	return err
}

func moveLostTip(x *execution.Execution, tip repair.LostTip) error {
	branch := strings.TrimPrefix(tip.Name, githistory.Heads)
	if err := noteReference(x, tip.Name, tip.SHA, githistory.ErrLostTip); err != nil {
		return err
	}
	if err := x.Store.SetRef(tip.Name, tip.SHA, tip.Nearest); err != nil {
		return err
	}
	if tip.Nearest == "" {
		x.Report.Add(finding.Lost, "checkpoint %.12s, the newest of branch %s, cannot be read whole; the branch is gone", tip.SHA, branch)
	} else {
		x.Report.Add(finding.Lost, "checkpoint %.12s, the newest of branch %s, cannot be read whole; the branch ends at %.12s, the nearest that can", tip.SHA, branch, tip.Nearest)
	}
	return nil
}

// noteReference writes down in quarantine where a reference has led to.
func noteReference(x *execution.Execution, name string, sha checkpoint.SHA, why error) error {
	return x.QuarantineCopy("reference", strings.NewReader(fmt.Sprintf("%s %s\n", sha, name)), why)
}

func keepUnreferenced(x *execution.Execution, sha checkpoint.SHA, branch string) error {
	at, err := x.Store.Ref(githistory.Heads + branch)
	if err != nil {
		return err
	}
	if at != "" || x.State().RemovedAt(branch) != nil {
		branch = x.RecoveryBranch()
	}
	if err := x.Store.SetRef(githistory.Heads+branch, "", sha); err != nil {
		return err
	}
	x.Report.Add(finding.Mended, "checkpoint %.12s and what came before it are whole, but what led to them is lost; they are kept on branch %s", sha, branch)
	return nil
}

// nameLost reports which checkpoints of the state are lost.
func nameLost(ctx context.Context, x *execution.Execution) error {
	lost, err := githistory.LostCheckpoints(x.State(), x.Store.Verifier(ctx).IsComplete)
	if err != nil {
		return err
	}
	var names []string
	for _, k := range lost {
		names = append(names, k.String())
	}
	const most = 5
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	if len(names) > 0 {
		x.Report.Add(finding.Lost, "checkpoints that are no longer available: %s%s", strings.Join(names, ", "), more)
	}
	return nil
}

// keepRecords gives git the records that it has lost with their checkpoints, as
// one that carries the whole state: what was done stays done where git is the
// only source, as in what an export takes along. The record of a checkpoint that
// leads a recovery branch counts as lost: it may never have been acknowledged.
func keepRecords(ctx context.Context, x *execution.Execution) error {
	head := x.Head()
	snap := &checkpoint.Snapshot{}
	var err error
	if head == "" {
		snap.Tree, err = x.Store.AddTree(ctx, nil)
	} else {
		snap.Tree, err = x.Tree(head)
	}
	if err != nil {
		return err
	}
	const note = "all records, when some had been lost with their checkpoints"
	branch := x.RecoveryBranch()
	_, err = x.Commit(ctx, execution.Commit{
		Title: githistory.Title{Status: state.KindRecovery, Name: note}, Snapshot: snap, Parents: []state.SHA{head}, Branch: branch,
		Transition: state.CheckpointCreated{Kind: state.KindRecovery, Branch: branch, Note: note}, Whole: true,
	})
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
