package alert

import (
	"fmt"
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

// The run that a crash has interrupted is the one that the new run continues: an undo has led back to
// it past a newer one, which a crash has interrupted, too. After hank retry it is the one before.
func TestTheInterruptedRunIsTheOneThatIsContinued(t *testing.T) {
	t.Parallel()
	crashed := func(id, start string) string {
		return fmt.Sprintf(`{"runId": %q, "runFolder": "/x", "gitBranch": "run-%s", "startingConditions": %s, "status": "crashed", "startTime": "2026-01-01T00:00:00.000Z", "serverPid": 1, "codons": [
			{"codonId": "a", "status": "failed", "interrupted": "crash", "startTime": "2026-01-01T00:00:00.000Z", "endTime": "2026-01-01T00:00:10.000Z"}]}`, id, id, start)
	}
	empty := func(id, start string) string {
		return fmt.Sprintf(`{"runId": %q, "runFolder": "/x", "gitBranch": "run-%s", "startingConditions": %s, "status": "running", "startTime": "2026-01-01T00:00:00.000Z", "serverPid": 1, "codons": []}`, id, id, start)
	}
	from := func(reason, before, safety string) string {
		return fmt.Sprintf(`{"type": "continuation", "reason": %q, "source": {"runId": "1-aaaaa", "afterCodon": null, "checkpointSha": "", "reason": %[1]q, "before": {"runId": %q, "afterCodon": null, "checkpointSha": %q, "endOfRun": %[2]q}}}`, reason, before, safety)
	}
	first := crashed("1-aaaaa", `{"type": "fresh"}`)
	newer := crashed("2-bbbbb", from("rollback", "1-aaaaa", "s"))
	for what, c := range map[string]struct{ runs, want string }{
		"the run before":                     {empty("3-ccccc", from("continue", "2-bbbbb", "t")) + "," + newer + "," + first, "2-bbbbb"},
		"after hank retry":                   {empty("3-ccccc", from("retry", "2-bbbbb", "t")) + "," + newer + "," + first, "2-bbbbb"},
		"after an undo":                      {empty("3-ccccc", from("continue", "1-aaaaa", "u")) + "," + newer + "," + first, "1-aaaaa"},
		"after an undo, begun a second time": {empty("4-ddddd", from("continue", "1-aaaaa", "u")) + "," + empty("3-ccccc", from("continue", "1-aaaaa", "u")) + "," + newer + "," + first, "1-aaaaa"},
	} {
		s, err := state.Unmarshal([]byte(`{"currentRunId": null, "executionPlan": [], "runs": [` + c.runs + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if run, last := interrupted(s, s.Newest().RunID, "a"); last == nil || string(run.RunID) != c.want {
			t.Errorf("%s: %v, want %s", what, run, c.want)
		}
	}
}
