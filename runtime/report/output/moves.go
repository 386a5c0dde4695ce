package output

import (
	"cmp"

	"hank/runtime"
	"hank/runtime/forecast"
	"hank/runtime/gate"
	"hank/runtime/history"
	"hank/runtime/report"
	"hank/state"
)

// Move is what hank rollback and hank restore change.
type Move struct {
	report.Move
	Target     Target   `json:"target"`
	Superseded []Target `json:"superseded"` // the checkpoints that a rollback leaves behind; of a restore always none
	Undoes     *Undone  `json:"undoes,omitempty"`
}

// Undone is a move that is undone.
type Undone struct {
	*history.Undone
	MovedAt state.Time `json:"movedAt"`
	From    Target     `json:"from"`
	To      Target     `json:"to"`
}

func moveOf(m report.Move) Move {
	out := Move{Move: m, Target: targetOf(m.Target), Superseded: targetsOf(m.Superseded)}
	if u := m.Undoes; u != nil {
		out.Undoes = &Undone{u, u.Time, targetOf(u.From), targetOf(u.To)}
	}
	return out
}

// Preview is a Move that was not made.
type Preview struct {
	Move
	Error *Problem `json:"error"` // why it would be refused as it is
}

// PreviewOf is a preview as it is printed, of a move that would be refused for a problem.
func PreviewOf(p *history.Preview, refused *Problem) *Preview {
	return &Preview{moveOf(report.MoveOf(p)), refused}
}

// Moved is what hank rollback and hank restore print.
type Moved struct {
	Move
	SafetyCheckpoint    state.SHA      `json:"safetyCheckpoint"`
	Command             string         `json:"command,omitempty"`  // none and no gate: the hank is completed
	Gate                *gate.View     `json:"gate,omitempty"`     // it waits for your answer
	TakenBack           bool           `json:"takenBack,omitzero"` // an interrupted move was undone; nothing else was
	Omitted             map[string]int `json:"omitted,omitempty"`  // by the list, how many of its entries are left out in the answer of an operation
	SafetyCheckpointSHA *state.SHA     `json:"safetyCheckpointSha"`
	NextCommand         *string        `json:"nextCommand"`
}

// MovedOf is what a move has changed as it is printed.
func MovedOf(m report.Moved) *Moved {
	out := &Moved{moveOf(m.Move), m.Safety, m.Command, m.Gate, m.TakenBack, m.Omitted, null(m.Safety), null(m.Command)}
	if m.Decides {
		out.NextCommand = nil
	}
	return out
}

// Retry is what hank retry prints with --dry-run.
type Retry struct {
	Move
	Codon state.CodonID `json:"codonId"`        // the one that it goes back to before
	Stays bool          `json:"stays,omitzero"` // the workspace stays as it is
	Uses  []string      `json:"uses,omitempty"` // what of the codon was changed in the hank, and would be used
	Asks  *report.Asked `json:"asks,omitempty"` // what would be asked first; absent: nothing

	Next    *state.CodonID `json:"nextCodonId"`       // the one that would run first then, another one where the hank has changed; null: none
	Message string         `json:"message,omitempty"` // why nothing would run after the move; absent: the codon would run
	Remarks []string       `json:"remarks,omitempty"` // what would be said before anything runs
	Error   *Problem       `json:"error"`             // why it would end before it moves anything
}

// RetryOf is a preview as it is printed, of a move that would be refused for a problem; then is
// what comes after the move.
func RetryOf(r report.Retry, then *forecast.Forecast, refused *Problem) *Retry {
	out := &Retry{Move: moveOf(r.Move), Codon: r.Codon, Stays: r.Stays, Uses: r.Uses, Asks: r.Asks, Message: then.Message, Remarks: then.Remarks,
		Error: cmp.Or(refused, atExit(then.Refusal(), "", then.Message))}
	if next := then.Next(); next != nil {
		out.Next = &next.CodonID
	}
	return out
}

// Difference is what hank diff prints.
type Difference struct {
	*report.Difference
	From        Target  `json:"from"`
	To          *Target `json:"to,omitempty"`
	ToWorkspace bool    `json:"toWorkspace"` // and not to a checkpoint
}

// DifferenceOf is a difference as it is printed.
func DifferenceOf(d *report.Difference) *Difference {
	out := &Difference{Difference: d, From: targetOf(d.From), ToWorkspace: d.To == nil}
	if d.To != nil {
		to := targetOf(*d.To)
		out.To = &to
	}
	return out
}

// Checkpoints are what hank checkpoints prints.
type Checkpoints struct {
	Schema      int              `json:"schema"`
	Execution   string           `json:"execution"`
	Checkpoints []Checkpoint     `json:"checkpoints"`
	Removed     []RemovedBranch  `json:"removed"` // by hank gc
	Lost        []LostCheckpoint `json:"lost"`    // cannot be read
}

// Checkpoint is a checkpoint in a list.
type Checkpoint struct {
	history.Listed
	CheckpointSHA  state.SHA             `json:"checkpointSha"`
	CheckpointKind *state.CheckpointKind `json:"checkpointKind"` // null: a commit that hank did not make
	CreatedAt      state.Time            `json:"createdAt"`
}

// RemovedBranch is a branch that hank gc has removed.
type RemovedBranch struct {
	report.RemovedBranch
	CheckpointSHA state.SHA  `json:"checkpointSha"` // the last one on it
	RemovedAt     state.Time `json:"removedAt"`
}

// LostCheckpoint is a checkpoint that the state has and the store cannot read.
type LostCheckpoint struct {
	report.LostCheckpoint
	CheckpointSHA state.SHA `json:"checkpointSha"`
}

func lostOf(list []report.LostCheckpoint) []LostCheckpoint {
	out := make([]LostCheckpoint, len(list))
	for i, l := range list {
		out[i] = LostCheckpoint{l, l.SHA}
	}
	return out
}

// CheckpointsOf is a list of checkpoints as it is printed.
func CheckpointsOf(c *report.Checkpoints) *Checkpoints {
	out := &Checkpoints{Schema: c.Schema, Execution: c.Execution, Checkpoints: make([]Checkpoint, len(c.Checkpoints)), Removed: make([]RemovedBranch, len(c.Removed)), Lost: lostOf(c.Lost)}
	for i, k := range c.Checkpoints {
		out.Checkpoints[i] = Checkpoint{k, k.SHA, null(k.Kind), k.Time}
	}
	for i, r := range c.Removed {
		out.Removed[i] = RemovedBranch{r, r.Head, r.Time}
	}
	return out
}

// Decided is what hank approve, reject, hold and release print.
type Decided struct {
	*runtime.Decided
	Gate *Request `json:"gate,omitempty"`
	Hold *Hold    `json:"hold,omitempty"`
}

// DecidedOf is a decision as it is printed.
func DecidedOf(d *runtime.Decided) *Decided {
	return &Decided{d, requestOf(d.Gate), holdOf(d.Hold)}
}
