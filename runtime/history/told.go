package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"hank/internal/term"
	"hank/recovery/execution"
	"hank/state"
	"hank/state/journal"
)

// mostProcessed is how many codons a rollback.started names at most.
const mostProcessed = 1000

// mostRestored is how many paths the event of a restore names at most.
const mostRestored = 5

// The events of a move back. What there is none of is null: a checkpoint that belongs to
// no codon has no name, and the run that continues is begun by the next command.
type (
	rollbackStarted struct {
		FromRun        *state.RunID         `json:"fromRun"`
		FromCodon      *state.CodonID       `json:"fromCodon"`
		ToCodon        *state.CodonID       `json:"toCodon"`
		ToCheckpoint   state.SHA            `json:"toCheckpoint"`
		CheckpointType state.CheckpointKind `json:"checkpointType"`
		// Codons are those behind the target, newest first; they are left at once.
		Codons []state.CodonID `json:"codonsToProcess"`
	}

	rollbackCompleted struct {
		FromRun        *state.RunID         `json:"fromRun"`
		ToRun          *state.RunID         `json:"toRun"`
		Checkpoint     state.SHA            `json:"checkpoint"`
		CodonID        *state.CodonID       `json:"codonId"`
		CodonName      *string              `json:"codonName"`
		CheckpointType state.CheckpointKind `json:"checkpointType"`
		AutoRestart    bool                 `json:"autoRestart"`
	}
)

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
	e := rollbackStarted{FromRun: orNull(from.RunID), FromCodon: orNull(from.CodonID), ToCodon: orNull(target.CodonID),
		ToCheckpoint: target.SHA, CheckpointType: target.Kind, Codons: []state.CodonID{}}
	if e.FromRun == nil && s.Newest() != nil {
		e.FromRun = &s.Newest().RunID
	}
	for _, t := range slices.Backward(superseded) {
		if t.CodonID != "" && len(e.Codons) < mostProcessed && (len(e.Codons) == 0 || e.Codons[len(e.Codons)-1] != t.CodonID) {
			e.Codons = append(e.Codons, t.CodonID)
		}
	}
	_ = x.Note("rollback.started", e)
	done := e.completed(s)
	return func() { _ = x.Note("rollback.completed", done) }
}

// noteFinished says that a move back is done which a crash has interrupted, and another opening
// has finished. It says nothing where that is said, or the execution is elsewhere by now.
// Complexity: the journal.
func noteFinished(x *execution.Execution) {
	var open *rollbackStarted
	want := func(quotedType, _ []byte) bool { return strings.HasPrefix(string(quotedType), `"rollback.`) }
	err := journal.ReadWanted(x.FS, x.Layout.Events(), 0, want, func(e journal.Event) error {
		if open = nil; e.Type != "rollback.started" {
			return nil
		}
		open = &rollbackStarted{}
		return json.Unmarshal(e.Data, open)
	})
	if at := x.State().Position; err == nil && open != nil && at != nil && at.CheckpointSHA == open.ToCheckpoint {
		_ = x.Note("rollback.completed", open.completed(x.State()))
	}
}

func (e *rollbackStarted) completed(s *state.State) rollbackCompleted {
	done := rollbackCompleted{FromRun: e.FromRun, Checkpoint: e.ToCheckpoint, CodonID: e.ToCodon, CheckpointType: e.CheckpointType}
	if e.ToCodon == nil {
		return done
	}
	if at := s.PlanIndex(*e.ToCodon); at >= 0 {
		done.CodonName = orNull(s.ExecutionPlan()[at].Codon.Name)
	}
	return done
}

// orNull is nil for what there is none of.
func orNull[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}
