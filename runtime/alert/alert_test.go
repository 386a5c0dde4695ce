package alert

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hank/runtime/budget"
	"hank/state"
)

// However the use of a limit is divided among reports and attempts, each level is said once
// at most, in order, when it is reached, and the last one that is reached is said.
func TestEachLevelIsSaidOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 1<<62).Draw(t, "limit")
		l := budget.Watched{Scope: budget.ScopeHank, Currency: "cost", Limit: limit}
		var said []int
		for range rapid.IntRange(1, 5).Draw(t, "attempts") {
			w, used := newWatch("r", "a", []budget.Watched{l}), int64(0)
			for range rapid.IntRange(0, 5).Draw(t, "reports") {
				used += rapid.Int64Range(0, limit/4).Draw(t, "use")
				if l.Used+used >= limit {
					return
				}
				for _, due := range w.Crossed(budget.Use{Cost: state.USD(used)}) {
					said = append(said, due.Level)
				}
				if at := level(l.Used+used, limit); at > 0 && (len(said) == 0 || said[len(said)-1] != at) {
					t.Fatalf("%d of %d are used, and %v was said", l.Used+used, limit, said)
				}
			}
			l.Used += used
		}
		if !slices.IsSorted(said) || len(slices.Compact(slices.Clone(said))) != len(said) {
			t.Fatalf("said %v", said)
		}
	})
}

func TestALevelIsReachedExactly(t *testing.T) {
	t.Parallel()
	for used, want := range map[int64]int{-1: 0, 499: 0, 500: 50, 799: 50, 800: 80, 949: 80, 950: 95, 5000: 95} {
		if got := level(used, 1000); got != want {
			t.Errorf("%d of 1000 is level %d, want %d", used, got, want)
		}
	}
}

// A limit that is reached whole is what the record says, and no warning.
func TestALimitThatIsReachedIsNoWarning(t *testing.T) {
	t.Parallel()
	w := newWatch("r", "a", []budget.Watched{{Scope: budget.ScopeCodon, Currency: "outputTokens", Limit: 10}, {Scope: budget.ScopeLoop, Loop: "l", Currency: "duration", Limit: 4e9}})
	if due := w.Crossed(budget.Use{Output: 10, Time: 2e9}); len(due) != 1 || due[0].Message != "50 % of the budget of loop l is used: 2s of 4s" || due[0].LoopID != "l" {
		t.Errorf("%+v", due)
	}
	var none *Watch
	if due := none.Crossed(budget.Use{Output: 10}); due != nil {
		t.Errorf("of no watch: %+v", due)
	}
}

// A part of a limit has levels of its own, which name whose part it is.
func TestAPartOfALimitHasItsOwnLevels(t *testing.T) {
	t.Parallel()
	whole := budget.Watched{Scope: budget.ScopeHank, Currency: "cost", Limit: 20 * int64(state.Dollar)}
	part, inLoop := whole, whole
	part.Limit, part.Part = 10*int64(state.Dollar), "a"
	inLoop.Limit, inLoop.Part, inLoop.Loop = 10*int64(state.Dollar), "a", "l"
	w := newWatch("r", "a", []budget.Watched{whole, part, inLoop})
	var got []string
	for _, due := range w.Crossed(budget.Use{Cost: 5 * state.Dollar}) {
		got = append(got, string(due.Part)+": "+due.Message)
	}
	if want := []string{"a: 50 % of the part of a in the budget of the hank is used: $5.00 of $10.00", "a: 50 % of the part of a in what loop l may spend is used: $5.00 of $10.00"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	part.Used = 5 * int64(state.Dollar)
	w = newWatch("r", "b", []budget.Watched{part})
	if missed := w.missed(budget.Use{Cost: 5 * state.Dollar}, map[key]int{{Scope: budget.ScopeHank, Currency: "cost"}: 50}); len(missed) != 1 {
		t.Errorf("what was said of the whole limit was not said of the part: %v", missed)
	}
}
