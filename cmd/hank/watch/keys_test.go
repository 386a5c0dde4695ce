//go:build linux

package watch_test

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/internal/short"
)

// helpKeys are the rows of the help, each with a test of what its keys do in the program. A test
// gets a look at the execution of newWorld, which nobody changes, or makes a world of its own.
var helpKeys = []struct {
	keys string
	test func(t *testing.T, w *world)
}{
	{"j k up down", func(t *testing.T, w *world) {
		s := w.look()
		for _, keys := range [][2]string{{"j", "k"}, {"\x1b[B", "\x1b[A"}} {
			s.keys(keys[0])
			s.wait("it has not run yet")
			s.keys(keys[1])
			s.wait("the last word")
		}
		s.keys("\tg")
		s.top("1")
		for _, c := range []struct{ key, top string }{{"j", "2"}, {"\x1b[B", "3"}, {"k", "2"}, {"\x1b[A", "1"}} {
			s.keys(c.key)
			s.top(c.top)
		}
	}},
	{"ctrl+d ctrl+u", func(t *testing.T, w *world) {
		s := w.look()
		s.keys("\tg")
		s.top("1")
		for _, c := range []struct{ key, top string }{{"\x04", "14"}, {"\x15", "1"}, {"\x1b[6~", "27"}, {" ", "53"}, {"\x1b[5~", "27"}, {"\x02", "1"}, {"\x06", "27"}} {
			s.keys(c.key)
			s.top(c.top)
		}
	}},
	{"g G", func(t *testing.T, w *world) {
		s := w.look()
		s.keys("\tg")
		s.top("1")
		s.keys("G")
		s.wait("the last word")
	}},
	{"enter", func(t *testing.T, w *world) {
		s := w.look()
		s.wait(" first  completed")
		s.keys("\r")
		s.wait(">first  completed") // keys scroll its transcript
	}},
	{"esc", func(t *testing.T, w *world) {
		s := w.look()
		s.keys("\x1b")
		s.wait("1 execution, 1 needs you")
		s.keys("\r")
		s.wait("> ✓ first")
	}},
	{"tab", func(t *testing.T, w *world) {
		s := w.look()
		s.keys("\t")
		s.wait(">first  completed")
		s.keys("\t")
		s.wait(" first  completed")
	}},
	{"f", func(t *testing.T, w *world) {
		run, s := inProgress(t)
		s.keys("k")
		s.wait("> ✓ first", "the first word")
		s.keys("f")
		s.wait("> ▶ second", "begun", "[following]")
		run.end(0)
	}},
	{"/ n N", func(t *testing.T, w *world) {
		s := w.look()
		for _, c := range []struct{ keys, top string }{{"/777\r", "777"}, {"/77\r", "778"}, {"n", "779"}, {"N", "778"}} {
			s.keys(c.keys)
			s.top(c.top)
		}
		s.keys("/nowhere\r")
		s.wait(`no "nowhere"`)
	}},
	{"e E", func(t *testing.T, _ *world) {
		w := bareWorld(t)
		w.write("hank/hank.json", `{"hank": [{"id": "first", "name": "First", "model": "exec/m", "continuationMode": "fresh", "exec": ["sh", "AGENT"], "promptText": "x"}]}`)
		w.write("agent.sh", `echo '{"type":"session","id":"one"}'
for n in 1 2; do
  seq 100 | sed 's/.*/{"type":"message","text":"&"}/'
  echo '{"type":"tool","id":"'$n'","name":"Bash","input":{"command":"make '$n'"}}'
  echo '{"type":"toolResult","id":"'$n'","isError":true,"text":"make: error '$n'"}'
done
seq 100 | sed 's/.*/{"type":"message","text":"&"}/'
echo '{"type":"result","ok":true}'
`)
		text, err := os.ReadFile(filepath.Join(w.dir, "hank", "hank.json"))
		if err != nil {
			t.Fatal(err)
		}
		w.write("hank/hank.json", strings.ReplaceAll(string(text), "AGENT", filepath.Join(w.dir, "agent.sh")))
		w.run(0, "run", "hank", "-e", "ex", "--allow-bypass")
		s := w.watch(120, 30, "ex")
		s.wait("> ✓ first")
		s.keys("\tg")
		s.top("1")
		for _, c := range []struct{ key, top string }{{"e", "⎿ error: make: error 1"}, {"e", "⎿ error: make: error 2"}, {"E", "⎿ error: make: error 1"}} {
			s.keys(c.key)
			s.top(c.top)
		}
	}},
	{"[ ]", func(t *testing.T, _ *world) {
		s := recordedWorld(t).watch(120, 30, "ex")
		s.wait("docs  completed, attempt 1 in its run")
		s.keys("[")
		s.wait("docs  completed, attempt 2 in run")
		s.keys("]")
		s.wait("docs  completed, attempt 1 in its run")
	}},
	{"v", func(t *testing.T, w *world) {
		w.write("pager", "#!/bin/sh\ncat >paged\necho the pager has it\nread key </dev/tty\n")
		if err := os.Chmod(filepath.Join(w.dir, "pager"), 0o700); err != nil {
			t.Fatal(err)
		}
		w.env = append(slices.Clone(w.env), "PAGER="+filepath.Join(w.dir, "pager"))
		s := w.look()
		s.keys("v")
		s.wait("the pager has it")
		text, err := os.ReadFile(filepath.Join(w.dir, "paged"))
		if lines := strings.Split(string(text), "\n"); err != nil || !slices.Contains(lines, "1") || !slices.Contains(lines, "1000") || !strings.Contains(string(text), "the last word") {
			t.Errorf("%v; the pager has got\n%s", err, text)
		}
		s.keys("\r")
		s.wait("> ✓ first", "the last word", "as of event ")
	}},
	{"p", func(t *testing.T, w *world) {
		s := w.look()
		s.keys("p")
		s.wait("-- end of the stream; p comes back to the screen --")
		s.keys("p")
		s.wait("> ✓ first", "as of event ")
	}},
	{"d c o m", func(t *testing.T, w *world) {
		s := w.look()
		for _, c := range []struct {
			key   string
			shows []string
		}{
			{"d", []string{"hank diff ", "diff --git a/one b/one", "+one"}}, {"c", []string{"first:completed", "space: mark"}},
			{"o", []string{"hank events --limit 500", "codon.completed"}}, {"m", []string{"hank cost", "first"}},
		} {
			s.keys(c.key)
			s.wait(c.shows...)
			s.keys("\x1b")
			s.wait("> ✓ first", "the last word")
		}
	}},
	{"y", func(t *testing.T, w *world) {
		s := w.look()
		s.keys("y")
		s.wait("what is shown was sent to the clipboard")
		if text := s.copied(); !strings.HasSuffix(text, "\n1000\nowned\nthe last word") || strings.Contains(text, "│") {
			t.Errorf("there was copied %q", text)
		}
	}},
	{"a A", func(t *testing.T, _ *world) {
		w := newWorld(t)
		s := w.look()
		s.keys("a")
		s.wait("approve gate ok?", "+one", "y: yes")
		s.keys("n")
		s.wait("nothing was done")
		s.keys("A")
		s.wait("reject gate ok?", "+one", "y: yes")
		s.keys("y")
		s.wait("reply (enter: send, esc: back): ")
		s.keys("not yet\r")
		s.wait("rejected at gate ok")
		if out := w.run(0, "events", "-e", "ex", "--json", "--limit", "100000"); !strings.Contains(out, `"not yet"`) {
			t.Errorf("the reply is not in\n%s", out)
		}
	}},
	{"s S X", func(t *testing.T, _ *world) {
		for _, c := range []struct {
			key, asks string
			code      int
			first     bool // the codon ends by itself first
			third     bool // the run goes on to the third codon
		}{
			{"s", "skip codon second? What it has done stays.", 0, false, true},
			{"S", "stop the run after the codon in progress?", 8, true, false},
			{"X", "stop the run now? The codon in progress is stopped, and its work is kept.", 8, false, false},
		} {
			t.Run(c.key, func(t *testing.T) {
				t.Parallel()
				run, s := inProgress(t)
				s.keys(c.key)
				s.wait(c.asks, "running", "y: yes")
				s.keys("n")
				s.wait("nothing was done", "▶ second")
				s.keys("xjk\r") // none of them is a yes
				s.keys(c.key)
				s.wait(c.asks, "y: yes")
				s.keys("xjk\r")
				s.keys("y")
				if c.first {
					for end := time.Now().Add(time.Minute); !strings.Contains(run.w.run(0, "status", "-e", "ex"), "the run will stop after the current codon"); time.Sleep(20 * time.Millisecond) {
						if time.Now().After(end) {
							t.Fatal("the run was not asked to stop")
						}
					}
					run.w.write("go", "")
				}
				if c.third {
					s.wait("» second")
				}
				run.end(c.code)
				_, two := os.Stat(filepath.Join(run.w.root, "agentRoot", "two"))
				_, three := os.Stat(filepath.Join(run.w.root, "agentRoot", "three"))
				if (two == nil) != c.first || (three == nil) != c.third {
					t.Errorf("%s: the second codon: %v, the third: %v", c.key, two, three)
				}
			})
		}
	}},
	{"r", func(t *testing.T, _ *world) {
		w := newWorld(t)
		w.write("ex/agentRoot/new", "")
		s := w.look()
		s.keys("r")
		s.wait("roll the workspace back to first", "- new", "y: yes")
		s.keys("n")
		s.wait("nothing was done")
		s.keys("r")
		s.wait("- new", "y: yes")
		s.keys("y")
		s.wait("workspace restored to first:completed")
		if _, err := os.Stat(filepath.Join(w.root, "agentRoot", "new")); !os.IsNotExist(err) {
			t.Errorf("a file that was not there: %v", err)
		}
	}},
	{"space", func(t *testing.T, w *world) {
		s := w.look()
		s.keys("c")
		s.wait("first:completed")
		s.keys(" ")
		s.wait("<- marked")
	}},
	{"enter d", func(t *testing.T, w *world) {
		for _, key := range []string{"\r", "d"} {
			s := w.look()
			s.keys("c")
			s.wait("> * ", "first:completed")
			s.keys("j" + key)
			s.wait("hank diff sha:", "+one")
			s.keys("\x1b")
			s.wait("space: mark")
		}
	}},
	{"w", func(t *testing.T, _ *world) {
		w := newWorld(t)
		w.write("ex/agentRoot/one", "changed\n")
		s := w.look()
		s.keys("c")
		s.wait("first:completed")
		s.keys("w")
		s.wait("hank diff sha:", "-one", "+changed")
	}},
	{"r", func(t *testing.T, w *world) {
		s := w.look()
		s.keys("c")
		s.wait("first:completed")
		s.keys("r")
		s.wait("roll the workspace back to ", "y: yes")
		s.keys("n")
		s.wait("nothing was done", "checkpoints, newest first")
	}},
	{"y", func(t *testing.T, w *world) {
		s := w.look()
		s.keys("c")
		s.wait("first:completed")
		s.keys("y")
		s.wait("the name of the checkpoint was sent to the clipboard")
		if text := s.copied(); !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(text) {
			t.Errorf("there was copied %q", text)
		}
	}},
	{"q", func(t *testing.T, _ *world) {
		run, s := inProgress(t)
		s.leave()
		run.w.write("go", "")
		run.end(0)
	}},
}

