package shell

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/runtime/harness"
	"hank/state"
)

// run starts a script as the keeper would.
func run(t *testing.T, req harness.Request) (harness.Verdict, []harness.Observation) {
	t.Helper()
	if req.Workspace == "" {
		req.Workspace = t.TempDir()
	}
	if req.Environ == nil {
		req.Environ = []string{"PATH=" + os.Getenv("PATH")}
	}
	command, err := Harness{}.Command(req)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, command.Args[0], command.Args[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin = command.Env, command.Dir, bytes.NewReader(command.Stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	r := Harness{}.Reader(req)
	var seen []harness.Observation
	for line := range bytes.Lines(stdout.Bytes()) {
		seen = append(seen, r.Line(bytes.TrimSuffix(line, []byte("\n")))...)
	}
	for line := range bytes.Lines(stderr.Bytes()) {
		seen = append(seen, r.Stderr(bytes.TrimSuffix(line, []byte("\n")))...)
	}
	signal := ""
	if cmd.ProcessState.ExitCode() < 0 {
		signal = "SIGKILL"
	}
	return r.End(cmd.ProcessState.ExitCode(), signal), seen
}

func messages(seen []harness.Observation) []string {
	var all []string
	for _, o := range seen {
		if m, ok := o.(harness.Message); ok {
			all = append(all, m.Text)
		}
	}
	return all
}

func TestAScriptRunsInItsWorkspaceWithItsVariables(t *testing.T) {
	t.Parallel()
	dir, temp := t.TempDir(), t.TempDir()
	v, seen := run(t, harness.Request{
		Prompt:    "pwd -P; echo $HANK_WORKSPACE; echo $TMPDIR; echo $MINE; echo $HANK_SESSION; echo $0 $#; cat; echo made >file",
		Workspace: dir, Temp: temp, Attempt: "run-1/a/1", Env: map[string]string{"MINE": "of the codon"},
	})
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, want := strings.Join(messages(seen), "\n"), strings.Join([]string{real, dir, temp, "of the codon", v.Session, "codon 0"}, "\n")
	if got != want {
		t.Errorf("the script printed\n%s\nwant\n%s", got, want)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "file")); string(text) != "made\n" {
		t.Errorf("the file holds %q", text)
	}
	if !v.Success || !v.ResultSeen || v.Failure != nil || v.Usage.Cost != 0 || v.Text != "codon 0" {
		t.Errorf("verdict %+v", v)
	}
	if first, ok := seen[0].(harness.SessionStarted); !ok || first.ID != v.Session {
		t.Errorf("the first observation is %+v", seen[0])
	}
}

// TestLongScriptsAndThirstyCommands: a script above every limit of arguments,
// with commands in it that read their standard input.
func TestLongScriptsAndThirstyCommands(t *testing.T) {
	t.Parallel()
	script := "#!/bin/sh\n# a comment with 'quotes\" in it\ncat\nread line; echo \"read: $line\"\n" +
		strings.Repeat(": "+strings.Repeat("x", 1000)+"\n", 3000) + "echo end \\\n  of it"
	v, seen := run(t, harness.Request{Prompt: script})
	if got := strings.Join(messages(seen), "|"); got != "read:|end of it" || !v.Success {
		t.Errorf("it printed %q, verdict %+v", got, v)
	}
}

// TestBriefAndLongScriptsDoTheSame: how a script is read changes nothing of what it does.
func TestBriefAndLongScriptsDoTheSame(t *testing.T) {
	t.Parallel()
	long := "\n# \u00e9" // no brief script has it
	for _, script := range []string{
		"", "\n", "true\n\n\n", "echo one\n  echo '  two  '\n\techo three", "echo 'a\\b' \"c\\\\d\" e\\ f", "echo a \\\n  b",
		"echo \"$__line|$__script|$l|$IFS|\" | od -c", "set -u; echo \"$__script\"", "read x; echo \"$? <$x>\"", "cat; echo end",
		"echo one; exit 7", "if true; then\n", "cat <<'EOF'\n  $x `y` \\z\nEOF", "echo $0 $#; ls /dev/fd/3 /proc/self/fd/3 2>&1 | wc -l",
		"echo `echo 'in \"here\"'` $(echo '$(no)')", strings.Repeat("echo a; ", mostOfBrief/8),
	} {
		brief, said := run(t, harness.Request{Prompt: script})
		whole, want := run(t, harness.Request{Prompt: script + long})
		if with, _ := started(script + long); with != bootstrap {
			t.Fatalf("%q is brief", script+long)
		}
		if with, _ := started(script); with == bootstrap {
			t.Errorf("%q is not brief", script)
		}
		if a, b := strings.Join(messages(said), "\n"), strings.Join(messages(want), "\n"); brief.Success != whole.Success || !strings.HasPrefix(b, strings.TrimSpace(a)) && brief.Success {
			t.Errorf("%q: %t, %q; read whole: %t, %q", script, brief.Success, a, whole.Success, b)
		}
	}
	v, seen := run(t, harness.Request{Prompt: "echo $__script$__line", Env: map[string]string{"__script": "echo a; ", "__line": "b"}})
	if !v.Success || len(messages(seen)) != 0 {
		t.Errorf("of the variables by which it is read: %q", messages(seen))
	}
}

func TestHereDocumentsFunctionsAndSettingsWork(t *testing.T) {
	t.Parallel()
	v, seen := run(t, harness.Request{Prompt: "f() { cat <<EOF\n$1 'and' \"quotes\"\nEOF\n}\nf hello\nset -e\nfalse\necho unreachable"})
	if got := messages(seen); len(got) != 1 || got[0] != `hello 'and' "quotes"` {
		t.Errorf("it printed %q", got)
	}
	if v.Success || v.Failure.Rule != "exit:1" {
		t.Errorf("set -e did not end it: %+v", v)
	}
}

func TestASyntaxErrorNamesItsLine(t *testing.T) {
	t.Parallel()
	v, _ := run(t, harness.Request{Prompt: "true\nif then\n"})
	if v.Success || !strings.Contains(v.Failure.Message, "2") || !strings.Contains(strings.ToLower(v.Failure.Message), "syntax") {
		t.Errorf("%+v", v.Failure)
	}
}

func TestExitStatusDecides(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]state.FailureReason{
		"echo out; echo why >&2; exit 3": {Class: "exit", Rule: "exit:3", Message: "the script ended with exit status 3: why"},
		"echo only out; exit 1":          {Class: "exit", Rule: "exit:1", Message: "the script ended with exit status 1: only out"},
		"exit 75":                        {Class: "exit", Rule: "exit:75", Message: "the script ended with exit status 75 (temporary failure)"},
		"kill -9 $$":                     {Class: "interrupted", Rule: "signal:SIGKILL", Message: "the script was ended by SIGKILL"},
		"echo '::hank retry-after 1.5'; exit 75": {Class: "exit", Rule: "exit:75", RetryAfterMs: 1500,
			Message: "the script ended with exit status 75 (temporary failure)"},
	} {
		want.Type, want.Retriable = state.FailUnknown, true
		v, _ := run(t, harness.Request{Prompt: script})
		if v.Success || v.Failure == nil {
			t.Errorf("%s: a success", script)
			continue
		}
		if got := *v.Failure; got.Type != want.Type || got.Retriable != want.Retriable || got.Class != want.Class ||
			got.Rule != want.Rule || got.Message != want.Message || got.RetryAfterMs != want.RetryAfterMs {
			t.Errorf("%s:\n%+v, want\n%+v", script, got, want)
		}
	}
	if v, _ := run(t, harness.Request{Prompt: "hank-no-such-command"}); v.Failure == nil || v.Failure.Rule != "exit:127" || !strings.Contains(v.Failure.Message, "not found") {
		t.Errorf("a missing command: %+v", v.Failure)
	}
	if v, _ := run(t, harness.Request{Prompt: ""}); !v.Success {
		t.Errorf("an empty script: %+v", v.Failure)
	}
}

