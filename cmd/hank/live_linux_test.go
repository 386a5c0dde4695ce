package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hank/internal/short"
	"hank/internal/term"
	"hank/internal/term/termtest"
)

// While a codon runs, the terminal shows lines about it, cut to its width; what is
// printed is on lines of its own, and in the end the lines are gone.
func TestARunningCodonHasLinesOnTheTerminal(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	const columns = 60
	dir := t.TempDir()
	hank := `{"hank": [{"id": "api", "name": "Call it", "model": "shell", "continuationMode": "fresh", "env": {"MY_TOKEN": "hidden-value-77"},
	  "promptText": "echo '::hank usage {\"costUSD\":0.42}'; printf 'reading \\033[2J%s hidden-value-77 %0200d\\n' 漢字 1; until [ -e ../go ]; do sleep 0.05; done; echo last"}]}`
	if err := os.WriteFile(filepath.Join(dir, "hank.json"), []byte(hank), 0o600); err != nil {
		t.Fatal(err)
	}
	screen, terminal := termtest.Open(t, columns)
	cmd := exec.Command("hank", "run")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, terminal, terminal
	cmd.Env = append(os.Environ(), "HANK_STATE_DIR="+t.TempDir(), "TERM=xterm", "NO_COLOR=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	shown := regexp.MustCompile(`▸ \[1/1\] api · 0:\d\d · \$0\.42\r\n  "reading 漢字 \*\*\*[^\r]*…`)
	var all []byte
	watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	for released, buf := false, make([]byte, 4096); ; {
		n, err := screen.Read(buf)
		all = append(all, buf[:n]...)
		if !released && shown.Match(all) {
			released = true
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil { // the other end is closed
			break
		}
	}
	if err := cmd.Wait(); err != nil || !shown.Match(all) {
		t.Fatalf("%v: %q", err, all)
	}
	if bytes.Contains(all, []byte("hidden-value-77")) || bytes.Contains(all, []byte("\x1b[2J")) {
		t.Errorf("a secret or a control sequence reached the terminal: %q", all)
	}
	for line := range strings.SplitSeq(string(all), "\r\n") {
		for _, drawn := range drawnOver.Split(line, -1) {
			if (strings.HasPrefix(drawn, "▸") || strings.HasPrefix(drawn, `  "`)) && term.Columns(drawn) >= columns {
				t.Errorf("the line %q has %d columns of %d", drawn, term.Columns(drawn), columns)
			}
		}
	}
	if left := onTerminal(string(all)); strings.Contains(left, "▸") || strings.Contains(left, "reading") {
		t.Errorf("lines stay on the terminal: %q", left)
	}
}

// A long name of a codon leaves room on a line of the terminal for what happened; elsewhere it
// stays whole.
func TestEventsShortenLongNamesOnTheTerminal(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	dir, stateDir := t.TempDir(), t.TempDir()
	hank := `{"hank": [{"id": "collect-all-the-sources-of-the-library", "name": "Collect", "model": "shell", "continuationMode": "fresh", "promptText": "true"},
	  {"id": "of-twenty-six-columns-only", "name": "Sort", "model": "shell", "continuationMode": "fresh", "promptText": "true"}]}`
	if err := os.WriteFile(filepath.Join(dir, "hank.json"), []byte(hank), 0o600); err != nil {
		t.Fatal(err)
	}
	called := func(args ...string) *exec.Cmd {
		cmd := exec.Command("hank", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HANK_STATE_DIR="+stateDir, "TERM=xterm", "NO_COLOR=1", "PAGER=cat")
		return cmd
	}
	if err := called("run").Run(); err != nil {
		t.Fatal(err)
	}
	if text, err := called("events").Output(); err != nil || !bytes.Contains(text, []byte("  collect-all-the-sources-of-the-library: attempt 1 begins\n")) {
		t.Errorf("what is no terminal has %v\n%s", err, text)
	}
	screen, terminal := termtest.Open(t, 80)
	person := termtest.Watch(t, screen)
	cmd := called("events")
	cmd.Stdout = terminal
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	person.Sees("  codon.started         collect-al…e-library: attempt 1 begins\r\n")
	person.Sees("  codon.started         of-twenty-six-columns-only: attempt 1 b…\r\n")
}

// TestARunWorksThoughNobodyTakesItsOutput: a pipe that is full from the beginning, and that nobody
// reads, holds up neither the start nor a codon. The command ends when its output is taken.
func TestARunWorksThoughNobodyTakesItsOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hank := `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >b"}]}`
	if err := os.WriteFile(filepath.Join(dir, "hank.json"), []byte(hank), 0o600); err != nil {
		t.Fatal(err)
	}
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	for _, part := range []int{4096, 1} { // until not one byte has room
		for {
			if _, err := syscall.Write(pipe[1], make([]byte, part)); err != nil {
				break
			}
		}
	}
	if err := syscall.SetNonblock(pipe[1], false); err != nil {
		t.Fatal(err)
	}
	read, full := os.NewFile(uintptr(pipe[0]), "read"), os.NewFile(uintptr(pipe[1]), "full")
	environ := append(os.Environ(), "HANK_STATE_DIR="+t.TempDir())
	cmd := exec.Command("hank", "run", "-e", "ex")
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, full, full, environ
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	full.Close()
	var killed atomic.Bool
	watchdog := time.AfterFunc(time.Minute, func() {
		killed.Store(true)
		_ = cmd.Process.Kill()
	})
	defer watchdog.Stop()
	for done := false; !done; time.Sleep(10 * time.Millisecond) {
		status := exec.Command("hank", "status", "-e", "ex")
		status.Dir, status.Env = dir, environ
		out, _ := status.CombinedOutput() // there may be no execution yet
		if done = bytes.Contains(out, []byte("2 of 2 finished")) && bytes.Contains(out, []byte("completed")); killed.Load() {
			t.Fatalf("while its output is not taken, the run is not completed:\n%s", out)
		}
	}
	taken, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	if err := cmd.Wait(); err != nil || !bytes.Contains(taken, []byte("[2/2] b: B\n  completed in ")) || !bytes.Contains(taken, []byte("\n\nthe hank is completed\n")) {
		t.Errorf("%v: %q", err, bytes.Trim(taken, "\x00"))
	}
}
