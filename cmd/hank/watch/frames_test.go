//go:build linux

package watch_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"hank/internal/short"
)

var update = flag.Bool("update", false, "write the frames in testdata/frames anew")

// recorded is an execution that waits at a gate, and changes no more.
const recorded = "../../../scripts/screenshots/testdata/weather"

// recordedWorld has a copy of the recorded execution, which its list of executions has, too.
func recordedWorld(t *testing.T) *world {
	t.Helper()
	w := bareWorld(t)
	if err := os.CopyFS(w.root, os.DirFS(recorded)); err != nil {
		t.Fatal(err)
	}
	w.write("state/executions/recorded.json", fmt.Sprintf(`{"root": %q, "lineage": "1266000c8b120aa4bc9a20e10fd59faa", "created": "2026-11-27T08:47:24Z", "lastUsed": "2026-11-27T08:48:21Z"}`, w.root))
	return w
}

// look is a frame of the screen: what is typed before it comes.
type look struct{ name, keys string }

// looks lead through all pages, one after the other. Back is h and not esc: what is typed right
// after esc would be taken for the key with alt.
var looks = []look{
	{"the run", ""},
	{"the list", "h"},
	{"the run again", "\r"},
	{"the transcript", "\t"},
	{"an attempt that has failed", "\tkkkkk[\tE"},
	{"the attempt after", "\t]"},
	{"a loop", "j"},
	{"the loop, unfolded", "\r"},
	{"the diff", "jd"},
	{"the checkpoints", "hc"},
	{"a marked one", " j"},
	{"the difference of two", "\r"},
	{"the events", "hho"},
	{"the costs", "hm"},
	{"the keys", "?"},
	{"the end of the keys", "G"},
	{"what the gate is about", "hha"},
	{"the preview of a rollback", "nr"},
}

// sizes are those at which people look.
var sizes = []struct{ columns, rows int }{{40, 12}, {80, 24}, {100, 30}, {200, 60}}

// times are those of this look at the files.
var times = regexp.MustCompile(`as of (event \d+, )?\d\d:\d\d:\d\d`)

// frame are the rows of a terminal.
func frame(text string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out.WriteString(strings.TrimRight(times.ReplaceAllString(line, "as of ${1}12:34:56"), " ") + "\n")
	}
	return out.String()
}

// framesOf are the frames of a size that are written down, in the order of the looks.
func framesOf(t *testing.T, name string) (frames []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "frames", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "=== ")[1:] {
		head, rows, _ := strings.Cut(part, "\n")
		if i := len(frames); i >= len(looks) || head != looks[i].name {
			t.Fatalf("%s: the frame %q is out of its place", name, head)
		}
		frames = append(frames, rows)
	}
	return frames
}

// shows waits until a terminal shows a frame.
func shows(t *testing.T, what, want string, text func() string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		got := frame(text())
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: if this is meant: go test ./cmd/hank/watch -run '^TestFrames$' -update\n--- got\n%s--- want\n%s", what, got, want)
		}
	}
}

// TestFrames: what the program draws in a terminal at four sizes, on each of its pages, cell by
// cell; in the locale C with the characters of ASCII alone; and without colours the same text.
func TestFrames(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, c := range []struct {
		name          string
		columns, rows int
		env           []string
		colours       bool
	}{
		{"40x12", 40, 12, nil, true}, {"80x24", 80, 24, nil, true}, {"100x30", 100, 30, nil, true}, {"200x60", 200, 60, nil, true},
		{"100x30", 100, 30, []string{"NO_COLOR=1"}, false}, {"80x24", 80, 24, []string{"NO_COLOR=yes"}, false}, {"80x24-C", 80, 24, []string{"LANG=C", "NO_COLOR=1"}, false},
	} {
		t.Run(c.name+strings.Join(c.env, ","), func(t *testing.T) {
			t.Parallel()
			if *update && c.env != nil && !strings.HasSuffix(c.name, "-C") {
				t.Skip("its frames are those of another one, which are being written")
			}
			w := recordedWorld(t)
			w.dir, w.env = w.root, append(w.env, c.env...) // commands that are shown name no directory
			s := w.watch(c.columns, c.rows)
			if *update {
				s.writeFrames(filepath.Join("testdata", "frames", c.name+".txt"))
				s.leave()
				return
			}
			for i, want := range framesOf(t, c.name) {
				s.keys(looks[i].keys)
				shows(t, c.name+": "+looks[i].name, want, s.text)
				if painted := s.painted(); painted != c.colours {
					t.Errorf("%s: with colours: %t", looks[i].name, painted)
				}
			}
			s.keys("n")
			s.leave()
		})
	}
}

