package history

import (
	"cmp"

	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/state"
)

// Concluded is the state in which the next opening leaves a codon that had ended before its
// checkpoint was made. The checkpoint before it stands for that one, which nobody knows yet.
func Concluded(s *state.State) (*state.State, error) {
	run := s.Newest()
	if !concludes(run) {
		return s, nil
	}
	final := run.Live().Conclude(*cmp.Or(run.Live().Settling.At, &run.Live().StartTime))
	if final.Status == state.Completed {
		final.CompletionCheckpoint = execution.Head(s)
	}
	return state.Apply(s, s.Seq+1, state.CodonTransitioned{RunID: run.RunID, Record: final})
}

// concludes reports whether the next opening makes the checkpoint of a codon that had ended.
func concludes(run *state.Run) bool {
	return run != nil && run.Live() != nil && run.Live().Settling != nil && execution.IsOfBoot(run, layout.Boot())
}
