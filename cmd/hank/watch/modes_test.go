//go:build linux

package watch_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// shell is a script in a terminal, in the directory of a world.
func (w *world) shell(script string) *screen {
	w.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir, cmd.Env = w.dir, append(w.env, "HANK="+w.hank)
	return w.start(cmd, 100, 30)
}

// read is what a script has written.
func (w *world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestTheTerminalIsAsItWasFound when hank watch ends: in its usual mode, and in raw mode where a
// program that wants it so has started it.
func TestTheTerminalIsAsItWasFound(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "stty raw -echo; "} {
		w := recordedWorld(t)
		s := w.shell(mode + `stty -g >before; "$HANK" watch ex; stty -g >after`)
		s.wait("docs  completed", "as of event ")
		s.leave()
		if before, after := w.read("before"), w.read("after"); before != after {
			t.Errorf("%q: before it was %s, and then %s", mode, before, after)
		}
		printed := s.printed()
		for _, on := range []string{"\x1b[?1049", "\x1b[?25", "\x1b[?1004", "\x1b[?2004"} { // screen, cursor, focus, pasting
			set, reset := strings.LastIndex(printed, on+"h"), strings.LastIndex(printed, on+"l")
			if on == "\x1b[?25" {
				set, reset = reset, set
			}
			if set > reset {
				t.Errorf("%q: %q is left", mode, on)
			}
		}
	}
}

// TestAKilledWatchIsPutRight by stty sane, which sets the mode of the terminal, and by the next
// hank watch, which resets what was set for the screen; as the document says.
func TestAKilledWatchIsPutRight(t *testing.T) {
	t.Parallel()
	w := recordedWorld(t)
	cmd := exec.Command("/bin/sh", "-i")
	cmd.Dir, cmd.Env = w.dir, append(w.env, "HANK="+w.hank, "PS1=$ ", "ENV=")
	s := w.start(cmd, 100, 30)
	await := func(what, printed string, from int) int {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			all := s.printed()
			if at := strings.Index(all[from:], printed); at >= 0 {
				return from + at + len(printed)
			}
			if time.Now().After(end) {
				t.Fatalf("%s: no %q in %q", what, printed, all[from:])
			}
		}
	}
	s.keys(`sh -c 'echo $$ >pid; exec "$HANK" watch ex'` + "\r")
	s.wait("docs  completed", "as of event ")
	pid, err := strconv.Atoi(w.read("pid"))
	if err != nil {
		t.Fatal(err)
	}
	begun := len(s.printed())
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	at := await("killed", "Killed", begun)
	s.keys("stty -a >killed; stty sane; echo put right\n") // ctrl+j: enter ends no line in this mode
	at = await("in the raw mode", "put right", at)
	s.keys("stty -a >sane\r")
	s.keys(`"$HANK" watch ex` + "\r")
	at = await("watched again", "\x1b[?1049h", at)
	await("watched again", "as of event ", at)
	s.keys("q")
	await("left", "\x1b[?1049l", at)
	s.keys("exit\r")
	if err := s.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	<-s.over
	for _, mode := range []string{"icanon", "isig", "icrnl", "opost", "echo"} {
		if raw, sane := strings.Fields(w.read("killed")), strings.Fields(w.read("sane")); !slices.Contains(raw, "-"+mode) || !slices.Contains(sane, mode) {
			t.Errorf("%s: killed %q, and put right %q", mode, raw, sane)
		}
	}
	if s.isAlt() {
		t.Error("the screen of the one that was killed is still there")
	}
}

// TestATerminalThatIsReadSlowlyGetsTheLastFrame: what has changed while nobody read is drawn once,
// and the run has not waited for it.
func TestATerminalThatIsReadSlowlyGetsTheLastFrame(t *testing.T) {
	t.Parallel()
	w := bareWorld(t)
	w.write("hank/hank.json", `{"hank": [
	  {"id": "first", "name": "First", "model": "shell", "continuationMode": "fresh", "promptText": "until [ -e ../../go ]; do sleep 0.05; done; for n in 1 2 3 4 5 6 7 8 9 10; do seq 10000; sleep 0.1; done"}]}`)
	run := w.command("run", "hank", "-e", "ex")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Process.Kill() }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(w.root, ".hankweave", "runs", "*", "first.*.jsonl")); len(found) > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the codon does not begin")
		}
	}
	cmd := w.command("watch", "ex")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 200, Rows: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = tty.Close() }()
	term := vt.NewSafeEmulator(200, 60)
	go func() { _, _ = io.Copy(tty, term) }()
	read, part := 0, make([]byte, 1<<10)
	look := func() {
		n, err := tty.Read(part)
		if err != nil {
			t.Fatalf("%v; there is\n%s", err, term.String())
		}
		_, _ = term.Write(part[:n])
		read += n
	}
	for !strings.Contains(term.String(), "▶ first") {
		look()
	}
	w.write("go", "")
	if err := run.Wait(); err != nil {
		t.Fatalf("the run that nobody saw ended with %v", err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(term.String(), "completed, 1 of 1 finished"); look() {
		if time.Now().After(end) {
			t.Fatalf("the last frame does not come; there is\n%s", term.String())
		}
	}
	if read > 500_000 {
		t.Errorf("it was written %d bytes", read)
	}
}

// TestWatchWithoutAScreenOfItsOwn prints no escape sequence: on a dumb terminal, into a pipe, and
// where nothing can be printed at all.
func TestWatchWithoutAScreenOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, script := range []string{`TERM=dumb "$HANK" watch ex`, `"$HANK" watch ex | cat`, `"$HANK" watch | cat`, `"$HANK" watch ex </dev/null`, `"$HANK" watch ex >&-; echo hank approve publish-ok`} {
		w := recordedWorld(t)
		s := w.shell(script)
		s.wait("publish-ok")
		_ = s.cmd.Wait()
		<-s.over
		if printed := s.printed(); strings.Contains(printed, "\x1b") {
			t.Errorf("%s: %q", script, printed)
		}
	}
}
