//go:build unix

package replay

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hank/runtime/harness"
	"hank/runtime/harness/claude"
	"hank/runtime/harness/shell"
	"hank/runtime/harness/transcript"
)

// TestMain makes the test binary behave as hank does for the hidden verb.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Argument {
		os.Exit(Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func lookup(name string) (harness.Harness, bool) {
	for _, h := range []harness.Harness{shell.Harness{}, claude.Harness{}} {
		if h.Name() == name {
			return h, true
		}
	}
	return nil, false
}

func open(t *testing.T, file string) Harness {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h, err := Open(self, file, lookup)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// run plays a transcript through its command and judges what comes out.
func run(t *testing.T, h Harness, env map[string]string) (stdout, stderr string, v harness.Verdict) {
	t.Helper()
	return runTurn(t, h, 0, env)
}

func runTurn(t *testing.T, h Harness, turn int, env map[string]string) (stdout, stderr string, v harness.Verdict) {
	t.Helper()
	req := harness.Request{Workspace: t.TempDir(), Turn: turn, Session: "of the replaying run", Env: env}
	command, err := h.Command(req)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command.Args[0], command.Args[1:]...)
	cmd.Env, cmd.Dir = command.Env, command.Dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the state says more
	if cmd.ProcessState == nil {
		t.Fatal("the replay did not start")
	}
	r := h.Reader(req)
	for line := range bytes.Lines(out.Bytes()) {
		r.Line(bytes.TrimSuffix(line, []byte("\n")))
	}
	for line := range bytes.Lines(errs.Bytes()) {
		r.Stderr(bytes.TrimSuffix(line, []byte("\n")))
	}
	signal := ""
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		signal = unix.SignalName(ws.Signal())
	}
	return out.String(), errs.String(), r.End(cmd.ProcessState.ExitCode(), signal)
}

