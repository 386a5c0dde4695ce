//go:build unix

package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"hank/internal/programtest"
	"hank/runtime/agents"
	"hank/runtime/harness"
	"hank/runtime/harness/claude"
	"hank/runtime/harness/codex"
	"hank/runtime/harness/conformance"
	"hank/runtime/harness/exec"
	"hank/runtime/harness/gemini"
	"hank/runtime/harness/noop"
	"hank/runtime/harness/opencode"
	"hank/runtime/harness/pi"
	"hank/runtime/harness/replay"
	"hank/runtime/harness/shell"
)

// TestMain makes the test binary behave as hank does for the hidden verb of a replay.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == replay.Argument {
		os.Exit(replay.Main(os.Args[2:]))
	}
	os.Setenv("HANKWEAVE_REPLAY_MAX_DELAY_MS", "0")
	os.Exit(m.Run())
}

// file writes a login of the user.
func file(name, before, after string) func(testing.TB, string, string) {
	return func(t testing.TB, home, secret string) {
		t.Helper()
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(before+secret+after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// recorded are the transcripts of a real agent.
func recorded(t testing.TB, name string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", name, "testdata", "*.jsonl"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d recordings of %s, %v", len(files), name, err)
	}
	return files
}

// waiting waits for the file that a prompt makes when its work has begun.
func waiting(ctx context.Context, req harness.Request) error {
	for {
		if _, err := os.Stat(filepath.Join(req.Workspace, "begun")); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// counter is the example of docs/exec-harness.md, with one thing more: the prompt "long".
func counter(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/exec-harness.md")
	if err != nil {
		t.Fatal(err)
	}
	printed := regexp.MustCompile("(?s)```sh\n(#!/bin/sh\n)(.*?)```").FindSubmatch(text)
	if printed == nil {
		t.Fatal("there is no example")
	}
	program := filepath.Join(t.TempDir(), "counter")
	script := string(printed[1]) + "[ \"$(cat \"$HANK_PROMPT_FILE\")\" = long ] && echo '{\"type\":\"session\",\"id\":\"s\"}' && touch begun && exec sleep 600\n" + string(printed[2])
	programtest.Write(t, program, script)
	return program
}

// subjects are the nine harnesses.
func subjects(t testing.TB) []conformance.Subject {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	recording := "../claude/testdata/write.jsonl"
	played, err := replay.Open(self, recording, func(name string) (harness.Harness, bool) { return agents.Harnesses[name], true })
	if err != nil {
		t.Fatal(err)
	}
	return []conformance.Subject{
		{
			Harness: claude.Harness{}, Provider: "anthropic", Model: "claude-sonnet-4-5", Environ: []string{"ANTHROPIC_API_KEY=k"}, Recordings: recorded(t, claude.Name),
			Login: file(".claude/.credentials.json", `{"claudeAiOauth":{"accessToken":"`, `"}}`),
		},
		{
			Harness: codex.Harness{}, Provider: "openai", Model: "gpt-5.5", Environ: []string{"CODEX_API_KEY=k"}, Recordings: recorded(t, codex.Name),
			Login: file(".codex/auth.json", `{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"access_token":"`, `"}}`),
		},
		{
			Harness: gemini.Harness{}, Provider: "google", Model: "gemini-2.5-pro", Environ: []string{"GEMINI_API_KEY=k"}, Recordings: recorded(t, gemini.Name),
			Login: file(".gemini/oauth_creds.json", `{"access_token":"`, `","refresh_token":"r","expiry_date":1}`),
		},
		{
			Harness: opencode.Harness{}, Overcome: 1, Provider: "anthropic", Model: "claude-sonnet-4-5", Environ: []string{"ANTHROPIC_API_KEY=k"}, Recordings: recorded(t, opencode.Name),
			Login: file(".local/share/opencode/auth.json", `{"anthropic":{"type":"api","key":"`, `"}}`),
		},
		{
			Harness: pi.Harness{}, Provider: "anthropic", Model: "claude-sonnet-4-5", Environ: []string{"ANTHROPIC_API_KEY=k"}, Recordings: recorded(t, pi.Name),
			Login: file(".pi/agent/auth.json", `{"anthropic":{"type":"oauth","access":"`, `","refresh":"r","expires":1}}`),
		},
		{
			Harness: exec.Harness{Program: []string{counter(t)}}, Provider: "exec", Model: "counter",
			Live: &conformance.Live{Good: "Remember this.", Long: "long", Started: waiting},
		},
		{
			Harness: shell.Harness{}, Provider: "shell", Model: "shell", ExitDecides: true,
			Live: &conformance.Live{Good: "echo hello", Long: "touch begun; exec sleep 600", Started: waiting},
		},
		{Harness: noop.Harness{}, Provider: "anthropic", Model: "claude-sonnet-4-5", ExitDecides: true, Live: &conformance.Live{Good: "nothing"}},
		{Harness: played, Provider: "anthropic", Model: "claude-sonnet-4-5", Recordings: []string{recording}, Plays: true, Live: &conformance.Live{Good: "as recorded"}},
	}
}

func TestEveryHarnessKeepsItsPromises(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range subjects(t) {
		names = append(names, s.Harness.Name())
		t.Run(s.Harness.Name(), func(t *testing.T) {
			t.Parallel()
			conformance.Test(t, s)
		})
	}
	for name := range agents.Harnesses {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not held to anything", name)
		}
	}
	if len(names) != len(agents.Harnesses)+2 { // replay and noop take the place of another
		t.Errorf("the harnesses are %v", names)
	}
}

func fuzz(f *testing.F, name string) {
	for _, s := range subjects(f) {
		if s.Harness.Name() == name {
			conformance.Fuzz(f, s)
		}
	}
}

func FuzzClaude(f *testing.F)   { fuzz(f, claude.Name) }
func FuzzCodex(f *testing.F)    { fuzz(f, codex.Name) }
func FuzzGemini(f *testing.F)   { fuzz(f, gemini.Name) }
func FuzzOpencode(f *testing.F) { fuzz(f, opencode.Name) }
func FuzzPi(f *testing.F)       { fuzz(f, pi.Name) }
func FuzzExec(f *testing.F)     { fuzz(f, exec.Name) }
func FuzzShell(f *testing.F)    { fuzz(f, shell.Name) }