// TestEveryKeyOfTheHelp does in a terminal what it says, and no key of it is without a test.
func TestEveryKeyOfTheHelp(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	w := newWorld(t)
	s := w.watch(120, 60, "ex")
	s.wait("> ✓ first")
	s.keys("?")
	help := s.wait("j k up down", "the run continues")
	s.keys("?")
	s.wait("> ✓ first")
	s.leave()
	var shown, tested []string
	for line := range strings.SplitSeq(help, "\n") {
		if keys, what, found := strings.Cut(line, "  "); found && keys != "" && strings.TrimSpace(what) != "" && !strings.Contains(line, "as of event") && !strings.Contains(line, "esc: back") && !strings.Contains(line, "finished") {
			shown = append(shown, keys)
		}
	}
	for _, k := range helpKeys {
		tested = append(tested, k.keys)
	}
	if !slices.Equal(shown, tested) {
		t.Errorf("the help shows the keys\n%q, and tested are\n%q", shown, tested)
	}
	for i, k := range helpKeys {
		t.Run(k.keys, func(t *testing.T) {
			t.Parallel()
			own := *w
			own.t = t
			helpKeys[i].test(t, &own)
		})
	}
}

// look is hank watch on the execution of newWorld, with both panes.
func (w *world) look() *screen {
	w.t.Helper()
	s := w.watch(120, 30, "ex")
	s.wait("> ✓ first", "the last word", "as of event ")
	return s
}

