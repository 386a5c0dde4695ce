package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"syscall"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/checkpoint/worktree"
	"hank/internal/shell"
	"hank/state"
)

// Unfinished says what becomes of a change of the workspace that was interrupted
// and that cannot be finished.
type Unfinished string

// The answers.
const (
	AskUnfinished  Unfinished = ""     // nothing: *DecisionError
	UndoUnfinished Unfinished = "undo" // what was there before comes back, and the change counts as never made
	KeepUnfinished Unfinished = "keep" // the workspace stays as it is, and the change counts as made
)

// finishIntent ends a change of the workspace that was announced and not closed:
// it is carried out, or, where that is impossible, what Options.Unfinished says is
// done. doctor --fix takes it back.
func (x *Execution) finishIntent(ctx context.Context) error {
	intent := x.State().Intent
	if intent == nil {
		return nil
	}
	undo := x.opts.Unfinished == UndoUnfinished
	switch {
	case undo && isTakingBack(intent):
		x.Undone = true
	case undo && intent.Position == nil: // else the undo that follows goes back to before it
		return x.takeBack(ctx, intent, nil)
	}
	err := x.finish(ctx, intent)
	var held *HeldError
	switch {
	case err == nil || ctx.Err() != nil || x.broken != nil || x.Held() != nil || errors.As(err, &held):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%s cannot be finished: %w", describe(intent), err)
	case undo, x.opts.ReplaceStore:
		return x.takeBack(ctx, intent, err)
	case x.opts.Unfinished == KeepUnfinished:
		return x.acceptAsIs(ctx, intent, err)
	}
	return needUnfinished(intent, err)
}

func describe(i *state.Intent) string {
	return fmt.Sprintf("a %s to %.12s was interrupted and", i.Kind, i.To)
}

// needUnfinished asks what is to become of a change that cannot be finished.
func needUnfinished(i *state.Intent, why error) *DecisionError {
	return &DecisionError{
		What: fmt.Sprintf("%s cannot be finished: %v; all that was there before it is in checkpoint %.12s", describe(i), why, i.Safety),
		Options: []string{
			fixCommand + " tries again, and takes it back where it cannot be finished",
			"hank rollback --undo --yes takes it back",
			"hank run --keep-tree accepts the workspace as it is and continues from there",
		},
		Command: fixCommand,
	}
}

// finish carries an intent out. The lost parts of its checkpoint may be in the
// workspace still.
func (x *Execution) finish(ctx context.Context, intent *state.Intent) error {
	if x.opts.ReplaceStore {
		if _, err := x.IsLeft(ctx, intent.To); err != nil {
			return err
		}
	}
	if !x.isWhole(intent.To) {
		return fmt.Errorf("a part of checkpoint %.12s is lost", intent.To)
	}
	shas, refused, err := x.finishMove(ctx, intent)
	meanwhile := ""
	switch n := len(shas); n {
	case 0:
	case 1:
		meanwhile = fmt.Sprintf("; what was changed since then is in checkpoint %.12s", shas[0])
	default:
		meanwhile = fmt.Sprintf("; what was changed since then is in %d checkpoints, the last %.12s: see hank checkpoints", n, shas[n-1])
	}
	if err != nil {
		return withoutAdvice(err)
	}
	x.Report.add(Mended, "a %s to %.12s had been cut short and was finished%s", intent.Kind, intent.To, meanwhile)
	x.reportRefused(refused)
	return nil
}

// withoutAdvice is why a restore was not carried out; that it did not begin is not
// true of one that another has begun.
func withoutAdvice(err error) error {
	var incomplete *restore.IncompleteError
	if errors.As(err, &incomplete) {
		return incomplete.Err
	}
	var decision *DecisionError
	if errors.As(err, &decision) && decision.closed != nil {
		return decision.closed
	}
	return err
}

// reportRefused names what a move could not change.
func (x *Execution) reportRefused(refused []restore.Refused) {
	for i, r := range refused {
		if i == maxNotes {
			x.Report.add(Warning, "and %d more could not be changed", len(refused)-i)
			return
		}
		x.Report.add(Warning, "not as in the checkpoint: %q %s", r.Path, r.Why)
	}
}

// isTakingBack reports whether an intent is one of takeBack's.
func isTakingBack(i *state.Intent) bool { return i.Kind == "undo" && i.Position == nil }

