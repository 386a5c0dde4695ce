package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"hank/internal/failpoint"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/runtime/budget"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/notices"
	"hank/runtime/progress"
	"hank/runtime/retry"
	"hank/runtime/startpoint"
	"hank/runtime/verdict"
	"hank/state"
)

// A run goes through the plan entry by entry, and through each entry step by step. A
// step does one thing for the entry that is next: it returns nil where the run
// continues with the following step, and else the outcome that ends the run. An error
// is one of hank itself. What is to hold a run up between two codons is one more step.
type step func(d *driver, ctx context.Context, e *entry) (*verdict.Outcome, error)

// steps are those of each entry. All before the codon's come before the first codon of a
// run too, and again when another run begins with the same entry: each looks at what is
// there and does only what is missing. Between two attempts at a codon there is only
// budgetStep. A request that comes during a step waits: requestStep takes in those from
// before it, and the codon those that come after that.
var steps = []step{
	(*driver).behindStep,
	(*driver).archiveStep,
	(*driver).requestStep,
	(*driver).boundStep,
	(*driver).roomStep,
	(*driver).captureStep,
	(*driver).budgetStep,
	(*driver).aheadStep,
	(*driver).codonStep,
	(*driver).growStep,
	(*driver).countStep,
}

// entry is the entry of the plan that a run is at.
type entry struct {
	index  int
	stored plan.Entry   // as the plan has it: nothing is resolved
	final  *state.Codon // its record, once the codon has ended
}

// drive goes through the plan until it is completed or a step ends the run.
func (d *driver) drive(ctx context.Context) (verdict.Outcome, error) {
	s := d.x.State()
	d.settle()
	next := s.Next()
	index, _, left := history.Awaited(s, d.program)
	if left != nil {
		next = index // its loop may continue
	}
	d.lookAhead(next)
	d.show(d.begun())
	if left != nil {
		if end, err := d.judgeLeft(ctx); err != nil || end != nil {
			return verdict.Deref(end), err
		}
		if over, err := d.bounds.Start(d.x.State()); err != nil {
			return verdict.Outcome{Reason: state.EndUntil, Code: verdict.CodeOf(err), Detail: verdict.Sentence(err)}, nil
		} else if over != "" {
			return verdict.Outcome{Reason: state.EndUntil, Code: exitcode.Stopped, Detail: over}, nil
		}
	}
	for i, more := d.x.State().Next(), true; more; i++ {
		if end, err := d.goThrough(ctx, i); err != nil || end != nil {
			return verdict.Deref(end), err
		}
		if more = i < len(d.x.State().ExecutionPlan()); d.again {
			i, more, d.again = d.x.State().Next()-1, true, false
		}
	}
	failpoint.Hit("plan.done")
	return verdict.Outcome{}, d.archive(ctx, len(d.x.State().ExecutionPlan())-1)
}

// settle finds the record of the codon that comes before the next one in the plan. Where an adopted
// program has another order, that need not be the newest settled one.
func (d *driver) settle() {
	d.settled = nil
	if done := d.x.State().Finished(); len(done) > 0 {
		d.settled = done[len(done)-1]
	}
}

// goThrough goes through the steps of the entry at an index of the plan, until one says
// that the run continues elsewhere; after the last entry only a gate may be left.
func (d *driver) goThrough(ctx context.Context, index int) (*verdict.Outcome, error) {
	entries := d.x.State().ExecutionPlan()
	if index == len(entries) {
		return d.behindStep(ctx, &entry{index: index})
	}
	e := &entry{index: index, stored: entries[index].Entry}
	for _, do := range steps {
		if end, err := do(d, ctx, e); err != nil || end != nil || d.again {
			return end, err
		}
	}
	return nil, nil
}

// lookAhead computes how many codons the plan comes to, from the entry that is next.
func (d *driver) lookAhead(next int) {
	entries := d.x.State().ExecutionPlan()
	d.extent = d.program.Extent(len(entries), func(i int) *plan.LoopContext { return entries[i].LoopContext }, next)
}

// begun is where the run begins.
func (d *driver) begun() progress.Begun {
	name := filepath.Base(filepath.Dir(d.x.Meta().HankPath))
	if d.program.Hank.Meta != nil && d.program.Hank.Meta.Name != "" {
		name = d.program.Hank.Meta.Name
	}
	e := progress.Begun{Hank: name, Done: d.x.State().Next(), Extent: d.extent}
	for _, entry := range d.x.State().ExecutionPlan() {
		e.Widest = max(e.Widest, len(entry.CodonID))
		e.Priced = e.Priced || entry.Codon.Model.Kind().UsesModel
	}
	return e
}

// archiveStep moves away what the codon before is done with.
func (d *driver) archiveStep(ctx context.Context, e *entry) (*verdict.Outcome, error) {
	return nil, d.archive(ctx, e.index-1)
}

// requestStep takes in requests that came while nobody listened.
func (d *driver) requestStep(context.Context, *entry) (*verdict.Outcome, error) {
	for len(d.requests) > 0 {
		d.take(<-d.requests)
	}
	if d.stop != nil {
		return d.stopped("between two codons"), nil
	}
	return nil, nil
}

