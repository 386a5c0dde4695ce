package runtime

import (
	"cmp"
	"context"
	"fmt"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/restore"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/runtime/edits"
	"hank/state"
)

func (d *driver) comparison() edits.Comparison {
	return edits.Comparison{State: d.x.State(), Store: d.x.Store, Layout: d.x.Layout, Workspace: d.x.Workspace}
}

// askAboutEdits finds what a person has changed since the last checkpoint. It
// returns true if the tree is to be kept as it is. What is not kept is
// preserved in a checkpoint all the same.
func (d *driver) askAboutEdits(ctx context.Context, to state.SHA) (kept bool, err error) {
	head := d.comparison().LeftAt(to != "")
	snap, err := d.snapshot(ctx, head)
	var changes []diff.Change
	if err == nil {
		changes, err = d.comparison().List(head, to, snap)
	}
	if to == "" && d.x.State().Position != nil { // reached by a move, which leaves what nobody has recorded
		d.moved = true
	}
	if err == nil {
		d.unasked, err = d.comparison().FoldersSince(head, snap)
		d.moved = d.moved || len(d.unasked) > 0
	}
	if err == nil && to != "" {
		var files []string
		files, err = d.comparison().Uncovered(head, snap)
		d.unasked = append(d.unasked, files...)
	}
	if err != nil || len(changes) == 0 {
		d.x.Store.Abort()
		return false, err
	}
	ask, keep := edits.Question(changes, to == "" && d.nextID() == "")
	kept, revert := d.answers.KeepTree, d.answers.Restore
	if !kept && !revert {
		switch d.ui.choose(ask.What, keep, "put the checkpoint back (your changes are kept in a checkpoint)") {
		case 0:
			kept = true
		case 1:
			revert = true
		}
	}
	if !kept && !revert {
		d.x.Store.Abort()
		return false, ask
	}
	if revert { // what cannot be put back is not stored once more for each answer
		if closed := restore.Writable(d.x.Workspace); closed != nil {
			d.x.Store.Abort()
			return false, execution.NeedOpen(cmp.Or(to, head), closed)
		}
	}
	if err := d.accept(); err != nil {
		d.x.Store.Abort()
		return false, err
	}
	run := d.x.State().Newest()
	t := state.CheckpointCreated{Kind: state.KindManual, Branch: d.x.RecoveryBranch(), Base: kept, Note: edits.Summary(changes)}
	if kept && run != nil && d.x.State().Position == nil { // else the tree does not stay there
		t.RunID, t.Branch = run.RunID, run.GitBranch
	}
	sha, err := d.x.Commit(ctx, execution.Commit{Title: githistory.Title{Status: state.KindManual, RunID: t.RunID, Name: edits.Summary(changes)},
		Snapshot: snap, Parents: []state.SHA{d.x.Head()}, Branch: t.Branch, Transition: t})
	if err != nil {
		return false, err
	}
	d.say("manual checkpoint %.12s holds what was changed by hand", sha)
	if revert && to == "" {
		d.moved = true
		leave, err := d.comparison().Unasked(head, snap, changes)
		if err != nil {
			return false, err
		}
		moved, err := d.x.MoveTree(ctx, execution.Move{Kind: "restore", To: head, Tracked: execution.Tracked(d.x.State(), d.nextID()), Position: d.standAt(head), Leave: leave})
		if err != nil {
			return false, err
		}
		d.sayRefused(moved)
	}
	return kept, nil
}

// askAboutResults is askAboutEdits for a hank that is done: a workspace that is gone,
// or holds something else than codons or a person have left, is not its result.
func (d *driver) askAboutResults(ctx context.Context) error {
	kept, err := d.askAboutEdits(ctx, "")
	if err != nil || !kept || d.x.State().Position == nil {
		return err
	}
	sha := d.x.State().Base
	_, err = d.x.MoveTree(ctx, execution.Move{Kind: "restore", To: sha, Tracked: execution.Tracked(d.x.State(), d.nextID()), Position: d.standAt(sha), Stay: true})
	return err
}

// standAt is the present position with another checkpoint; nil if that is its
// own.
func (d *driver) standAt(sha state.SHA) *state.Position {
	s := d.x.State()
	if s.Position == nil || s.Position.CheckpointSHA == sha {
		return nil
	}
	at, before := *s.Position, d.standpoint(s)
	at.CheckpointSHA, at.Before = sha, &before
	at.Program, at.HankHash = "", "" // of the undo that has led here; an answer keeps the present program
	return &at
}

// decideLate is what the user has decided, or decides on a terminal, about a codon
// whose workspace was changed between its end and its checkpoint.
func decideLate(mode Mode, a Answers, ui UI) func(question string) execution.Late {
	return func(question string) execution.Late {
		switch {
		case a.keepsTree(mode):
			return execution.LateKeep
		case a.Restore:
			return execution.LateRedo
		}
		switch ui.choose(question, "take the workspace as it is as the codon's work", "keep it in a checkpoint, and run the codon again on the workspace from before it") {
		case 0:
			return execution.LateKeep
		case 1:
			return execution.LateRedo
		}
		return execution.LateAsk
	}
}

// askAboutLoss returns true if the checkpoint that the tree is to go back to is
// lost, and a person wants to go on with the tree as it is: what of it is the
// codon's own work nobody knows.
func (d *driver) askAboutLoss(ctx context.Context, m move) (bool, error) {
	if m.to == "" {
		return false, nil
	}
	left, err := recovery.IsLeft(ctx, d.x, m.to)
	if err != nil || left {
		return false, err
	}
	ask := lostStart(m.to, m.codon)
	if d.answers.KeepTree || !d.answers.Restore &&
		d.ui.choose(ask.What, "do the codon on the workspace as it is, which may have a part of its work", "leave it") == 0 {
		return true, nil
	}
	return false, ask
}

// lostStart is the question about a lost checkpoint from which a codon was to be
// done again.
func lostStart(sha state.SHA, c *state.Codon) *finding.DecisionError {
	where := "before"
	if sha == c.RigSetupCheckpoint {
		where = "behind the rig of"
	}
	return &finding.DecisionError{
		What: fmt.Sprintf("checkpoint %.12s, from %s codon %s, is lost, so the workspace cannot go back to it", sha, where, c.CodonID),
		Options: []string{
			"--keep-tree does the codon on the workspace as it is, which may have a part of its work",
			"hank rollback --to TARGET goes back to a checkpoint that is left (hank checkpoints lists them)",
		},
		Command: "hank run --keep-tree",
	}
}

// StartLost returns the question that the next hank run asks because the
// checkpoint from before the codon that it does again is not in the store; nil if
// it asks none. Files that are lost the workspace may still have; a commit it has
// not.
func StartLost(s *state.State, store *checkpoint.Store) *finding.DecisionError {
	c := recovery.Redone(s)
	if c == nil || s.Next() == len(s.ExecutionPlan()) || store.Has(checkpoint.SHA(c.BaseCheckpoint)) {
		return nil
	}
	return lostStart(c.BaseCheckpoint, c)
}

// snapshot looks at the workspace, which was at a checkpoint, as far as codon
// checkpoints do.
func (d *driver) snapshot(ctx context.Context, head state.SHA) (*checkpoint.Snapshot, error) {
	return d.x.Snapshot(ctx, execution.Tracked(d.x.State(), d.nextID()), head)
}