// top waits until the transcript begins with a row.
func (s *screen) top(want string) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text := s.text()
		rows := strings.Split(text, "\n")
		head := slices.IndexFunc(rows, func(row string) bool { return strings.Contains(row, " │ ") }) // the one of the codon
		if head >= 0 && head+1 < len(rows) {
			if _, row, _ := strings.Cut(rows[head+1], " │ "); strings.TrimSpace(row) == want {
				return
			}
		}
		if time.Now().After(end) {
			s.t.Fatalf("the transcript does not begin with %q:\n%s", want, text)
		}
	}
}

// copied waits for what is sent to the clipboard.
func (s *screen) copied() string {
	s.t.Helper()
	sent := regexp.MustCompile("\x1b\\]52;c;([^\x07\x1b]*)(?:\x07|\x1b\\\\)")
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if m := sent.FindStringSubmatch(s.printed()); m != nil {
			text, err := base64.StdEncoding.DecodeString(m[1])
			if err != nil {
				s.t.Fatal(err)
			}
			return string(text)
		}
		if time.Now().After(end) {
			s.t.Fatal("nothing was sent to the clipboard")
		}
	}
}

// going is a run that is in progress.
type going struct {
	t   *testing.T
	w   *world
	cmd *exec.Cmd
	out *strings.Builder
}

