//go:build linux

package watch_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// binary builds hank once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hank-watch-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "hank")
	if out, err := exec.Command("go", "build", "-o", path, "hank/cmd/hank").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// world is a directory with an execution, and the registry of its user.
type world struct {
	t    *testing.T
	hank string
	dir  string
	root string
	env  []string
}

const hostile = "\\033]0;owned\\007\\033]52;c;b3duZWQ=\\007\\033[2J\\033[1;1Howned"

// bareWorld has no execution yet.
func bareWorld(t *testing.T) *world {
	t.Helper()
	hank, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, hank: hank, dir: t.TempDir()}
	w.root = filepath.Join(w.dir, "ex")
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "HANK_STATE_DIR=" + filepath.Join(w.dir, "state"), "LANG=C.UTF-8", "TERM=xterm-256color", "TZ=UTC"}
	return w
}

// newWorld makes an execution that waits at its gate.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := bareWorld(t)
	w.write("hank/hank.json", `{"hank": [
	  {"id": "first", "name": "First", "model": "shell", "continuationMode": "fresh", "promptText": "echo one >one; seq 1000; printf '`+strings.ReplaceAll(hostile, `\`, `\\`)+`\\n'; echo the last word"},
	  {"id": "second", "name": "Second", "model": "shell", "continuationMode": "fresh", "gate": {"id": "ok", "when": "before", "kind": "approve", "summary": "Is this right?"},
	   "promptText": "echo begun; until [ -e ../go ]; do sleep 0.05; done; echo two >two"}]}`)
	w.run(7, "run", "hank", "-e", "ex")
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.hank, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

// run runs hank, wants an exit code, and returns what was printed.
func (w *world) run(code int, args ...string) string {
	w.t.Helper()
	cmd := w.command(args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		w.t.Fatalf("hank %q ended with %v, want %d:\n%s", args, err, code, out)
	}
	return string(out)
}

// screen is hank watch in a terminal.
type screen struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	mu   sync.Mutex
	term *vt.SafeEmulator

	columns, rows int // as it was opened

	wrote int64  // bytes that were written to the terminal
	all   []byte // the last of them
	over  chan struct{}
}

// watch starts hank watch in a terminal of a size.
func (w *world) watch(columns, rows int, args ...string) *screen {
	w.t.Helper()
	return w.start(w.command(append([]string{"watch"}, args...)...), columns, rows)
}

// start starts a command in a terminal of a size.
func (w *world) start(cmd *exec.Cmd, columns, rows int) *screen {
	w.t.Helper()
	s := &screen{t: w.t, cmd: cmd, term: vt.NewSafeEmulator(columns, rows), columns: columns, rows: rows, over: make(chan struct{})}
	tty, err := pty.StartWithSize(s.cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		w.t.Fatal(err)
	}
	s.tty = tty
	go func() { _, _ = io.Copy(tty, s.term) }() // what a terminal answers when it is asked
	go func() {
		defer close(s.over)
		part := make([]byte, 4096)
		for {
			n, err := tty.Read(part)
			s.mu.Lock()
			_, _ = s.term.Write(part[:n])
			s.wrote += int64(n)
			s.all = append(s.all, part[:n]...)
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	w.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		_ = tty.Close()
		<-s.over
	})
	return s
}

// printed is what was written to the terminal.
func (s *screen) printed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.all)
}

// text are the rows of the terminal.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term.String()
}

// wait waits until the terminal shows all of something at once: a look at it can fall between two
// writes of one frame.
func (s *screen) wait(wants ...string) string {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text := s.text()
		missing := slices.DeleteFunc(slices.Clone(wants), func(want string) bool { return strings.Contains(text, want) })
		if len(missing) == 0 {
			return text
		}
		if time.Now().After(end) {
			s.t.Fatalf("%q do not come; there is\n%s", missing, text)
		}
	}
}

// keys types.
func (s *screen) keys(keys string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// leave leaves, and wants the exit code 0.
func (s *screen) leave() {
	s.t.Helper()
	s.keys("q")
	if err := s.cmd.Wait(); err != nil {
		s.t.Fatalf("left with %v; there is\n%s", err, s.text())
	}
	<-s.over // all that it has printed is read
}

// quiet waits until nothing is written for a while, and returns how much was written by then.
func (s *screen) quiet(while time.Duration) int64 {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		before := s.written()
		time.Sleep(while)
		if s.written() == before {
			return before
		}
	}
	s.t.Fatal("the terminal is written to all the time, though nothing changes")
	return 0
}

func (s *screen) written() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote
}

// TestWatchInATerminal goes through what a person does: looks at the list, at the run, its
// transcript and diff, answers the gate after seeing what it is about, and leaves.
func TestWatchInATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.watch(120, 30)
	s.wait("1 execution, 1 needs you")
	s.keys("\r")
	s.wait("! gate: ", "> ✓ first", "completed", "the last word", "as of event ")
	if title := strings.Contains(s.printed(), "owned\x07"); title {
		t.Error("the agent has set the title of the terminal")
	}
	s.keys("d")
	s.wait("+one")
	s.keys("\x1b")
	s.wait("the last word")
	s.keys("\tk")
	s.wait("not following any more")
	s.keys("/777\r")
	s.wait("│ 777")
	s.quiet(time.Second)
	s.keys("ay\r") // nothing is answered by what is typed before the diff is there
	s.wait("approve gate ok?", "+one", "y: yes")
	s.keys("y\r")
	s.wait("approved at gate ok")
	w.write("ex/go", "")
	w.run(0, "run", "-e", "ex")
	s.wait("completed, 2 of 2 finished")
	s.leave()
	if text := s.printed(); !strings.Contains(text, "completed, 2 of 2 finished, $0.00") || !strings.Contains(text, "\x1b[?1049l") {
		t.Errorf("what is left on the terminal:\n%q", text[max(0, len(text)-300):])
	}
}

// TestARefusedRollbackIsNotOffered: the preview ends with the reason, and y does nothing.
func TestARefusedRollbackIsNotOffered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := filepath.Join(w.root, "agentRoot", "one")
	if err := errors.Join(os.Remove(one), syscall.Mkfifo(one, 0o600)); err != nil {
		t.Fatal(err)
	}
	s := w.watch(120, 30, "ex")
	s.wait("> ✓ first")
	s.keys("r")
	if text := s.wait("a rollback to first (checkpoint ", "would be refused", "one is in the way and was not saved"); strings.Contains(text, "y: yes") {
		t.Errorf("a yes is offered:\n%s", text)
	}
	s.keys("y")
	s.wait("it would be refused: the reason is above")
	s.keys("\x1b")
	s.wait("the last word")
	if err := os.Remove(one); err != nil {
		t.Fatal(err)
	}
	s.keys("r")
	s.wait("roll the workspace back to first", "+ one", "y: yes")
	s.keys("y")
	s.wait("workspace restored to first:completed")
	s.leave()
}

// TestALongDiffIsShownAsFarAsItFits: its beginning, and the command that shows all.
func TestALongDiffIsShownAsFarAsItFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("long/hank.json", `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero | tr '\\0' x >file$i; echo >>file$i; done"}]}`)
	w.run(0, "run", "long", "-e", "long-run")
	s := w.watch(120, 30, "long-run")
	s.wait("✓ a")
	s.keys("d")
	s.wait("diff --git a/file1 b/file1", "+xxx")
	s.keys("G")
	s.wait("the rest is left out; all of it: hank diff ")
	s.leave()
}

