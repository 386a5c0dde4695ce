//go:build unix

package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/internal/secret"
	"hank/internal/short"
	"hank/plan"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/runtime/codon"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/internal/testkit"
	"hank/runtime/question"
	"hank/runtime/verdict"
	"hank/state"
)

// killedAtItsEnd prepares a codon that has ended, whose runtime was killed before
// it could make the checkpoint. What is changed now is changed later than the end.
func killedAtItsEnd(t *testing.T, end string) *stage {
	t.Helper()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo agent >work; echo agent >other; mkdir -p in; echo x >in/x; chmod +x in/x; echo ran >>../ran; `+end+`"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log"}
	]}`)
	text, err := json.Marshal(order{Execution: s.root, Hank: s.opts.Hank})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "__part", "run", string(text))
	cmd.Env = append(os.Environ(), "HANK_FAILPOINT=scan.walked:3") // after the estimate and the initial checkpoint
	stdin, err := cmd.StdinPipe()
	testkit.Must(t, err)
	defer stdin.Close()
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
	live := s.view().State.Newest().Live()
	if live == nil || live.Settling == nil || live.Settling.At == nil {
		t.Fatalf("it was killed at %+v", live)
	}
	within(t, patience, "the clock of the file system moves on", func() bool {
		put(t, s.root, "clock", "")
		fi, err := os.Stat(s.root + "/clock")
		return err == nil && fi.ModTime().Sub(live.Settling.At.Time) > 20*time.Millisecond
	})
	return s
}

func TestWhatAPersonChangesBeforeALateCheckpointIsAskedAbout(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, c := range map[string]struct {
		change func(s *stage)
		named  string // in the question; empty: there is none
	}{
		"nothing":    {func(*stage) {}, ""},
		"an edit":    {func(s *stage) { put(s.t, s.workspace(), "work", "PERSON\n") }, `("work")`},
		"a new file": {func(s *stage) { put(s.t, s.workspace(), "mine", "PERSON\n") }, `("mine")`},
		"a deletion": {func(s *stage) { testkit.Must(s.t, os.Remove(s.workspace()+"/in/x")) }, `(names in the directory "in")`},
		"another file": {func(s *stage) {
			put(s.t, s.root, "old", "PERSON\n")
			testkit.Must(s.t, os.Rename(s.root+"/old", s.workspace()+"/work"))
		}, `("work")`},
		"a mode":        {func(s *stage) { testkit.Must(s.t, os.Chmod(s.workspace()+"/work", 0o600)) }, ""},
		"an exec bit":   {func(s *stage) { testkit.Must(s.t, os.Chmod(s.workspace()+"/work", 0o755)) }, `("work")`},
		"a deep file":   {func(s *stage) { put(s.t, s.workspace(), "in/deep/file", "PERSON\n") }, `("in/deep/file")`},
		"a folder mode": {func(s *stage) { testkit.Must(s.t, os.Chmod(s.workspace()+"/in", 0o700)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := killedAtItsEnd(t, "true")
			work := s.workspace()
			c.change(s)
			var foreseen *finding.DecisionError
			before := s.tree()
			err := question.Question(context.Background(), s.view(), s.opts.Layers, "hank run")
			if found := errors.As(err, &foreseen); found != (c.named != "") || !found && err != nil {
				t.Errorf("doctor foresees: %v", err)
			}
			sameTree(t, "a question foreseen", s.tree(), before)
			if said := fmt.Sprint(s.view().Report.Findings); !strings.Contains(said, "when codon a had ended") || strings.Contains(said, "`hank run` continues from the state before it") {
				t.Errorf("readers say: %s", said)
			}
			if c.named == "" {
				s.must(ModeRun, exitcode.Done)
				if got := content(t, s.root, "ran"); got != "ran\n" {
					t.Errorf("it ran %q", got)
				}
				return
			}
			now := s.tree()
			for range 2 {
				res, err := s.run(ModeRun)
				if verdict.CodeOf(err) != exitcode.Decision || !strings.Contains(err.Error(), "after codon a had ended and before its checkpoint was made "+c.named[:len(c.named)-1]) {
					t.Fatalf("asked: %+v, %v", res, err)
				}
				if foreseen == nil || !strings.Contains(err.Error(), foreseen.What) || foreseen.Command != "hank run --keep-tree" {
					t.Errorf("doctor foresees: %v; hank run asks: %v", foreseen, err)
				}
			}
			sameTree(t, "asked about", s.tree(), now)
			if name == "an edit" { // the two answers
				s.must(ModeRun, exitcode.Done, func(o *command) { o.Restore = true })
				if got := content(t, work, "work") + content(t, s.root, "ran"); got != "agent\nran\nran\n" || !s.reachable("PERSON\n") {
					t.Errorf("run again: %q", got)
				}
				return
			}
			s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = true })
			a := s.last("a")
			if a.Status != state.Completed || !slices.ContainsFunc(a.Notes, func(n string) bool { return strings.Contains(n, "taken as its work by the user: ") }) {
				t.Errorf("kept: %s, %q", a.Status, a.Notes)
			}
			if got := content(t, s.root, "ran"); got != "ran\n" {
				t.Errorf("it ran %q", got)
			}
		})
	}
}

// What a failed codon has left is done again in any case: nobody is asked.
func TestWhatAPersonChangesBeforeALateErrorIsNoted(t *testing.T) {
	t.Parallel()
	s := killedAtItsEnd(t, "exit 3")
	put(t, s.workspace(), "work", "PERSON\n")
	res := s.must(ModeRun, exitcode.Failed)
	if a := s.last("a"); !strings.Contains(res.Message, "failed in an earlier run") || !slices.ContainsFunc(a.Notes, func(n string) bool { return strings.Contains(n, `before its checkpoint: "work"`) }) {
		t.Errorf("%s; %q", res.Message, a.Notes)
	}
}

// TestASkipThatComesTooLateSkipsNothingAndIsTold: what it was for has ended.
func TestASkipThatComesTooLateSkipsNothingAndIsTold(t *testing.T) {
	t.Parallel()
	var said []string
	d := &driver{secrets: &secret.Values{}, ui: UI{Say: func(line string) { said = append(said, line) }}}
	d.take(codon.Request{Signal: codon.SkipCodon, Target: control.Target{Run: "r", Codon: "a", Attempt: 1}})
	if d.stop != nil || len(said) != 1 || said[0] != "nothing was skipped: what the request was for had ended" {
		t.Errorf("%+v, and it said %q", d.stop, said)
	}
}

// TestAnAnswerThatComesRightAfterItsRequestCounts: the run takes it in before it begins to wait, and
// would wait for ever for another one.
func TestAnAnswerThatComesRightAfterItsRequestCounts(t *testing.T) {
	t.Parallel()
	asked := state.Gate{Gate: "g", Status: state.GatePending, Asked: &plan.Gate{ID: "g"}}
	do := func() { asked.Status = state.GateApproved }
	d := &driver{x: &execution.Execution{Opts: execution.Options{}.WithDefaults()}, requests: make(chan codon.Request, 1)}
	d.requests <- codon.Request{Do: &do}
	end, err := d.pass(t.Context(), func() []gate.Standing {
		now := asked
		return []gate.Standing{{Name: "g", Gate: asked.Asked, Request: &now}}
	})
	if end != nil || err != nil || asked.Status != state.GateApproved {
		t.Errorf("%+v, %v", end, err)
	}
}