// inProgress is a run whose second codon of three waits for the file go, and a look at it.
func inProgress(t *testing.T) (*going, *screen) {
	t.Helper()
	w := bareWorld(t)
	w.write("hank/hank.json", `{"hank": [
	  {"id": "first", "name": "First", "model": "shell", "continuationMode": "fresh", "promptText": "echo the first word"},
	  {"id": "second", "name": "Second", "model": "shell", "continuationMode": "fresh", "promptText": "echo begun; until [ -e ../../go ]; do sleep 0.05; done; echo two >two"},
	  {"id": "third", "name": "Third", "model": "shell", "continuationMode": "fresh", "promptText": "echo three >three"}]}`)
	g := &going{t, w, w.command("run", "hank", "-e", "ex"), &strings.Builder{}}
	g.cmd.Stdout, g.cmd.Stderr = g.out, g.out
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.cmd.Process.Kill() })
	log := filepath.Join(w.root, ".hankweave", "runs", "*", "second.*.jsonl")
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if found, _ := filepath.Glob(log); len(found) > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the second codon does not begin")
		}
	}
	s := w.watch(120, 30, "ex")
	s.wait("> ▶ second", "begun", "as of event ")
	return g, s
}

// end waits for the end of the run, and wants an exit code. What it waits for comes.
func (g *going) end(code int) {
	g.t.Helper()
	if code == 0 {
		g.w.write("go", "")
	}
	watchdog := time.AfterFunc(time.Minute, func() { _ = g.cmd.Process.Kill() })
	defer watchdog.Stop()
	_ = g.cmd.Wait()
	if got := g.cmd.ProcessState.ExitCode(); got != code {
		g.t.Errorf("the run ended with %d, want %d\n%s", got, code, g.out)
	}
}
