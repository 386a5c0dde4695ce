// Package moveevent has the events that tell of a move back: rollback.started and
// rollback.completed. It decides nothing about a move, and moves nothing.
package moveevent

import (
	"strings"

	"github.com/go-json-experiment/json"

	"hank/recovery/execution"
	"hank/state"
	"hank/state/journal"
)

// Started says that a move back begins. What there is none of is null: a checkpoint that
// belongs to no codon has no name.
type Started struct {
	FromRun        *state.RunID         `json:"fromRun"`
	FromCodon      *state.CodonID       `json:"fromCodon"`
	ToCodon        *state.CodonID       `json:"toCodon"`
	ToCheckpoint   state.SHA            `json:"toCheckpoint"`
	CheckpointType state.CheckpointKind `json:"checkpointType"`
	// Codons are those behind the target, newest first; they are left at once.
	Codons []state.CodonID `json:"codonsToProcess"`
}

// completed says that a move back is done. The run that continues is begun by the next command.
type completed struct {
	FromRun        *state.RunID         `json:"fromRun"`
	ToRun          *state.RunID         `json:"toRun"`
	Checkpoint     state.SHA            `json:"checkpoint"`
	CodonID        *state.CodonID       `json:"codonId"`
	CodonName      *string              `json:"codonName"`
	CheckpointType state.CheckpointKind `json:"checkpointType"`
	AutoRestart    bool                 `json:"autoRestart"`
}

// Note writes the event, and returns what writes that the move is done.
func (e *Started) Note(x *execution.Execution) (done func()) {
	_ = x.Note("rollback.started", e)
	c := e.completed(x.State())
	return func() { _ = x.Note("rollback.completed", c) }
}

// NoteFinished says that a move back is done which a crash has interrupted, and another opening
// has finished. It says nothing where that is said, or the execution is elsewhere by now.
// Complexity: the journal.
func NoteFinished(x *execution.Execution) {
	var open *Started
	want := func(quotedType, _ []byte) bool { return strings.HasPrefix(string(quotedType), `"rollback.`) }
	err := journal.ReadWanted(x.FS, x.Layout.Events(), 0, want, func(e journal.Event) error {
		if open = nil; e.Type != "rollback.started" {
			return nil
		}
		open = &Started{}
		return json.Unmarshal(e.Data, open)
	})
	if at := x.State().Position; err == nil && open != nil && at != nil && at.CheckpointSHA == open.ToCheckpoint {
		_ = x.Note("rollback.completed", open.completed(x.State()))
	}
}

func (e *Started) completed(s *state.State) completed {
	done := completed{FromRun: e.FromRun, Checkpoint: e.ToCheckpoint, CodonID: e.ToCodon, CheckpointType: e.CheckpointType}
	if e.ToCodon == nil {
		return done
	}
	if at := s.PlanIndex(*e.ToCodon); at >= 0 {
		if name := s.ExecutionPlan()[at].Codon.Name; name != "" {
			done.CodonName = &name
		}
	}
	return done
}
