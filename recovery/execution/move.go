package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/internal/advice"
	"hank/internal/failpoint"
	"hank/plan"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
)

// Moved is what a move did.
type Moved struct {
	Safety state.SHA // the checkpoint of what was there before
	Report *restore.RestoreReport
	// Exact: of all that a checkpoint would take, the workspace has what the target has,
	// and nothing else.
	Exact bool
}

// MoveTree plans a move and applies the plan.
func (x *Execution) MoveTree(ctx context.Context, m Move) (*Moved, error) {
	defer x.Store.CacheTrees()()
	p, err := x.PlanMove(ctx, m)
	if err != nil {
		return nil, err
	}
	return x.PerformMove(ctx, p)
}

// PerformMove brings the workspace to a checkpoint, as planned, so that it can be undone and
// that a crash at any moment leaves it finished or untouched:
//
//  1. A safety checkpoint of everything visible and of whatever else is in
//     the way, on a recovery branch (move.safe).
//  2. The intent is recorded, durably, with what it will mean (move.intended).
//  3. The difference is applied (move.applied). What has changed since the plan was made
//     stops it before anything is touched. A crash here is finished by the next opening,
//     which makes the same plan from the intent; what was changed by then gets a
//     checkpoint of its own before (move.saved).
//  4. Where that has changed ignore rules, what is visible now gets a checkpoint,
//     for what they had hidden is no edit (move.uncovered).
//  5. The intent is closed, durably, and its position takes effect.
func (x *Execution) PerformMove(ctx context.Context, p *MovePlan) (*Moved, error) {
	defer x.Store.CacheTrees()()
	intent, err := x.Safeguard(ctx, p)
	if err != nil {
		return nil, err
	}
	failpoint.Hit("move.safe")
	if p.Stay {
		err := x.Record(append([]state.Transition{state.IntentOpened{Intent: *intent}}, x.Closing(intent, nil)...)...)
		return &Moved{Safety: intent.Safety, Report: &restore.RestoreReport{Plan: &restore.Plan{}}}, err
	}
	if err := x.Record(state.IntentOpened{Intent: *intent}); err != nil {
		return nil, err
	}
	failpoint.Hit("move.intended")
	report, touched, err := x.carryOut(ctx, intent, p)
	if err == nil {
		return &Moved{Safety: intent.Safety, Report: report, Exact: p.exact}, nil
	}
	if touched || x.Broken != nil {
		return nil, leftOpen(intent, err)
	}
	if IsClosed(err) {
		err = NeedOpen(intent.To, err)
	}
	return nil, errors.Join(err, x.Record(state.IntentClosed{ID: intent.ID, Cancelled: true})) // the intent is undone
}

// leftOpen says of a move that stopped half-way how it is ended.
func leftOpen(i *state.Intent, err error) error {
	var incomplete *restore.IncompleteError
	switch {
	case !errors.As(err, &incomplete):
		return err
	case refusal(incomplete.Err):
		return NeedUnfinished(i, incomplete.Err)
	}
	return fmt.Errorf("the %s to %.12s stopped half-way: %w; remove the cause: %s then finishes it, and `hank rollback --undo --yes` undoes it", i.Kind, i.To, incomplete.Err, advice.Quote(FixCommand))
}

// NeedOpen asks for a workspace that takes no file, so that a move to a checkpoint has
// changed nothing, or would not.
func NeedOpen(to state.SHA, err error) *finding.DecisionError {
	return &finding.DecisionError{
		What:    fmt.Sprintf("the workspace cannot be brought to checkpoint %.12s: %v; it is as it was", to, CauseOf(err)),
		Options: []string{"make it writable again, then run the same command again"},
		Closed:  CauseOf(err),
	}
}

