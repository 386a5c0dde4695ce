package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/internal/advice"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
)

// The answers.
const (
	AskUnfinished  execution.Unfinished = ""     // nothing: *DecisionError
	UndoUnfinished execution.Unfinished = "undo" // what was there before comes back, and the change counts as never made
	KeepUnfinished execution.Unfinished = "keep" // the workspace stays as it is, and the change counts as made
)

// finishing is what becomes of a change of the workspace that was announced and not
// closed.
func finishing(i *state.Intent) Repair {
	return Repair{Severity: finding.Mended, Ahead: finding.Warning, Found: fmt.Sprintf("%s to %.12s was interrupted", finding.WithArticle(i.Kind), i.To),
		Will: advice.Quote(execution.FixCommand) + " finishes it, as the next command that changes something does", Did: "it was finished", do: finishIntent}
}

// lostForMove says what a change of the workspace needs and cannot be read; nil:
// nothing.
func lostForMove(store *checkpoint.Store, i *state.Intent) error {
	for _, sha := range []state.SHA{i.To, i.Safety, i.Owned} {
		if _, err := store.CommitInfo(checkpoint.SHA(sha)); err != nil {
			return fmt.Errorf("checkpoint %.12s cannot be read: %w", sha, err)
		}
	}
	if !githistory.IsWhole(store, i.To) {
		return fmt.Errorf("a part of checkpoint %.12s is lost", i.To)
	}
	return nil
}

// finishIntent carries the change out. Where that is impossible, doctor --fix undoes it
// (ReplaceStore), and else Options.Unfinished says what is done. An undo is not undone,
// but finished. What says nothing about the change, as a full disk, leaves it open.
func finishIntent(ctx context.Context, x *execution.Execution, r *Repair) error {
	intent, found := x.State().Intent, r.Found
	r.Found = "" // what else is done is reported by itself
	answer := x.Opts.Unfinished
	if answer == UndoUnfinished && isUndo(intent) {
		x.Undone = true
	} else if answer == UndoUnfinished && intent.Position == nil { // else the undo that follows goes back to before it
		return undoIntent(ctx, x, intent, nil)
	}
	meanwhile, err := finish(ctx, x, intent)
	switch {
	case err == nil:
		r.Found, r.Did, x.Finished = found, r.Did+meanwhile, true
		return nil
	case leavesOpen(ctx, x, err):
		return fmt.Errorf("%s cannot be finished: %w", execution.Describe(intent), err)
	case answer == UndoUnfinished, x.Opts.ReplaceStore:
		return undoIntent(ctx, x, intent, err)
	case answer == KeepUnfinished:
		return acceptAsIs(ctx, x, intent, err)
	}
	return execution.NeedUnfinished(intent, err)
}

