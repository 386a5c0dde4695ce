package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/programtest"
	"hank/internal/short"
	"hank/internal/term/termtest"
)

// stranger is an agent that is none: it says what a command line of that name says, and ends
// well.
func stranger(t *testing.T, dir, name, version string, lines ...string) (environ string) {
	t.Helper()
	path := filepath.Join(dir, "agent-"+name)
	text := "#!/bin/sh\ncase $* in *--version*) echo '" + version + "'; exit ;; esac\ncat >/dev/null\n"
	for _, line := range lines {
		text += "echo '" + line + "'\n"
	}
	programtest.Write(t, path, text)
	return strings.ToUpper(name) + "_PATH_TO_" + strings.ToUpper(name) + "_EXECUTABLE=" + path
}

// An agent that asks nobody is asked about on the terminal, once for each user and agent:
// only a yes lets it begin, and it is remembered.
func TestTheModeOfAnAgentIsAskedAboutOnceOnATerminal(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	dir, registry := t.TempDir(), t.TempDir()
	claude := stranger(t, dir, "claude", "2.1.329 (Claude Code)", `{"type":"system","subtype":"init","session_id":"s1","model":"claude-sonnet-4-5"}`,
		`{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"done","total_cost_usd":0.1,"usage":{"input_tokens":1,"output_tokens":1}}`)
	codex := stranger(t, dir, "codex", "codex-cli 0.169.0", `{"type":"thread.started","thread_id":"0199-1"}`, `{"type":"turn.started"}`,
		`{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"done"}}`, `{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}`)
	for name, models := range map[string]string{"one": "sonnet", "two": "sonnet gpt-5"} {
		var codons []string
		for _, model := range strings.Fields(models) {
			codons = append(codons, `{"id": "`+model+`", "name": "A", "model": "`+model+`", "continuationMode": "fresh", "promptText": "x"}`)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(`{"hank": [`+strings.Join(codons, ",")+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := []string{claude, codex, "ANTHROPIC_API_KEY=none", "CODEX_API_KEY=none"}
	run := func(registry, hank, execution string, more ...string) (*termtest.Person, func() int) {
		t.Helper()
		return atTerminalWith(t, dir, registry, with, append([]string{"run", hank + ".json", "-e", execution}, more...)...)
	}
	exists := func(path ...string) bool {
		_, err := os.Lstat(filepath.Join(path...))
		return err == nil
	}
	const question = "you have not allowed yet that agents work without asking and without a sandbox: "
	asks := func(p *termtest.Person, agents string) {
		t.Helper()
		p.Sees(question + agents + "\r\n  1  allow it, for all your hanks\r\n  2  leave it\r\n  q  cancel\r\n> ")
	}
	ends := func(p *termtest.Person, code func() int, want int) {
		t.Helper()
		if got := code(); got != want {
			t.Errorf("exit code %d, want %d: %s", got, want, p.Seen)
		}
	}

	// A no, and every key that cancels, leave everything as it is.
	for _, keys := range []string{"2\n", "leave\n", "q\n", "\x03", "\x04"} {
		p, code := run(registry, "one", "none")
		p.Sees("claude works in its mode bypassPermissions: it asks nobody, may run every command, and may write wherever you may\r\n")
		asks(p, "claude (bypassPermissions)")
		p.Types(keys)
		ends(p, code, 4)
		if exists(dir, "none") || exists(registry, "consents") {
			t.Errorf("%q: something was begun or remembered: %s", keys, p.Seen)
		}
	}
	p, code := run(registry, "one", "none", "--dry-run")
	p.Sees("would ask first: " + question + "claude (bypassPermissions)\r\n")
	ends(p, code, 4)
	if exists(dir, "none") || exists(registry, "consents") {
		t.Errorf("a dry run has begun or remembered something: %s", p.Seen)
	}

	// Neither an empty line is a yes, nor a word that is no answer.
	p, code = run(registry, "one", "first")
	asks(p, "claude (bypassPermissions)")
	for _, nothing := range []string{"", "sure"} {
		p.Types(nothing + "\n")
		p.Sees("Please answer with a number from 1 to 2, q = cancel.\r\n> ")
	}
	p.Types("1\n")
	p.Sees("the hank is completed")
	ends(p, code, 0)
	if !exists(registry, "consents", "claude.json") {
		t.Error("the yes is not remembered")
	}

	// It is remembered, for what runs without a terminal, too; another agent is another question.
	p, code = run(registry, "one", "second")
	p.Sees("the hank is completed")
	ends(p, code, 0)
	if strings.Contains(p.Seen, question) {
		t.Errorf("asked once more: %s", p.Seen)
	}
	piped := exec.Command("hank", "run", "one.json", "-e", "third")
	piped.Dir, piped.Env = dir, append(os.Environ(), append(with, "HANK_STATE_DIR="+registry)...)
	if out, err := piped.CombinedOutput(); err != nil {
		t.Errorf("without a terminal: %v: %s", err, out)
	}
	p, code = run(registry, "two", "fourth")
	asks(p, "codex (dangerously-bypass-approvals-and-sandbox)")
	p.Types("allow\n")
	p.Sees("the hank is completed")
	ends(p, code, 0)

	// Another user has not been asked, and is asked about all agents at once.
	other := t.TempDir()
	p, code = run(other, "two", "fifth")
	asks(p, "claude (bypassPermissions), codex (dangerously-bypass-approvals-and-sandbox)")
	p.Types("1\n")
	p.Sees("the hank is completed")
	ends(p, code, 0)
	if !exists(other, "consents", "claude.json") || !exists(other, "consents", "codex.json") {
		t.Error("the yes to both is not remembered")
	}
}
