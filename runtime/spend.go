package runtime

import (
	"time"

	"hank/plan"
	"hank/state"
)

// limits are what the next attempt at an entry may use.
func (d *driver) limits(e plan.Entry) limits {
	s := d.x.State()
	return d.accounts.limits(d.program, e, chain(s, s.Run(d.run), e.CodonID))
}

// budgetOver says which budget leaves nothing to begin a codon with; empty if
// it may begin.
func (d *driver) budgetOver(e plan.Entry) string {
	l := d.limits(e)
	if l.Over == nil {
		return ""
	}
	return l.describe(l.Over)
}

// loopBudgetOver tells whether the budget of an entry's loop is used up, so that the
// loop ends.
func (d *driver) loopBudgetOver(e plan.Entry) bool {
	return d.accounts.loopLimits(d.program, e).Over != nil
}

// summarize says at the end of a run what was used of the budgets, if there
// are any.
func (d *driver) summarize() {
	if s, budgeted := d.accounts.summary(d.program, d.rows); budgeted {
		d.note(state.BudgetSummaryEvent, s)
	}
}

// alsoOfLoop is the limit that an attempt has hit: that of its loop, if it has hit a
// limit of all codons together and with the same step its loop's own, so that its
// record says that the loop ends.
func (a *attempt) alsoOfLoop(hit *state.BudgetExceeded) *state.BudgetExceeded {
	if hit == nil || hit.EndsLoop() {
		return hit
	}
	used := usage{Cost: a.total().Cost, Time: a.spentTime()}
	if own := a.accounts.loopLimits(a.program, a.entry).exceeded(used); own != nil {
		return own
	}
	return hit
}

// spentTime is how long the attempt has been at work.
func (a *attempt) spentTime() time.Duration { return time.Since(a.began) }

// overBudget looks whether a limit is reached; the first one that is decides.
func (a *attempt) overBudget() bool {
	if a.exceeded == nil {
		total := a.total()
		a.exceeded = a.limits.exceeded(usage{Cost: total.Cost, Time: a.spentTime(), Output: total.Tokens.Output, Context: total.Context})
	}
	return a.exceeded != nil
}