// boundStep ends the run where its command has it end.
func (d *driver) boundStep(_ context.Context, e *entry) (*verdict.Outcome, error) {
	if why := d.bounds.Between(d.settled, e.stored); why != "" {
		return &verdict.Outcome{Reason: state.EndUntil, Code: exitcode.Stopped, Detail: why}, nil
	}
	return nil, nil
}

// roomStep looks whether there is room for checkpoints, before a codon costs anything.
func (d *driver) roomStep(context.Context, *entry) (*verdict.Outcome, error) {
	return nil, errors.Join(d.x.CheckRoom(), d.x.CheckWorkspace())
}

// captureStep makes a checkpoint of what the codon is the first to look at.
func (d *driver) captureStep(ctx context.Context, e *entry) (*verdict.Outcome, error) {
	return nil, d.capture(ctx, e.index)
}

// budgetStep ends the run if a budget leaves nothing to begin the codon with.
func (d *driver) budgetStep(_ context.Context, e *entry) (*verdict.Outcome, error) {
	l := d.limits(e.stored)
	if l.Over == nil {
		return nil, nil
	}
	return &verdict.Outcome{Reason: state.EndBudget, Code: exitcode.Budget, Codon: e.stored.CodonID, Detail: l.Describe(l.Over)}, nil
}

// codonStep runs the codon, again and again where its policy says so.
func (d *driver) codonStep(ctx context.Context, e *entry) (*verdict.Outcome, error) {
	resolved, err := d.program.Resolve(e.stored)
	if err != nil {
		return nil, err
	}
	for {
		chosen := d.choose(resolved)
		if end, err := d.waitOut(ctx, chosen, e.index); end != nil || err != nil {
			return end, err
		}
		final, err := d.attempt(ctx, chosen, e.index)
		if err != nil {
			return nil, err
		}
		e.final = final
		then := d.after(final)
		again := goesOn(final)
		if d.stop != nil || !again && !then.Again {
			break
		}
		if end, err := d.budgetStep(ctx, e); end != nil || err != nil {
			return end, err
		}
		if again {
			continue
		}
		wait := then.Wait(final.FailureReason, rand.Float64())
		series := retry.Series(d.x.State(), d.x.State().Run(d.run), final.CodonID)
		d.detail("retrying in %s (%s)", wait.Round(time.Millisecond), progress.Attempt(final.Attempt+1, retry.Most(chosen.Codon, series, final.Attempt+1)))
		d.ui.Monitor.Step("waiting to retry at " + time.Now().Add(wait).Format("15:04:05"))
		if !d.sleep(ctx, wait) {
			break
		}
		if err := d.restoreBase(ctx, final, e.index); err != nil {
			return nil, err
		}
	}
	if !e.final.Settled() {
		return d.endedBy(e.final), nil
	}
	d.settled = e.final
	return nil, nil
}

// growStep judges an iteration that has ended, expands the plan, and drops what the
// codon's end makes superfluous.
func (d *driver) growStep(ctx context.Context, e *entry) (*verdict.Outcome, error) {
	if e.stored.LoopContext == nil {
		return nil, nil
	}
	if end, err := d.judge(ctx, e.index, d.x.State().Run(d.run), e.final); err != nil || end != nil {
		return end, err
	}
	if entries, next := d.x.State().ExecutionPlan(), e.index+1; next >= len(entries) || entries[next].LoopContext == nil || entries[next].LoopContext.LoopID != e.stored.LoopContext.LoopID {
		d.lookAhead(next) // the loop is over
	}
	return nil, nil
}

// countStep stops the run after as many codons as it was to run.
func (d *driver) countStep(context.Context, *entry) (*verdict.Outcome, error) {
	d.finished++
	d.stopAfter()
	return nil, nil
}

// after is what follows an attempt of this run.
func (d *driver) after(final *state.Codon) retry.Next {
	s := d.x.State()
	return retry.Of(s, s.Run(d.run), final)
}

// attempt runs one attempt at a codon, and reports it.
func (d *driver) attempt(ctx context.Context, e plan.Entry, index int) (*state.Codon, error) {
	d.still, d.keep = time.Time{}, false
	spec, s := d.spec(e, index, d.attemptsOf(e.CodonID)+1), d.x.State()
	series := retry.Series(s, s.Run(d.run), e.CodonID)
	spec.LastFailure, spec.Limit = retry.LastFailure(series), d.decideLimit(e, series)
	begun := d.announce(e, index, spec.Number, retry.Most(e.Codon, series, spec.Number), spec.Limits.Dollars)
	d.notify(d.files.Take(false)...)
	spec.From = d.x.Journal.Last() + 1
	final, err := codon.Run(ctx, spec, host{d, e, index})
	if err != nil {
		return nil, err
	}
	d.accounts.Add(final)
	d.rows = append(d.rows, budget.Row(spec.Limits, final))
	d.report(begun, final, d.stop != nil || d.after(final).Again || goesOn(final))
	return final, nil
}

