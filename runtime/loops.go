package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hank/internal/failpoint"
	"hank/internal/term"
	"hank/plan"
	"hank/plan/loop"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/runtime/agents"
	"hank/runtime/codon"
	"hank/runtime/history"
	"hank/runtime/judging"
	"hank/runtime/live"
	"hank/runtime/notices"
	"hank/runtime/verdict"
	"hank/state"
)

// judge decides whether a loop is over after a codon of it that has ended, and has the plan
// follow. held is the run that has the codon's record.
//
//  1. The iteration is over: its last codon has its checkpoint, and its record says what it
//     has cost. A crash before this leaves the codon to be run again.
//  2. Its voters are asked: the trees of its checkpoints, the decisions in its records, a
//     command. Nothing of that is durable; after a crash they are asked again.
//  3. The verdict is recorded. From here on nobody is asked about this iteration again,
//     as long as its record is on the lineage path.
//  4. The plan grows by the next iteration, or does not. After a crash it is derived from
//     the verdict.
//
// Where nothing has to be judged, the plan grows at once.
func (d *driver) judge(ctx context.Context, index int, held *state.Run, final *state.Codon) (*verdict.Outcome, error) {
	window := d.window(index)
	o := githistory.Judged(held, final)
	if d.program.AwaitsVerdict(window[0], window[1:], o) {
		failpoint.Hit("loop.ended")
		j, end, err := d.ask(ctx, index, final)
		if err != nil || end != nil {
			return end, err
		}
		failpoint.Hit("loop.asked")
		if err := d.x.Record(state.IterationJudged{RunID: held.RunID, Judgement: j}); err != nil {
			return nil, err
		}
		failpoint.Hit("loop.judged")
		o.Decision = j.Decision
		d.tellVerdict(j)
	}
	drop, add := d.program.Grow(window, 0, o)
	if drop == 0 && len(add) == 0 {
		d.noteIteration(index, final, o)
		return nil, nil
	}
	added, err := history.EncodeEntries(add)
	if err != nil {
		return nil, err
	}
	if err := d.x.Record(state.PlanGrown{After: final.CodonID, Drop: drop, Add: added}); err != nil {
		return nil, err
	}
	failpoint.Hit("loop.grown")
	d.noteIteration(index, final, o)
	return nil, nil
}

// noteIteration tells of the iteration that a codon has ended, if it has: the plan is as it
// goes on.
func (d *driver) noteIteration(index int, final *state.Codon, o plan.Outcome) {
	at, over := final.LoopContext, true
	if entries := d.x.State().ExecutionPlan(); index+1 < len(entries) {
		if next := entries[index+1].LoopContext; next != nil && next.LoopID == at.LoopID {
			if over = false; next.Iteration == at.Iteration {
				return
			}
		}
	}
	d.notify(notices.OfIteration(d.x.State(), final, over, o, d.program.Loop(at.LoopID)))
}

// judgeLeft judges the iteration that the execution is at the end of, if a crash or a stop
// has come before its verdict.
func (d *driver) judgeLeft(ctx context.Context) (*verdict.Outcome, error) {
	index, held, final := history.Awaited(d.x.State(), d.program)
	if final == nil {
		return nil, nil
	}
	end, err := d.judge(ctx, index, held, final)
	d.lookAhead(d.x.State().Next())
	return end, err
}

// ask asks the voters about the iteration that a record has ended.
func (d *driver) ask(ctx context.Context, index int, final *state.Codon) (*state.Judgement, *verdict.Outcome, error) {
	d.ui.Monitor.Step("deciding whether the loop continues")
	c := judging.Find(d.x.State(), final)
	c.Store, c.Loop = d.x.Store, d.program.Loop(final.LoopContext.LoopID)
	sel := d.selection(index)
	c.Tracked = sel.All
	for _, p := range sel.Patterns {
		c.Tracked = c.Tracked || p != plan.ProgressFile(c.Loop.ID)
	}
	c.Until = func(ctx context.Context, r loop.Rule) (loop.Ballot, error) {
		return d.until(ctx, index, final, r)
	}
	j, err := c.Judge(ctx, d.x.Now())
	if err == nil {
		return j, nil, nil
	}
	if d.stop != nil && errors.Is(err, context.Canceled) {
		return nil, d.stopped(fmt.Sprintf("before it was decided whether loop %s continues", c.Loop.ID)), nil
	}
	return nil, nil, err
}

