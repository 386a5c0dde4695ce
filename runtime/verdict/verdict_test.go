package verdict

import (
	"strings"
	"testing"

	"hank/plan"
	"hank/recovery"
	"hank/runtime/budget"
	"hank/state"
)

func TestWhatPeopleAreToldOfARun(t *testing.T) {
	t.Parallel()
	pause := &state.Pause{Reason: state.EndDecision}
	for _, c := range []struct {
		run        state.Run
		live, gone bool
		want       Verdict
	}{
		{run: state.Run{Status: state.StatusRunning}, live: true, want: Running},
		{run: state.Run{Status: state.StatusRunning}, want: Running}, // not proven gone
		{run: state.Run{Status: state.StatusRunning}, gone: true, want: Crashed},
		{run: state.Run{Status: state.StatusRunning, Paused: pause}, want: Paused},
		{run: state.Run{Status: state.StatusCompleted}, want: Completed},
		{run: state.Run{Status: state.StatusCrashed, EndReason: state.EndCrash}, want: Crashed},
		{run: state.Run{Status: state.StatusFailed, EndReason: state.EndCodonFailed}, want: Failed},
		{run: state.Run{Status: state.StatusFailed}, want: Failed}, // another runtime's
		{run: state.Run{Status: state.StatusFailed, EndReason: state.EndStopped}, want: Stopped},
		{run: state.Run{Status: state.StatusFailed, EndReason: state.EndSignal}, want: Stopped},
		{run: state.Run{Status: state.StatusFailed, EndReason: state.EndBudget}, want: Budget},
		{run: state.Run{Status: state.StatusFailed, EndReason: state.EndAgent}, want: Refused},
		{run: state.Run{Status: state.StatusFailed, EndReason: state.EndDecision}, want: Paused},
		{run: state.Run{Status: state.StatusFailed, EndReason: state.EndError}, want: Paused},
	} {
		if got := On(&c.run, c.live, c.gone); got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
	}
}

func TestWhatPeopleAreToldOfACodon(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		codon state.Codon
		run   Verdict
		want  Verdict
		more  string
	}{
		{codon: state.Codon{Status: state.Preparing}, run: Running, want: "preparing"},
		{codon: state.Codon{Status: state.CompletingSentinels}, run: Running, want: "completing-sentinels"},
		{codon: state.Codon{Status: state.Running}, run: Crashed, want: Crashed},
		{codon: state.Codon{Status: state.Running}, run: Paused, want: Paused},
		{codon: state.Codon{Status: state.Failed}, run: Crashed, want: Failed},
		{codon: state.Codon{Status: state.Failed, FailureIgnored: true}, want: Failed, more: "failure ignored"},
		{codon: state.Codon{Status: state.Failed, Interrupted: state.InterruptedByStop}, want: Stopped},
		{codon: state.Codon{Status: state.Failed, Interrupted: state.InterruptedBySignal}, want: Stopped},
		{codon: state.Codon{Status: state.Failed, Interrupted: state.InterruptedByCrash}, want: Crashed},
		{codon: state.Codon{Status: state.Failed, Interrupted: state.InterruptedByPause}, want: Paused},
		{codon: state.Codon{Status: state.Failed, Interrupted: state.InterruptedByRefusal}, want: Refused},
		{codon: state.Codon{Status: state.Skipped}, want: Skipped},
		{codon: state.Codon{Status: state.Completed, ContextExceeded: true}, want: Completed, more: "its context was full"},
		{codon: state.Codon{Status: state.Completed, BudgetExceeded: &state.BudgetExceeded{Currency: "cost", Limit: 2, Used: 2.109}}, want: Completed, more: "stopped at its budget ($2.11 of $2.00)"},
	} {
		if got, more := OfCodon(&c.codon, c.run), Qualification(&c.codon); got != c.want || more != c.more {
			t.Errorf("%+v: %s (%s), want %s (%s)", c.codon, got, more, c.want, c.more)
		}
	}
	if text := Verdict(state.CompletingSentinels).String(); text != "finishing" { // there may be no sentinels
		t.Errorf("people read %q", text)
	}
}

func TestManyCaveatsAreCountedAndTheFirstNamed(t *testing.T) {
	t.Parallel()
	var c state.Caveats
	for _, id := range strings.Fields("a b c d e f g") {
		c.Ignored = append(c.Ignored, state.Caveat{CodonID: state.CodonID(id)})
	}
	c.Skipped = []state.CodonID{"x"}
	if got, want := CaveatText(c), "7 failures ignored (a, b, c, d, e, and 2 more) and 1 codon skipped (x)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := ProgressText(9, plan.Extent{Codons: 12}, c), "9 of 12 finished, 1 of them skipped, 7 of them failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What cut codons off is named as what it is: a limit that the command line has set
// is no budget of theirs.
func TestCutOffNamesWhatCutOff(t *testing.T) {
	t.Parallel()
	cut := func(id state.CodonID, scope string) state.Caveat {
		return state.Caveat{CodonID: id, BudgetExceeded: &state.BudgetExceeded{Currency: "cost", Limit: 2, Used: 3, Scope: scope}}
	}
	for want, list := range map[string][]state.Caveat{
		"1 codon stopped at the limit of this execution (a: $3.00 of $2.00)":                                                              {cut("a", budget.ScopeExecution)},
		"2 codons stopped at the limit of this execution (a: $3.00 of $2.00, b: $3.00 of $2.00)":                                          {cut("a", budget.ScopeExecution), cut("b", budget.ScopeExecution)},
		"1 codon stopped at its budget (a: $3.00 of $2.00) and 1 codon stopped at the limit of this execution (b: $3.00 of $2.00)":        {cut("b", budget.ScopeExecution), cut("a", budget.ScopeCodon)},
		"2 codons stopped at their budgets (a: $3.00 of $2.00, b: $3.00 of $2.00)":                                                        {cut("a", budget.ScopeCodon), cut("b", "")}, // an older hank said no scope
		"1 codon stopped at the budget of its loop (a: $3.00 of $2.00) and 1 codon stopped at the budget of the hank (b: $3.00 of $2.00)": {cut("a", budget.ScopeLoop), cut("b", budget.ScopeHank)},
	} {
		if got := CaveatText(state.Caveats{CutOff: list}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An agent that has ended by itself was not interrupted, however much it has used.
func TestWhatHasFinishedWasNotCutOff(t *testing.T) {
	t.Parallel()
	over := state.BudgetExceeded{Currency: "cost", Limit: 0.4, Used: 0.5}
	c := &state.Codon{CodonID: "c", Status: state.Completed, BudgetExceeded: &over}
	if got, want := Qualification(c), "stopped at its budget ($0.50 of $0.40)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	over.Finished = true
	if got, want := Qualification(c), "its budget is reached ($0.50 of $0.40)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	over.Scope = budget.ScopeExecution
	if got, want := Qualification(c), "the limit of this execution is reached ($0.50 of $0.40 left for it)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Older versions of hank took for finished what an adopted program runs again.
func TestWhatRunsAgainIsNotCompleted(t *testing.T) {
	t.Parallel()
	v := &recovery.View{State: &state.State{Runs: []*state.Run{{RunID: "r", Status: state.StatusCompleted}}}}
	for done, want := range map[int]Verdict{4: Completed, 2: Stopped} {
		if v.Head = (state.Summary{State: v.State, Done: done, Planned: 4}); OfExecution(v) != want {
			t.Errorf("with %d of 4 codons finished it is %s", done, OfExecution(v))
		}
	}
}
