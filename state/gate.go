package state

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"hank/plan"
)

// This file has what a person is asked at a gate, and the answer: transitions of
// their own, and a list in the state that no move changes. Whether a request still
// counts follows from the checkpoint that it is about: see package runtime/gate.

// Gate is a request to a person to judge a checkpoint, and the answer.
type Gate struct {
	Number int    `json:"number"` // 1 for the first request of the execution
	Gate   string `json:"gate"`   // the id in the hank; of a codon in a loop with its iteration: plan-ok#1
	// CodonID is the codon that fails where the answer is no: the one that has the
	// gate; of a loop's gate its first, or its last.
	CodonID CodonID    `json:"codonId"`
	LoopID  CodonID    `json:"loopId,omitempty"` // the loop that has the gate; empty: the codon has it
	Asked   *plan.Gate `json:"asked"`            // as the hank had it
	// Checkpoint is what is judged. Lineage is that of the execution: in a copy the
	// request does not count.
	Checkpoint SHA    `json:"checkpointSha"`
	Lineage    string `json:"lineage"`
	RunID      RunID  `json:"runId"` // the run that asked
	Time       Time   `json:"time"`
	Expires    *Time  `json:"expires,omitempty"`

	Status GateStatus  `json:"status"`
	Answer *GateAnswer `json:"answer,omitempty"`
	// Closed: the codon has failed for the answer. The next run that comes to the gate
	// asks again.
	Closed bool `json:"closed,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

// The reasons for which a run ends at a gate, or because of a hold.
const (
	EndGate EndReason = "gate"
	EndHeld EndReason = "held"
)

// GateStatus is the status of a request.
type GateStatus string

// The statuses of a request. All but GatePending are final.
const (
	GatePending  GateStatus = "pending"
	GateApproved GateStatus = "approved"
	GateRejected GateStatus = "rejected"
	GateExpired  GateStatus = "expired" // nobody has answered in time
)

// GateAnswer is an answer, and who has given it.
type GateAnswer struct {
	Time  Time      `json:"time"`
	By    StartedBy `json:"by,omitzero"` // nobody, where the request has expired
	Reply string    `json:"reply,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// Hold is why nothing may run: hank hold was given.
type Hold struct {
	Time   Time      `json:"time"`
	By     StartedBy `json:"by"`
	Reason string    `json:"reason,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

type (
	// GateRequested asks at a gate. Request is pending.
	GateRequested struct {
		Request Gate `json:"request"`
	}

	// GateAnswered is the answer to a request, which has no other.
	GateAnswered struct {
		Number int        `json:"number"`
		Status GateStatus `json:"status"`
		Answer GateAnswer `json:"answer"`
	}

	// GateClosed says that a request has failed its codon, whose record comes right
	// behind it.
	GateClosed struct {
		Number int `json:"number"`
	}

	// HoldSet keeps every run from starting until HoldReleased.
	HoldSet struct {
		Hold Hold `json:"hold"`
	}

	// HoldReleased ends a hold.
	HoldReleased struct {
		Time Time      `json:"time"`
		By   StartedBy `json:"by"`
	}
)

// Type returns the name under which the transition is in the journal.
func (GateRequested) Type() TransitionType { return "GateRequested" }
func (GateAnswered) Type() TransitionType  { return "GateAnswered" }
func (GateClosed) Type() TransitionType    { return "GateClosed" }
func (HoldSet) Type() TransitionType       { return "HoldSet" }
func (HoldReleased) Type() TransitionType  { return "HoldReleased" }

func (t GateRequested) scope() (RunID, CodonID) { return t.Request.RunID, t.Request.CodonID }
func (GateAnswered) scope() (RunID, CodonID)    { return "", "" }
func (GateClosed) scope() (RunID, CodonID)      { return "", "" }
func (HoldSet) scope() (RunID, CodonID)         { return "", "" }
func (HoldReleased) scope() (RunID, CodonID)    { return "", "" }

func init() {
	register[GateRequested]()
	register[GateAnswered]()
	register[GateClosed]()
	register[HoldSet]()
	register[HoldReleased]()
}

func (t GateRequested) apply(s *State) error { return s.requestGate(t) }
func (t GateAnswered) apply(s *State) error  { return s.answerGate(t) }
func (t GateClosed) apply(s *State) error    { return s.closeGate(t) }
func (t HoldSet) apply(s *State) error       { s.Hold = &t.Hold; return nil }

func (t HoldReleased) apply(s *State) error {
	if s.Hold == nil {
		return illegal(t, "the execution is not held")
	}
	s.Hold = nil
	return nil
}

// baseAfter is what the next codon starts from once a record has got its next form. One
// that has failed at its gate is run again from before it, whatever it had done.
func (s *State) baseAfter(c *Codon) SHA {
	switch {
	case c.Settled() && c.Checkpoint() != "":
		return c.Checkpoint()
	case c.FailedAtGate() && !c.Settled():
		return c.BaseCheckpoint
	}
	return s.Base
}

func (s *State) requestGate(t GateRequested) error {
	r, run := t.Request, s.Current()
	switch {
	case run == nil || r.RunID != s.CurrentRunID:
		return illegal(t, "run %q is not the current one", r.RunID)
	case run.live != nil:
		return illegal(t, "codon %s is %s", run.live.CodonID, run.live.Status)
	case r.Number != s.NextGate():
		return illegal(t, "the next request is number %d, not %d", s.NextGate(), r.Number)
	case r.Status != GatePending || r.Answer != nil || r.Closed:
		return illegal(t, "a request begins pending")
	case r.Gate == "" || r.CodonID == "" || r.Asked == nil || r.Checkpoint == "":
		return illegal(t, "a request needs gate, codonId, asked and checkpointSha")
	}
	s.Gates = append(slices.Clip(s.Gates), r)
	return nil
}

func (s *State) answerGate(t GateAnswered) error {
	r := s.gateRequest(t.Number)
	run := s.Current()
	switch {
	case r == nil:
		return illegal(t, "there is no request %d", t.Number)
	case r.Status != GatePending:
		return illegal(t, "request %d is %s already", t.Number, r.Status)
	case t.Status != GateApproved && t.Status != GateRejected && t.Status != GateExpired:
		return illegal(t, "%q is no answer", t.Status)
	case run != nil && run.live != nil: // an answer counts only while nothing of a codon runs
		return illegal(t, "codon %s is %s", run.live.CodonID, run.live.Status)
	}
	s.replaceGate(t.Number, func(g *Gate) { g.Status, g.Answer = t.Status, &t.Answer })
	return nil
}

func (s *State) closeGate(t GateClosed) error {
	r := s.gateRequest(t.Number)
	switch {
	case r == nil:
		return illegal(t, "there is no request %d", t.Number)
	case r.Status != GateRejected && r.Status != GateExpired || r.Closed:
		return illegal(t, "request %d cannot fail its codon: it is %s", t.Number, r.Status)
	}
	s.replaceGate(t.Number, func(g *Gate) { g.Closed = true })
	return nil
}

// replaceGate swaps a changed copy of a request into a copy of the list.
func (s *State) replaceGate(number int, change func(*Gate)) {
	s.Gates = slices.Clone(s.Gates)
	for i := range s.Gates {
		if s.Gates[i].Number == number {
			change(&s.Gates[i])
		}
	}
}

// gateRequest is the request with a number; nil: there is none.
func (s *State) gateRequest(number int) *Gate {
	for i := range s.Gates {
		if s.Gates[i].Number == number {
			return &s.Gates[i]
		}
	}
	return nil
}

// NextGate is the number of the next request.
func (s *State) NextGate() int {
	if n := len(s.Gates); n > 0 {
		return s.Gates[n-1].Number + 1
	}
	return 1
}

// GateClass is the class of the failure of a codon whose gate was answered with no, or
// not in time.
const GateClass = "gate"

// FailedAtGate reports whether a record says that the codon has failed at its gate, and
// not by itself. It follows the record of the work that was judged, or of none.
func (c *Codon) FailedAtGate() bool {
	return c.Status == Failed && c.FailureReason != nil && c.FailureReason.Class == GateClass
}

// Attempts counts the attempts at codons in the run: a failure at a gate is none.
func (r *Run) Attempts() (n int) {
	for i := range r.Len() {
		if !r.Codon(i).FailedAtGate() {
			n++
		}
	}
	return n
}

// FailedAtGate reports whether the last record of the run is a failure at a gate.
func (r *Run) FailedAtGate() bool {
	return r.Len() > 0 && r.Codon(r.Len()-1).FailedAtGate()
}

func redactGate(t Transition, change func(string) string) Transition {
	switch t := t.(type) {
	case GateAnswered:
		t.Answer.Reply = change(t.Answer.Reply)
		return t
	case HoldSet:
		t.Hold.Reason = change(t.Hold.Reason)
		return t
	}
	return t
}