// takeBack brings back what was there before a change that cannot be finished, or
// is not to be. It is a change of its own, so that a crash leaves the one or the
// other open, and never half a tree that nobody knows of.
func (x *Execution) takeBack(ctx context.Context, intent *state.Intent, why error) error {
	if isTakingBack(intent) {
		return x.giveUp(ctx, intent, why)
	}
	back, err := x.safeguard(ctx, Move{Kind: "undo", To: intent.Safety, Tracked: checkpoint.Selection{All: true}, Paths: intent.Paths})
	if err != nil { // what it would have saved is moved aside instead
		back = &state.Intent{ID: newID(8), Kind: "undo", Safety: intent.To, Owned: intent.To, To: intent.Safety, Paths: intent.Paths}
	}
	if err := x.Record(state.IntentClosed{ID: intent.ID, Cancelled: true}, state.IntentOpened{Intent: *back}); err != nil {
		return err
	}
	refused, _, err := x.carryOut(ctx, back, back.Safety, true)
	switch {
	case err == nil:
	case ctx.Err() != nil || x.broken != nil || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return err
	default:
		return x.giveUp(ctx, back, cmp.Or(why, withoutAdvice(err)))
	}
	x.Undone = true
	because := " was taken back"
	if why != nil {
		because = fmt.Sprintf(" could not be finished (%v); it was taken back", why)
	}
	x.Report.add(Mended, "%s%s, and the workspace is as in checkpoint %.12s, from before it", describe(intent), because, intent.Safety)
	x.reportRefused(refused.Refused)
	return nil
}

// giveUp closes an intent that can neither be carried out nor taken back.
func (x *Execution) giveUp(ctx context.Context, i *state.Intent, why error) error {
	saved := x.keepWhatIsThere(ctx, i)
	if err := x.Record(state.IntentClosed{ID: i.ID, Cancelled: true}); err != nil {
		return err
	}
	x.GivenUp = &DecisionError{
		What:    fmt.Sprintf("%s can be neither finished nor taken back (%v); the workspace stays as it is%s", describe(i), why, saved),
		Options: []string{"hank run continues with the workspace as it is, and asks where it was changed", "hank rollback --to TARGET goes to another checkpoint (hank checkpoints lists them)"},
	}
	x.Report.add(Lost, "%s", x.GivenUp.What)
	return nil
}

// acceptAsIs closes an intent that cannot be carried out. The execution stands
// where the move was to bring it, with the workspace as it is.
func (x *Execution) acceptAsIs(ctx context.Context, i *state.Intent, why error) error {
	saved := x.keepWhatIsThere(ctx, i)
	closed := x.closing(i, nil)
	if _, err := x.Tree(i.To); err != nil {
		closed = []state.Transition{state.IntentClosed{ID: i.ID, Cancelled: true}}
	}
	if err := x.Record(closed...); err != nil {
		return err
	}
	x.Report.add(Warning, "%s could not be finished (%v); the workspace is kept as it is%s, and what was there before is in checkpoint %.12s", describe(i), why, saved, i.Safety)
	return nil
}

// keepWhatIsThere makes a checkpoint of a workspace that an interrupted change has
// left half-way, where that is possible, and says so.
func (x *Execution) keepWhatIsThere(ctx context.Context, i *state.Intent) string {
	snap, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, i.Safety)
	if err != nil {
		return ""
	}
	sha, err := x.Preserve(ctx, snap, x.RecoveryBranch(), i.Safety, whileCut(i))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" and is in checkpoint %.12s", sha)
}

// maxKept bounds the paths that a position names.
const maxKept = 100

// keptPaths are the paths of what a move could not change; where they are too
// many, the directories that they are in.
func keptPaths(refused []restore.Refused) []string {
	if len(refused) == 0 {
		return nil
	}
	set := map[string]bool{}
	for _, r := range refused {
		set[r.Path] = true
	}
	for len(set) > maxKept {
		above := map[string]bool{}
		for name := range set {
			above[path.Dir(name)] = true
		}
		set = above
	}
	return slices.Sorted(maps.Keys(set))
}

// refusal reports whether the system does not let one path be changed, whatever
// becomes of the others.
func refusal(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EROFS)
}

