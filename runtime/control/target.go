package control

import (
	"fmt"

	"hank/state"
)

// Target is what a client has seen when it asked for something that acts, and what the request
// is for: nothing else is stopped or skipped. What is empty, or 0, is any.
type Target struct {
	Run     state.RunID   `json:"run,omitempty"`
	Codon   state.CodonID `json:"codon,omitempty"`  // one that is running
	Attempt int           `json:"attempt,omitzero"` // its number in the run
}

// TargetOf is where the newest run of an execution is: the attempt that is running, or the run
// alone between two of them.
func TargetOf(s *state.State) (t Target) {
	if run := s.Newest(); run != nil {
		t.Run = run.RunID
		if k := run.Live(); k != nil {
			t.Codon, t.Attempt = k.CodonID, k.Attempt
		}
	}
	return t
}

// Missed says why a request is not for a run that is at a place, as TargetOf names it; empty: it
// is.
func (t Target) Missed(at Target) string {
	switch {
	case t.Run != "" && t.Run != at.Run:
		return fmt.Sprintf("run %s is over", t.Run)
	case t.Codon != "" && t.Codon != at.Codon:
		return fmt.Sprintf("codon %s is not running", t.Codon)
	case t.Attempt != 0 && t.Attempt != at.Attempt:
		return fmt.Sprintf("attempt %d is not running", t.Attempt)
	}
	return ""
}