// FinishMove carries out an intent of which a crash has left a part. Whoever
// finds a half of it may well write to the workspace: that goes into another
// safety checkpoint, as what is there does before any move. What cannot be saved
// is moved aside. It returns all checkpoints that were made so, this time and
// before, and what could not be changed.
func (x *Execution) FinishMove(ctx context.Context, intent *state.Intent) (meanwhile []state.SHA, refused []restore.Refused, err error) {
	if meanwhile, err = x.SavedMeanwhile(intent); err != nil {
		return nil, nil, err
	}
	report, _, err := x.CarryOut(ctx, intent, intent.Safety, false)
	var blocked *restore.BlockedError
	if errors.As(err, &blocked) {
		from := intent.Safety
		saved, failed := x.saveMeanwhile(ctx, intent, meanwhile)
		if failed == nil {
			from = saved
			failpoint.Hit("move.saved")
		}
		if failed == nil && !slices.Contains(meanwhile, saved) {
			meanwhile = append(meanwhile, saved)
		}
		if x.Broken != nil || ctx.Err() != nil {
			return meanwhile, nil, cmp.Or(failed, x.Broken, ctx.Err())
		}
		report, _, err = x.CarryOut(ctx, intent, from, true)
	}
	if err != nil {
		return meanwhile, nil, err
	}
	return meanwhile, report.Refused, nil
}

// InterruptedNote is the note of the checkpoints of what was changed while a move was
// interrupted. Their parent is the move's safety checkpoint.
func InterruptedNote(i *state.Intent) string { return "while a " + i.Kind + " was cut short" }

// SavedMeanwhile lists those checkpoints of an intent.
func (x *Execution) SavedMeanwhile(intent *state.Intent) ([]state.SHA, error) {
	refs, _, err := x.Store.ReadableRefs("refs/heads/recovery/")
	if err != nil {
		return nil, err
	}
	var found []state.SHA
	for _, name := range slices.Sorted(maps.Keys(refs)) { // by time
		info, err := x.Store.CommitInfo(refs[name])
		if err == nil && strings.HasPrefix(info.Message, string(state.KindRecovery)+": "+InterruptedNote(intent)) && slices.Contains(info.Parents, checkpoint.SHA(intent.Safety)) {
			found = append(found, state.SHA(info.SHA))
		}
	}
	return found, nil
}

// saveMeanwhile is the checkpoint of all that is there now, and of whatever
// is in the way of the intent: one of those that there are, or a new one.
func (x *Execution) saveMeanwhile(ctx context.Context, intent *state.Intent, have []state.SHA) (state.SHA, error) {
	back, err := NewRestoreTarget(ctx, x.Layout, x.State(), x.Store, intent.To, intent.Position)
	if err != nil {
		return "", err
	}
	inWay, err := back.conflicts(x.Workspace, "", undoes(intent.Kind, intent.Paths))
	if err != nil {
		x.Store.Abort()
		return "", err
	}
	all, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, intent.Safety, inWay...)
	if err != nil {
		return "", forMove(intent.Kind, err)
	}
	for _, sha := range have {
		if tree, err := x.Tree(sha); err == nil && tree == all.Tree {
			x.Store.Abort()
			return sha, nil
		}
	}
	return x.Preserve(ctx, all, x.RecoveryBranch(), intent.Safety, InterruptedNote(intent))
}

// CarryOut applies an intent that is recorded to a workspace that is saved in the
// checkpoint from, and closes it. What is not in from and is in the way is
// moved aside, or stops it. touched: the workspace is not as it was.
func (x *Execution) CarryOut(ctx context.Context, intent *state.Intent, from state.SHA, moveAside bool) (report *restore.RestoreReport, touched bool, err error) {
	defer x.Store.CacheTrees()()
	p, err := x.planIntent(ctx, intent, from)
	if err != nil {
		x.Store.Abort()
		return nil, false, err
	}
	p.request.KeepConflicts = moveAside
	return x.carryOut(ctx, intent, p)
}

func (x *Execution) carryOut(ctx context.Context, intent *state.Intent, p *MovePlan) (report *restore.RestoreReport, touched bool, err error) {
	defer x.Store.Abort() // what the target alone has is in no checkpoint
	req := p.request
	var end func()
	req.Progress, end = x.Opts.Work.Begin("bringing files back")
	report, err = restore.Restore(ctx, req)
	end()
	if err != nil {
		var incomplete *restore.IncompleteError
		return nil, errors.As(err, &incomplete) && incomplete.Touched, err
	}
	closed, err := x.restoreEmptyDirs(p)
	if err != nil {
		return nil, true, err
	}
	report.Refused = withDirs(report.Refused, closed)
	failpoint.Hit("move.applied")
	p.exact = p.leavesNothing(x.Store, report)
	x.saveUncovered(ctx, intent, p.Target.Tree)
	return report, true, x.Record(x.Closing(intent, KeptPaths(report.Refused))...)
}

