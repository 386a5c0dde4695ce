package state_test

import (
	"testing"

	"hank/state"
)

// What is exactly between two billionths goes to the even one.
func TestAFloatIsRoundedHalfToEven(t *testing.T) {
	for f, want := range map[float64]state.USD{1.0 / 2 / 1e9: 0, 3.0 / 2 / 1e9: 2, 5.0 / 2 / 1e9: 2, -5.0 / 2 / 1e9: -2, 0.1: 100_000_000} {
		if got := state.Dollars(f); got != want {
			t.Errorf("$%g is %d billionths, want %d", f, got, want)
		}
	}
}

// People read amounts in cents; only what is less than a cent has more decimals.
func TestPeopleReadAmountsInCents(t *testing.T) {
	for amount, want := range map[state.USD]string{
		0: "$0.00", state.Dollar: "$1.00", state.Dollars(0.8): "$0.80", state.Dollars(2.109): "$2.11", state.Dollars(0.01): "$0.01", state.Dollars(0.0149): "$0.01",
		state.Dollars(0.0031): "$0.0031", state.Dollars(0.00999): "$0.00999", 1: "$0.000000001", state.Dollars(1234.5): "$1,234.50", state.Dollars(1234567): "$1,234,567.00", -state.Dollars(0.8): "-$0.80",
	} {
		if got := amount.Text(); got != want {
			t.Errorf("%d is %s, want %s", amount, got, want)
		}
	}
	if b, err := state.Dollars(0.8).MarshalJSON(); err != nil || string(b) != "0.8" {
		t.Errorf("in JSON it is %s, %v", b, err)
	}
}

// A limit of a part of a cent is shown as it was set, and what is used as exactly.
func TestAPartOfALimitIsNotRoundedToAnotherOne(t *testing.T) {
	for _, c := range []struct {
		used, limit float64
		want        string
	}{
		{0.0075, 0.014, "$0.0075 of $0.014"}, {0.0135, 0.014, "$0.0135 of $0.014"}, {0.2, 0.333333333, "$0.20 of $0.3333"},
		{0.254, 0.5, "$0.25 of $0.50"}, {5.0049, 10.005, "$5.00 of $10.01"}, {0.0004, 0.0005, "$0.0004 of $0.0005"}, {0.009999, 0.015, "$0.009999 of $0.015"},
		{0.8, 2, "$0.80 of $2.00"}, {2, 2, "$2.00 of $2.00"}, {0.075, 0.08, "$0.075 of $0.08"}, {1.999, 2, "$1.999 of $2"}, {2.001, 2, "$2.001 of $2"},
	} {
		if got := (state.BudgetExceeded{Currency: "cost", Used: c.used, Limit: c.limit}).String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