// TestReplayReachesTheRecordedVerdict plays every recorded transcript of the
// real agent in a process of its own, and compares lines and verdict with
// those of the recording.
func TestReplayReachesTheRecordedVerdict(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../claude/testdata/*.jsonl")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded harness.Reader
		var stdout, stderr strings.Builder
		var want harness.Verdict
		for e, err := range transcript.Read(bytes.NewReader(text)) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.Stream {
			case transcript.StreamStart:
				recorded = claude.Harness{}.Reader(harness.Request{Model: e.Start.Model, Session: e.Start.Session, SessionCost: e.Start.SessionCost})
			case transcript.Stdout:
				recorded.Line(e.Line)
				stdout.Write(append(e.Line, '\n'))
			case transcript.Stderr:
				recorded.Stderr(e.Line)
				stderr.Write(append(e.Line, '\n'))
			case transcript.StreamExit:
				want = recorded.End(e.Exit.Code, e.Exit.Signal)
			}
		}
		gotOut, gotErr, got := run(t, open(t, file), nil)
		if gotOut != stdout.String() || gotErr != stderr.String() {
			t.Errorf("%s: the replay printed other lines than were recorded", file)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the replay's verdict is\n%+v, want\n%+v", file, got, want)
		}
	}
}

func record(t *testing.T, entries ...transcript.Entry) string {
	t.Helper()
	var text []byte
	for _, e := range entries {
		text = e.Append(text)
	}
	file := filepath.Join(t.TempDir(), "a.1.jsonl")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

var start = transcript.Entry{Stream: transcript.StreamStart, Start: transcript.Start{Harness: shell.Name, Attempt: "run-1/a/1"}}

func TestTheRecordedEndIsTheEnd(t *testing.T) {
	t.Parallel()
	for want, exit := range map[string]transcript.Exit{
		"":               {Code: 0},
		"exit:3":         {Code: 3},
		"signal:SIGTERM": {Code: -1, Signal: "SIGTERM"},
		"signal:SIGINT":  {Code: -1, Signal: "SIGINT"},
		"signal:SIGKILL": {Code: -1, Signal: "SIGSEGV"},
	} {
		file := record(t, start, transcript.Entry{Stream: transcript.Stdout, Line: []byte("x")}, transcript.Entry{Stream: transcript.StreamExit, Exit: exit})
		_, _, v := run(t, open(t, file), nil)
		got := ""
		if v.Failure != nil {
			got = v.Failure.Rule
		}
		if got != want || v.Session != (shell.Harness{}).Reader(harness.Request{Attempt: "run-1/a/1"}).End(0, "").Session {
			t.Errorf("%+v ended by %q in session %s", exit, got, v.Session)
		}
	}
}

// TestEachTurnIsPlayedAlone: an extended codon has several processes in one
// transcript, and the last may be cut.
func TestEachTurnIsPlayedAlone(t *testing.T) {
	t.Parallel()
	said := func(text string) transcript.Entry {
		return transcript.Entry{Stream: transcript.Stdout, Line: []byte(text)}
	}
	second := start
	second.Start.Session = "continued"
	file := record(t, start, said("one"), transcript.Entry{Stream: transcript.StreamExit},
		second, said("two"), transcript.Entry{Stream: transcript.StreamExit, Exit: transcript.Exit{Code: 4}}, second, said("three"))
	h := open(t, file)
	if len(h.turns) != 3 {
		t.Errorf("%d turns", len(h.turns))
	}
	for turn, want := range []struct{ text, rule, session string }{
		{"one", "", (shell.Harness{}).Reader(harness.Request{Attempt: "run-1/a/1"}).End(0, "").Session},
		{"two", "exit:4", "continued"}, {"three", "signal:SIGKILL", "continued"},
	} {
		stdout, _, v := runTurn(t, h, turn, nil)
		rule := ""
		if v.Failure != nil {
			rule = v.Failure.Rule
		}
		if stdout != want.text+"\n" || rule != want.rule || v.Session != want.session {
			t.Errorf("turn %d printed %q and ended by %q in %q, want %+v", turn, stdout, rule, v.Session, want)
		}
	}
	if _, err := h.Command(harness.Request{Workspace: "/w", Turn: 3}); err == nil || !strings.Contains(err.Error(), "turn 4") {
		t.Errorf("a turn that was not recorded: %v", err)
	}
}

// TestTheDelayIsThatOfHanksOwnEnvironment: the runtime hands agents an
// environment without hank's variables.
func TestTheDelayIsThatOfHanksOwnEnvironment(t *testing.T) {
	t.Setenv(delayVariable, "7")
	c, err := open(t, record(t, start)).Command(harness.Request{Workspace: "/w", Environ: []string{}})
	if err != nil || harness.NewEnviron(c.Env)[delayVariable] != "7" {
		t.Errorf("%v %v", c.Env, err)
	}
}

// TestACutTranscriptEndsLikeTheKilledRuntime: no exit entry, and a torn line.
func TestACutTranscriptEndsLikeTheKilledRuntime(t *testing.T) {
	t.Parallel()
	file := record(t, start, transcript.Entry{Stream: transcript.Stdout, Line: []byte("last whole line")})
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"at":"2026-11-20T20`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	stdout, _, v := run(t, open(t, file), nil)
	if stdout != "last whole line\n" || v.Failure == nil || v.Failure.Rule != "signal:SIGKILL" {
		t.Errorf("printed %q, verdict %+v", stdout, v.Failure)
	}
}

func TestPausesAreKeptUpToTheLimit(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	entry := func(after time.Duration, line string) transcript.Entry {
		at = at.Add(after)
		return transcript.Entry{At: at, Stream: transcript.Stdout, Line: []byte(line)}
	}
	var text []byte
	begin := start
	begin.At = at
	for _, e := range []transcript.Entry{begin, entry(time.Second, "a"), entry(time.Hour, "b"), entry(-time.Minute, "c"), entry(0, "d")} {
		text = e.Append(text)
	}
	for limit, want := range map[time.Duration][]time.Duration{
		0: nil, 5 * time.Second: {time.Second, 5 * time.Second}, 100 * time.Millisecond: {100 * time.Millisecond, 100 * time.Millisecond},
	} {
		var slept []time.Duration
		var out, errs bytes.Buffer
		if _, err := play(bytes.NewReader(text), 0, &out, &errs, limit, func(d time.Duration) { slept = append(slept, d) }); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(slept, want) || out.String() != "a\nb\nc\nd\n" {
			t.Errorf("limit %v: slept %v, want %v; printed %q", limit, slept, want, out.String())
		}
	}
}

func TestWhatCannotBePlayedSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "text": "hello\n", "dir/": "", "alien": string(transcript.Entry{
		Stream: transcript.StreamStart, Start: transcript.Start{Harness: "codex"}}.Append(nil))} {
		file := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open("hank", file, lookup); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open("hank", filepath.Join(dir, "missing"), lookup); err == nil {
		t.Error("a missing file was opened")
	}
	file := record(t, start)
	h := open(t, file)
	if c := h.Check(t.Context(), nil); !c.Found || c.Problem != "" {
		t.Errorf("%+v", c)
	}
	if _, stderr, v := run(t, h, map[string]string{delayVariable: "soon"}); v.Success || !strings.Contains(stderr, delayVariable) {
		t.Errorf("stderr %q, verdict %+v", stderr, v)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if c := h.Check(t.Context(), nil); c.Problem == "" {
		t.Errorf("%+v", c)
	}
	if err := unix.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("hank", file, lookup); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a FIFO: %v", err)
	}
	if _, _, v := run(t, h, nil); v.Success || v.Failure.Rule != "exit:66" {
		t.Errorf("%+v", v)
	}
}
