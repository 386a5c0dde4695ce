package budget

import (
	"fmt"
	"slices"
	"testing"

	"hank/plan"
	"hank/state"
)

// The part that an allocation gives a codon or loop is watched beside the whole limit, with
// what was used of it before; a limit that is shared, or all that is left of one, has no part.
func TestThePartsOfAnAllocationAreWatched(t *testing.T) {
	t.Parallel()
	const half = `"allocation": "proportional", "shares": {%q: 0.5}`
	items := codonJSON("a", "") + "," + loopJSON("l", `"maxDollars": 4, `+fmt.Sprintf(half, "b"), codonJSON("b", ""), codonJSON("c", ""))
	divided := `"budget": {"maxDollars": 20, ` + fmt.Sprintf(half, "a") + `}`
	for _, c := range []struct {
		overrides string
		id        plan.CodonID
		want      []string // part, loop, dollars, used
	}{
		{divided, "a", []string{"a  10 3"}},
		{divided, "b#0", []string{"b l 2 0"}},
		{`"budget": {"maxDollars": 20}`, "a", nil},
	} {
		p := budgetHank(t, c.overrides, items)
		a := &Accounts{Codons: map[Place]account{{Codon: "a"}: {Cost: 3 * state.Dollar}}, Loops: map[plan.CodonID]account{}, Total: account{Cost: 3 * state.Dollar}}
		var got []string
		for _, w := range a.Watched(p, entryFor(t, p, c.id), Use{}) {
			if w.Part != "" {
				got = append(got, fmt.Sprintf("%s %s %g %g", w.Part, w.Loop, w.Float(w.Limit), w.Float(w.Used)))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s of %s: %q, want %q", c.id, c.overrides, got, c.want)
		}
	}
}
