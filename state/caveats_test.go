package state

import "testing"

func TestABudgetThatWasExceededIsDescribed(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]BudgetExceeded{
		"$2.109 of $2":                   {Currency: "cost", Limit: 2, Used: 2.109},
		"1m0.25s of 1m0s":                {Currency: "duration", Limit: 60, Used: 60.25},
		"7 of 5 output tokens":           {Currency: "outputTokens", Limit: 5, Used: 7},
		"700 of 500 tokens of context":   {Currency: "contextTokens", Limit: 500, Used: 700},
		"3 of 2 (pages)":                 {Currency: "pages", Limit: 2, Used: 3},
		"2562047h47m16.854775807s of 1s": {Currency: "duration", Limit: 1, Used: 1e30},
	} {
		if got := b.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Caveats that are extended leave those that they came from as they were.
func TestCaveatsShareNothingThatIsWritten(t *testing.T) {
	t.Parallel()
	skipped := func(id CodonID) *Codon { return &Codon{CodonID: id, Status: Skipped} }
	c := Caveats{}.with(skipped("a")).with(skipped("b")).with(skipped("c"))
	one, other := c.with(skipped("one")), c.with(skipped("other"))
	if one.Skipped[3] != "one" || other.Skipped[3] != "other" {
		t.Errorf("%v, %v", one.Skipped, other.Skipped)
	}
	if c.Empty() || !(Caveats{}).Empty() {
		t.Error("Empty")
	}
}
