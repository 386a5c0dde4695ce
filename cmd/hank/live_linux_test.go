package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

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

// display is a terminal that shows a command: an emulator, which cuts its rows when it becomes
// narrower, or tmux, which wraps them again.
type display struct {
	text   func() string // the rows, with those that were scrolled out
	resize func(columns, rows int)
	gone   func() // waits until the command has ended
}

// inEmulator shows a command in the emulator.
func inEmulator(t *testing.T, cmd *exec.Cmd, columns, rows int) display {
	t.Helper()
	screen := vt.NewEmulator(columns, rows)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	over := make(chan struct{})
	go func() {
		defer close(over)
		for part := make([]byte, 4096); ; {
			n, err := tty.Read(part)
			mu.Lock()
			_, _ = screen.Write(part[:n])
			mu.Unlock()
			if err != nil { // the command has ended
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
		_ = tty.Close()
	})
	return display{
		text: func() string {
			mu.Lock()
			defer mu.Unlock()
			var all strings.Builder
			for y := range screen.ScrollbackLen() {
				for x := range screen.Width() {
					if c := screen.ScrollbackCellAt(x, y); c != nil {
						all.WriteString(c.Content)
					}
				}
				all.WriteByte('\n')
			}
			return all.String() + screen.String()
		},
		resize: func(columns, rows int) {
			mu.Lock()
			screen.Resize(columns, rows)
			mu.Unlock()
			if err := pty.Setsize(tty, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
				t.Error(err)
			}
		},
		gone: func() {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			<-over
		},
	}
}

// underTmux shows a command under tmux.
func underTmux(t *testing.T, cmd *exec.Cmd, columns, rows int) display {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("tmux is not here")
		}
		t.Skip("tmux is not here")
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte("set -g status off\nset -g remain-on-exit on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tmux := func(args ...string) string {
		c := exec.Command("tmux", append([]string{"-S", filepath.Join(dir, "socket"), "-f", conf}, args...)...)
		c.Dir, c.Env = cmd.Dir, cmd.Env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	tmux("new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), cmd.Path+" "+strings.Join(cmd.Args[1:], " "))
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", filepath.Join(dir, "socket"), "kill-server").Run() })
	return display{
		text:   func() string { return tmux("capture-pane", "-p", "-S", "-") },
		resize: func(columns, rows int) { tmux("resize-window", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows)) },
		gone: func() {
			for end := time.Now().Add(time.Minute); strings.TrimSpace(tmux("display-message", "-p", "#{pane_dead}")) != "1"; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Error("the command does not end")
					return
				}
			}
		},
	}
}

// TestThePlanIsBelowTheRunningCodon, as far as half of the terminal has room for it, whatever size
// that gets; and what is printed above it stays, each line once, with the summary at the end.
func TestThePlanIsBelowTheRunningCodon(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, show := range map[string]func(*testing.T, *exec.Cmd, int, int) display{"emulator": inEmulator, "tmux": underTmux} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			const waits = `"model": "shell", "continuationMode": "fresh", "promptText": "echo working; until [ -e ../go.$HANK_CODON ]; do sleep 0.05; done"`
			hank := `{"meta": {"name": "Plan", "version": "1.0.0"}, "hank": [
  {"id": "gather", "name": "Gather", "model": "shell", "continuationMode": "fresh", "promptText": "true"},
  {"type": "loop", "id": "review", "name": "Review", "terminateOn": {"type": "iterationLimit", "limit": 2}, "codons": [
    {"id": "revise", "name": "Revise each note", ` + waits + `}, {"id": "check", "name": "Check it", ` + waits + `}]},
  {"type": "loop", "id": "polish", "name": "Polish", "terminateOn": {"type": "iterationLimit", "limit": 3}, "codons": [{"id": "rub", "name": "Rub", "model": "shell", "continuationMode": "fresh", "promptText": "true"}]},
  {"id": "publish", "name": "Write the index", "model": "shell", "continuationMode": "fresh", "promptText": "true"},
  {"id": "tell", "name": "Tell", "model": "shell", "continuationMode": "fresh", "promptText": "true"},
  {"id": "end", "name": "End", "model": "shell", "continuationMode": "fresh", "promptText": "true"}]}`
			if err := os.WriteFile(filepath.Join(dir, "hank.json"), []byte(hank), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("hank", "run")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HANK_STATE_DIR="+t.TempDir(), "TERM=xterm", "NO_COLOR=1", "LANG=C.UTF-8")
			d := show(t, cmd, 100, 30)
			await := func(want ...string) {
				t.Helper()
				block := regexp.MustCompile(`▸ [^▸]*$`)
				for end := time.Now().Add(50 * time.Second); ; time.Sleep(10 * time.Millisecond) {
					var got []string
					for line := range strings.Lines(strings.TrimSpace(block.FindString(d.text()))) {
						got = append(got, regexp.MustCompile(`\d:\d\d`).ReplaceAllString(strings.TrimRight(line, " \n"), "0:12"))
					}
					if strings.Join(got, "\n") == strings.Join(want, "\n") {
						return
					}
					if time.Now().After(end) {
						t.Fatalf("got\n%s\nwant\n%s\nin\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), d.text())
					}
				}
			}
			release := func(codon string) {
				if err := os.WriteFile(filepath.Join(dir, "go."+codon), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			await("▸ [2/11] revise#0 · 0:12", `  "working"`, "· check#0          Check it", "· review again     revise, check: 2 times", "· polish (a loop)  rub: 3 times", "· publish          Write the index", "· tell             Tell", "· end              End")
			d.resize(40, 13)
			await("▸ [2/11] revise#0 · 0:12", `  "working"`, "· check#0          Check it", "· review again     revise, check: 2 ti…", "· polish (a loop)  rub: 3 times", "· … 3 more")
			d.resize(30, 12)
			await("▸ [2/11] revise#0 · 0:12", `  "working"`, "· check#0          Check it", "· review again     revise, c…", "· polish (a loop)  rub: 3 ti…", "· … 3 more")
			d.resize(60, 11)
			await(`▸ [2/11] revise#0 · 0:12 · "working"`)
			d.resize(100, 16)
			release("revise#0")
			await("▸ [3/11] check#0 · 0:12", `  "working"`, "· review again     revise, check: 2 times", "· polish (a loop)  rub: 3 times", "· publish          Write the index", "· tell             Tell", "· end              End")
			release("check#0")
			await("▸ [4/11] revise#1 · 0:12", `  "working"`, "· check#1          Check it", "· polish (a loop)  rub: 3 times", "· publish          Write the index", "· tell             Tell", "· end              End")
			release("revise#1")
			release("check#1")
			d.gone()
			text := d.text()
			for _, want := range []string{"Plan: 11 codons", "✓ [ 1/11] gather ", "✓ [ 2/11] revise#0 ", "✓ [ 3/11] check#0 ", "✓ [ 5/11] check#1 ", "✓ [11/11] end ", "✓ the hank is completed", "codons       11 of 11 finished"} {
				if n := strings.Count(text, want); n != 1 {
					t.Errorf("%q is there %d times", want, n)
				}
			}
			if strings.Contains(text, "▸") || strings.Contains(text, "\n· ") || t.Failed() {
				t.Errorf("there is left\n%s", text)
			}
		})
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
