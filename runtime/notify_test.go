package runtime

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/internal/advice"
	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/result"
	"hank/runtime/verdict"
	"hank/state"
)

func TestANotificationGetsTheResultEvenWhenTheRunWasCancelled(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "told")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var said []string
	result.Notify(ctx, Request{Notify: `cat >"$OUT"`, Environ: append(os.Environ(), "OUT="+out)}, UI{Say: func(line string) { said = append(said, line) }},
		&Result{Schema: 1, Code: exitcode.Interrupted, Message: "stopped \"here\"\n"}, nil)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("%v, said %q", err, said)
	}
	var got Result
	if err := json.Unmarshal(text, &got); err != nil || got.Code != exitcode.Interrupted || got.Message != "stopped \"here\"\n" {
		t.Errorf("%s: %v", text, err)
	}
	if len(said) > 0 {
		t.Errorf("said %q", said)
	}
}

func TestANotificationThatFailsIsOneShortWarning(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for command, want := range map[string]string{
		"echo no such luck >&2; exit 3": "it ended with code 3: no such luck",
		"kill -9 $$":                    "it was ended by SIGKILL",
		"/not/there":                    "it ended with code 127",
		"head -c 50000000 /dev/zero | tr '\\0' x; echo last; exit 1": "last",
	} {
		var said []string
		result.Notify(context.Background(), Request{Notify: command}, UI{Say: func(line string) { said = append(said, line) }}, &Result{}, nil)
		if len(said) != 1 || !strings.Contains(said[0], want) || !strings.HasPrefix(said[0], "warning: ") || len(said[0]) > 20_000 {
			t.Errorf("%s: %.300q", command, said)
		}
	}
}

func TestWithoutACommandOrAResultNothingIsStarted(t *testing.T) {
	t.Parallel()
	say := func(line string) { t.Error(line) }
	result.Notify(context.Background(), Request{}, UI{Say: say}, &Result{}, nil)
	result.Notify(context.Background(), Request{Notify: "exit 1"}, UI{Say: say}, nil, nil)
}

// What goes wrong before there is a run, in the opening or in the choosing of
// the start, is told as the end of a run is. A wrong command line and an
// execution that is held are not.
func TestANotificationIsAlsoOfWhatPreventsARun(t *testing.T) {
	t.Parallel()
	const one = `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"}]}`
	lose := func(s *stage, names ...string) {
		for _, name := range names {
			if err := os.RemoveAll(filepath.Join(s.root, layout.Dir, name)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	for name, try := range map[string]struct {
		spoil func(*stage) func(*command)
		code  exitcode.Code
		says  string // empty: nothing is told
	}{
		"no recoverable state in": {func(s *stage) func(*command) {
			lose(s, "state.json", "state.json.bak", "events", "checkpoints")
			return nil
		}, exitcode.Decision, "no recoverable state"},
		"the checkpoints are gone": {func(s *stage) func(*command) { lose(s, "checkpoints"); return nil }, exitcode.Decision, "checkpoint"},
		"the disk refuses": {func(s *stage) func(*command) {
			put(s.t, s.root, layout.Dir+"/execution-meta.json.tmp/x", "a folder in the way")
			return nil
		}, exitcode.IO, "execution-meta.json.tmp"},
		"the hank is invalid": {func(s *stage) func(*command) {
			lose(s, ".")
			put(s.t, s.opts.Hank, "hank.json", `{"hank": [{"id": "a"}]}`)
			return nil
		}, exitcode.Invalid, "invalid"},
		"the workspace was changed": {func(s *stage) func(*command) {
			put(s.t, s.workspace(), "by-hand", "x")
			return func(o *command) { o.Codon = "a" }
		}, exitcode.Decision, "the workspace was changed"},
		"a crash loop": {func(s *stage) func(*command) {
			crash(s, 3)
			return func(o *command) { o.Unattended = true }
		}, exitcode.Decision, "3 times in a row"},
		"it is held": {func(s *stage) func(*command) {
			x, err := recovery.Open(context.Background(), s.root, execution.Options{})
			if err != nil {
				s.t.Fatal(err)
			}
			s.t.Cleanup(func() { _ = x.Close() })
			return nil
		}, exitcode.Held, ""},
		"the command line is wrong": {func(s *stage) func(*command) {
			return func(o *command) { o.Data = s.root }
		}, exitcode.Usage, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, one)
			out := filepath.Join(t.TempDir(), "told")
			s.must(ModeRun, exitcode.Done)
			change := try.spoil(s)
			if change == nil {
				change = func(*command) {}
			}
			mode := ModeRun
			if name == "the workspace was changed" {
				mode = ModeRetry
			}
			_, err := s.run(mode, change, func(o *command) {
				o.Notify, o.Environ = `cat >>"$OUT"`, append(o.Environ, "OUT="+out)
			})
			if verdict.CodeOf(err) != try.code {
				t.Fatalf("it ended with %d: %v", verdict.CodeOf(err), err)
			}
			text, readErr := os.ReadFile(out)
			if try.says == "" {
				if readErr == nil {
					t.Errorf("told of %v: %s", err, text)
				}
				return
			}
			var got Result
			if readErr != nil || json.Unmarshal(text, &got) != nil {
				t.Fatalf("%v, told %q, said %q", readErr, text, s.said)
			}
			if got.Code != try.code || !strings.Contains(got.Message, try.says) || got.Message != advice.Render(err.Error(), " -e "+s.root) || got.Execution != s.root || got.Schema != result.Schema {
				t.Errorf("told %s of %v", text, err)
			}
		})
	}
}

// crash lets unattended runs die at the same codon, one after the other.
func crash(s *stage, times int) { crashOf(s, slices.Repeat([]bool{true}, times)...) }

// crashOf leaves a run that crashed for each start, which a supervisor or the user has made.
func crashOf(s *stage, unattended ...bool) {
	s.t.Helper()
	if _, err := s.rollback(history.RollbackOptions{To: "initial"}); err != nil {
		s.t.Fatal(err)
	}
	for _, alone := range unattended {
		x, err := recovery.Open(context.Background(), s.root, execution.Options{})
		if err != nil {
			s.t.Fatal(err)
		}
		id := layout.NewRunID(x.Now().Time)
		here := x.State().CurrentPosition()
		err = x.Record(
			state.RunStarted{Run: &state.Run{RunID: id, GitBranch: "run-" + string(id), Status: state.StatusRunning, StartTime: x.Now(), ServerPid: 1 << 30,
				Process:            []byte(`{"pid": 1073741824}`),
				StartingConditions: state.StartingConditions{Type: state.StartContinuation, Source: &here, Reason: state.ReasonContinue},
				StartedBy:          &state.StartedBy{Unattended: alone}}},
			state.CodonStarted{RunID: id, Record: &state.Codon{CodonID: "a", StartTime: x.Now(), Status: state.Preparing, BaseCheckpoint: x.State().Base}})
		if err := errors.Join(err, x.Close()); err != nil {
			s.t.Fatal(err)
		}
	}
}
