package why

import (
	"strings"
	"testing"

	"hank/state"
)

// TestARunThatWaitsHasNotEnded: of the newest attempt of a run that is not over nobody says that
// the run ended.
func TestARunThatWaitsHasNotEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []state.Codon{
		{CodonID: "a", Status: state.Failed, Interrupted: state.InterruptedByLimit},
		{CodonID: "a", Status: state.Failed},
	} {
		for _, over := range []bool{false, true} {
			effect, text := effect(&c, true, over)
			if got := strings.Contains(text, "the run ended"); got != over {
				t.Errorf("over: %t: %s, %s", over, effect, text)
			}
			if effect == EndedRun && !over {
				t.Errorf("%s", effect)
			}
		}
	}
}
