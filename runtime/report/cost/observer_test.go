package cost

import (
	"testing"

	"hank/state"
	"hank/state/costindex"
)

// The cost of a sentinel is a cost of its codon, and no attempt at it.
func TestASentinelIsNoAttempt(t *testing.T) {
	t.Parallel()
	cost := state.USD(3)
	record := &state.Codon{CodonID: "a", Status: state.Completed, Model: "m", FinalCost: &cost,
		Sentinels: &state.Sentinels{TotalCost: 7, Executed: []state.Sentinel{{ID: "s", Model: "small", TotalCost: 5}}}}
	totals := addCosts(nil, costindex.ByCodon, costsOf(1, "r", record))
	if len(totals) != 1 || totals[0].Entries != 1 || totals[0].Cost != 10 {
		t.Errorf("%+v", totals)
	}
}