// saveUncovered makes a checkpoint of all that is visible after a move that has
// changed ignore rules: see [LeftBy]. It is best effort, since no content is at stake:
// whoever comes next saves what is there. Where a crash has come after an earlier
// one, that one is closer to the move.
func (x *Execution) saveUncovered(ctx context.Context, intent *state.Intent, reached checkpoint.SHA) {
	x.Store.Abort()
	safety, err := x.Store.CommitInfo(checkpoint.SHA(intent.Safety))
	note := leftNote(safety)
	if err != nil || note == "" || !rulesDiffer(x.Store, safety.Tree, reached) || LeftBy(x.Store, intent.Safety) != "" {
		return
	}
	snap, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, intent.To)
	if err != nil {
		return
	}
	if !rulesDiffer(x.Store, safety.Tree, snap.Tree) {
		x.Store.Abort()
		return
	}
	_, _ = x.Preserve(ctx, snap, x.RecoveryBranch(), intent.Safety, note)
	failpoint.Hit("move.uncovered")
}

// Closing is what closes an intent that was carried out. A position brings the plan
// that the program gives there. One that has a program, which is that of a move that is
// undone, brings it back, too. A program that cannot be read any more stays away.
func (x *Execution) Closing(intent *state.Intent, kept []string) []state.Transition {
	closed := []state.Transition{state.IntentClosed{ID: intent.ID, Kept: kept}}
	s, p := x.State(), intent.Position
	if p == nil || p.Program == "" && s.Program == "" {
		return closed
	}
	there, set := *s, state.PlanSet{Program: s.Program, HankHash: s.HankHash}
	there.Position = p
	back := p.Program != "" && p.Program != s.Program
	if back {
		set.Program, set.HankHash = p.Program, p.HankHash
	}
	program, err := x.LoadProgram(set.Program)
	if err == nil {
		want := githistory.Derive(program, &there)
		if !back && SamePlan(want, s) {
			return closed
		}
		set.Entries, err = json.Marshal(plan.StoredEntries(want))
	}
	if err != nil {
		if back {
			x.Opts.Warn(fmt.Sprintf("the hank of before the %s cannot be read (%v); the present one stays", intent.Kind, err))
		}
		return closed
	}
	return append([]state.Transition{set}, closed...)
}

// SamePlan reports whether the plan of a state has these entries.
func SamePlan(want []plan.Entry, s *state.State) bool {
	return slices.EqualFunc(want, s.ExecutionPlan(), func(a plan.Entry, b *state.PlanEntry) bool { return a.CodonID == b.CodonID })
}

// Safeguard makes the checkpoints that a plan needs, and its intent. One is enough where
// what checkpoints track is all that there is. What only a safety checkpoint has recorded
// is not tracked when it is ignored.
func (x *Execution) Safeguard(ctx context.Context, p *MovePlan) (*state.Intent, error) {
	parent, branch, note := x.Head(), x.RecoveryBranch(), beforeMove(p.Kind, p.To)
	preserve := x.Preserve
	if restore.Writable(x.Workspace) != nil { // the move may be refused again, as the same one was before
		preserve = x.preserveOnce
	}
	owned, err := parent, error(nil)
	same := p.Saved.Tree == p.owned.Tree && slices.Equal(p.Saved.Empty, p.owned.Empty)
	if !same {
		if owned, err = preserve(ctx, p.owned, branch, parent, note+trackedNote); err != nil {
			return nil, err
		}
	}
	safety, err := preserve(ctx, p.Saved, branch, owned, note)
	if err != nil {
		return nil, err
	}
	if same {
		owned = safety
	}
	intent := &state.Intent{ID: layout.NewID(8), Kind: p.Kind, Safety: safety, Owned: owned, To: p.To, Paths: p.Paths, KeepAdded: p.KeepAdded, Operation: p.Operation}
	if p.Position != nil {
		position := *p.Position
		if position.Before != nil {
			before := *position.Before
			before.CheckpointSHA = safety
			position.Before = &before
		}
		intent.Position = &position
	}
	return intent, nil
}

// Now is the present time in the state's precision.
func (x *Execution) Now() state.Time { return state.At(x.Opts.Now().Round(time.Millisecond)) }