// until runs the command of a loop, and makes a checkpoint of what it has changed. It has a name of
// this run: what watches over the one that a killed run has begun ends all that has its name.
func (d *driver) until(ctx context.Context, index int, final *state.Codon, r loop.Rule) (loop.Ballot, error) {
	e, err := d.program.Resolve(d.x.State().ExecutionPlan()[index].Entry)
	if err != nil {
		return loop.Ballot{}, err
	}
	if d.noop {
		return loop.Ballot{Decision: loop.Stop, Reason: "its command does not run (noop)"}, nil
	}
	spec := d.untilSpec(e, recovery.Attempt(d.x.State().Lineage, d.run, final), max(final.Attempt, 1))
	d.still = time.Time{}
	d.judges.Store(&live.Judging{Run: spec.Run, Codon: e.CodonID, Attempt: spec.Number, Loop: e.LoopContext.LoopID})
	defer d.judges.Store(nil)
	b, err := codon.Until(ctx, spec, host{d, e, index}, r)
	if err != nil {
		return b, err
	}
	return b, d.keepChanges(ctx, index)
}

// untilSpec is what a command of a loop needs to know, as the last codon of the iteration
// would.
func (d *driver) untilSpec(e plan.Entry, id string, number int) codon.Spec {
	h, _, _ := agents.Of(e.Codon)
	return codon.Spec{
		Run: d.run, ID: id, Entry: e, Number: number, LastOutcome: lastOutcome(d.settled), Harness: h,
		Program: d.program, Settings: d.settings, Limits: d.limits(e), Layout: d.x.Layout, Output: d.x.Meta().Output,
		HasData: d.x.Meta().ReadOnlySourceDataPath != "", Environ: d.request.ProcessEnviron(), Confined: d.confinement != nil,
	}
}

// keepChanges makes a checkpoint of what a command has changed in the workspace since the
// last one, so that nobody takes it for changes by the user.
func (d *driver) keepChanges(ctx context.Context, index int) error {
	head := d.x.Head()
	before, err := d.x.Tree(head)
	if err != nil {
		return err
	}
	snap, err := d.x.SnapshotSince(ctx, d.still, execution.Taken(d.x.State(), d.x.Store, head), head)
	if err != nil {
		return err
	}
	d.x.Store.Abort()
	if snap.Tree == before {
		return nil
	}
	if snap, err = d.snapshot(ctx, head); err != nil { // as far as such a checkpoint looks
		return err
	}
	_, err = d.x.Commit(ctx, execution.Commit{
		Title:    githistory.Title{Status: state.KindManual, RunID: d.run, Name: "changed by the command of loop " + string(d.x.State().ExecutionPlan()[index].LoopContext.LoopID)},
		Snapshot: snap, Parents: d.parents(), Branch: d.branch(),
		Transition: state.CheckpointCreated{Kind: state.KindManual, RunID: d.run, Branch: d.branch(), Base: true},
	})
	return err
}

// tellVerdict says what was decided.
func (d *driver) tellVerdict(j *state.Judgement) {
	l := d.program.Loop(j.LoopID)
	what := "continues"
	switch {
	case j.Decision == loop.Stop:
		what = "is over"
	case j.Iteration+1 >= l.TerminateOn.Limit:
		what = "is at its limit of " + term.Count(l.TerminateOn.Limit, "iteration")
	}
	d.say("  loop %s %s after iteration %d: %s", j.LoopID, what, j.Iteration, j.Reason)
}

// lastOutcome is how a codon ended, in words for the codon after it. What it may have voted
// is not part of it.
func lastOutcome(c *state.Codon) string {
	switch {
	case c == nil:
		return ""
	case c.FailureReason != nil && c.Status == state.Failed:
		return "failed: " + c.FailureReason.Message
	}
	return string(c.Status)
}

// window is the plan from an index to the end of its loop's iteration and one
// entry more: all that growth depends on.
func (d *driver) window(index int) []plan.Entry {
	all := d.x.State().ExecutionPlan()
	loop := d.program.Loop(all[index].LoopContext.LoopID)
	end := index + 2
	if loop != nil {
		end += len(loop.Codons)
	}
	var out []plan.Entry
	for _, e := range all[index:min(end, len(all))] {
		out = append(out, e.Entry)
	}
	return out
}
