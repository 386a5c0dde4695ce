package state_test

import (
	"testing"

	"hank/state"
)

func TestABillNamesWhatWasNotPaid(t *testing.T) {
	t.Parallel()
	cost := state.Dollars(0.25)
	paid := (&state.Codon{Harness: "claude", FinalCost: &cost}).Bill()
	played := (&state.Codon{Harness: state.HarnessReplay, FinalCost: &cost}).Bill()
	for want, b := range map[string]state.Bill{
		"$0.00": {}, "$0.25": paid, "$0.25 (replayed, not paid)": played, "$0.50 ($0.25 of it replayed, not paid)": paid.Plus(played),
	} {
		if b.Text() != want {
			t.Errorf("%+v is %q, want %q", b, b.Text(), want)
		}
	}
	if got := played.Short() + ", " + paid.Plus(played).Short(); got != "$0.25 (not paid), $0.50 ($0.25 not paid)" {
		t.Error("short: " + got)
	}
	if got := paid.Plus(played).Paid(); got != cost {
		t.Errorf("paid %s", got)
	}
	if paid.Plus(played).Minus(paid) != played {
		t.Error("what is left of a bill is wrong")
	}
}