func TestAFloodOfOutputLeavesABoundedMessage(t *testing.T) {
	t.Parallel()
	v, _ := run(t, harness.Request{Prompt: "i=0; while [ $i -lt 20000 ]; do echo \"line $i is of some length\"; i=$((i+1)); done; exit 1"})
	if n := len(v.Failure.Message); n > harness.MaxMessage || !strings.HasSuffix(v.Failure.Message, "line 19999 is of some length") {
		t.Errorf("message of %d bytes: %s", n, v.Failure.Message)
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	v, seen := run(t, harness.Request{Prompt: `
echo '::hank usage {"model":"m","inputTokens":10,"outputTokens":2,"costUSD":0.25,"context":12}'
echo '::hank usage {"inputTokens":5,"cacheReadTokens":7,"cacheCreationTokens":1,"costUSD":0.05}'
echo '::hank context-exceeded no room'
echo '::hank usage {"inputTokens":-1}'
echo '::hank usage nonsense'
echo '::hank usage {"inputTokens":9e18}'
echo '::hank whatever'
`})
	want := harness.Usage{
		Model: "m", Tokens: state.Tokens{Input: 15, Output: 2, CacheRead: 7, CacheCreation: 1}, Cost: 300_000_000, Priced: true, Context: 12,
	}
	if got := v.Usage; got.Model != want.Model || got.Cost != want.Cost || !got.Priced || got.Context != want.Context ||
		got.Tokens.Input != 15 || got.Tokens.Output != 2 || got.Tokens.CacheRead != 7 || got.Tokens.CacheCreation != 1 {
		t.Errorf("usage %+v, want %+v", got, want)
	}
	if !v.Success || !v.ContextExceeded {
		t.Errorf("verdict %+v", v)
	}
	if got := messages(seen); len(got) != 4 || !strings.HasPrefix(got[0], "::hank usage {\"inputTokens\":-1") || got[3] != "::hank whatever" {
		t.Errorf("what cannot be read must be ordinary lines, and nothing else: %q", got)
	}
	exceeded := 0
	for _, o := range seen {
		if c, ok := o.(harness.ContextExceeded); ok && c.Message == "no room" {
			exceeded++
		}
	}
	if exceeded != 1 {
		t.Errorf("%d reports of a full context, want 1", exceeded)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	a, b := harness.Request{Attempt: "run-1/a/1"}, harness.Request{Attempt: "run-1/a/2"}
	first, second := Harness{}.Reader(a).End(0, ""), Harness{}.Reader(b).End(0, "")
	if first.Session == "" || first.Session == second.Session || first.Session != (Harness{}).Reader(a).End(0, "").Session {
		t.Errorf("sessions %q and %q must differ and last", first.Session, second.Session)
	}
	b.Session = first.Session
	if v, seen := run(t, harness.Request{Prompt: "echo $HANK_SESSION", Attempt: b.Attempt, Session: b.Session}); v.Session != first.Session || messages(seen)[0] != first.Session {
		t.Errorf("a continued session became %q", v.Session)
	}
}

func TestCommandRefusesWhatShCannotRun(t *testing.T) {
	t.Parallel()
	for _, req := range []harness.Request{{Prompt: "a\x00b", Workspace: "/w"}, {Prompt: "true"}} {
		if _, err := (Harness{}).Command(req); err == nil {
			t.Errorf("no error for %+v", req)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	if c := (Harness{}).Check(t.Context(), []string{"PATH=" + os.Getenv("PATH")}); !c.Found || !c.LoggedIn || c.Problem != "" || c.Path == "" {
		t.Errorf("%+v", c)
	}
	if c := (Harness{}).Check(t.Context(), nil); c.Found || c.Problem == "" {
		t.Errorf("without a PATH: %+v", c)
	}
}

// FuzzReader: no line makes the reader fail, forget its bounds or count backwards.
func FuzzReader(f *testing.F) {
	f.Add([]byte("hello\n::hank usage {\"inputTokens\":1}\n::hank context-exceeded"), 0)
	f.Add([]byte("::hank usage {\"costUSD\":1e300,\"inputTokens\":1e12}\n\xff\n::hank  \n::hank retry-after NaN"), 75)
	f.Fuzz(func(t *testing.T, out []byte, code int) {
		r := Harness{}.Reader(harness.Request{Attempt: "a"})
		for line := range bytes.Lines(out) {
			r.Line(bytes.TrimSuffix(line, []byte("\n")))
		}
		v := r.End(code, "SIGKILL")
		if v.Success != (code == 0) || v.Success != (v.Failure == nil) || v.Session == "" {
			t.Errorf("verdict %+v", v)
		}
		if v.Failure != nil && (len(v.Failure.Message) > harness.MaxMessage || v.Failure.RetryAfterMs < 0) {
			t.Errorf("failure %+v", v.Failure)
		}
		if u := v.Usage; u.Cost < 0 || u.Tokens.Input < 0 || u.Tokens.Output < 0 {
			t.Errorf("usage %+v", u)
		}
	})
}

// The last message is that of standard output, in whichever order the two pipes are read; of standard
// error where nothing else was printed.
func TestTheLastMessageIsOfStandardOutput(t *testing.T) {
	t.Parallel()
	for want, lines := range map[string][]string{
		"MARK":  {"1MARK", "2warning", "1"},
		"later": {"2warning", "1MARK", "1later"},
		"only":  {"2first", "2only"},
	} {
		r := &reader{}
		for _, line := range lines {
			if line[0] == '1' {
				r.Line([]byte(line[1:]))
			} else {
				r.Stderr([]byte(line[1:]))
			}
		}
		if got := r.End(0, "").Text; got != want {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
}
