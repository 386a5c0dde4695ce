//go:build linux

package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/internal/proc"
	"hank/internal/short"
	"hank/recovery/layout"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/internal/testkit"
	"hank/runtime/verdict"
	"hank/state"
)

func init() {
	// decide tries what only a person may, past what hank's commands check and by them.
	testkit.Parts["decide"] = func(args []string) error {
		ctx, path := context.Background(), layout.Layout{Root: args[0]}.Socket()
		answer, err := json.Marshal(gate.Answer{Gate: "ok", Status: state.GateApproved})
		if err != nil {
			return err
		}
		for _, command := range []string{answerCommand, holdCommand, releaseCommand} {
			for _, confirm := range []bool{false, true} {
				r, err := control.Call(ctx, path, control.Request{Command: command, Arguments: answer, Confirm: confirm})
				fmt.Println(command, r.OK, r.Denied, err)
			}
		}
		_, err = AnswerGate(ctx, args[0], gate.Answer{Gate: "ok", Status: state.GateApproved}, "")
		fmt.Println("approve", int(verdict.CodeOf(err)), errors.As(err, new(*proc.DeniedError)))
		_, err = SetHold(ctx, args[0], "")
		fmt.Println("hold", int(verdict.CodeOf(err)), errors.As(err, new(*proc.DeniedError)))
		return nil
	}
}

// TestACodonCannotDecideForAPerson: the socket of its own run refuses it, wherever the
// process is, and so do the functions below the commands.
func TestACodonCannotDecideForAPerson(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := stageOf(t, `{"hank": [{"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText":
	  "E=$PWD/..; \"$SELF\" __part decide $E >a; env -i \"$SELF\" __part decide $E >b; env -i setsid sh -c '(\"$0\" __part decide $1 >c0; mv c0 c) &' \"$SELF\" $E; until [ -e c ]; do sleep 0.01; done",
	  "gate": {"id": "ok", "when": "after", "kind": "approve", "summary": "Good?"}}]}`)
	s.opts.Environ = append(s.opts.Environ, "SELF="+self)
	s.must(ModeRun, exitcode.Waiting)
	want := ""
	for _, command := range []string{answerCommand, answerCommand, holdCommand, holdCommand, releaseCommand, releaseCommand} {
		want += command + " false true <nil>\n"
	}
	want += "approve 4 true\nhold 4 true\n" // refused before the run is asked
	for _, name := range []string{"a", "b", "c"} {
		if got := content(t, s.workspace(), name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if now := s.view().State; len(now.Gates) != 1 || now.Gates[0].Status != state.GatePending || now.Hold != nil {
		t.Errorf("%+v, hold %v", now.Gates, now.Hold)
	}
}
