package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/failpoint"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/runtime/codon"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/history"
	"hank/runtime/opening"
	"hank/runtime/operation"
	"hank/state"
)

// decisions are the commands with which a person decides something about an execution.
// A live run records what it is told; where there is none, the command itself does.
var decisions = map[string]bool{answerCommand: true, holdCommand: true, releaseCommand: true}

const (
	answerCommand  = "answer"
	holdCommand    = "hold"
	releaseCommand = "release"
)

// Decided is what came of a person's decision: what hank approve, reject, hold and release
// print.
type Decided struct {
	Schema    int    `json:"schema"`
	Execution string `json:"execution"`
	Live      bool   `json:"live"`               // a run has recorded it, and continues by itself
	Unchanged bool   `json:"unchanged,omitzero"` // the same was decided before
	// Repeats is the operation that was carried out before; all else is what it answered.
	Repeats *state.Operation `json:"repeats,omitempty"`
	Gate    *state.Gate      `json:"gate,omitempty"` // the request that was answered
	Hold    *state.Hold      `json:"hold,omitempty"` // the one that holds, or has held
}

// refusal is a decision that was refused, as a run sends it.
type refusal struct {
	Usage    string `json:"usage,omitempty"`
	Decision string `json:"decision,omitempty"`
}

// AnswerGate answers a gate of an execution. With an operation ID it is carried out once.
func AnswerGate(ctx context.Context, root string, a gate.Answer, opID string) (*Decided, error) {
	asked, err := operation.Of(opID, a.Verb(), []string{a.Gate, a.Reply, a.Checkpoint}, time.Now())
	if err != nil {
		return nil, err
	}
	by := whoDecides()
	by.Argv = a.By.Argv // the way, where it was no command
	a.By, a.Operation = by, asked
	return decideThere(ctx, root, answerCommand, a)
}

// SetHold keeps an execution from running; a live run ends after its codon.
func SetHold(ctx context.Context, root, reason string) (*Decided, error) {
	return decideThere(ctx, root, holdCommand, state.Hold{By: whoDecides(), Reason: reason})
}

// ReleaseHold lets an execution run again.
func ReleaseHold(ctx context.Context, root string) (*Decided, error) {
	return decideThere(ctx, root, releaseCommand, state.Hold{By: whoDecides()})
}

// whoDecides is the user of this command.
func whoDecides() state.StartedBy {
	host, _ := os.Hostname()
	by := startedBy(host, false)
	by.Argv = nil
	return *by
}

// decideThere has a decision recorded by the live run of an execution, or records it. A
// run may begin or end in between: then the other way is tried once more.
func decideThere(ctx context.Context, execution, command string, what any) (*Decided, error) {
	root, err := history.Locate(execution)
	if err != nil {
		return nil, err
	}
	if err := lock.MayAct(root); err != nil {
		return nil, err
	}
	arguments, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		done, err := decideLive(ctx, root, command, arguments)
		if !errors.Is(err, control.ErrNotRunning) {
			return done, err
		}
		done, err = decideHere(ctx, root, command, arguments)
		var held *lock.HeldError
		if !errors.As(err, &held) || try == 2 {
			return done, err
		}
	}
}

// decideLive tells the live run of an execution.
func decideLive(ctx context.Context, root, command string, arguments []byte) (*Decided, error) {
	answer, err := control.Call(ctx, layout.Layout{Root: root}.Socket(), control.Request{Command: command, Arguments: arguments, Confirm: true})
	if errors.Is(err, control.ErrNoAnswer) || errors.Is(err, control.ErrNotKnown) {
		return nil, &control.UnansweredError{Execution: root, Err: err}
	}
	if err != nil {
		return nil, err
	}
	var r refusal
	switch {
	case answer.OK:
		var done Decided
		err := json.Unmarshal(answer.Status, &done)
		return &done, err
	case answer.Denied:
		return nil, &finding.DecisionError{What: "request rejected by the run: " + answer.Error}
	case json.Unmarshal(answer.Status, &r) == nil && r.Usage != "":
		return nil, &exitcode.UsageError{Why: r.Usage}
	case r.Decision != "":
		return nil, &finding.DecisionError{What: r.Decision}
	}
	return nil, &finding.DecisionError{What: "request rejected by the run: " + answer.Error}
}

// decideHere opens the execution and records the decision.
func decideHere(ctx context.Context, root, command string, arguments []byte) (*Decided, error) {
	if !layout.Exists(root) {
		return nil, &layout.NotFoundError{From: root}
	}
	x, err := opening.Open(ctx, root, execution.Options{Command: "hank " + command, Unfinished: recovery.AskUnfinished})
	if err != nil {
		return nil, err
	}
	done, err := decideOn(x, command, arguments, false)
	return done, errors.Join(err, x.Close())
}

