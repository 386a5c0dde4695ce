package history

import "hank/state"

// LastRun is the run after whose end the execution is, else the newest.
func LastRun(s *state.State) *state.Run {
	if r := s.RunAtPosition(); r != nil {
		return r
	}
	return s.Newest()
}

// LastRecord returns the newest record of the newest run; nil: there is none.
func LastRecord(s *state.State) *state.Codon {
	if r := LastRun(s); r != nil && r.Len() > 0 {
		return r.Codon(r.Len() - 1)
	}
	return nil
}

// NextID is the codon that comes next; empty if none does.
func NextID(s *state.State) state.CodonID {
	if i := s.Next(); i < len(s.ExecutionPlan()) {
		return s.ExecutionPlan()[i].CodonID
	}
	return ""
}
