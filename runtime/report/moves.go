package report

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"hank/checkpoint/diff"
	"hank/recovery/lock"
	"hank/runtime/history"
	"hank/runtime/operation"
	"hank/runtime/preview"
	"hank/state"
)

// Path is a path in JSON: as text, or, where it is not UTF-8, in base64.
type Path struct {
	Path       string `json:"path,omitempty"`
	PathBase64 []byte `json:"pathBase64,omitempty"`
}

func pathOf(p string) Path {
	if utf8.ValidString(p) {
		return Path{Path: p}
	}
	return Path{PathBase64: []byte(p)}
}

// Difference is what differs between two checkpoints, or one and the workspace.
type Difference struct {
	Schema  int             `json:"schema"`
	From    history.Target  `json:"from"`
	To      *history.Target `json:"to,omitempty"` // absent: the workspace
	Changes []ChangedPath   `json:"changes"`
	LeftOut int             `json:"leftOut"` // differing paths that only one of the two looks at
}

// ChangedPath is a path that differs.
type ChangedPath struct {
	Path
	Kind    string `json:"kind"` // added, deleted, modified, type changed
	Added   int    `json:"addedLines"`
	Deleted int    `json:"deletedLines"`
	Binary  bool   `json:"binary"`
}

// DifferenceOf is a difference with the changed lines of each file.
func DifferenceOf(d *history.Difference, stats []diff.FileStat) *Difference {
	out := &Difference{Schema: 1, From: d.From, Changes: []ChangedPath{}, LeftOut: d.LeftOut}
	if d.To.SHA != "" {
		out.To = &d.To
	}
	for i, ch := range d.Changes {
		out.Changes = append(out.Changes, ChangedPath{pathOf(ch.Path), ch.Kind.String(), stats[i].Added, stats[i].Deleted, stats[i].Binary})
	}
	return out
}

// Move is what a rollback or a restore would change.
type Move struct {
	Schema       int                  `json:"schema"`
	Target       history.Target       `json:"target"`
	Add          []MovedPath          `json:"add"`
	Change       []MovedPath          `json:"change"`
	Delete       []MovedPath          `json:"delete"`
	Blocked      []MovedPath          `json:"blocked"`
	InTheWay     []MovedPath          `json:"inTheWay,omitempty"`
	MakeDirs     []MovedPath          `json:"makeDirs,omitempty"` // empty directories
	RemoveDirs   []MovedPath          `json:"removeDirs,omitempty"`
	Kept         int                  `json:"kept"`
	Superseded   []history.Target     `json:"superseded"`
	Unarchived   []history.Unarchived `json:"unarchived,omitempty"`
	CostKept     state.USD            `json:"costKept"`
	CostLeft     state.USD            `json:"costLeft"`
	ReplayedKept state.USD            `json:"replayedCostKept,omitzero"`
	ReplayedLeft state.USD            `json:"replayedCostLeft,omitzero"`
	Undoes       *history.Undone      `json:"undoes,omitempty"`
}

// MovedPath is a path that a move is about.
type MovedPath struct {
	Path
	Kind string `json:"kind"`
}

// Retry is what a retry would change before it runs anything.
type Retry struct {
	Move
	Codon state.CodonID `json:"codonId"`        // the one that it goes back to before
	Stays bool          `json:"stays,omitzero"` // the workspace stays as it is
	Uses  []string      `json:"uses,omitempty"` // what of the codon was changed in the hank, and would be used
	Asks  *Asked        `json:"asks,omitempty"` // what would be asked first; absent: nothing
}

// Asked is a question, and what answers it.
type Asked struct {
	What    string   `json:"what"`
	Options []string `json:"options"`
}

// RetryOf is a preview as data.
func RetryOf(p *preview.Retry) Retry {
	r := Retry{Move: MoveOf(p.Preview), Codon: p.Codon, Stays: p.Stays, Uses: p.Uses}
	if p.Asks != nil {
		r.Asks = &Asked{p.Asks.What, p.Asks.Options}
	}
	return r
}