// restoreBase brings the workspace to where the codon began: every attempt starts from the
// same tree, not from what the one before it has left.
func (d *driver) restoreBase(ctx context.Context, final *state.Codon, index int) error {
	d.ui.Monitor.Step("restoring the workspace")
	d.still = time.Time{}
	left, err := recovery.IsLeft(ctx, d.x, final.BaseCheckpoint)
	if err != nil {
		return err
	}
	if !left {
		return startpoint.LostStart(final.BaseCheckpoint, final)
	}
	moved, err := d.x.MoveTree(ctx, execution.Move{Kind: "retry", To: final.BaseCheckpoint, Tracked: d.selection(index)})
	if err != nil {
		return err
	}
	d.sayRefused(moved)
	d.rigDone = startpoint.RigInBase(d.x.State(), final)
	return nil
}

// attemptsOf is how many attempts at a codon the run has just made. A failure at its gate
// after it is the end of one, not one more.
func (d *driver) attemptsOf(id state.CodonID) int {
	n, r := 0, d.x.State().Run(d.run)
	for i := r.Len() - 1; i >= 0 && r.Codon(i).CodonID == id; i-- {
		if n++; r.Codon(i).FailedAtGate() && i > 0 && r.Codon(i-1).CodonID == id && r.Codon(i-1).Attempt == r.Codon(i).Attempt {
			n--
		}
	}
	return n
}

// endedBy is the outcome of a run that a codon has ended.
func (d *driver) endedBy(final *state.Codon) *verdict.Outcome {
	switch {
	case d.stop != nil && final.Interrupted != "":
		return d.stopped(fmt.Sprintf("while codon %s was running", final.CodonID))
	case d.stop != nil && d.after(final).Again:
		return d.stopped("before " + string(final.CodonID) + " was tried again")
	case d.after(final).Pause:
		out := verdict.ExhaustedBy(final)
		return &out
	}
	out := verdict.FailedBy(final)
	return &out
}

func (d *driver) stopped(when string) *verdict.Outcome {
	if h := d.x.State().Hold; d.stop.Reason == state.EndHeld && h != nil {
		return held(h)
	}
	return &verdict.Outcome{Reason: d.stop.Reason, Code: d.stop.Code, Codon: "", Detail: "stopped " + when}
}

// sleep waits, until the time is over or a person ends a wait; false means that a request
// to stop came first.
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
			if d.take(r); d.stop != nil || d.endWait {
				return d.stop == nil
			}
		}
	}
}

// take takes in a request while no codon is running: there is nothing to skip. A stop that was
// accepted for an attempt that has ended since ends the run before the next one.
func (d *driver) take(r codon.Request) {
	if r.Do != nil {
		(*r.Do)()
		return
	}
	if r.Signal != codon.SkipCodon && (r.Target.Run == "" || r.Target.Run == d.run) {
		d.stopFor(r)
		return
	}
	d.dropped(r)
}

// announce tells that an attempt begins.
func (d *driver) announce(e plan.Entry, index, number, most int, allowed state.USD) progress.CodonBegun {
	begun := progress.CodonBegun{Codon: e.CodonID, Name: e.Codon.Name, Number: index + 1, Extent: d.extent, Attempt: number, Attempts: most}
	d.show(begun)
	left := -1
	if most := d.request.StopAfter; most > 0 {
		left = max(0, most-d.finished-1)
	}
	d.ui.Monitor.Change(func(now *codon.Activity) {
		*now = codon.Activity{Codon: e.CodonID, Number: index + 1, Extent: d.extent, Since: time.Now(), Attempt: number, Attempts: most, Allowed: allowed,
			Next: progress.Following(d.program.Hank, e, d.bounds.Codon, left)}
	})
	return begun
}

// report tells how an attempt has ended. Where the run ends with it, the end of the
// run says why, once.
func (d *driver) report(begun progress.CodonBegun, c *state.Codon, goesOn bool) {
	took := c.EndTime.Sub(c.StartTime.Time).Round(time.Millisecond)
	e := progress.CodonEnded{CodonBegun: begun, Verdict: verdict.OfCodon(c, ""), But: verdict.Qualification(c), Took: took, Bill: c.Bill(),
		Checkpoint: c.Checkpoint(), Words: progress.LastSentence(d.ui.Monitor.Now().Last), Notes: c.Notes}
	if c.FailureReason != nil && e.Verdict != verdict.Stopped && (goesOn || c.Settled()) { // which is why
		e.Why = c.FailureReason.Message
	}
	changes := notices.Changes(d.x.State(), d.x.Store, c)
	d.files.Begin()
	d.told.Later(func() func() {
		changed := changes()
		e.Files = progress.CountFiles(changed)
		d.files.Add(notices.OfFiles(d.x.Store, c, changed))
		return func() { d.told.Show(e.Masked(d.secrets.Text)) }
	})
	d.notify(notices.OfCodon(c, took, !goesOn && !c.Settled())...)
}

// notify writes notices.
func (d *driver) notify(list ...notices.Notice) {
	for _, n := range list {
		d.note(n.Type, n.Data)
	}
}