// blockedIntent says what a person must do about a change of the workspace that
// the next opening cannot finish; nil: it can, or nothing shows that it cannot.
func (v *View) blockedIntent() *DecisionError {
	i := v.State.Intent
	if i == nil || v.Live {
		return nil
	}
	store, err := v.Store()
	if err != nil {
		return nil // who needs checkpoints says so
	}
	defer store.Close()
	for _, sha := range []state.SHA{i.To, i.Safety, i.Owned} {
		if _, err := store.CommitInfo(checkpoint.SHA(sha)); err != nil {
			return needUnfinished(i, fmt.Errorf("checkpoint %.12s cannot be read: %w", sha, err))
		}
	}
	if !isWhole(store, i.To) {
		return needUnfinished(i, fmt.Errorf("a part of checkpoint %.12s is lost", i.To))
	}
	ws, err := worktree.OpenWorkspace(v.Layout.Workspace)
	if err != nil {
		return nil // the next opening makes one, or says why not
	}
	defer ws.Close()
	if err := restore.Writable(ws); err != nil {
		return needUnfinished(i, err)
	}
	return nil
}

// Redone is the record of the codon that the next hank run does again on the
// workspace from before it, because it was interrupted; nil if there is none.
func Redone(s *state.State) *state.Codon {
	run := s.Newest()
	if run == nil || s.MovedTo() != nil {
		return nil
	}
	c := run.Live()
	if at := s.Standing(); c == nil && at != nil && at.Len() > 0 {
		c = at.Codon(at.Len() - 1)
	}
	if c == nil || c.Settled() || c.Settling != nil || c.Status.Terminal() && c.Interrupted == "" || c.BaseCheckpoint == "" {
		return nil
	}
	return c
}

// retried is the record of the codon that a hank retry without a name does again;
// nil if there is none.
func retried(s *state.State) *state.Codon {
	run := s.Standing()
	if run == nil || run.Len() == 0 || s.MovedTo() != nil || Redone(s) != nil {
		return nil
	}
	c := run.Codon(run.Len() - 1)
	if c.Settled() || c.Status != state.Failed || c.BaseCheckpoint == "" {
		return nil
	}
	return c
}

// blockedRedo says what a person must do about a workspace that the next hank run,
// or the retry of the codon that failed, must put back and cannot; nil: it can, or
// nothing shows that it cannot.
func (v *View) blockedRedo() *DecisionError {
	c, command := Redone(v.State), "hank run"
	if c == nil {
		if c = retried(v.State); c != nil {
			command = "hank retry " + shell.Quote(string(c.CodonID))
		}
	}
	if c == nil || v.Live || v.Head.Done == v.Head.Planned {
		return nil
	}
	ws, err := v.Layout.OpenWorkspace()
	if err != nil {
		return nil
	}
	defer ws.Close()
	closed := restore.Writable(ws)
	if closed == nil {
		return nil
	}
	store, err := v.Store()
	if err != nil {
		return nil // who needs checkpoints says so
	}
	defer store.Close()
	defer store.Abort()
	base := checkpoint.SHA(c.BaseCheckpoint)
	info, err := store.CommitInfo(base)
	if err != nil {
		return nil
	}
	tracked := Tracked(v.State, c.CodonID)
	tracked.Never = Never
	snap, err := store.Snapshot(context.Background(), checkpoint.SnapshotRequest{Workspace: ws, Selection: tracked, Base: base})
	if err != nil || snap.Tree == info.Tree {
		return nil
	}
	return NeedWritable(c, c.BaseCheckpoint, command, closed)
}

// NeedWritable asks what is to become of a codon that a command is to do again on
// a workspace that cannot be put back to the checkpoint to.
func NeedWritable(c *state.Codon, to state.SHA, command string, why error) *DecisionError {
	why = withoutAdvice(why)
	return &DecisionError{
		What: fmt.Sprintf("the workspace cannot be put back to checkpoint %.12s, from before codon %s: %v; it is as it was", to, c.CodonID, why),
		Options: []string{
			"make it writable again, then " + command + " puts it back and does the codon again",
			command + " --keep-tree does the codon on the workspace as it is, which may have a part of its work",
		},
		Command: command + " --keep-tree",
		closed:  why,
	}
}

// IsClosed reports whether a move has changed nothing because the system does not
// let the workspace be written to.
func IsClosed(err error) bool {
	var decision *DecisionError
	if errors.As(err, &decision) && decision.closed != nil {
		return true
	}
	var incomplete *restore.IncompleteError
	return errors.As(err, &incomplete) && !incomplete.Touched && refusal(incomplete.Err)
}