// TestAWatcherChangesNothing: watchers of a run that are killed, stopped and not read change
// neither the run nor a file of the execution; a run that ends is seen to end.
func TestAWatcherChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(0, "approve", "ok", "-e", "ex")
	before := w.digest()
	for range 3 {
		s := w.watch(80, 24, "ex")
		s.wait("as of event ")
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
	if now := w.digest(); now != before {
		t.Errorf("watchers have changed the execution:\n%s\nbefore:\n%s", now, before)
	}
	run := w.command("run", "-e", "ex")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Process.Kill() }()
	s := w.watch(100, 30, "ex")
	s.wait("▶ second")
	s.wait("begun")
	// Nobody reads this one, and it ends when its terminal goes, where hangups are ignored too.
	deaf := w.command("watch", "ex")
	deaf.Path, deaf.Args = "/bin/sh", append([]string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`}, deaf.Args...)
	unread, err := pty.StartWithSize(deaf, &pty.Winsize{Cols: 100, Rows: 30})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = unread.Close()
		slow := time.AfterFunc(time.Minute, func() {
			t.Error("a watcher goes on without a terminal")
			_ = deaf.Process.Kill()
		})
		_ = deaf.Wait()
		slow.Stop()
	}()
	for range 3 {
		k := w.watch(90, 20, "ex")
		k.wait("▶ second")
		_ = k.cmd.Process.Kill()
		_ = k.cmd.Wait()
	}
	w.write("ex/go", "")
	if err := run.Wait(); err != nil {
		t.Errorf("the run that was watched ended with %v", err)
	}
	s.wait("completed, 2 of 2 finished")
	s.leave()
}

// TestViewersKilledAndStoppedChangeNothing: whatever happens to those that look at a run, and
// whenever, it goes through the same transitions, and leaves the same work, as when nobody looks.
func TestViewersKilledAndStoppedChangeNothing(t *testing.T) {
	t.Parallel()
	transition := regexp.MustCompile(`"type":"[A-Z][^"]*"`) // the other events come beside them
	outcome := func(watched bool) string {
		w := newWorld(t)
		w.run(0, "approve", "ok", "-e", "ex")
		run := w.command("run", "-e", "ex")
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		watchdog := time.AfterFunc(time.Minute, func() { _ = run.Process.Kill() })
		defer watchdog.Stop()
		log := filepath.Join(w.root, ".hankweave", "runs", "*", "second.*.jsonl")
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if found, _ := filepath.Glob(log); len(found) > 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the codon does not begin")
			}
		}
		if watched {
			disturb(w)
		}
		w.write("ex/go", "")
		if err := run.Wait(); err != nil {
			t.Errorf("the run ended with %v; watched: %t", err, watched)
		}
		two, err := os.ReadFile(filepath.Join(w.root, "agentRoot", "two"))
		if err != nil {
			t.Error(err)
		}
		return strings.Join(transition.FindAllString(w.run(0, "events", "-e", "ex", "--json", "--limit", "100000"), -1), "\n") + "\n" + string(two)
	}
	if alone, watched := outcome(false), outcome(true); alone != watched || !strings.Contains(alone, "RunCompleted") {
		t.Errorf("watched, it has ended with\n%s\nand alone with\n%s", watched, alone)
	}
}

