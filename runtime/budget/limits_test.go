//go:build unix

package budget

import (
	"testing"

	"hank/state"
)

// The limit of an execution and the hank's budget both hold, whichever is lower.
func TestTheLowerOfLimitAndBudgetHolds(t *testing.T) {
	t.Parallel()
	p := budgetHank(t, `"budget": {"maxDollars": 2, "maxTimeSeconds": 20}`, codonJSON("a", ""))
	e := entryFor(t, p, "a")
	for _, c := range []struct {
		person         state.Limits
		dollars        float64
		seconds        float64
		dollarsOf, tOf string
	}{
		{state.Limits{}, 2, 20, ScopeHank, ScopeHank},
		{state.Limits{MaxDollars: 5 * state.Dollar, MaxTimeSeconds: 10}, 2, 10, ScopeHank, ScopeExecution},
		{state.Limits{MaxDollars: state.Dollar, MaxTimeSeconds: 50}, 1, 20, ScopeExecution, ScopeHank},
	} {
		l := NewAccounts(&state.State{Limits: c.person}, false).Limits(p, e, Use{})
		if dollars(l.Dollars) != c.dollars || l.Time.Seconds() != c.seconds || l.money.scope != c.dollarsOf || l.span.scope != c.tOf {
			t.Errorf("%+v: %+v", c.person, l)
		}
	}
	none := budgetHank(t, "", codonJSON("a", ""))
	if l := NewAccounts(&state.State{Limits: state.Limits{MaxDollars: 1}}, false).Limits(none, e, Use{}); l.Dollars != 1 {
		t.Errorf("a hank without a budget: %+v", l)
	}
}
