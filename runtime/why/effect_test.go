package why

import (
	"strings"
	"testing"
	"time"

	"hank/state"
)

// TestWhetherTheRunEndedByAnAttempt: only of an attempt with whose failure its run ended it is said
// that the run ended.
func TestWhetherTheRunEndedByAnAttempt(t *testing.T) {
	t.Parallel()
	end := state.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	open := &state.Run{Status: state.StatusRunning}
	crashed := &state.Run{Status: state.StatusCrashed, EndTime: &end, EndReason: state.EndCrash}
	stopped := &state.Run{Status: state.StatusFailed, EndTime: &end, EndReason: state.EndStopped}
	failed := &state.Run{Status: state.StatusFailed, EndTime: &end, EndReason: state.EndCodonFailed}
	for _, c := range []struct {
		run         *state.Run
		interrupted string
		effect      Effect
		ended       bool
	}{
		{open, "", Standing, false}, {open, state.InterruptedByLimit, Cut, false},
		{crashed, "", Standing, false}, {stopped, "", Standing, false},
		{failed, "", EndedRun, true}, {stopped, state.InterruptedByStop, Cut, true},
	} {
		effect, text := effect(&state.Codon{CodonID: "a", Status: state.Failed, Interrupted: c.interrupted}, nil, c.run, false)
		if effect != c.effect || strings.Contains(text, "the run ended") != c.ended {
			t.Errorf("%s %s %q: %s, %s", c.run.Status, c.run.EndReason, c.interrupted, effect, text)
		}
	}
	working := &state.Codon{CodonID: "a", Status: state.Running}
	for crashed, want := range map[bool]Effect{false: Working, true: Cut} {
		if effect, text := effect(working, nil, open, crashed); effect != want {
			t.Errorf("crashed %t: %s, %s", crashed, effect, text)
		}
	}
}

// TestWhetherThePlanContinued: of a codon that is done it is said that the plan continued only where
// another one began in its run.
func TestWhetherThePlanContinued(t *testing.T) {
	t.Parallel()
	end := state.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	open := &state.Run{Status: state.StatusRunning}
	stopped := &state.Run{Status: state.StatusFailed, EndTime: &end, EndReason: state.EndStopped}
	waits := &state.Run{Status: state.StatusFailed, EndTime: &end, EndReason: state.EndGate}
	refused := &state.FailureReason{Class: state.GateClass}
	for _, c := range []struct {
		run     *state.Run
		next    *state.Codon
		crashed bool
		want    string
	}{
		{run: open, want: "the run has not continued yet"},
		{run: open, crashed: true, want: "the run crashed"},
		{run: stopped, want: "the run ended"},
		{run: waits, want: "the run ended at a gate"},
		{run: stopped, next: &state.Codon{CodonID: "b"}, want: "the plan continued"},
		{run: stopped, next: &state.Codon{CodonID: "a", Status: state.Failed, FailureReason: refused}, want: "the gate after it was not passed"},
		{run: stopped, next: &state.Codon{CodonID: "b", Status: state.Failed, FailureReason: refused}, want: "the plan continued"},
	} {
		for _, done := range []*state.Codon{{CodonID: "a", Status: state.Completed}, {CodonID: "a", Status: state.Skipped}, {CodonID: "a", Status: state.Failed, FailureIgnored: true}} {
			if _, text := effect(done, c.next, c.run, c.crashed); !strings.HasSuffix(text, ", and "+c.want) {
				t.Errorf("%s %s %q: %s, want: %s", done.Status, c.run.Status, c.run.EndReason, text, c.want)
			}
		}
	}
}

// TestAReasonIsOneLine: of what a script has said it is the last line, as everywhere else.
func TestAReasonIsOneLine(t *testing.T) {
	t.Parallel()
	c := &state.Codon{CodonID: "a", Status: state.Failed, FailureReason: &state.FailureReason{Rule: "exit:3", Message: "the script ended with exit status 3: first\nsecond\nlast"}}
	if _, text := effect(c, nil, &state.Run{Status: state.StatusRunning}, false); !strings.Contains(text, "(the script ended with exit status 3: … last)") {
		t.Error(text)
	}
}