// disturb starts viewers of each kind, of which it reads some and not others, and stops, continues
// and kills them at random. Those that are left at the end stay as they are until the test ends.
func disturb(w *world) {
	w.t.Helper()
	r := rand.New(rand.NewPCG(7, 8))
	kinds := [][]string{{"watch", "ex"}, {"web", "--listen", "127.0.0.1:0"}, {"events", "-f", "-e", "ex"}}
	type viewer struct {
		*exec.Cmd
		end func()
	}
	start := func(kind int) viewer {
		cmd := w.command(kinds[kind]...)
		tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 80, Rows: 24})
		if err != nil {
			w.t.Fatal(err)
		}
		if r.IntN(3) > 0 { // it has begun
			if _, err := tty.Read(make([]byte, 1)); err != nil {
				w.t.Errorf("hank %q prints nothing: %v", kinds[kind], err)
			}
		}
		if r.IntN(3) > 0 { // it is read
			go func() { _, _ = io.Copy(io.Discard, tty) }()
		}
		end := sync.OnceFunc(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			_ = tty.Close()
		})
		w.t.Cleanup(end)
		return viewer{cmd, end}
	}
	var viewers []viewer
	for kind := range kinds {
		viewers = append(viewers, start(kind))
	}
	for range 15 {
		kind := r.IntN(len(kinds))
		signal := []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGKILL}[r.IntN(3)]
		if signal == syscall.SIGKILL {
			viewers[kind].end()
			viewers[kind] = start(kind)
		} else if err := viewers[kind].Process.Signal(signal); err != nil {
			w.t.Errorf("hank %q has ended by itself: %v", kinds[kind], err)
		}
	}
	for _, v := range viewers {
		if err := v.Process.Signal(syscall.SIGSTOP); err != nil {
			w.t.Error(err)
		}
	}
}

