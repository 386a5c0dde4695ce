package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/internal/term/termtest"
)

// atTerminal starts hank on a terminal of 100 columns, with somebody before it.
func atTerminal(t *testing.T, dir, registry string, args ...string) (p *termtest.Person, code func() int) {
	t.Helper()
	return atTerminalWith(t, dir, registry, nil, args...)
}

// atTerminalWith is atTerminal with variables.
func atTerminalWith(t *testing.T, dir, registry string, environ []string, args ...string) (p *termtest.Person, code func() int) {
	t.Helper()
	screen, terminal := termtest.Open(t, 100)
	cmd := exec.Command("hank", args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, terminal, terminal, terminal
	cmd.Env = append(os.Environ(), "HANK_STATE_DIR="+registry, "TERM=xterm", "NO_COLOR=1", "HANK_UNATTENDED=")
	cmd.Env = append(cmd.Env, environ...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	p = termtest.Watch(t, screen)
	return p, func() int {
		p.SeesEnd()
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode()
	}
}

// hank rollback and hank restore without a target show where one can go back to, with
// what that would change; a wrong answer is asked for again, and nothing is done before
// the user has seen the preview and agreed.
func TestATargetIsPickedOnATerminal(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	dir, registry := t.TempDir(), t.TempDir()
	const hank = `{"hank": [
	  {"id": "gather", "name": "Gather", "model": "shell", "continuationMode": "fresh", "promptText": "echo 1 >a; echo 1 >b; echo '::hank usage {\"costUSD\":0.25}'"},
	  {"id": "clean", "name": "Clean", "model": "shell", "continuationMode": "fresh", "promptText": "echo 2 >a; rm b; echo 2 >c; echo '::hank usage {\"costUSD\":0.5}'"},
	  {"id": "join", "name": "Join", "model": "shell", "continuationMode": "fresh", "promptText": "echo 3 >a; echo '::hank usage {\"costUSD\":1}'"}
	]}`
	if err := os.WriteFile(filepath.Join(dir, "hank.json"), []byte(hank), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("hank", "run")
	run.Dir, run.Env = dir, append(os.Environ(), "HANK_STATE_DIR="+registry)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	has := func(name, want string) {
		t.Helper()
		if text, _ := os.ReadFile(filepath.Join(dir, "agentRoot", name)); strings.TrimSpace(string(text)) != want {
			t.Errorf("%s has %q, want %q", name, text, want)
		}
	}

	p, code := atTerminal(t, dir, registry, "rollback")
	p.Sees("  1  @       join:completed (")
	p.Sees("no changes  $0.00")
	p.Sees("  2  @~1     clean:completed (")
	p.Sees("+0 ~1 -0    $1.00")
	p.Sees("  3  @~2     gather:completed (")
	p.Sees("+1 ~1 -1    $1.50")
	p.Sees("  4  @~3     initial (")
	p.Sees("+0 ~0 -2    $1.75")
	p.Sees("A number from 1 to 4, any TARGET, or q = cancel > ")
	for typed, want := range map[string]string{"cleen": `"cleen" names no checkpoint; did you mean clean?`, "9": `"9" names no checkpoint`, "": "There is no default."} {
		p.Types(typed + "\n")
		p.Sees(want)
		p.Sees("q = cancel > ")
	}
	p.Types("3\n")
	p.Sees("to gather:completed (")
	p.Sees("Proceed? (yes, no, d = show the diff, q = cancel) > ")
	p.Types("d\n")
	p.Sees("+++ b/a\r\n@@ -1 +1 @@\r\n-3\r\n+1\r\n")
	p.Sees("Proceed?")
	has("a", "3")
	p.Types("y\n")
	p.Sees("workspace restored to gather:completed")
	if got := code(); got != 0 {
		t.Errorf("exit code %d: %s", got, p.Seen)
	}
	has("a", "1")

	p, code = atTerminal(t, dir, registry, "restore", "c")
	p.Sees("  1  @       gather:completed (")
	p.Sees("not there")
	p.Sees("q = cancel > ")
	p.Types("clean\n")
	p.Sees("+ c\r\n")
	p.Sees("Proceed?")
	p.Types("\x03")
	p.Sees("hank: nothing was changed")
	if got := code(); got != 4 {
		t.Errorf("exit code %d: %s", got, p.Seen)
	}
	has("c", "")

	for _, keys := range []string{"q\n", "\x03", "\x04"} {
		p, code = atTerminal(t, dir, registry, "rollback")
		p.Sees("q = cancel > ")
		p.Types(keys)
		if got := code(); got != 4 || !strings.Contains(p.Seen, "hank: nothing was changed") {
			t.Errorf("%q: exit code %d: %s", keys, got, p.Seen)
		}
	}
	has("a", "1")
}

// hank init asks which template on a terminal, and not where one is named.
func TestATemplateIsChosenOnATerminal(t *testing.T) {
	t.Parallel()
	dir, registry := t.TempDir(), t.TempDir()
	p, code := atTerminal(t, dir, registry, "init")
	p.Sees("Which template?")
	p.Sees("codebook: describe each table")
	p.Types("2\r")
	if got := code(); got != 0 {
		t.Errorf("exit code %d", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "prompts", "describe.sh")); err != nil {
		t.Error(err)
	}
	for i, keys := range []string{"q\n", "\x03", "\x04"} {
		p, code = atTerminal(t, dir, registry, "init", fmt.Sprintf("none%d", i))
		p.Sees("Which template?")
		p.Types(keys)
		if got := code(); got != 4 || !strings.Contains(p.Seen, "hank: nothing was changed") {
			t.Errorf("%q: exit code %d: %s", keys, got, p.Seen)
		}
		if _, err := os.Lstat(filepath.Join(dir, fmt.Sprintf("none%d", i))); err == nil {
			t.Errorf("%q: it has written something", keys)
		}
	}
	p, code = atTerminal(t, dir, registry, "init", "--template", "blank", "other")
	p.Sees("next: cd other")
	if got := code(); got != 0 {
		t.Errorf("exit code %d", got)
	}
}
