package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
	"hank/internal/secret"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/runtime/agents"
	"hank/runtime/budget"
	"hank/runtime/codon"
	"hank/runtime/events"
	"hank/runtime/exitcode"
	"hank/runtime/verdict"
	"hank/state"
)

// driver takes one run through the plan.
type driver struct {
	x        *execution.Execution
	events   *events.Bus // what others follow
	request  Request
	answers  Answers
	ui       UI
	layers   plan.Layers // the request's, with the model that holds
	settings plan.Settings
	program  *plan.Program
	allowed  *execution.Allowances // what held before this command; nil: nothing of it is kept yet
	replaced state.Position        // its Program and HankHash are those that were frozen before this command adopted others
	run      state.RunID
	agents   agents.Found
	requests chan codon.Request
	replay   *recording
	began    time.Time
	accounts *budget.Accounts
	rows     []state.BudgetRow // of the attempts of this run

	secrets     *secret.Values
	confinement *agents.Confinement // nil: processes may write anywhere

	ignoreRigs bool

	rigDone bool           // the workspace is the one after the rig of the next codon
	session string         // that the next codon continues
	resumed *state.Codon   // the attempt that the run continues; nil: none
	stop    *codon.Request // the run is to end

	stopping atomic.Pointer[string] // what others asked for, taken in or not; see LiveStatus
	finished int                    // codons settled in this run
	settled  *state.Codon           // the last settled record on the thread

	// moved: the tree has what the checkpoint that it stands at has not recorded,
	// because a move has left it, or because a person has made empty folders.
	moved     bool
	unasked   []string // those folders, and those files too; a move at the start of the run leaves them
	tracked   checkpoint.Selection
	trackedTo int
}

// outcome is how a run is to end.
type outcome struct {
	reason state.EndReason // empty: the plan is done
	code   exitcode.Code
	codon  state.CodonID
	detail string
}

// drive runs codon after codon until the plan is done or something ends it.
// An error is one of hank itself.
func (d *driver) drive(ctx context.Context) (outcome, error) {
	if _, last := d.x.State().Settled(); last != nil {
		d.settled = last.Codon
	}
	for i := d.x.State().Next(); i < len(d.x.State().ExecutionPlan()); {
		if err := d.archive(ctx, i-1); err != nil {
			return outcome{}, err
		}
		if d.pending(); d.stop != nil {
			return d.stopped("between two codons"), nil
		}
		if err := errors.Join(d.x.CheckRoom(), d.x.CheckWorkspace()); err != nil { // before it costs anything
			return outcome{}, err
		}
		if err := d.capture(ctx, i); err != nil {
			return outcome{}, err
		}
		entry := d.x.State().ExecutionPlan()[i].Entry
		if over := d.budgetOver(entry); over != "" {
			return outcome{state.EndBudget, exitcode.Budget, entry.CodonID, over}, nil
		}
		final, err := d.codon(ctx, entry, i)
		if err != nil {
			return outcome{}, err
		}
		if !final.Settled() {
			return d.ended(final), nil
		}
		d.settled = final
		if err := d.grow(i, final); err != nil {
			return outcome{}, err
		}
		i++
		if d.finished++; d.request.StopAfter > 0 && d.finished >= d.request.StopAfter && d.stop == nil {
			d.stop = &codon.Request{Signal: codon.StopAfterCodon, Reason: state.EndStopped, Code: exitcode.Stopped}
		}
	}
	failpoint.Hit("plan.done")
	return outcome{}, d.archive(ctx, len(d.x.State().ExecutionPlan())-1)
}

// ended is the outcome of a run that a codon has ended.
func (d *driver) ended(final *state.Codon) outcome {
	switch {
	case d.stop != nil && final.Interrupted != "":
		return d.stopped(fmt.Sprintf("while codon %s was running", final.CodonID))
	case d.stop != nil && retryDue(d.x.State(), final):
		return d.stopped("before " + string(final.CodonID) + " was tried again")
	}
	return failedBy(final)
}

// failedBy is the outcome of a run whose codon has failed.
func failedBy(c *state.Codon) outcome {
	if c.Interrupted == state.InterruptedByRefusal {
		return outcome{state.EndAgent, exitcode.Agent, c.CodonID, c.FailureReason.Message}
	}
	if c.FailureReason.Class == "budget" {
		return outcome{state.EndBudget, exitcode.Budget, c.CodonID, c.FailureReason.Message}
	}
	return outcome{state.EndCodonFailed, exitcode.Failed, c.CodonID, c.FailureReason.Message}
}

func (d *driver) stopped(when string) outcome {
	return outcome{d.stop.Reason, d.stop.Code, "", "stopped " + when}
}

