//go:build unix

package verdict

import (
	"strings"
	"testing"

	"hank/plan"
	"hank/plan/config"
	"hank/state"
)

// TestWhoseBudgetItWasIsLookedUp: an old record does not say whose budget has cut a codon off.
// One that the hank has ends it again; one of a command line of then does not.
func TestWhoseBudgetItWasIsLookedUp(t *testing.T) {
	t.Parallel()
	const text = `{"runs": [{"runId": "r", "startTime": "2026-01-01T00:00:00Z", "status": "completed", "startingConditions": {"type": "fresh"}, "codons": [
		{"codonId": "a", "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:01:00Z", "status": "completed", "finalCost": 2,
		 "budgetExceeded": {"currency": "cost", "limit": 1, "used": 2, "scope": "SCOPE"}}]}],
		"currentRunId": "r", "executionPlan": [{"codon": {"id": "a", "name": "A", "model": "shell"}, "codonId": "a"}]}`
	program := func(dollars float64) func() *plan.Program {
		return func() *plan.Program {
			return &plan.Program{Hank: &plan.Hank{}, Settings: config.Settings{Budget: &config.Ceiling{MaxDollars: dollars}}}
		}
	}
	for _, c := range []struct {
		scope   string
		program func() *plan.Program
		command string
		first   string
	}{
		{"", program(0), "hank retry a", ""},
		{"", program(1), "hank retry a --adopt", "raise its budget in hank.json"},
		{"", func() *plan.Program { return nil }, "hank retry a --adopt", "raise its budget in hank.json"},
		{"hank", program(0), "hank retry a --adopt", "raise the budget of the hank in hank.json"},
		{"execution", program(1), "hank retry a", ""},
	} {
		s, err := state.Unmarshal([]byte(strings.Replace(text, "SCOPE", c.scope, 1)))
		if err != nil {
			t.Fatal(err)
		}
		command, first := Finish(s, "", c.program)
		if command != c.command || first != c.first {
			t.Errorf("scope %q: %q, %q; want %q, %q", c.scope, command, first, c.command, c.first)
		}
	}
}

func TestALimitIsRaisedByWholeCents(t *testing.T) {
	t.Parallel()
	for in, want := range map[state.USD]string{state.Dollars(2.0545): "2.06", state.Dollars(2): "2", state.Dollars(0.001): "0.01"} {
		if got := upToCents(in).String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
