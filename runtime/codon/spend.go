package codon

import (
	"time"

	"hank/internal/failpoint"
	"hank/plan"
	"hank/runtime/alert"
	"hank/runtime/budget"
	"hank/runtime/harness"
	"hank/runtime/metering"
	"hank/state"
)

// alsoOfLoop is the limit that an attempt has hit: that of its loop, if it has hit a
// limit of all codons together and with the same step its loop's own, so that its
// record says that the loop ends.
func (a *attempt) alsoOfLoop(hit *state.BudgetExceeded, used budget.Use) *state.BudgetExceeded {
	if hit == nil || hit.EndsLoop() {
		return hit
	}
	if own := a.LoopLimits.Exceeded(used); own != nil {
		return own
	}
	return hit
}

// limitHit is the limit that the attempt has hit, with what was decided; nil: none.
func (a *attempt) limitHit() *state.BudgetExceeded {
	if a.exceeded == nil {
		return nil
	}
	hit := *a.alsoOfLoop(a.exceeded, a.use())
	hit.OnExceeded = a.Limits.OnExceeded
	return &hit
}

// ofLoop is what a final record says of limits: that its loop's own is reached, if the loop
// ends with it and nothing else in the record ends the loop. The codon may have passed that
// limit without being interrupted: by what followed its agent, or where it pauses and its
// loop does not.
func (a *attempt) ofLoop(final *state.Codon) *state.BudgetExceeded {
	hit := final.BudgetExceeded
	if !final.Settled() || a.LoopLimits.OnExceeded == plan.Pause || hit.EndsLoop() {
		return hit
	}
	own := a.LoopLimits.Exceeded(useOf(final))
	if own == nil {
		return hit
	}
	of := *own
	of.OnExceeded, of.Finished = a.LoopLimits.OnExceeded, hit == nil || hit.Finished
	return &of
}

// useOf is what a final record says of limits of money and time.
func useOf(final *state.Codon) budget.Use {
	return budget.Use{Cost: final.Bill().Cost, Time: final.EndTime.Sub(final.StartTime.Time)}
}

// lateSpending is a final record with the limit of money that the sentinels have reached when
// the work of the codon had ended: it ends the codon as if its agent had reached it at its end.
func (a *attempt) lateSpending(final *state.Codon) *state.Codon {
	use := useOf(final)
	hit := a.Limits.Exceeded(budget.Use{Cost: use.Cost})
	if hit == nil || !final.Settled() {
		return final
	}
	a.exceeded = hit
	next := *a.host.Live()
	if next.Settling.Status == state.Completed {
		s := a.atLimit(*next.Settling, false)
		s.Ignored = s.Status == state.Failed && a.Entry.Codon.Failure() == plan.Ignore
		next = *next.Settle(s)
	}
	of := *a.alsoOfLoop(hit, use)
	of.OnExceeded, of.Finished = a.Limits.OnExceeded, next.Settling.Status == state.Completed
	next.BudgetExceeded = &of
	return next.Conclude(*final.EndTime)
}

// atLimit is the end of an attempt that has reached a limit: cutOff, or when it had ended.
func (a *attempt) atLimit(s state.Settling, cutOff bool) state.Settling {
	s.Status = state.Completed
	why := a.Limits.Describe(a.exceeded)
	switch a.Limits.OnExceeded {
	case plan.Fail:
		s.Status = state.Failed
	case plan.Pause:
		if !cutOff { // there is nothing to be continued
			return s
		}
		s.Status, s.Interrupted = state.Failed, state.InterruptedByBudget
		why += "; paused, and continued when the limit is raised"
	default:
		return s
	}
	s.FailureReason = &state.FailureReason{Type: state.FailUnknown, Message: why, Class: harness.ClassBudget, Rule: a.exceeded.Currency}
	return s
}

// bill is what the attempt has cost so far.
func (a *attempt) bill() state.Bill {
	b := state.Bill{Cost: a.total().Cost + a.watched()}
	if a.Harness.Name() == state.HarnessReplay {
		b.Replayed = b.Cost
	}
	return b
}

// spentTime is how long the attempt has been running.
func (a *attempt) spentTime() time.Duration { return time.Since(a.began) }

// overBudget looks whether a limit is reached, by the agent and the sentinels together; the
// first one that is decides.
func (a *attempt) overBudget() bool {
	if a.exceeded == nil {
		a.exceeded = a.Limits.Exceeded(a.use())
	}
	if a.exceeded != nil && a.watch != nil {
		a.watch.StopAsking()
	}
	return a.exceeded != nil
}

// warn says what of a limit is nearly used up: the use that has led to it is recorded before
// it is said, so that a crash in between can be told from one before both.
func (a *attempt) warn(now time.Time) error {
	due := a.Watch.Crossed(a.use())
	if len(due) == 0 {
		return nil
	}
	if err := a.recordUsage(now, true); err != nil {
		return err
	}
	failpoint.Hit("budget.recorded")
	for _, w := range due {
		a.host.Note(alert.Event, w)
		failpoint.Hit("budget.warned")
		a.Warn(w)
	}
	return nil
}

// use is what the agent and the sentinels have used so far.
func (a *attempt) use() budget.Use {
	total := a.total()
	return budget.Use{Cost: total.Cost + a.watched(), Time: a.spentTime(), Output: total.Tokens.Output, Context: total.Context}
}

// total is what all turns of the attempt have used, in money by the agent's
// own figure or by the registry's price.
func (a *attempt) total() harness.Usage { return metering.Sum(a.spent, a.usage) }