// codon runs one entry of the plan, again and again where its policy says so.
func (d *driver) codon(ctx context.Context, stored plan.Entry, index int) (*state.Codon, error) {
	entry, err := d.program.Resolve(stored)
	if err != nil {
		return nil, err
	}
	most, delay, longest := entry.Codon.Retries()
	for try := 0; ; try++ {
		spec := d.spec(entry, index, d.attemptsOf(entry.CodonID)+1)
		d.announce(entry, index, spec.Number, most+1)
		d.ui.Monitor.Change(func(now *codon.Activity) {
			*now = codon.Activity{Codon: entry.CodonID, Number: index + 1, Planned: len(d.x.State().ExecutionPlan()), Since: time.Now(), Stop: now.Stop}
		})
		final, err := codon.Run(ctx, spec, host{d, entry, index})
		if err != nil {
			return nil, err
		}
		d.accounts.Add(final)
		d.rows = append(d.rows, budget.Row(spec.Limits, final))
		again := retryDue(d.x.State(), final)
		d.report(final, again || d.stop != nil)
		if d.stop != nil || !again {
			return final, nil
		}
		wait := backoff(final.FailureReason, try, delay, longest)
		d.say("  trying again in %s (attempt %d of %d)", wait.Round(time.Millisecond), final.Attempt+1, most+1)
		d.ui.Monitor.Step("waiting to try again at " + time.Now().Add(wait).Format("15:04:05"))
		if !d.sleep(ctx, wait) {
			return final, nil
		}
		d.ui.Monitor.Step("putting the workspace back")
		// Every attempt starts from the same tree, not from what the one
		// before it has left.
		if left, err := recovery.IsLeft(ctx, d.x, final.BaseCheckpoint); err != nil {
			return nil, err
		} else if !left {
			return nil, lostStart(final.BaseCheckpoint, final)
		}
		moved, err := d.x.MoveTree(ctx, execution.Move{Kind: "retry", To: final.BaseCheckpoint, Tracked: d.selection(index)})
		if err != nil {
			return nil, err
		}
		d.sayRefused(moved)
	}
}

func (d *driver) attemptsOf(id state.CodonID) int {
	n, r := 0, d.x.State().Run(d.run)
	for i := r.Len() - 1; i >= 0 && r.Codon(i).CodonID == id; i-- {
		n++
	}
	return n
}

// backoff is the wait before retry number try (from 0): what the provider
// asked for, or the delay doubled each time, with up to a quarter of jitter so
// that many runs do not come back at once; never longer than longest.
func backoff(f *state.FailureReason, try int, delay, longest time.Duration) time.Duration {
	if f.RetryAfterMs > 0 {
		return min(time.Duration(f.RetryAfterMs)*time.Millisecond, longest)
	}
	wait := longest
	if try < 30 && delay<<try < longest {
		wait = delay << try
	}
	if wait <= 0 {
		return 0
	}
	return min(wait+rand.N(wait/4+1), longest)
}

// sleep waits; false means that a request to stop came first.
func (d *driver) sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		case r := <-d.requests:
			if d.take(r); d.stop != nil {
				return false
			}
		}
	}
}

// pending takes in requests that came while nobody listened.
func (d *driver) pending() {
	for {
		select {
		case r := <-d.requests:
			d.take(r)
		default:
			return
		}
	}
}

func (d *driver) take(r codon.Request) {
	if r.Signal != codon.SkipCodon {
		d.stop = &r
	}
}

// capture makes a checkpoint before a codon that is the first to look at some
// files or empty folders, if there are any: so that they can be brought back to
// what it found. The first codon after a move is the first to look at what the
// move has left and nobody had recorded, such as files that were ignored before; that
// of a run, to look at the empty folders that a person has made since the last.
// What a checkpoint has that has looked at more than the codon will stays in the base.
// So does what the move could not bring back: see asMovedTo.
func (d *driver) capture(ctx context.Context, index int) error {
	base, sel := d.x.State().Base, d.selection(index)
	taken, moved := execution.Taken(d.x.State(), d.x.Store, base), d.moved
	d.moved = false
	covered := execution.Covers(taken, sel)
	if covered && !moved {
		return nil
	}
	before, err := d.x.Store.CommitInfo(checkpoint.SHA(base))
	if err != nil {
		return err
	}
	snap, err := d.x.Snapshot(ctx, sel, d.x.Head())
	if err != nil {
		return err
	}
	if covered && !execution.Covers(sel, taken) { // nothing that the codon looks at is missing: a move has made the workspace
		if snap.Tree, err = checkpoint.Overlay(d.x.Store.DB, before.Tree, snap.Tree, func(string) bool { return true }); err != nil {
			d.x.Store.Abort()
			return err
		}
		snap.Empty = slices.Compact(slices.Sorted(slices.Values(slices.Concat(snap.Empty, execution.EmptyFolders(before)))))
	}
	if err := d.asMovedTo(ctx, snap); err != nil {
		d.x.Store.Abort()
		return err
	}
	if folders := execution.EmptyFolders(before); snap.Tree == before.Tree && !slices.ContainsFunc(snap.Empty, func(name string) bool { return !slices.Contains(folders, name) }) {
		d.x.Store.Abort()
		return nil
	}
	id := d.x.State().ExecutionPlan()[index].CodonID
	_, err = d.x.Commit(ctx, execution.Commit{
		Title:    githistory.Title{Status: state.KindTracked, CodonID: id, RunID: d.run, Name: "before it"},
		Snapshot: snap, Parents: d.parents(), Branch: d.branch(),
		Transition: state.CheckpointCreated{Kind: state.KindTracked, RunID: d.run, CodonID: id, Branch: d.branch(), Base: true},
	})
	return err
}