// leavesOpen reports whether an error says nothing about the change that it has stopped, so
// that the next opening tries it again.
func leavesOpen(ctx context.Context, x *execution.Execution, err error) bool {
	var held *lock.HeldError
	return ctx.Err() != nil || x.Broken != nil || x.Held() != nil || errors.As(err, &held) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// finish carries an intent out, and says where what was changed in the meantime is. The
// lost parts of its checkpoint may be in the workspace still.
func finish(ctx context.Context, x *execution.Execution, intent *state.Intent) (meanwhile string, err error) {
	if x.Opts.ReplaceStore {
		if _, err := IsLeft(ctx, x, intent.To); err != nil {
			return "", err
		}
	}
	if err := lostForMove(x.Store, intent); err != nil {
		return "", err
	}
	shas, refused, err := x.FinishMove(ctx, intent)
	if err != nil {
		return "", execution.CauseOf(err)
	}
	switch n := len(shas); n {
	case 0:
	case 1:
		meanwhile = fmt.Sprintf("; what was changed since then is in checkpoint %.12s", shas[0])
	default:
		meanwhile = fmt.Sprintf("; what was changed since then is in %d checkpoints, the last %.12s: see `hank checkpoints`", n, shas[n-1])
	}
	reportRefused(x, refused)
	return meanwhile, nil
}

// reportRefused names what a move could not change.
func reportRefused(x *execution.Execution, refused []restore.Refused) {
	for i, r := range refused {
		if i == execution.MaxNotes {
			x.Report.Add(finding.Warning, "and %d more could not be changed", len(refused)-i)
			return
		}
		x.Report.Add(finding.Warning, "not as in the checkpoint: %q %s", r.Path, r.Why)
	}
}

// isUndo reports whether an intent is one of undoIntent's.
func isUndo(i *state.Intent) bool { return i.Kind == "undo" && i.Position == nil }

// undoIntent brings back what was there before a change that cannot be finished, or
// is not to be. It is a change of its own, so that a crash leaves the one or the
// other open, and never half a tree that nobody knows of.
func undoIntent(ctx context.Context, x *execution.Execution, intent *state.Intent, why error) error {
	if isUndo(intent) {
		return abandonIntent(ctx, x, intent, why)
	}
	var back *state.Intent
	p, err := x.PlanMove(ctx, execution.Move{Kind: "undo", To: intent.Safety, Tracked: checkpoint.Selection{All: true}, Paths: intent.Paths})
	if err == nil {
		back, err = x.Safeguard(ctx, p)
	}
	if err != nil && leavesOpen(ctx, x, err) {
		return fmt.Errorf("%s cannot be undone: %w", execution.Describe(intent), err)
	} else if err != nil { // no checkpoint of what is there: all but what the change has brought is moved aside
		back = &state.Intent{ID: layout.NewID(8), Kind: "undo", Safety: intent.To, Owned: intent.To, To: intent.Safety, Paths: intent.Paths}
	}
	if err := x.Record(state.IntentClosed{ID: intent.ID, Cancelled: true}, state.IntentOpened{Intent: *back}); err != nil {
		return err
	}
	refused, _, err := x.CarryOut(ctx, back, back.Safety, true)
	switch {
	case err == nil:
	case leavesOpen(ctx, x, err):
		return err
	default:
		return abandonIntent(ctx, x, back, cmp.Or(why, execution.CauseOf(err)))
	}
	x.Undone = true
	because := " was undone"
	if why != nil {
		because = fmt.Sprintf(" could not be finished (%v); it was undone", why)
	}
	x.Report.Add(finding.Mended, "%s%s, and the workspace is restored to checkpoint %.12s, made before it", execution.Describe(intent), because, intent.Safety)
	reportRefused(x, refused.Refused)
	return nil
}

// abandonIntent closes an intent that can neither be carried out nor undone: the
// workspace stays as it is, and GivenUp tells the user.
func abandonIntent(ctx context.Context, x *execution.Execution, i *state.Intent, why error) error {
	saved := keepWhatIsThere(ctx, x, i)
	if err := x.Record(state.IntentClosed{ID: i.ID, Cancelled: true}); err != nil {
		return err
	}
	x.GivenUp = &finding.DecisionError{
		What:    fmt.Sprintf("%s can be neither finished nor undone (%v); the workspace stays as it is%s", execution.Describe(i), why, saved),
		Options: []string{"`hank run` continues with the workspace as it is, and asks where it was changed", "`hank rollback --to TARGET` goes to another checkpoint (`hank checkpoints` lists them)"},
	}
	x.Report.Add(finding.Lost, "%s", x.GivenUp.What)
	return nil
}

// acceptAsIs closes an intent that cannot be carried out. The execution is
// where the move was to bring it, with the workspace as it is.
func acceptAsIs(ctx context.Context, x *execution.Execution, i *state.Intent, why error) error {
	saved := keepWhatIsThere(ctx, x, i)
	closed := x.Closing(i, nil)
	if _, err := x.Tree(i.To); err != nil {
		closed = []state.Transition{state.IntentClosed{ID: i.ID, Cancelled: true}}
	}
	if err := x.Record(closed...); err != nil {
		return err
	}
	x.Report.Add(finding.Warning, "%s could not be finished (%v); the workspace is kept as it is%s, and the previous contents are in checkpoint %.12s", execution.Describe(i), why, saved, i.Safety)
	return nil
}

// keepWhatIsThere makes a checkpoint of a workspace that an interrupted change has
// left half-way, where that is possible, and says so.
func keepWhatIsThere(ctx context.Context, x *execution.Execution, i *state.Intent) string {
	snap, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, i.Safety)
	if err != nil {
		return ""
	}
	sha, err := x.Preserve(ctx, snap, x.RecoveryBranch(), i.Safety, execution.InterruptedNote(i))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" and is in checkpoint %.12s", sha)
}
