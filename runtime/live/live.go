// Package live talks with the run of an execution that is in progress: it asks for its
// status, and asks it to stop or to skip.
//
// It is the client of package control. It opens no execution and records nothing: what is
// asked for is done, and recorded, by the run.
package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/operation"
	"hank/runtime/silence"
	"hank/state"
)

// Status is what a live run says of itself.
type Status struct {
	RunID   state.RunID   `json:"runId"`
	CodonID state.CodonID `json:"codonId,omitempty"`
	Status  string        `json:"status,omitempty"`
	state.Bill
	Since time.Time `json:"since"`
	// Stopping says that it was asked to stop: after-codon, or now.
	Stopping string `json:"stopping,omitempty"`
	// Silence is what is known of an agent without a sign of life; nil: it shows one.
	Silence *silence.Evidence `json:"silence,omitempty"`
}

// The values of Status.Stopping.
const (
	StoppingAfter = "after-codon"
	StoppingNow   = "now"
)

// EndWait is the command that ends the wait of a run for a provider.
const EndWait = "end-wait"

// Control sends a command to the live run of an execution. One that acts is
// carried out only if the run answers in time, see package control; an
// *UnansweredError says that it did not.
func Control(ctx context.Context, execution, command string) (control.Response, error) {
	return controlWith(ctx, execution, command, nil)
}

// controlWith is Control with arguments.
func controlWith(ctx context.Context, execution, command string, arguments []byte) (control.Response, error) {
	root, err := history.Locate(execution)
	if err != nil {
		return control.Response{}, err
	}
	acts := command == EndWait || command == "stop" || command == "stop-after-codon" || command == "skip"
	if acts {
		if err := lock.MayAct(root); err != nil {
			return control.Response{}, err
		}
	}
	answer, err := control.Call(ctx, layout.Layout{Root: root}.Socket(), control.Request{Command: command, Arguments: arguments, Confirm: acts})
	if errors.Is(err, control.ErrNoAnswer) || errors.Is(err, control.ErrNotKnown) {
		return answer, &control.UnansweredError{Execution: root, Err: err}
	}
	return answer, err
}

// Ask asks the live run of an execution for its status.
func Ask(ctx context.Context, execution string) (Status, error) {
	var s Status
	answer, err := Control(ctx, execution, "status")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(answer.Status, &s)
}

// Arguments are those of a request to stop or to skip.
type Arguments struct {
	control.Target
	Operation *state.Operation `json:"operation,omitempty"` // of a skip; nil: none
	Loop      state.CodonID    `json:"-"`                   // a skip ends the command of this loop; empty: that of a codon
}

// Judging is the command of a loop that is asked whether the loop continues, after an attempt. No
// codon runs.
type Judging struct {
	Run     state.RunID
	Codon   state.CodonID
	Attempt int
	Loop    state.CodonID
}

// staleError says that what a request is for has ended.
type staleError struct{ why string }

func (e *staleError) Error() string { return e.why }

// Asked are the arguments that a request to stop or to skip comes with; other commands take
// none. The error says why it is refused, see Refused. command is the one of a loop that runs; nil:
// none does. A skip is for what runs now, and for nothing that comes after it.
func Asked(s *state.State, r control.Request, command *Judging) (asked Arguments, err error) {
	skips, at := r.Command == "skip", control.TargetOf(s)
	if at.Codon != "" || command == nil {
		command = &Judging{Run: at.Run, Codon: at.Codon, Attempt: at.Attempt}
	}
	meant := control.Target{Run: command.Run, Codon: command.Codon, Attempt: command.Attempt}
	switch {
	case skips && meant.Codon == "":
		return asked, &staleError{"no codon is running: there is nothing to skip"}
	case skips && isOver(s):
		return asked, &staleError{fmt.Sprintf("the work of codon %s has ended: there is nothing to skip", at.Codon)}
	case len(r.Arguments) == 0 && skips:
		return Arguments{Target: meant, Loop: command.Loop}, nil
	case len(r.Arguments) == 0:
		return asked, nil
	case !skips && r.Command != "stop" && r.Command != "stop-after-codon":
		return asked, errors.New(r.Command + " takes no arguments")
	}
	err = json.Unmarshal(r.Arguments, &asked, json.RejectUnknownMembers(true))
	switch {
	case skips && err != nil:
		return asked, errors.New("skip takes run, codon, attempt and operation")
	case !skips && (err != nil || asked.Operation != nil):
		return asked, errors.New(r.Command + " takes run, codon and attempt")
	}
	if why := asked.Missed(at); why != "" {
		if command.Loop != "" {
			why += fmt.Sprintf(": the command of loop %s is asked whether the loop continues (`hank skip` ends it, which counts as continue; `hank stop` ends the run)", command.Loop)
		}
		return asked, &staleError{why}
	}
	if skips {
		asked.Target, asked.Loop = meant, command.Loop
	}
	_, _, err = operation.Look(s, asked.Operation)
	return asked, err
}

// isOver reports whether the work of the codon that is running has ended, and no sentinel of it
// is waited for: its checkpoint is made.
func isOver(s *state.State) bool {
	run := s.Newest()
	return run != nil && run.Live() != nil && run.Live().Settling != nil && run.Live().Sentinels == nil
}

// Refused is the answer to a request that is refused.
func Refused(err error) control.Response {
	var stale *staleError
	return control.Response{Error: err.Error(), Stale: errors.As(err, &stale)}
}

// Act asks the live run to stop or to skip, as the arguments say. The answer to an operation is
// recorded before the codon is skipped.
func Act(ctx context.Context, execution, command string, asked Arguments) (control.Response, error) {
	if asked == (Arguments{}) {
		return Control(ctx, execution, command)
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return control.Response{}, err
	}
	return controlWith(ctx, execution, command, text)
}

// SkipOperation is what skip was given an ID for, with the answer, and what is known of
// it if it was carried out before; both nil: it was given none. of is what is to be skipped.
func SkipOperation(s *state.State, id string, of control.Target, answer any, now time.Time) (asked, again *state.Operation, err error) {
	var arguments any // as without a target from the beginning
	switch {
	case of == control.Target{Codon: of.Codon} && of.Codon != "":
		arguments = of.Codon
	case of != control.Target{}:
		arguments = of
	}
	asked, err = operation.Of(id, "skip", arguments, now)
	if asked == nil || err != nil {
		return nil, nil, err
	}
	standing, known, err := operation.Look(s, asked)
	if standing == operation.Answered || err != nil {
		return nil, known, err
	}
	t, err := operation.Answer(*asked, exitcode.Done, answer)
	return &t.Operation, nil, err
}
