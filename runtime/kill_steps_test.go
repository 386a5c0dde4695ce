//go:build unix

package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/runtime/exitcode"
	"hank/state"
)

// TestStepsKilledAtEveryTransition kills the hank steps where a transition is acknowledged,
// and where a condition or an expectation has been answered and that is not recorded yet.
// Run again it ends as an undisturbed run does: what is skipped is skipped once and leaves
// nothing, what was completed is not done again, and no retry is given back. HANK_LONG kills
// at each transition, else at some.
func TestStepsKilledAtEveryTransition(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	dir := t.TempDir()
	hank := fixture(t, "hanks/steps")
	life := func(name, point string) (order, string) {
		counter := filepath.Join(dir, name+"-counter")
		if err := os.Mkdir(counter, 0o755); err != nil {
			t.Fatal(err)
		}
		o := order{Execution: filepath.Join(dir, name), Hank: hank, Output: filepath.Join(dir, name+"-output")}
		return o, "COUNTER_DIR=" + counter
	}
	calm, env := life("calm", "")
	calm.start(t, env).end(t, exitcode.Done)
	want, last := settledOf(calm.fold(t).state), calm.fold(t).state.Seq

	points := []string{"skipif.asked:1", "skipif.asked:2", "skipif.asked:3", "expect.checked:1", "expect.checked:2", "expect.checked:3"}
	for n, step := uint64(1), uint64(17); n <= last; n += step {
		if points = append(points, fmt.Sprintf("transition.acknowledged:%d", n)); os.Getenv("HANK_LONG") != "" {
			step = 1
		}
	}
	t.Cleanup(func() { t.Logf("killed at %d places of %d transitions", len(points), last) })
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			o, env := life(strings.NewReplacer(".", "-", ":", "-").Replace(point), point)
			code, killed := o.start(t, env, "HANK_FAILPOINT="+point).wait()
			if !killed && (code != exitcode.Done || !strings.HasPrefix(point, "transition")) {
				t.Fatalf("it was not killed, and ended with %d", code)
			}
			o.start(t, env).end(t, exitcode.Done)
			o.clean(t)
			s := o.fold(t).state
			if got := settledOf(s); got != want {
				t.Errorf("it has come to\n%s\nand undisturbed to\n%s", got, want)
			}
			sameTree(t, "after "+point, treeOn(t, o.layout().Workspace), treeOn(t, calm.layout().Workspace))
			failed := 0
			for _, r := range s.Runs {
				for _, c := range r.Codons() {
					if c.Status == state.Failed && c.Interrupted == "" {
						failed++
					}
					if c.Status == state.Failed && c.SkipReason != "" {
						t.Errorf("%s has failed, and was skipped because of %q", c.CodonID, c.SkipReason)
					}
				}
			}
			if failed > 1 {
				t.Errorf("%d attempts have failed by themselves", failed)
			}
		})
	}
}

// settledOf are the codons of the lineage path in their order, and how they came out.
func settledOf(s *state.State) string {
	var lines []string
	for _, e := range s.LineagePath() {
		if c := e.Codon; c.Settled() {
			more := 0
			if c.ExtensionCount != nil {
				more = *c.ExtensionCount
			}
			lines = append(lines, fmt.Sprintf("%s %s %q %d", c.CodonID, c.Status, c.SkipReason, more))
		}
	}
	return strings.Join(lines, "\n")
}