// isAlt reports whether the screen is there, and not the scrollback.
func (s *screen) isAlt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term.IsAltScreen()
}

// painted reports whether a cell has a colour or another look than plain text.
func (s *screen) painted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for y := range s.term.Height() {
		for x := range s.term.Width() {
			if c := s.term.CellAt(x, y); c != nil && (c.Style.Fg != nil || c.Style.Bg != nil || c.Style.Attrs != 0) {
				return true
			}
		}
	}
	return false
}

// writeFrames writes the frames of a size.
func (s *screen) writeFrames(path string) {
	s.t.Helper()
	var all strings.Builder
	for _, l := range looks {
		s.keys(l.keys)
		s.quiet(time.Second)
		fmt.Fprintf(&all, "=== %s\n%s", l.name, frame(s.text()))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.keys("n")
}

// tmux is a tmux of its own, with one pane.
type tmux struct {
	t *testing.T
	w *world
}

// underTmux starts hank watch in tmux.
func (w *world) underTmux(columns, rows int, args ...string) *tmux {
	w.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") == "true" {
			w.t.Fatal("tmux is not here")
		}
		w.t.Skip("tmux is not here")
	}
	m := &tmux{w.t, w}
	w.write("tmux.conf", "set -g status off\nset -s escape-time 0\n")
	w.t.Cleanup(func() { _ = m.command("kill-server").Run() })
	m.do("new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), strings.Join(append([]string{w.hank, "watch"}, args...), " "))
	return m
}

func (m *tmux) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(m.w.dir, "tmux"), "-f", filepath.Join(m.w.dir, "tmux.conf")}, args...)...)
	cmd.Dir, cmd.Env = m.w.dir, m.w.env
	return cmd
}

func (m *tmux) do(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// keys types.
func (m *tmux) keys(keys string) {
	m.t.Helper()
	for _, key := range keys {
		m.do("send-keys", "-H", fmt.Sprintf("%x", key))
	}
}

// text are the rows of the pane.
func (m *tmux) text() string { return m.do("capture-pane", "-p") }

// TestFramesUnderTmux: under tmux each page is what it is in a terminal, in the same looks.
func TestFramesUnderTmux(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	if *update {
		t.Skip("the frames are being written")
	}
	for _, size := range sizes {
		name := fmt.Sprintf("%dx%d", size.columns, size.rows)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := recordedWorld(t)
			w.dir = w.root
			m, s := w.underTmux(size.columns, size.rows), w.watch(size.columns, size.rows)
			for i, want := range framesOf(t, name) {
				m.keys(looks[i].keys)
				s.keys(looks[i].keys)
				shows(t, "in a terminal: "+looks[i].name, want, s.text)
				shows(t, "under tmux: "+looks[i].name, want, m.text)
				m.likeIn(s, looks[i].name)
			}
		})
	}
}