// decideOn carries a decision out, live if a run does. Nothing else writes the execution
// meanwhile.
func decideOn(x *execution.Execution, command string, arguments []byte, live bool) (*Decided, error) {
	done := &Decided{Schema: 1, Execution: x.Layout.Root, Live: live}
	s := x.State()
	var t state.Transition
	switch command {
	case answerCommand:
		var a gate.Answer
		if err := json.Unmarshal(arguments, &a); err != nil {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("the answer cannot be read: %v", err)}
		}
		return done, answerOn(x, a, done)
	case holdCommand:
		var h state.Hold
		if err := json.Unmarshal(arguments, &h); err != nil {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("the hold cannot be read: %v", err)}
		}
		if done.Hold = s.Hold; s.Hold != nil && (h.Reason == "" || h.Reason == s.Hold.Reason) {
			done.Unchanged = true
			return done, nil
		}
		h.Time = x.Now()
		done.Hold, t = &h, state.HoldSet{Hold: h}
	default:
		var h state.Hold
		if err := json.Unmarshal(arguments, &h); err != nil {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("the release cannot be read: %v", err)}
		}
		if done.Hold = s.Hold; s.Hold == nil {
			done.Unchanged = true
			return done, nil
		}
		t = state.HoldReleased{Time: x.Now(), By: h.By}
	}
	if err := x.Record(t); err != nil {
		return nil, err
	}
	return done, nil
}

// answerOn records an answer, in one piece with the operation that it may be.
func answerOn(x *execution.Execution, a gate.Answer, done *Decided) error {
	a.Reply = x.Opts.Mask(a.Reply) // as it is recorded
	standing, known, err := operation.Look(x.State(), a.Operation)
	if err != nil {
		return err
	}
	if standing == operation.Answered {
		*done = Decided{}
		err := operation.Repeat(known, done)
		done.Repeats = known
		return err
	}
	answer, about, err := gate.Decide(x.State(), a, x.Now())
	if err == nil && answer != nil {
		err = a.FitsPrompt(x.State(), plan.Vars{Workspace: x.Layout.Workspace, Data: x.Layout.Data()}, x.LoadProgram)
	}
	if err != nil {
		return err
	}
	var moves []state.Transition
	if answered := *about; answer != nil {
		moves = append(moves, *answer)
		answered.Status, answered.Answer = answer.Status, &answer.Answer
		about = &answered
	}
	done.Gate, done.Unchanged = about, answer == nil
	if a.Operation != nil {
		t, err := operation.Answer(*a.Operation, exitcode.Done, done)
		if err != nil {
			return err
		}
		moves = append(moves, t)
	}
	if len(moves) == 0 {
		return nil
	}
	if err := x.Record(moves...); err != nil {
		return err
	}
	failpoint.Hit("gate.answered")
	return nil
}

// decideFor has the driver carry out what a client has decided, between two things that
// it does: it alone writes.
func (d *driver) decideFor(r control.Request) control.Response {
	response := make(chan control.Response, 1)
	do := func() { response <- d.decideNow(r) }
	select {
	case d.requests <- codon.Request{Do: &do}:
	default:
		return control.Response{Error: "the run has too many requests waiting"}
	}
	select {
	case answer := <-response:
		return answer
	case <-d.over:
		return control.Response{Error: "the run has ended meanwhile; give the command again"}
	}
}

// decideNow is what the driver does for decideFor.
func (d *driver) decideNow(r control.Request) control.Response {
	done, err := decideOn(d.x, r.Command, r.Arguments, true)
	if err != nil {
		return refused(err)
	}
	switch r.Command {
	case holdCommand:
		if d.stop == nil {
			out := held(d.x.State().Hold)
			d.stop = &codon.Request{Signal: codon.StopAfterCodon, Reason: out.Reason, Code: out.Code}
			d.stopping.CompareAndSwap(nil, &stoppingAfter)
		}
	case releaseCommand:
		if d.stop != nil && d.stop.Reason == state.EndHeld {
			d.stop = nil
			d.stopping.CompareAndSwap(&stoppingAfter, nil)
		}
	}
	text, err := json.Marshal(done)
	if err != nil {
		return refused(err)
	}
	return control.Response{OK: true, Status: text}
}

// refused is the answer to a decision that cannot be carried out.
func refused(err error) control.Response {
	var usage *exitcode.UsageError
	var decision *finding.DecisionError
	r := refusal{}
	switch {
	case errors.As(err, &usage):
		r.Usage = usage.Why
	case errors.As(err, &decision):
		r.Decision = decision.Error()
	}
	text, _ := json.Marshal(r) // two strings
	return control.Response{Error: err.Error(), Status: text}
}
