package operation

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hank/recovery/finding"
	"hank/runtime/exitcode"
	"hank/state"
)

var now = time.Date(2026, 1, 2, 9, 0, 0, 0, time.UTC)

func asked(t *testing.T, id, command string, arguments any) *state.Operation {
	t.Helper()
	o, err := Of(id, command, arguments, now)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestIDs(t *testing.T) {
	t.Parallel()
	if o, err := Of("", "run", 1, now); o != nil || err != nil {
		t.Errorf("none: %v, %v", o, err)
	}
	for _, bad := range []string{"-x", ".x", "a b", "a\n", "ä", "a;b", strings.Repeat("x", 129)} {
		var usage *exitcode.UsageError
		if _, err := Of(bad, "run", 1, now); !errors.As(err, &usage) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"a", "9", "job/17:retry@host+1=x_y-z.0", strings.Repeat("x", 128)} {
		if _, err := Of(good, "run", 1, now); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// Every situation that an operation can be found in.
func TestHowAnOperationStands(t *testing.T) {
	t.Parallel()
	run := func(o *state.Operation, status state.RunStatus) *state.Run {
		return &state.Run{RunID: "r", Status: status, Operation: o}
	}
	answeredAs := func(o *state.Operation) *state.Operation {
		next := *o
		next.Answered = true
		return &next
	}
	retry, rollback := asked(t, "x", "retry", "a"), asked(t, "x", "rollback", "a")
	moved := *retry
	moved.Safety = "5"
	at := func(safety state.SHA, reason string) *state.Position {
		return &state.Position{Reason: reason, Before: &state.Position{CheckpointSHA: safety}}
	}
	for name, c := range map[string]struct {
		s        *state.State
		asked    *state.Operation
		want     Standing
		refusal  any // the type of the error
		sentence string
	}{
		"no id":                          {s: &state.State{}, want: New},
		"nothing is known":               {s: &state.State{}, asked: retry, want: New},
		"another id":                     {s: &state.State{Operations: []state.Operation{*rollback}}, asked: asked(t, "y", "retry", "a"), want: New},
		"another command":                {s: &state.State{Operations: []state.Operation{*answeredAs(rollback)}}, asked: retry, refusal: &exitcode.UsageError{}, sentence: "for hank rollback"},
		"other arguments":                {s: &state.State{Operations: []state.Operation{*answeredAs(rollback)}}, asked: asked(t, "x", "rollback", "b"), refusal: &exitcode.UsageError{}, sentence: "for other arguments"},
		"its move is open":               {s: &state.State{Intent: &state.Intent{Operation: retry}}, asked: retry, want: Moving},
		"it has moved":                   {s: &state.State{Operations: []state.Operation{moved}, Position: at("5", state.ReasonRetry)}, asked: retry, want: Moved},
		"something has moved it since":   {s: &state.State{Operations: []state.Operation{moved}, Position: at("6", state.ReasonRollback)}, asked: retry, refusal: &finding.DecisionError{}, sentence: "was interrupted"},
		"another run has come":           {s: &state.State{Operations: []state.Operation{moved}, Runs: []*state.Run{run(nil, state.StatusFailed)}}, asked: retry, refusal: &finding.DecisionError{}, sentence: "was interrupted"},
		"a move is complete in itself":   {s: &state.State{Operations: []state.Operation{*rollback}}, asked: rollback, want: Moved},
		"its run is in progress":         {s: &state.State{Runs: []*state.Run{run(retry, state.StatusRunning)}}, asked: retry, want: Running},
		"its run has crashed":            {s: &state.State{Runs: []*state.Run{run(retry, state.StatusCrashed)}}, asked: retry, want: CutOff},
		"and its codon is begun again":   {s: &state.State{Runs: []*state.Run{run(retry, state.StatusCrashed)}, Position: at("7", state.ReasonContinue)}, asked: retry, want: CutOff},
		"it crashed, and then a move":    {s: &state.State{Runs: []*state.Run{run(retry, state.StatusCrashed)}, Position: at("7", state.ReasonRollback)}, asked: retry, refusal: &finding.DecisionError{}, sentence: "was interrupted"},
		"it crashed, and then a run":     {s: &state.State{Runs: []*state.Run{{RunID: "s", Status: state.StatusCompleted}, run(retry, state.StatusCrashed)}}, asked: retry, refusal: &finding.DecisionError{}, sentence: "was interrupted"},
		"it is answered":                 {s: &state.State{Runs: []*state.Run{run(answeredAs(retry), state.StatusFailed)}}, asked: retry, want: Answered},
		"whatever came since":            {s: &state.State{Runs: []*state.Run{{RunID: "s", Status: state.StatusRunning}, run(answeredAs(retry), state.StatusFailed)}}, asked: retry, want: Answered},
		"the newest run of it decides":   {s: &state.State{Runs: []*state.Run{{RunID: "s", Status: state.StatusRunning, Operation: retry}, run(retry, state.StatusCrashed)}}, asked: retry, want: Running},
		"answered although the run left": {s: &state.State{Runs: []*state.Run{run(answeredAs(retry), state.StatusRunning)}}, asked: retry, want: Answered},
	} {
		got, _, err := Look(c.s, c.asked)
		var usage *exitcode.UsageError
		var decision *finding.DecisionError
		switch c.refusal.(type) {
		case nil:
			if got != c.want || err != nil {
				t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
			}
			continue
		case *exitcode.UsageError:
			if !errors.As(err, &usage) {
				t.Errorf("%s: %v", name, err)
				continue
			}
		case *finding.DecisionError:
			if !errors.As(err, &decision) {
				t.Errorf("%s: %v", name, err)
				continue
			}
		}
		if !strings.Contains(err.Error(), c.sentence) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An answer reads back as it was given.
func TestAnAnswerReadsBack(t *testing.T) {
	t.Parallel()
	type answer struct {
		Message string    `json:"message"`
		Cost    state.USD `json:"cost"`
	}
	given := answer{"it's <done>", 123456789}
	tr, err := Answer(*asked(t, "x", "run", nil), exitcode.Failed, given)
	if err != nil {
		t.Fatal(err)
	}
	if o := tr.Operation; !o.Answered || o.ExitCode != 1 {
		t.Errorf("%+v", o)
	}
	var back answer
	if err := Repeat(&tr.Operation, &back); err != nil || back != given {
		t.Errorf("%+v, %v", back, err)
	}
}
