package codon

import (
	"time"

	"hank/plan/steps"
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
	a.stuck = s.Message
	a.host.Stuck(s)
	return s.Then != string(steps.ReportStuck)
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