// likeIn waits until the cells of the pane look as those of a terminal.
func (m *tmux) likeIn(s *screen, name string) {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		pane := vt.NewEmulator(s.columns, s.rows)
		text := strings.TrimSuffix(m.do("capture-pane", "-p", "-e", "-N"), "\n")
		_, _ = pane.WriteString(strings.ReplaceAll(text, "\n", "\r\n"))
		differs := s.unlike(pane)
		if differs == "" {
			return
		}
		if time.Now().After(end) {
			m.t.Fatalf("%s: under tmux %s\n%s", name, differs, pane.Render())
		}
	}
}

// unlike is the first cell that looks other than in another terminal; empty: none does. The time
// of the look at the files is another one.
func (s *screen) unlike(other *vt.Emulator) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for y := range s.term.Height() {
		for x := range s.term.Width() {
			a, b := s.term.CellAt(x, y), other.CellAt(x, y)
			if a == nil || b == nil {
				return fmt.Sprintf("has no cell %d,%d", x, y)
			}
			blank := strings.TrimSpace(a.Content) == "" && strings.TrimSpace(b.Content) == ""
			if fmt.Sprint(a.Style.Fg) != fmt.Sprint(b.Style.Fg) && !blank || fmt.Sprint(a.Style.Bg) != fmt.Sprint(b.Style.Bg) || a.Style.Attrs != b.Style.Attrs && !blank {
				return fmt.Sprintf("cell %d,%d looks %+v, and in a terminal %+v", x, y, b.Style, a.Style)
			}
		}
	}
	return ""
}

// TestAHostileTranscriptStaysInItsPane: what an agent has printed changes no cell outside the
// pane of its transcript, and nothing of the terminal: escape sequences, text that runs backwards,
// a line of 100 kB, and bytes that are no text.
func TestAHostileTranscriptStaysInItsPane(t *testing.T) {
	t.Parallel()
	shown := func(lines ...string) *screen {
		w := recordedWorld(t)
		logs, err := filepath.Glob(filepath.Join(w.root, ".hankweave", "runs", "*", "docs.1.jsonl"))
		if err != nil || len(logs) != 2 {
			t.Fatal(err, logs)
		}
		text, err := os.ReadFile(logs[1])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(logs[1], append(text, strings.Join(append(lines, ""), "\n")...), 0o600); err != nil {
			t.Fatal(err)
		}
		s := w.watch(120, 30, "ex")
		s.keys("\tG")
		s.wait("the last line", "as of event ")
		return s
	}
	line := func(text string) string {
		return `{"at":"2026-11-27T08:48:21Z","stream":"stdout","line":"` + text + `"}`
	}
	hostile := shown(line(`\u001b]0;owned\u0007\u001b]52;c;b3duZWQ=\u0007\u001b[2J\u001b[1;1Howned\u001b[?1049l\u001b[31mred\u001bc`), line(`\u202egnp.exe\u202c \u009b2J \u000d over \u0008\u0008 tab\tend`),
		line("\xff\xfe\xc0"), line(strings.Repeat("x", 100_000)), line("the last line"))
	harmless := shown(line("harmless"), line("the last line"))
	const pane = 51 // the transcript begins there
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		differs := ""
		for i, a := range strings.Split(frame(hostile.text()), "\n") {
			b := strings.Split(frame(harmless.text()), "\n")[i]
			if i > 1 && i < 28 { // the others have no pane
				a, b = string([]rune(a + strings.Repeat(" ", pane))[:pane]), string([]rune(b + strings.Repeat(" ", pane))[:pane])
			}
			if a != b {
				differs = fmt.Sprintf("row %d: %q, and with a harmless one %q", i, a, b)
				break
			}
		}
		if differs == "" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s\n%s", differs, hostile.text())
		}
	}
	if printed := hostile.printed(); strings.Contains(printed, "owned\x07") || strings.Contains(printed, "\x1b[2J\x1b[1;1Howned") || strings.Contains(printed, "\x1b]52") || strings.Contains(printed, "\u202e") || !hostile.isAlt() {
		t.Error("what the agent has printed has steered the terminal")
	}
	harmless.leave()
	hostile.leave()
}
