package codon

import (
	"fmt"
	"strings"
	"time"

	"hank/plan/steps"
	"hank/runtime/harness"
	"hank/runtime/silence"
	"hank/state"
)

// Stuck is what the event codon.stuck says: the silence limit of an agent is over.
type Stuck struct {
	CodonID state.CodonID `json:"codonId"`
	Attempt int           `json:"attempt"`
	silence.Evidence
	Then    string `json:"then"` // stop, retry or report: what the hank wants
	Message string `json:"message"`
}

// quiet shows what is known of an agent without a sign of life. Where its silence limit is
// over, that is told once, and the attempt ends unless the hank only wants it told.
func (a *attempt) quiet(e *silence.Evidence, over bool) (stop bool) {
	a.host.Monitor().Change(func(now *Activity) { now.Silence = e })
	if !over {
		return false
	}
	s := Stuck{CodonID: a.Entry.CodonID, Attempt: a.Number, Evidence: *e, Then: "stop"}
	if on := a.Entry.Codon.OnStuck; on != "" {
		s.Then = string(on)
	}
	s.Message = e.Text(time.Now())
	if a.waits.Why != "" {
		s.Message += "; it waits for its provider: " + strings.Join(strings.Fields(a.waits.Why), " ")
	}
	a.stuck = s.Message
	a.host.Stuck(s)
	return s.Then != string(steps.ReportStuck)
}

// silent is why an attempt has failed whose silence limit is over, and what has interrupted
// it. An agent that has told that it waits for its provider, and nothing since, is not stuck:
// what it waits for is the reason, unless the hank makes each silent attempt again.
func (a *attempt) silent() (f *state.FailureReason, interrupted string) {
	if a.waits.Why != "" {
		f = harness.Classify(harness.Evidence{Class: a.waits.Class, Text: a.waits.Why, RetryAfter: a.waits.After - time.Since(a.waitsAt), Session: true})
		interrupted = a.interrupted(f)
		if interrupted != "" || f.Class != harness.ClassUnknown && a.Entry.Codon.OnStuck != steps.RetryStuck {
			a.notes = append(a.notes, fmt.Sprintf("the agent waited for its provider and printed nothing for %s (idle timeout)", a.silence()))
			return f, interrupted
		}
	}
	return &state.FailureReason{Type: state.FailTimeout, Retriable: true, Class: "silent", Rule: "silence-limit",
		Message: fmt.Sprintf("the agent printed nothing for %s (idle timeout): %s", a.silence(), a.stuck)}, ""
}

// waitsFor is what the agent has called last and has no answer of.
func (a *attempt) waitsFor() silence.Waits {
	var last call
	for _, c := range a.calls {
		if c.at.After(last.at) {
			last = c
		}
	}
	return silence.WaitsFor(last.name)
}
