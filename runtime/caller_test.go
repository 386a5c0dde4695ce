//go:build linux

package runtime

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/internal/short"
	"hank/recovery/layout"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/internal/testkit"
	"hank/runtime/live"
	"hank/runtime/verdict"
)

func init() {
	// ask speaks to a run by its socket, past what hank's commands check, in every way
	// in which it can be asked.
	testkit.Parts["ask"] = func(args []string) error {
		path := layout.Layout{Root: args[0]}.Socket()
		for _, command := range args[1:] {
			answers, err := askVersion1(path, command)
			if err != nil {
				return err
			}
			for _, confirm := range []bool{false, true} {
				answer, err := control.Call(context.Background(), path, control.Request{Command: command, Confirm: confirm})
				if err != nil {
					return err
				}
				answers = append(answers, answer)
			}
			for _, answer := range answers[1:] {
				if answer.OK != answers[0].OK || answer.Denied != answers[0].Denied {
					return fmt.Errorf("%s: %+v", command, answers)
				}
			}
			fmt.Println(command, answers[0].OK, answers[0].Denied)
		}
		return nil
	}
	// act does what hank's commands do.
	testkit.Parts["act"] = func(args []string) error {
		for _, command := range []string{"skip", live.EndWait} {
			_, err := live.Control(context.Background(), args[0], command)
			fmt.Println(command, int(verdict.CodeOf(err)))
		}
		_, err := history.Rollback(context.Background(), history.RollbackOptions{Execution: args[0], To: "initial"})
		fmt.Println("rollback", int(verdict.CodeOf(err)))
		return nil
	}
}

// askVersion1 asks as a client of version 1 does, at once and with a confirmation.
func askVersion1(path, command string) (answers []control.Response, err error) {
	if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() { // the path is too long for a socket
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		path = strings.TrimSpace(string(text))
	}
	for _, lines := range [][]string{{`{"version":1,"command":%q}`}, {`{"version":1,"command":%q,"confirm":true}`, `{"version":1,"command":"confirm"}`}} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		fmt.Fprintf(conn, strings.Join(lines, "\n")+"\n", command)
		in := bufio.NewScanner(conn)
		for range lines {
			in.Scan()
		}
		var answer control.Response
		if err := json.Unmarshal(in.Bytes(), &answer); err != nil || answer.Version != 1 {
			return nil, fmt.Errorf("%s was answered %s: %v", command, in.Bytes(), err)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// TestACodonCannotSteerItsOwnRun: neither hank's commands nor the socket obey a
// codon, wherever its process stands; it may ask how the run stands. What it
// wanted to skip fails as it did.
func TestACodonCannotSteerItsOwnRun(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := stageOf(t, `{"hank": [{"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText":
	  "E=$PWD/..; \"$SELF\" __part ask $E status skip stop stop-after-codon end-wait >a; env -i \"$SELF\" __part ask $E skip stop >b; env -i setsid sh -c '(\"$0\" __part ask $1 stop >c0; mv c0 c) &' \"$SELF\" $E; until [ -e c ]; do sleep 0.01; done; \"$SELF\" __part act $E >d; exit 3"}]}`)
	s.opts.Environ = append(s.opts.Environ, "SELF="+self)
	s.must(ModeRun, exitcode.Failed)
	if got := strings.Join(s.records(), " "); got != "c:failed" {
		t.Errorf("records: %s", got)
	}
	for name, want := range map[string]string{
		"a": "status true false\nskip false true\nstop false true\nstop-after-codon false true\nend-wait false true\n",
		"b": "skip false true\nstop false true\n", "c": "stop false true\n", "d": "skip 4\nend-wait 4\nrollback 4\n",
	} {
		if got := content(t, s.workspace(), name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestACodonCannotSteerTheRunInItsWorkspace: with --workspace . the codon's own
// execution lies in its workspace, where it may steer others.
func TestACodonCannotSteerTheRunInItsWorkspace(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := stageOf(t, `{"hank": [{"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText":
	  "\"$SELF\" __part ask $PWD skip stop end-wait >a; env -i \"$SELF\" __part ask $PWD skip >b; \"$SELF\" __part act $PWD >c; exit 3"}]}`)
	s.opts.Environ = append(s.opts.Environ, "SELF="+self)
	s.opts.Workspace = s.opts.Execution
	if err := os.MkdirAll(s.opts.Execution, 0o755); err != nil {
		t.Fatal(err)
	}
	s.must(ModeRun, exitcode.Failed)
	if got := strings.Join(s.records(), " "); got != "c:failed" {
		t.Errorf("records: %s", got)
	}
	for name, want := range map[string]string{"a": "skip false true\nstop false true\nend-wait false true\n", "b": "skip false true\n", "c": "skip 4\nend-wait 4\nrollback 4\n"} {
		if got := content(t, s.opts.Execution, name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestACodonMayRunAHankOfItsOwn in its workspace, and steer that.
func TestACodonMayRunAHankOfItsOwn(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := stageOf(t, `{"hank": [{"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText":
	  "mkdir inner; echo '{\"hank\":[{\"id\":\"i\",\"name\":\"I\",\"model\":\"shell\",\"continuationMode\":\"fresh\",\"promptText\":\"echo inner >log\"}]}' >inner/hank.json; \"$SELF\" __part nested $PWD/inner"}]}`)
	s.opts.Environ = append(s.opts.Environ, "SELF="+self)
	s.must(ModeRun, exitcode.Done)
	if got := content(t, s.workspace(), "inner/agentRoot/log"); got != "inner\n" {
		t.Errorf("the inner hank has left %q", got)
	}
}

func init() {
	testkit.Parts["nested"] = func(args []string) error {
		r := Request{Mode: ModeRun, Execution: args[0], Hank: args[0], Output: args[0] + "/out", Version: "test", Environ: os.Environ()}
		res, err := Run(context.Background(), r, Answers{}, UI{Say: func(string) {}})
		if err == nil && res.Code != exitcode.Done {
			err = fmt.Errorf("it ended with %d", res.Code)
		}
		if err != nil {
			return err
		}
		_, err = history.Rollback(context.Background(), history.RollbackOptions{Execution: args[0], Undo: false, To: "i", Say: func(string) {}})
		return err
	}
}
