package report

import (
	"testing"

	"hank/runtime/verdict"
	"hank/state"
)

// What is said of another attempt is what the next command does: a codon that its
// provider refused is done again by hank run, although its failure is not retriable.
func TestARefusedCodonIsSaidToBeDoneAgain(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]*state.Codon{
		"`hank run` reruns it, once the cause is removed": {Status: state.Failed, Interrupted: state.InterruptedByRefusal, FailureReason: &state.FailureReason{}},
		"retryable":     {Status: state.Failed, FailureReason: &state.FailureReason{Retriable: true}},
		"not retryable": {Status: state.Failed, FailureReason: &state.FailureReason{}},
	} {
		if got := (Attempt{Verdict: verdict.OfCodon(c, ""), Codon: c}).again(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
