package runtime

import (
	"cmp"
	"context"
	"io"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/restore"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/runtime/edits"
	"hank/runtime/startpoint"
	"hank/state"
)

// findEdits looks what the user has changed since the last checkpoint. The snapshot is
// to be committed or aborted.
func (d *driver) findEdits(ctx context.Context, to state.SHA) (e edits.Found, err error) {
	e, err = d.comparison().Find(to, func(head state.SHA) (*checkpoint.Snapshot, error) { return d.snapshot(ctx, head) })
	if to == "" && d.x.State().Position != nil { // reached by a move, which leaves what nobody has recorded
		d.moved = true
	}
	d.unasked = e.Unasked
	d.moved = d.moved || e.Dirs
	return e, err
}

// askAboutEdits finds what the user has changed since the last checkpoint, and asks
// about it. It reports whether the workspace is to stay as it is. Either way the
// changes are kept in a checkpoint.
func (d *driver) askAboutEdits(ctx context.Context, st startpoint.Start) (kept bool, err error) {
	e, err := d.findEdits(ctx, st.To)
	if err == nil && len(e.Changes) > 0 {
		kept, err = d.decideEdits(st, e)
	}
	if err == nil && len(e.Changes) > 0 {
		err = d.accept()
	}
	if err != nil || len(e.Changes) == 0 {
		d.x.Store.Abort()
		return false, err
	}
	d.keep = d.keep || kept
	return kept, d.keepEdits(ctx, st, e, kept)
}

// decideEdits asks what becomes of the changes, unless that is decided. What cannot be
// put back is not stored once more for each answer.
func (d *driver) decideEdits(st startpoint.Start, e edits.Found) (keep bool, err error) {
	answers := d.answers // of this question alone: what is kept here is not kept by name
	keep, missing := startpoint.DecideEdits(st, e.Changes, edits.IsCompleted(d.x.State()), d.request.Mode, answers)
	if missing != nil {
		missing.Diff = func(out io.Writer) error { return diff.WritePatch(out, d.x.Store, e.Changes) }
		d.still = time.Time{}
		if answers, err = d.ui.Answer(missing, answers); err != nil {
			return false, err
		}
		keep, _ = startpoint.DecideEdits(st, e.Changes, edits.IsCompleted(d.x.State()), d.request.Mode, answers)
	}
	if !keep {
		if closed := restore.Writable(d.x.Workspace); closed != nil {
			return false, execution.NeedOpen(cmp.Or(st.To, e.Head), closed)
		}
	}
	return keep, nil
}

// keepEdits makes the manual checkpoint of the changes, and puts the checkpoint that
// the workspace was left at back where the changes do not stay and the start goes
// nowhere else.
func (d *driver) keepEdits(ctx context.Context, st startpoint.Start, e edits.Found, kept bool) error {
	run := d.x.State().Newest()
	t := state.CheckpointCreated{Kind: state.KindManual, Branch: d.x.RecoveryBranch(), Base: kept, Note: edits.Summary(e.Changes)}
	if kept && run != nil && d.x.State().Position == nil { // else the workspace does not stay there
		t.RunID, t.Branch = run.RunID, run.GitBranch
	}
	sha, err := d.x.Commit(ctx, execution.Commit{Title: githistory.Title{Status: state.KindManual, RunID: t.RunID, Name: edits.Summary(e.Changes)},
		Snapshot: e.Snap, Parents: []state.SHA{d.x.Head()}, Branch: t.Branch, Transition: t})
	if err != nil {
		return err
	}
	back := ""
	if !kept {
		back = "; " + edits.WayBack(sha, e.Changes)
	}
	d.say("manual checkpoint %.12s has your manual edits%s", sha, back)
	if kept || st.To != "" {
		return nil
	}
	d.moved, d.still = true, time.Time{}
	leave, err := d.comparison().Unasked(e.Head, e.Snap, e.Changes)
	if err != nil {
		return err
	}
	moved, err := d.x.MoveTree(ctx, execution.Move{Kind: "restore", To: e.Head, Tracked: execution.Tracked(d.x.State(), d.nextID()), Position: d.standAt(e.Head), Leave: leave})
	if err != nil {
		return err
	}
	d.say("the workspace is restored to checkpoint %.12s", e.Head)
	d.sayRefused(moved)
	return nil
}

// standAt is the present position with another checkpoint; nil if that is its
// own.
func (d *driver) standAt(sha state.SHA) *state.Position {
	s := d.x.State()
	if s.Position == nil || s.Position.CheckpointSHA == sha {
		return nil
	}
	at, before := *s.Position, startpoint.Situation{State: s, Replaced: d.replaced}.Standpoint()
	at.CheckpointSHA, at.Before = sha, &before
	at.Program, at.HankHash = "", "" // of the undo that has led here; an answer keeps the present program
	return &at
}
