package runtime

import (
	"time"

	"hank/plan"
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

// loopBudgetOver tells whether the budget of an entry's loop is used up.
func (d *driver) loopBudgetOver(e plan.Entry) bool {
	return d.accounts.loopOver(d.program, e) != nil
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
