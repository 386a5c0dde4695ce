// Package live talks with the run of an execution that is in progress: it asks for its
// status, follows its events, and asks it to stop or to skip.
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
	"hank/state/journal"
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

// Follow calls fn for each event of the live run of an execution from a number on,
// as soon as it is in the journal, until the run is over; then it returns nil. The
// error of fn ends it. Any other says that the run cannot be followed, or not any
// longer: its journal can be read.
func Follow(ctx context.Context, execution string, from uint64, fn func(journal.Event) error) error {
	root, err := history.Locate(execution)
	if err != nil {
		return err
	}
	c, err := control.Dial(ctx, layout.Layout{Root: root}.Socket())
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Follow(ctx, control.Subscription{Events: true, From: from, Early: true}, func(u control.Update) error {
		switch {
		case u.Missed != nil:
			return &journal.GapError{Dir: layout.Layout{Root: root}.Events(), After: u.Missed.After, Next: u.Missed.Next}
		case u.Event != nil:
			return fn(u.Event.Journal())
		}
		return nil
	})
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

// SkipArguments are those of a request to skip a codon.
type SkipArguments struct {
	Codon     state.CodonID    `json:"codon,omitempty"`     // no other one is skipped; empty: the one that is running
	Operation *state.Operation `json:"operation,omitempty"` // nil: none
}

// Asked are the arguments that a request to skip comes with.
func Asked(s *state.State, r control.Request) (asked SkipArguments, err error) {
	if r.Arguments == nil || r.Command != "skip" {
		return asked, nil
	}
	if err := json.Unmarshal(r.Arguments, &asked, json.RejectUnknownMembers(true)); err != nil {
		return asked, errors.New(r.Command + " takes a codon, an operation, or both")
	}
	if run := s.Current(); asked.Codon != "" && (run == nil || run.Live() == nil || run.Live().CodonID != asked.Codon) {
		return asked, fmt.Errorf("codon %s is not running", asked.Codon)
	}
	_, _, err = operation.Look(s, asked.Operation)
	return asked, err
}

// Skip asks the live run to skip the codon that is running, as the arguments say. The
// answer to an operation is recorded before the codon is skipped.
func Skip(ctx context.Context, execution string, asked SkipArguments) (control.Response, error) {
	if asked == (SkipArguments{}) {
		return Control(ctx, execution, "skip")
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return control.Response{}, err
	}
	return controlWith(ctx, execution, "skip", text)
}

// SkipOperation is what skip was given an ID for, with the answer, and what is known of
// it if it was carried out before; both nil: it was given none. codon is the one that is
// meant, or empty.
func SkipOperation(s *state.State, id string, codon state.CodonID, answer any, now time.Time) (asked, again *state.Operation, err error) {
	var arguments any // as without a codon from the beginning
	if codon != "" {
		arguments = codon
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