// Moved is what a rollback or a restore has changed.
type Moved struct {
	Move
	Safety state.SHA `json:"safetyCheckpoint"`
	Follows
	TakenBack bool `json:"takenBack,omitzero"` // an interrupted move was undone; nothing else was
	// Omitted are, by the list, how many of its entries are left out: the answer of a
	// command with an operation ID is recorded, and has at most mostRecorded of each.
	Omitted map[string]int `json:"omitted,omitempty"`
}

// mostRecorded is how many entries a list of an answer has that is recorded.
const mostRecorded = 200

// MovedOf is what a move has changed. One that is recorded, as that of an operation
// is, has lists of a limited length.
func MovedOf(done *history.RolledBack, recorded bool) Moved {
	m := Moved{Move: MoveOf(&done.Preview), Safety: done.Safety, TakenBack: done.TakenBack}
	if !recorded {
		return m
	}
	m.Omitted = map[string]int{}
	for name, list := range map[string]*[]MovedPath{"add": &m.Add, "change": &m.Change, "delete": &m.Delete, "blocked": &m.Blocked,
		"inTheWay": &m.InTheWay, "makeDirs": &m.MakeDirs, "removeDirs": &m.RemoveDirs} {
		*list = shortened(m.Omitted, name, *list)
	}
	m.Superseded = shortened(m.Omitted, "superseded", m.Superseded)
	m.Unarchived = shortened(m.Omitted, "unarchived", m.Unarchived)
	return m
}

func shortened[T any](omitted map[string]int, name string, list []T) []T {
	if more := len(list) - mostRecorded; more > 0 {
		omitted[name] = more
		return list[:mostRecorded]
	}
	return list
}

// MoveOf is a preview as data.
func MoveOf(p *history.Preview) Move {
	list := func(changes []history.PathChange) []MovedPath {
		out := make([]MovedPath, len(changes))
		for i, ch := range changes {
			out[i] = MovedPath{pathOf(ch.Path), ch.Kind}
		}
		return out
	}
	return Move{Schema: 1, Target: p.Target, Add: list(p.Add), Change: list(p.Change), Delete: list(p.Delete), Blocked: list(p.Blocked), InTheWay: list(p.InTheWay), MakeDirs: list(p.MakeDirs), RemoveDirs: list(p.RemoveDirs),
		Kept: p.Keep, Superseded: p.Superseded, Unarchived: p.Unarchived, CostKept: p.CostKept, CostLeft: p.CostLeft, ReplayedKept: p.ReplayedKept, ReplayedLeft: p.ReplayedLeft, Undoes: p.Undoes}
}

// AnswerMove is what a move is answered, next being what follows. That of an
// operation is recorded, or read where it was, by another command of the same operation
// too: the error says that it could not be.
func AnswerMove(ctx context.Context, o history.RollbackOptions, done *history.RolledBack, next Follows) (Moved, error) {
	m := MovedOf(done, o.Operation != nil)
	if known := done.Repeats; known != nil {
		m = Moved{}
		if err := operation.Repeat(known, &m); err != nil || known.Answered {
			return m, err
		}
		m.Safety = done.Safety // which was not known before
	}
	m.Follows = next
	known, err := history.KeepAnswer(ctx, o, done.Repeats != nil, m)
	if known != nil {
		recorded := Moved{}
		if err := operation.Repeat(known, &recorded); err == nil {
			m = recorded
		}
	}
	return m, notRecorded(err)
}

// notRecorded says of a move that is complete that its answer is not recorded. Nothing is refused.
func notRecorded(err error) error {
	var held *lock.HeldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &held):
		err = errors.New("another command holds the execution")
	}
	return fmt.Errorf("this is done, but its answer could not be recorded: %w; the same command with the same --op-id records it, and moves nothing", err)
}
