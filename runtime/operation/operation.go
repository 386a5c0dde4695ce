package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/lazyregexp"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
	"hank/runtime/retry"
	"hank/state"
)

// Standing is what is known of an operation.
type Standing string

// The standings.
const (
	New      Standing = "new"
	Moving   Standing = "moving"
	Moved    Standing = "moved"
	CutOff   Standing = "interrupted"
	Running  Standing = "running"
	Answered Standing = "answered"
)

// Begun reports whether a part of it was done that is not to be done again: its move.
func (s Standing) Begun() bool { return s == Moved || s == CutOff }

// ids are what can be an id.
var ids = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/@+=#-]{0,127}$`)

// Of returns what a command asks for; nil where it was given no id. arguments are all
// that tells it from another one with the same name, as a value that can be written as
// JSON: what says how it answers is no part of it.
func Of(id, command string, arguments any, now time.Time) (*state.Operation, error) {
	if id == "" {
		return nil, nil
	}
	if !ids.MatchString(id) {
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("--op-id takes 1 to 128 letters, digits and . _ : / @ + = # -, the first of them a letter or digit, not %q", id)}
	}
	text, err := json.Marshal(arguments, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return &state.Operation{ID: id, Command: command, Arguments: "sha256:" + hex.EncodeToString(sum[:]), Time: state.At(now.Round(time.Millisecond))}, nil
}

// Look tells how an operation stands, with what is recorded of it. The error says why it
// must not be carried out: its id belongs to another one, or it was interrupted and
// other commands have acted since. asked may be nil: that is new.
func Look(s *state.State, asked *state.Operation) (Standing, *state.Operation, error) {
	if asked == nil {
		return New, nil, nil
	}
	known, run := s.Operation(asked.ID)
	switch {
	case known == nil:
		return New, nil, nil
	case !known.Same(asked):
		what := "other arguments"
		if known.Command != asked.Command {
			what = "hank " + known.Command
		}
		return "", nil, &exitcode.UsageError{Why: fmt.Sprintf("operation ID %s was used on %s for %s; a command that is to do something else needs another ID",
			asked.ID, known.Time.Local().Format("2006-01-02 15:04:05"), what)}
	case known.Answered:
		return Answered, known, nil
	case run != nil && run.Status == state.StatusRunning:
		return Running, known, nil
	case s.Intent != nil && s.Intent.Operation == known:
		return Moving, known, nil
	case run == nil && runs(known.Command) && left(s, known), run != nil && passed(s, run):
		return "", nil, &finding.DecisionError{
			What:    fmt.Sprintf("operation %s was interrupted, and other commands have acted on the execution since: it is not continued", asked.ID),
			Options: []string{"another --op-id carries the command out from where the execution is now (see: `hank status`)"},
		}
	case run != nil:
		return CutOff, known, nil
	}
	return Moved, known, nil
}

// runs reports whether a command begins a run after its move.
func runs(command string) bool { return command == "run" || command == "resume" || command == "retry" }

// left reports whether the execution is no longer where the move of an operation has
// brought it.
func left(s *state.State, o *state.Operation) bool {
	p := s.Position
	return p == nil || p.Before == nil || p.Before.CheckpointSHA != o.Safety
}

// passed reports whether something has come after a run but its own continuation: an
// interrupted codon that was to begin again.
func passed(s *state.State, run *state.Run) bool {
	p := s.Position
	if run != s.Newest() || p == nil || p.Reason != state.ReasonContinue {
		return run != s.Newest() || p != nil && p.Reason != ""
	}
	of := retry.Last(s) // an undo may have led back to another
	return of != run && of != s.Resumed(run)
}

// Answer is the record of an answer.
func Answer(o state.Operation, code exitcode.Code, answer any) (state.OperationAnswered, error) {
	text, err := json.Marshal(answer, json.Deterministic(true))
	o.Answered, o.ExitCode, o.Answer = true, int(code), string(text)
	return state.OperationAnswered{Operation: o}, err
}

// Repeat reads the answer of an operation that is over.
func Repeat(o *state.Operation, into any) error {
	if err := json.Unmarshal([]byte(o.Answer), into); err != nil {
		return fmt.Errorf("reading the answer of operation %s: %w", o.ID, err)
	}
	return nil
}