// TestThePlainStreamBeginsWhereTheCodonDid: p shows what the codon has printed before, and then what
// comes, in the scrollback; p leads back to the screen.
func TestThePlainStreamBeginsWhereTheCodonDid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(0, "approve", "ok", "-e", "ex")
	run := w.command("run", "-e", "ex")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Process.Kill() }()
	s := w.watch(100, 30, "ex")
	s.wait("▶ second", "begun")
	s.keys("p")
	s.wait("-- plain stream; p comes back to the screen --", "begun")
	w.write("ex/go", "")
	if err := run.Wait(); err != nil {
		t.Fatal(err)
	}
	s.wait("begun", "-- end of the stream; p comes back to the screen --")
	all := s.printed()
	if left := all[strings.LastIndex(all, "\x1b[?1049l")+1:]; !strings.Contains(left, "begun") || strings.Contains(left, "\x1b[?1049h") {
		t.Errorf("the stream is not in the scrollback: %q", left)
	}
	s.keys("p")
	s.wait("completed, 2 of 2 finished", "as of event ")
	s.leave()
}

// digest are the names and sizes of all files of the execution.
func (w *world) digest() string {
	var out strings.Builder
	err := filepath.WalkDir(w.root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := d.Info()
		fmt.Fprintln(&out, path, fi.Size(), fi.ModTime())
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.String()
}

// TestAThousandSizes: after any change of size the screen is as wide as the terminal and right.
func TestAThousandSizes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.watch(100, 30, "ex")
	s.wait("as of event ")
	r := rand.New(rand.NewPCG(5, 6))
	size := func(columns, rows int) {
		s.mu.Lock()
		s.term.Resize(columns, rows)
		s.mu.Unlock()
		if err := pty.Setsize(s.tty, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		size(1+r.IntN(200), 1+r.IntN(60))
		if i%50 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
	size(1, 1)
	size(110, 24)
	s.wait("! gate: ", "> ✓ first", "the last word", "as of event ", "q: leave")
	s.leave()
}

// TestPlainWatchHasNoEscape: without a terminal, on a dumb one, or as asked, each fact is a line,
// and no byte steers.
func TestPlainWatchHasNoEscape(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, args := range [][]string{{"watch"}, {"watch", "ex"}, {"watch", "ex", "--plain"}} {
		out := w.run(0, args...)
		if strings.ContainsAny(out, "\x1b\x07\r") || !strings.Contains(out, "waiting") || !strings.Contains(out, "hank approve ok") && len(args) > 1 {
			t.Errorf("hank %q:\n%q", args, out)
		}
	}
	w.env = append(w.env, "ACCESSIBLE=1")
	s := w.watch(100, 30, "ex")
	s.wait("hank approve ok")
	_ = s.cmd.Wait()
	if strings.Contains(s.printed(), "\x1b") {
		t.Errorf("ACCESSIBLE=1: %q", s.printed())
	}
	if out := w.run(2, "watch", "nowhere"); !strings.Contains(out, "nowhere") {
		t.Errorf("no execution: %s", out)
	}
}

// TestNoColourByAnyValue: NO_COLOR takes the colours away, whatever it is.
func TestNoColourByAnyValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		env    string
		colour bool
	}{{"NO_COLOR=", true}, {"NO_COLOR=1", false}, {"NO_COLOR=yes", false}, {"NO_COLOR=0", false}} {
		env := w.env
		w.env = append(env[:len(env):len(env)], c.env)
		s := w.watch(100, 30, "ex")
		w.env = env
		s.wait("the last word")
		s.leave()
		if colour := strings.Contains(s.printed(), "\x1b[33m") || strings.Contains(s.printed(), ";33m"); colour != c.colour {
			t.Errorf("%s: colours: %t", c.env, colour)
		}
	}
}