// asMovedTo gives a snapshot, at the paths that the move before the first codon of
// this run could not change, what the move was to bring there. What is on disk
// there is mostly the work of the attempt that is done again: no other attempt is to
// start from it, once it can be taken away.
func (d *driver) asMovedTo(ctx context.Context, snap *checkpoint.Snapshot) error {
	s, at := d.x.State(), d.x.State().LastMove()
	if at == nil || at.Before == nil || len(at.Kept) == 0 {
		return nil
	}
	cmp := d.comparison()
	kept, found := cmp.KeptAt(s.Base, snap), cmp.UncoveredAt(s.Base, snap)
	there := *s
	there.Position = at.Before
	back, err := execution.NewRestoreTarget(ctx, d.x.Layout, &there, d.x.Store, s.Base, at)
	if err != nil {
		return err
	}
	was := snap.Tree
	snap.Tree, err = d.x.Replace(ctx, snap.Tree, back.Tree, func(path string) bool {
		return kept(path) && !worktree.IsKeptAside(path) && (d.x.Store.HasFile(back.Tree, path) || !found(path))
	})
	if err != nil {
		return err
	}
	snap.Empty = slices.DeleteFunc(slices.Clone(snap.Empty), func(name string) bool { return kept(name) && !slices.Contains(back.Empty, name) })
	for _, name := range back.Empty {
		if kept(name) || restore.HasPath(d.x.Store.DB, was, name) && !restore.HasPath(d.x.Store.DB, snap.Tree, name) {
			snap.Empty = append(snap.Empty, name)
		}
	}
	snap.Empty = slices.Compact(slices.Sorted(slices.Values(snap.Empty)))
	return nil
}

// selection is what the checkpoint of the codon at an index takes. It is asked
// for one index after the other, and costs what was added.
func (d *driver) selection(index int) checkpoint.Selection {
	entries := d.x.State().ExecutionPlan()
	for ; d.trackedTo <= index && !d.tracked.All; d.trackedTo++ {
		execution.Track(&d.tracked, entries[d.trackedTo].Codon, d.x.State().Adopted)
	}
	return d.tracked
}

func (d *driver) branch() string { return d.x.State().Run(d.run).GitBranch }

func (d *driver) parents() []state.SHA { return []state.SHA{d.x.Head()} }

// note writes an event that changes nothing. Failing to is not worth stopping
// for: whatever gates something fails by itself.
func (d *driver) note(eventType string, data any) { _ = d.x.Note(eventType, data) }

func (d *driver) say(format string, args ...any) {
	if d.ui.Say != nil {
		d.ui.Say(d.secrets.Text(fmt.Sprintf(format, args...)))
	}
}

func (d *driver) announce(e plan.Entry, index, number, most int) {
	what := e.Codon.Name
	if number > 1 {
		what = fmt.Sprintf("%s (attempt %d of %d)", what, number, most)
	}
	d.say("[%d/%d] %s: %s", index+1, len(d.x.State().ExecutionPlan()), e.CodonID, what)
}

// report says how an attempt has ended. Where the run ends with it, the end of the
// run says why, once.
func (d *driver) report(c *state.Codon, goesOn bool) {
	took := c.EndTime.Sub(c.StartTime.Time).Round(time.Millisecond)
	how := verdict.OfCodon(c, "")
	line := "  " + string(how)
	if more := verdict.Qualification(c); more != "" {
		line += ", " + more + ","
	}
	line += fmt.Sprintf(" in %s", took)
	if cost := c.Cost(); cost > 0 {
		line += ", " + cost.Text()
	}
	if sha := c.Checkpoint(); sha != "" {
		line += fmt.Sprintf(", checkpoint %.12s", sha)
	}
	if c.FailureReason != nil && how != verdict.Stopped && (goesOn || c.Settled()) { // which is why
		line += ": " + c.FailureReason.Message
	}
	d.say("%s", line)
	for _, n := range c.Notes {
		d.say("  %s", n)
	}
	d.note("codon.completed", map[string]any{"codonId": c.CodonID, "success": c.Status == state.Completed, "cost": c.Cost(),
		"duration": took.Milliseconds(), "failureReason": c.FailureReason, "failureIgnored": c.FailureIgnored})
}
