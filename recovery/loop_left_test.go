package recovery

import (
	"path/filepath"
	"slices"
	"testing"

	"hank/state"
)

// Older versions of hank left a loop when the limit of the whole hank or execution
// was reached in it. What they have laid out stays where something has settled
// behind the loop; else the loop continues.
func TestALoopThatWasLeftAtALimitOfAll(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"execution", "hank"} {
		a := begin(t, filepath.Join(t.TempDir(), "execution"), 9, CreateOptions{})
		ok(t, a.start())
		ok(t, a.upto(1))
		ok(t, a.play(attempt{over: &state.BudgetExceeded{Currency: "cost", Limit: 1, Used: 2, Scope: scope}})) // look#0
		whole := []string{"first", "look#0", "mend#0", "c007", "c008"}
		if got := codons(a.x.State()); !slices.Equal(got, whole) {
			t.Fatalf("%s: the plan behind the codon is %v", scope, got)
		}
		ok(t, a.x.Record(state.PlanGrown{After: "look#0", Drop: 1})) // as it was once
		left := codons(a.x.State())
		ok(t, a.replan())
		if got := codons(a.x.State()); !slices.Equal(got, whole) {
			t.Errorf("%s: where nothing has settled behind it, the plan is %v", scope, got)
		}
		ok(t, a.x.Record(state.PlanGrown{After: "look#0", Drop: 1}))
		ok(t, a.play(attempt{})) // c007
		ok(t, a.replan())
		if got := codons(a.x.State()); !slices.Equal(got, left) {
			t.Errorf("%s: where a codon has settled behind it, the plan is %v, and it was %v", scope, got, left)
		}
		ok(t, a.back(1)) // behind look#0
		ok(t, a.replan())
		if got := codons(a.x.State()); !slices.Equal(got, whole) {
			t.Errorf("%s: back before that codon the plan is %v", scope, got)
		}
		ok(t, a.x.Close())
	}
}
