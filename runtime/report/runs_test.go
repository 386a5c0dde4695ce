package report

import (
	"testing"
	"time"

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

// What a run shows and what the execution shows above it count the same attempts: one that is not
// over, too. Script killed_time compares the two after a kill.
func TestAnAttemptThatIsNotOverCounts(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) state.Time { return state.Time{Time: time.Now().Add(d)} }
	end := at(-90 * time.Minute)
	codons := []*state.Codon{{StartTime: at(-2 * time.Hour), EndTime: &end, Status: state.Completed}, {StartTime: at(-time.Hour), Status: state.Running}}
	if got, want := (Run{Run: &state.Run{}, Codons: codons, unended: time.Hour}).Worked(), "1h30m0s of work"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
