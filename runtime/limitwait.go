package runtime

import (
	"context"
	"time"

	"hank/internal/failpoint"
	"hank/plan"
	"hank/runtime/fallback"
	"hank/runtime/result"
	"hank/runtime/retry"
	"hank/runtime/usagelimit"
	"hank/runtime/verdict"
	"hank/state"
)

// waitOut does what comes before the next attempt at the codon that is next, where its provider
// did not let the last one work: it says which model is used instead, or waits for the limit:
//
//  1. The end of the attempt is recorded, with its checkpoint, and says until when to wait.
//  2. The wait is told of: an event, and the notification command (limit.announced).
//  3. The run waits. It has the status running, and takes requests.
//  4. The time is over, or a person has ended the wait. An event says so (limit.over).
//  5. The next attempt continues the agent's session in the workspace as it is; where there
//     is no session with work in it, it begins anew, from where the codon began.
//
// Whatever is cut off after one of these steps, the next run finds the same record, and
// waits for what is left.
func (d *driver) waitOut(ctx context.Context, e plan.Entry, index int) (*verdict.Outcome, error) {
	run := d.x.State().Run(d.run)
	series := retry.Series(d.x.State(), run, e.CodonID)
	if len(series) == 0 || !goesOn(series[len(series)-1]) {
		return nil, nil
	}
	last := series[len(series)-1]
	earlier := run.Len() == 0 || run.Codon(run.Len()-1) != last // an earlier run had the attempt
	if w := usagelimit.After(last); w != nil && !w.Concerns(e.Codon) {
		d.say("%s: not waiting for %s any more, whose limit ends at %s: its model is now %s", w.Codon, last.Model, w.Until.Local().Format(time.DateTime), e.Codon.Model)
	} else if w != nil {
		d.endWait = d.endWait || earlier && d.request.Now
		if end, err := d.awaitLimit(ctx, w); end != nil || err != nil {
			return end, err
		}
		d.note("run.waited", waitEvent{w.Codon, *w, ""})
		failpoint.Hit("limit.over")
	} else {
		taken := fallback.Of(last, e.Codon)
		d.note("codon.fallback", taken)
		d.say("%s", taken)
	}
	if earlier { // the start of this run continues it
		return nil, nil
	}
	if c := usagelimit.Continued(e.Codon, series); c != nil {
		d.resumed, d.session = c, c
		d.rigDone = c.RigSetupCheckpoint != "" || c.FailedDuring != state.Preparing
		return nil, nil
	}
	return nil, d.restoreBase(ctx, last, index)
}

// waitEvent is what the events of a wait say.
type waitEvent struct {
	CodonID state.CodonID `json:"codonId"`
	usagelimit.Waiting
	Message string `json:"message,omitempty"`
}

// looks is how often a wait looks at the clock: a machine may have been asleep.
const looks = 20 * time.Second

// awaitLimit returns when a wait is over, or with the outcome of a run that was stopped.
func (d *driver) awaitLimit(ctx context.Context, w *usagelimit.Waiting) (*verdict.Outcome, error) {
	left := func() time.Duration { return w.Until.Sub(d.x.Now().Time) }
	if left() > 0 && !d.endWait {
		d.note("run.waiting", waitEvent{w.Codon, *w, w.Record.FailureReason.Message})
		d.say("%s: %s (%s)", w.Codon, w.Says(), w.Record.FailureReason.Message)
		d.say("  `hank run --now` ends the wait")
		d.ui.Monitor.Wait(w.Says())
		if d.request.Notify != "" {
			result.Notify(ctx, d.request, d.ui, d.result(verdict.Outcome{Reason: verdict.EndWaits, Codon: w.Codon, Detail: w.Says()}, nil), nil)
		}
		failpoint.Hit("limit.announced")
	}
	foreseen := usagelimit.IsForeseen(w.Record.FailureReason)
	for left() > 0 && !d.endWait && (!foreseen || d.account == nil || d.account.IsOpen()) {
		wait := looks
		if foreseen { // the run that asks may be answered any time
			wait = time.Second
		}
		if !d.sleep(ctx, min(left(), wait)) {
			if d.stop != nil {
				return d.stopped("while " + w.Says()), nil
			}
			return nil, ctx.Err()
		}
	}
	d.past, d.endWait = d.past || d.endWait, false
	return nil, nil
}

// goesOn reports whether an attempt follows that the provider's failure costs no retry.
func goesOn(c *state.Codon) bool {
	return usagelimit.After(c) != nil || c.Interrupted == state.InterruptedByFallback
}

// choose is an entry with the model of its next attempt.
func (d *driver) choose(e plan.Entry) plan.Entry {
	if s := d.x.State(); len(e.Codon.Fallback) > 0 && d.replay == nil && !d.noop {
		e.Codon = fallback.Choose(e.Codon, retry.Series(s, s.Run(d.run), e.CodonID), d.agents.Usable(e.Codon, d.request.ProcessEnviron()))
	}
	return e
}

// decideLimit is whether the next attempt at an entry may end with a wait, or with a fall back.
func (d *driver) decideLimit(e plan.Entry, series []*state.Codon) func(*state.FailureReason, time.Time) usagelimit.Decision {
	if d.replay != nil || d.noop {
		return nil
	}
	own := d.x.State().ExecutionPlan()[d.x.State().PlanIndex(e.CodonID)].Codon
	return func(f *state.FailureReason, now time.Time) usagelimit.Decision {
		return fallback.Decide(own, series, d.agents.Usable(e.Codon, d.request.ProcessEnviron()), f, usagelimit.Decide(d.program, e.Codon, series, f, now))
	}
}
