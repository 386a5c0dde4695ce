package history

import (
	"fmt"
	"slices"
	"strings"

	"hank/internal/term"
	"hank/recovery/execution"
	"hank/runtime/history/moveevent"
	"hank/state"
)

// mostProcessed is how many codons a rollback.started names at most.
const mostProcessed = 1000

// mostRestored is how many paths the event of a restore names at most.
const mostRestored = 5

// noteStarted says that a move back begins, and returns what says that it is done. A
// restore of paths is none: the execution stays where it is.
func noteStarted(x *execution.Execution, target Target, superseded []Target, paths []string) (completed func()) {
	if len(paths) > 0 {
		what := strings.Join(paths, ", ")
		if len(paths) > mostRestored {
			what = term.Count(len(paths), "path")
		}
		return func() {
			_ = x.Note("info", map[string]string{"message": fmt.Sprintf("restored %s from checkpoint %.12s", what, target.SHA)})
		}
	}
	s, from := x.State(), standing(x.State())
	e := moveevent.Started{FromRun: orNull(from.RunID), FromCodon: orNull(from.CodonID), ToCodon: orNull(target.CodonID),
		ToCheckpoint: target.SHA, CheckpointType: target.Kind, Codons: []state.CodonID{}}
	if e.FromRun == nil && s.Newest() != nil {
		e.FromRun = &s.Newest().RunID
	}
	for _, t := range slices.Backward(superseded) {
		if t.CodonID != "" && len(e.Codons) < mostProcessed && (len(e.Codons) == 0 || e.Codons[len(e.Codons)-1] != t.CodonID) {
			e.Codons = append(e.Codons, t.CodonID)
		}
	}
	return e.Note(x)
}

// orNull is nil for what there is none of.
func orNull[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}
