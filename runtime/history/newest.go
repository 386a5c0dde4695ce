package history

import (
	"hank/runtime/retry"
	"hank/state"
)

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

// Standpoint is where the execution is, as the place that an undo of the next move comes back to. Where
// the workspace has been brought to the beginning of an interrupted attempt, and no run has begun
// there, it is the end of the run that has the attempt: a position of its own would not say which run is continued.
func Standpoint(s *state.State) state.Position {
	here, at := s.UndoPosition(), s.Position
	if at == nil || at.Reason != state.ReasonContinue || here.EndOf != "" {
		return here
	}
	if r := retry.Last(s); r != nil && r.Len() > 0 && r.Codon(r.Len()-1).BaseCheckpoint == at.CheckpointSHA {
		here.EndOf = r.RunID
	}
	return here
}

// NextID is the codon that comes next; empty if none does.
func NextID(s *state.State) state.CodonID {
	if i := s.Next(); i < len(s.ExecutionPlan()) {
		return s.ExecutionPlan()[i].CodonID
	}
	return ""
}

// Crashes counts how often in a row the newest runs died at the same codon
// without the user having begun them: the cap on unattended restarts.
func Crashes(s *state.State, id state.CodonID) int {
	n := 0
	for _, r := range s.Runs {
		if r.Status == state.StatusRunning {
			continue
		}
		last := r.Len() - 1
		if r.Status != state.StatusCrashed || last < 0 || r.Codon(last).CodonID != id || r.Codon(last).Interrupted != state.InterruptedByCrash {
			break
		}
		if r.Len() > 1 && r.Codon(last-1).Settled() {
			n++ // it got somewhere before it died here
			break
		}
		n++
		if r.StartedBy == nil || !r.StartedBy.Unattended {
			break // the user's start resets the count
		}
	}
	return n
}
