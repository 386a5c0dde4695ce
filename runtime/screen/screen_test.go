//go:build unix

package screen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hank/internal/race"
	"hank/internal/term"
	"hank/plan"
	"hank/recovery/layout"
	"hank/runtime"
	"hank/runtime/harness/transcript"
	"hank/runtime/history"
	"hank/runtime/internal/testkit"
	"hank/runtime/liveview"
	"hank/runtime/logview"
	"hank/runtime/report"
	"hank/runtime/request"
	"hank/runtime/verdict"
	"hank/state"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// hostile is what an agent may print to take the terminal over: it would set the title and the
// clipboard, move the cursor, clear the screen, turn the text round, and never end its line.
const hostile = "\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b[2J\x1b[1;1Howned\x1b[31m \u202egnp.exe\u202c \x9b2J \r overwritten"

const watched = `{"hank": [
  {"id": "plan", "name": "Plan", "model": "shell", "continuationMode": "fresh", "promptText": "echo plan >plan; echo '::hank usage {\"costUSD\":0.25}'"},
  {"type": "loop", "id": "rounds", "name": "Rounds", "terminateOn": {"type": "iterationLimit", "limit": 4}, "codons": [
    {"id": "write", "name": "Write", "model": "shell", "continuationMode": "fresh", "promptText": "echo x >>text; echo '::hank usage {\"costUSD\":0.125}'"}]},
  {"id": "loud", "name": "Loud", "model": "shell", "continuationMode": "fresh", "promptText": "cat ../said; head -c 20000 /dev/zero | tr '\\0' x; echo; echo '::hank usage {\"costUSD\":0.000000001}'"},
  {"id": "end", "name": "End", "model": "shell", "continuationMode": "fresh", "promptText": "echo end >end", "gate": {"id": "ok", "when": "before", "kind": "approve", "summary": "Is this right?"}}]}`

// ran is an execution that waits at its gate, after a loop and a hostile codon. Tests read it.
func ran(t *testing.T) string {
	t.Helper()
	root, err := made()
	testkit.Must(t, err)
	return root
}

var made = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(os.Getenv("HANK_STATE_DIR"), "") // which is removed at the end
	if err != nil {
		return "", err
	}
	root := filepath.Join(dir, "execution")
	for name, text := range map[string]string{"hank/hank.json": watched, "execution/said": hostile + "\nthe last line\n"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return "", err
		}
	}
	_, err = runtime.Run(context.Background(), request.Request{Mode: request.ModeRun, Execution: root, Hank: filepath.Join(dir, "hank"), Version: "test",
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}, request.Answers{}, request.UI{})
	return root, err
})

// on is a screen with an execution, and the transcript of the selected codon.
func on(t *testing.T, root, codon string) *Screen {
	t.Helper()
	f, err := liveview.Open(context.Background(), root, report.Settings{}, "")
	testkit.Must(t, err)
	s := New()
	s.Viewed(f.View())
	for range 20 {
		if n := s.Selected(); n != nil && string(n.Codon) == codon {
			break
		}
		s.Key("k")
	}
	n := s.Selected()
	if n == nil || string(n.Codon) != codon {
		t.Fatalf("%s cannot be selected", codon)
	}
	if path := f.View().Transcript(n.Record); path != "" {
		l, err := OpenLog(path, layout.Layout{Root: root}.Index(), transcript.Start{Harness: n.Record.Harness}, logview.Style{Columns: 80})
		testkit.Must(t, err)
		t.Cleanup(l.Close)
		if _, err := l.Refresh(); err != nil {
			t.Fatal(err)
		}
		s.SetLog(l)
	}
	return s
}

// again is an execution whose codon has failed in one run and was run again in the next. Each
// attempt has printed and written something else.
func again(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "execution")
	testkit.Write(t, filepath.Join(dir, "hank.json"), `{"hank": [
	  {"id": "before", "name": "Before", "model": "shell", "continuationMode": "fresh", "promptText": "echo before >before"},
	  {"id": "flaky", "name": "Flaky", "model": "shell", "continuationMode": "fresh", "onFailure": "abort",
	   "promptText": "echo x >>../tries; n=$(wc -l <../tries); echo try $n; echo $n >try; [ $n -ge 3 ]"}]}`)
	for i, mode := range []request.Mode{request.ModeRun, request.ModeRetry, request.ModeRetry} {
		res, err := runtime.Run(context.Background(), request.Request{Mode: mode, Execution: root, Hank: dir, Version: "test",
			Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}, request.Answers{}, request.UI{})
		if err != nil || i < 2 != (res.Code != 0) {
			t.Fatalf("run %d ended with %+v, %v", i, res, err)
		}
	}
	return root
}

// TestEachAttemptCanBeLookedAt: the keys go through all attempts at a codon, of all runs; the
// heading, the transcript and the difference are those of the attempt that is shown, which has
// the number that hank log --attempt takes.
func TestEachAttemptCanBeLookedAt(t *testing.T) {
	t.Parallel()
	s := on(t, again(t), "flaky")
	s.Resize(140, 30)
	look := func(heading, printed, notice string) {
		t.Helper()
		n := s.Selected()
		l, err := OpenLog(s.view.Transcript(n.Record), "", transcript.Start{Harness: n.Record.Harness}, logview.Style{Columns: 80})
		testkit.Must(t, err)
		t.Cleanup(l.Close)
		_, err = l.Refresh()
		testkit.Must(t, err)
		s.SetLog(l)
		if text := strings.Join(check(t, s), "\n"); !strings.Contains(text, heading) || !strings.Contains(text, printed) || s.notice != notice {
			t.Errorf("want %q, %q and %q in\n%s", heading, printed, notice, text)
		}
	}
	heading := func(verdict string, run int) string {
		if run == 0 {
			return "flaky  " + verdict + ", attempt 1 in its run, 3 in all"
		}
		return fmt.Sprintf("flaky  %s, attempt 1 in run %s (failed), 3 in all", verdict, s.view.State.Runs[run].RunID)
	}
	look(heading("completed", 0), "try 3", "")
	s.Key("]")
	look(heading("completed", 0), "try 3", "there is no later attempt")
	s.Key("[")
	look(heading("failed", 1), "try 2", "")
	second := s.Selected().Record
	s.Key("[")
	look(heading("failed", 2), "try 1", "")
	s.Key("[")
	look(heading("failed", 2), "try 1", "there is no earlier attempt")
	s.Key("]")
	look(heading("failed", 1), "try 2", "")
	if show := s.Key("d")[0].(Show); !strings.HasPrefix(strings.Join(show.Args, " "), fmt.Sprintf("diff %s %s --patch ", second.BaseCheckpoint, second.Checkpoint())) {
		t.Errorf("the difference of the second attempt: %q", show.Args)
	}
	s.Key("esc")
	if pager := s.Key("v")[0].(Pager); !strings.Contains(strings.Join(pager.Args, " "), " --run "+string(s.Selected().Run.RunID)+" ") || s.Selected().Record != second {
		t.Errorf("the pager: %q", pager.Args)
	}
	s.Key("k")
	s.Key("j")
	look(heading("completed", 0), "try 3", "")
}

// TestAttemptsOfOneRunAreCounted: where all attempts are of one run, the heading says how many
// there are, and costs that are nothing are amounts as those that are something.
func TestAttemptsOfOneRunAreCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "execution")
	testkit.Write(t, filepath.Join(dir, "hank.json"), `{"hank": [
	  {"id": "paid", "name": "Paid", "model": "shell", "continuationMode": "fresh", "promptText": "echo '::hank usage {\"costUSD\":0.5}'"},
	  {"id": "flaky", "name": "Flaky", "model": "shell", "continuationMode": "fresh", "onFailure": "retry", "retryConfig": {"maxAttempts": 2, "delayMs": 1},
	   "promptText": "echo x >>../tries; [ $(wc -l <../tries) -ge 3 ]"},
	  {"id": "end", "name": "End", "model": "shell", "continuationMode": "fresh", "promptText": "true", "gate": {"id": "ok", "when": "before", "kind": "approve", "summary": "Well?"}}]}`)
	_, err := runtime.Run(context.Background(), request.Request{Mode: request.ModeRun, Execution: root, Hank: dir, Version: "test",
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}, request.Answers{}, request.UI{})
	testkit.Must(t, err)
	s := on(t, root, "flaky")
	s.Resize(140, 30)
	rows := check(t, s)
	text := strings.Join(rows, "\n")
	for _, want := range []string{`flaky  completed, attempt 3 of 3`, `paid .* \$0\.50 `, `flaky .* \$0\.00 `, `end +next +│`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	s.Key("[")
	if text := strings.Join(check(t, s), "\n"); !strings.Contains(text, "flaky  failed, attempt 2 of 3") {
		t.Error(text)
	}
}

// TestAnyTwoCheckpointsAreCompared: the list is the graph, one is marked and another one selected,
// and the difference between the two is shown; esc leads back to where the list was.
func TestAnyTwoCheckpointsAreCompared(t *testing.T) {
	t.Parallel()
	root := again(t)
	s := on(t, root, "flaky")
	s.Resize(100, 30)
	asked, ok := s.Key("c")[0].(Graph)
	if text := strings.Join(check(t, s), "\n"); !ok || !strings.Contains(text, "reading") {
		t.Fatalf("%v; there is\n%s", asked, text)
	}
	list, err := report.ReadCheckpoints(context.Background(), s.view.Recovery(), history.ListOptions{Limit: asked.Limit})
	testkit.Must(t, err)
	s.Graphed(list, nil)
	text := check(t, s)
	for _, line := range history.Graph(list.Checkpoints) {
		want := line.Draw
		if line.At != nil {
			want += "  " + report.Short(line.At.SHA)
		}
		if !slices.ContainsFunc(text, func(row string) bool { return strings.HasPrefix(strings.TrimPrefix(row[2:], "> "), want) }) {
			t.Errorf("the row %q is missing from\n%s", want, strings.Join(text, "\n"))
		}
	}
	at := func(mark, kind string, codon string) state.SHA {
		t.Helper()
		for s.Key("g"); ; s.Key("j") {
			k := s.graph.selected()
			if string(k.Kind) == kind && string(k.CodonID) == codon {
				if mark != "" {
					s.Key(mark)
				}
				return k.SHA
			}
			if k.SHA == list.Checkpoints[len(list.Checkpoints)-1].SHA {
				t.Fatalf("there is no checkpoint %s of %q", kind, codon)
			}
		}
	}
	args := func(cmds []Command) string {
		t.Helper()
		if len(cmds) != 1 || s.page != Diff {
			t.Fatalf("%v, %q", cmds, s.notice)
		}
		return strings.Join(cmds[0].(Show).Args, " ")
	}
	from := at("space", "completed", "before")
	if cmds := s.Key("enter"); len(cmds) > 0 || s.notice == "" {
		t.Errorf("the marked one is compared with itself: %v", cmds)
	}
	to := at("", "completed", "flaky")
	if text := strings.Join(check(t, s), "\n"); !strings.Contains(text, "before:completed  <- marked") {
		t.Errorf("no mark in\n%s", text)
	}
	if got, want := args(s.Key("d")), fmt.Sprintf("diff sha:%s sha:%s --patch -e %s", from, to, root); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Shown(Show{Page: Diff}, "+3", false)
	s.Key("?")
	s.Key("?")
	if text := strings.Join(check(t, s), "\n"); !strings.Contains(text, "+3") {
		t.Errorf("after the keys the difference is gone:\n%s", text)
	}
	if s.Key("esc"); s.page != Checkpoints || s.graph.chosen != to || s.graph.marked != from {
		t.Errorf("esc leads to page %d, at %s with the mark %s", s.page, s.graph.chosen, s.graph.marked)
	}
	if got, want := args(s.Key("w")), fmt.Sprintf("diff sha:%s --patch -e %s", to, root); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Key("esc")
	at("space", "completed", "before") // not any more
	if got, want := args(s.Key("enter")), fmt.Sprintf("diff sha:%s sha:%s --patch -e %s", s.graph.selected().Parents[0], from, root); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Key("esc")
	if cmds := s.Key("r"); len(cmds) != 1 || s.page != Answer || !strings.HasPrefix(strings.Join(s.question.Do, " "), "rollback sha:"+string(from)+" --yes") {
		t.Errorf("a rollback: %v, %q", cmds, s.notice)
	}
	if s.Key("n"); s.page != Checkpoints {
		t.Errorf("a no leads to page %d", s.page)
	}
	if asked := s.Key("G"); s.graph.more || len(asked) > 0 {
		t.Errorf("there are older ones: %v", asked)
	}
	if s.Key("esc"); s.page != Run {
		t.Errorf("esc leads to page %d", s.page)
	}
}

// TestOlderCheckpointsAreReadAtTheEndOfTheList and not before.
func TestOlderCheckpointsAreReadAtTheEndOfTheList(t *testing.T) {
	t.Parallel()
	s := on(t, ran(t), "loud")
	all := make([]history.Listed, 3*listed)
	for i := range all {
		all[i] = history.Listed{SHA: state.SHA(fmt.Sprintf("%040d", len(all)-i)), Kind: state.KindManual}
		if i < len(all)-1 {
			all[i].Parents = []state.SHA{state.SHA(fmt.Sprintf("%040d", len(all)-i-1))}
		}
	}
	give := func(cmds []Command) {
		t.Helper()
		if len(cmds) != 1 {
			t.Fatalf("%v", cmds)
		}
		s.Graphed(&report.Checkpoints{Checkpoints: all[:min(len(all), cmds[0].(Graph).Limit)]}, nil)
	}
	give(s.Key("c"))
	if cmds := s.Key("j"); len(cmds) > 0 {
		t.Errorf("at the beginning: %v", cmds)
	}
	for range 3 {
		give(s.Key("G"))
	}
	if n := s.graph.find(s.graph.chosen); n != 3*listed-1 || s.graph.more {
		t.Errorf("the selection is at row %d; more: %t", n, s.graph.more)
	}
	check(t, s)
}

var painted = regexp.MustCompile("\x1b\\[[0-9]*m")

// check finds what no screen may have: another number of rows, a row that is too wide, or
// something that steers the terminal.
func check(t *testing.T, s *Screen) []string {
	t.Helper()
	rows := s.Draw()
	if len(rows) != s.Height {
		t.Fatalf("%d×%d: %d rows", s.Width, s.Height, len(rows))
	}
	for i, row := range rows {
		if s.Colour {
			row = painted.ReplaceAllString(row, "")
		}
		if n := term.Columns(row); n > s.Width {
			t.Fatalf("%d×%d: row %d has %d columns: %q", s.Width, s.Height, i, n, row)
		}
		if row != term.Printable(row) || strings.ContainsAny(row, "\t\n\r\x1b") {
			t.Fatalf("%d×%d: row %d steers the terminal: %q", s.Width, s.Height, i, row)
		}
		rows[i] = row
	}
	return rows
}

// TestTheScreenAtItsSizes: what is where, at the sizes at which people look.
func TestTheScreenAtItsSizes(t *testing.T) {
	t.Parallel()
	root := ran(t)
	for _, size := range []struct{ w, h int }{{40, 12}, {80, 24}, {100, 30}, {200, 60}} {
		for _, colour := range []bool{false, true} {
			s := on(t, root, "loud")
			s.Colour = colour
			s.Resize(size.w, size.h)
			text := strings.Join(check(t, s), "\n")
			for _, want := range []string{"waiting", "! gate: ", "loop round", "completed", "> ", "loud", "write#3"} {
				if !strings.Contains(text, want) {
					t.Errorf("%v: %q is not in\n%s", size, want, text)
				}
			}
			if strings.Contains(text, "write#0") {
				t.Errorf("%v: the loop is not folded:\n%s", size, text)
			}
			if beside := strings.Contains(text, "the last line"); beside != (size.w >= wide) {
				t.Errorf("%v: the transcript is beside the plan: %t\n%s", size, beside, text)
			}
			if s.Key("tab"); size.w < wide {
				if text := strings.Join(check(t, s), "\n"); !strings.Contains(text, "the last line") {
					t.Errorf("%v: the transcript:\n%s", size, text)
				}
			}
		}
	}
	small := on(t, root, "loud")
	for _, size := range []struct{ w, h int }{{29, 7}, {9, 2}, {1, 1}, {1, 60}, {200, 1}} {
		small.Resize(size.w, size.h)
		check(t, small)
	}
}

// TestNothingOfAnAgentLeavesItsPane: a hostile transcript changes no row but its own, and those
// have no character that steers.
func TestNothingOfAnAgentLeavesItsPane(t *testing.T) {
	t.Parallel()
	s := on(t, ran(t), "loud")
	s.Resize(120, 30)
	with := check(t, s)
	s.SetLog(nil)
	without := check(t, s)
	plan, _, _, _ := s.panes()
	for i := range with {
		cut := func(row string) string { return string([]rune(row)[:min(plan, len([]rune(row)))]) }
		if cut(with[i]) != cut(without[i]) {
			t.Errorf("row %d:\n%q\n%q", i, with[i], without[i])
		}
	}
}

// TestNoSizeAndNoKeyIsTooMuch: a thousand sizes and keys at random end in no panic and in no row
// that is too wide.
func TestNoSizeAndNoKeyIsTooMuch(t *testing.T) {
	t.Parallel()
	race.Without(t)
	s := on(t, ran(t), "loud")
	view := s.view
	keys := []string{"j", "k", "tab", "enter", "esc", "g", "G", "f", "d", "c", "o", "m", "?", "/", "x", "n", "N", "e", "E", "y", "a", "A", "s", "S", "X", "r", "p", "v", "w", "[", "]", "space", "pgdown", "pgup", "ctrl+d", "ctrl+u", "backspace", " "}
	r := rand.New(rand.NewPCG(3, 4))
	text := strings.Repeat("+ a line\n", 300)
	list, err := report.ReadCheckpoints(context.Background(), view.Recovery(), history.ListOptions{})
	testkit.Must(t, err)
	for range 1000 {
		s.Colour, s.Plain = r.IntN(2) == 0, r.IntN(2) == 0
		s.Resize(r.IntN(220)-5, r.IntN(70)-5)
		for _, c := range s.Key(keys[r.IntN(len(keys))]) {
			switch c := c.(type) {
			case Show:
				s.Shown(c, text, r.IntN(2) == 0)
			case Graph:
				s.Graphed(list, nil)
			case Leave: // to the list, which has nothing
				s.Listed(&liveview.Executions{})
				check(t, s)
				s.Viewed(view)
			}
		}
		check(t, s)
	}
}

// TestScrollingUpEndsTheFollowing, says so, and what comes does not move the window; G follows
// again.
func TestScrollingUpEndsTheFollowing(t *testing.T) {
	t.Parallel()
	s := on(t, ran(t), "plan")
	path := filepath.Join(t.TempDir(), "log")
	write := func(from, to int) {
		out, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		testkit.Must(t, err)
		for i := from; i < to; i++ {
			fmt.Fprintf(out, "%s\n", transcriptLine(fmt.Sprintf("line %d", i)))
		}
		testkit.Must(t, out.Close())
	}
	write(0, 1000)
	l, err := OpenLog(path, "", transcript.Start{Harness: "shell"}, logview.Style{})
	testkit.Must(t, err)
	t.Cleanup(l.Close)
	refresh := func() {
		if _, err := l.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	refresh()
	s.Resize(80, 24)
	s.SetLog(l)
	s.Key("tab")
	last := func() string { w := l.window(); return w[len(w)-1] }
	if last() != "line 999" {
		t.Fatalf("the last row is %q", last())
	}
	write(1000, 1010)
	if refresh(); last() != "line 1009" {
		t.Errorf("following, the last row is %q", last())
	}
	if text := strings.Join(check(t, s), "\n"); s.view.Running() != nil || strings.Contains(text, "[following]") {
		t.Errorf("nothing runs, and the screen has %s", text)
	}
	s.Key("k")
	if last() != "line 1008" || !strings.Contains(strings.Join(check(t, s), "\n"), "not following any more") {
		t.Errorf("scrolled up, the last row is %q; %q", last(), s.notice)
	}
	top := l.window()[0]
	write(1010, 2000)
	if refresh(); l.window()[0] != top || l.follows() {
		t.Errorf("what has come has moved the window to %q", l.window()[0])
	}
	s.Key("j")
	if l.window()[0] == top {
		t.Error("scrolling down does not move the window")
	}
	s.Key("G")
	if last() != "line 1999" || !l.follows() {
		t.Errorf("after G the last row is %q", last())
	}
	for i, step := range []struct{ key, first string }{{"/", ""}, {"1", ""}, {"7", ""}, {"enter", "line 17"}, {"N", "line 1917"}, {"g", "line 0"}, {"n", "line 17"}, {"n", "line 117"}, {"n", "line 170"}} {
		s.Key(step.key)
		if got := l.window()[0]; step.first != "" && got != step.first {
			t.Errorf("step %d (%s): the first row is %q, want %q", i, step.key, got, step.first)
		}
	}
}

// transcriptLine is a line of a transcript of a script.
func transcriptLine(text string) string {
	return fmt.Sprintf(`{"at":"2026-01-01T00:00:00Z","stream":"stdout","line":%q}`, text)
}

// TestTheEndOfAPageIsItsLastRow, with a title of one row and of several.
func TestTheEndOfAPageIsItsLastRow(t *testing.T) {
	t.Parallel()
	s := on(t, ran(t), "loud")
	for _, columns := range []int{200, 60} {
		s.Resize(columns, 30)
		s.Key("d")
		s.Shown(Show{Page: Diff}, strings.Repeat("line\n", 100)+"the last", false)
		s.Key("G")
		if rows := check(t, s); !slices.Contains(rows, "the last") {
			t.Errorf("in %d columns:\n%s", columns, strings.Join(rows, "\n"))
		}
		s.Key("esc")
	}
}

// TestLongLinesOfAPageAreRead to their end, in as many rows as they need; a row has the colour of its
// line, the page has its place when the terminal has another width, and what is copied has whole
// lines.
func TestLongLinesOfAPageAreRead(t *testing.T) {
	t.Parallel()
	s := on(t, ran(t), "loud")
	s.Resize(60, 12)
	s.Key("d")
	long := "+" + strings.Repeat("long ", 40) + "日本語 the end"
	s.Shown(Show{Page: Diff}, " first\n"+long+"\n last", false)
	text := strings.Join(check(t, s), "\n")
	if got := strings.ReplaceAll(text, "\n", ""); !strings.Contains(got, strings.TrimSpace(long)) {
		t.Errorf("a long line is not there:\n%s", text)
	}
	s.Colour = true
	if painted := strings.Join(s.Draw(), "\n"); strings.Count(painted, "\x1b["+string(green)+"m") != 4 {
		t.Errorf("it is not green in all its rows: %q", painted)
	}
	s.Colour = false
	s.Key("j")
	s.Key("j")
	if cmds := s.Key("y"); len(cmds) != 1 || cmds[0].(Copy).Text != long+"\n last" {
		t.Errorf("what is copied: %q", cmds)
	}
	for _, width := range []int{200, 20, 60} {
		s.Resize(width, 12)
		check(t, s)
		if at := s.folded[s.top].line; at != 1 {
			t.Errorf("in %d columns line %d is at the top", width, at)
		}
	}
	s.Key("G")
	if rows := check(t, s); !slices.Contains(rows, " last") {
		t.Errorf("at the end:\n%s", strings.Join(rows, "\n"))
	}
	s.Key("esc")
	s.Key("o")
	s.Shown(Show{Page: Events}, "12  codon.failed  lint: the script ended with exit status 1, and was tried again", false)
	if text := strings.Join(check(t, s), "\n"); !strings.Contains(text, "12  codon.failed  lint: the script ended with exit status 1,\n                  and was tried again\n") {
		t.Errorf("a line of a table:\n%s", text)
	}
}

// TestAQuestionShowsFirst: an answer at a gate, a skip and a rollback show what they are about,
// and nothing is done without a yes.
func TestAQuestionShowsFirst(t *testing.T) {
	t.Parallel()
	root := ran(t)
	for _, c := range []struct {
		key, shows, does string
		reply            bool
	}{
		{"a", "diff initial ", "approve ok --checkpoint ", true}, {"A", "diff initial ", "reject ok --checkpoint ", true},
		{"r", "rollback sha:", "rollback sha:", false}, {"S", "status", "stop --after-codon", false}, {"X", "status", "stop", false},
	} {
		s := on(t, root, "loud")
		s.Resize(100, 30)
		if strings.Contains("SX", c.key) { // they are about a run in progress
			if cmds := s.Key(c.key); len(cmds) > 0 || s.notice == "" {
				t.Errorf("%s without a run: %v, %q", c.key, cmds, s.notice)
			}
			live := *s.view
			live.Live = true
			s.view = &live
			if cmds := s.Key("s"); len(cmds) > 0 || s.notice != "no codon is running" {
				t.Errorf("a skip between two codons: %v, %q", cmds, s.notice)
			}
			if cmds := s.Key("r"); len(cmds) > 0 || s.notice == "" {
				t.Errorf("a rollback in a run: %v, %q", cmds, s.notice)
			}
		}
		shown := s.Key(c.key)
		if len(shown) != 1 {
			t.Fatalf("%s: %v", c.key, shown)
		}
		if show, ok := shown[0].(Show); !ok || show.Page != Answer || !strings.HasPrefix(strings.Join(show.Args, " "), c.shows) {
			t.Errorf("%s shows %v", c.key, shown[0])
		}
		s.Shown(shown[0].(Show), "what it is about", false)
		if text := strings.Join(check(t, s), "\n"); !strings.Contains(text, "what it is about") || !strings.Contains(text, "?") {
			t.Errorf("%s:\n%s", c.key, text)
		}
		for _, key := range []string{"x", "enter", "j", "s", "a"} {
			if cmds := s.Key(key); len(cmds) > 0 {
				t.Errorf("%s: %s does %v without a yes", c.key, key, cmds)
			}
		}
		done := s.Key("y")
		if c.reply {
			s.Key("h")
			s.Key("i")
			done = s.Key("enter")
		}
		if run := " --run " + string(s.view.State.Newest().RunID) + " "; len(done) == 1 && strings.Contains("SX", c.key) && !strings.Contains(strings.Join(done[0].(Do).Args, " "), run) {
			t.Errorf("%s is about any run: %v", c.key, done)
		}
		if len(done) != 1 {
			t.Fatalf("%s: %v", c.key, done)
		}
		args := strings.Join(done[0].(Do).Args, " ")
		if !strings.HasPrefix(args, c.does) || !strings.Contains(args, "-e "+root) || c.reply != strings.HasSuffix(args, "--reply=hi") {
			t.Errorf("%s does %q", c.key, args)
		}
		if !c.reply && c.key != "r" {
			continue
		}
		s = on(t, root, "loud")
		s.Key(c.key)
		if cmds := s.Key("n"); len(cmds) > 0 || s.page != Run {
			t.Errorf("%s: a no does %v", c.key, cmds)
		}
	}
}

// TestAGateIsAnsweredAfterItsDiff: what is typed before is about nothing that was seen, so it
// answers nothing and begins no reply. A diff that cannot be read says why, and an answer counts
// after that, too.
func TestAGateIsAnsweredAfterItsDiff(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", "A"} {
		for _, failed := range []bool{false, true} {
			s := on(t, ran(t), "loud")
			s.Resize(100, 30)
			shown := s.Key(key)[0].(Show)
			for _, typed := range []string{"y", "enter", "y"} {
				if cmds := s.Key(typed); len(cmds) > 0 || s.typing != "" || s.page != Answer {
					t.Fatalf("%s: before the diff %s does %v, and types a %q", key, typed, cmds, s.typing)
				}
			}
			text := strings.Join(check(t, s), "\n")
			if !strings.Contains(text, "the diff is being read") {
				t.Errorf("%s: it is not said why:\n%s", key, text)
			}
			other := shown
			other.Args = append([]string{"another"}, other.Args...)
			if s.Shown(other, "another diff", false); s.Key("y") != nil || s.typing != "" {
				t.Errorf("%s: another diff is enough", key)
			}
			s.Shown(shown, strings.Repeat("+ a\n", 100)+"hank: "+strings.Repeat("because, ", 20)+"unreadable", failed)
			text = strings.Join(check(t, s), "\n")
			if failed != strings.Contains(text, "unreadable") || !strings.Contains(text, "y: yes") || strings.Contains(text, "is being read") {
				t.Errorf("%s, and the diff fails: %t\n%s", key, failed, text)
			}
			s.Key("y")
			if cmds := s.Key("enter"); len(cmds) != 1 {
				t.Errorf("%s: after the diff a yes does %v", key, cmds)
			}
		}
	}
}

// TestWhatAPreviewRefusesIsNotOffered: it says why, where the preview ends, and there is no yes;
// and none before it was shown, nor for the preview of another rollback.
func TestWhatAPreviewRefusesIsNotOffered(t *testing.T) {
	t.Parallel()
	s := on(t, ran(t), "loud")
	s.Resize(100, 30)
	other := s.Key("r")[0].(Show)
	other.Args = append([]string{"another"}, other.Args...)
	if done := s.Key("y"); len(done) > 0 || !strings.HasPrefix(s.notice, "the preview is being read") {
		t.Errorf("before the preview a yes does %v, %q", done, s.notice)
	}
	if s.Shown(other, "another preview", false); s.text != nil {
		t.Errorf("the preview of another rollback: %q", s.text)
	}
	s.Shown(Show{Answer, s.question.Show}, strings.Repeat("+ a\n", 100)+"hank: "+strings.Repeat("that is why, ", 20)+"it would destroy what no checkpoint holds", true)
	text := strings.Join(check(t, s), "\n")
	if !strings.Contains(text, "a rollback to loud (checkpoint") || !strings.Contains(text, "would be refused") || !strings.Contains(text, "it would destroy") || strings.Contains(text, "y: yes") || strings.Contains(text, "roll the workspace back") {
		t.Errorf("the refusal:\n%s", text)
	}
	if done := s.Key("y"); len(done) > 0 || s.page != Answer || s.notice == "" {
		t.Errorf("a yes does %v", done)
	}
	if s.Key("esc"); s.page != Run {
		t.Errorf("esc leads to page %d", s.page)
	}
}

// TestALongTranscriptIsReadByWindows: in a transcript of a million lines a key takes no longer
// than a frame, and its rows are the right ones.
func TestALongTranscriptIsReadByWindows(t *testing.T) {
	t.Parallel()
	count := 1_000_000
	if testing.Short() {
		count = 100_000
	}
	path := filepath.Join(t.TempDir(), "log")
	var text strings.Builder
	for i := range count {
		text.WriteString(transcriptLine(fmt.Sprint(i)))
		text.WriteByte('\n')
	}
	testkit.Must(t, os.WriteFile(path, []byte(text.String()), 0o600))
	text.Reset()
	l, err := OpenLog(path, "", transcript.Start{Harness: "shell"}, logview.Style{Columns: 100})
	testkit.Must(t, err)
	t.Cleanup(l.Close)
	l.resize(100, 40)
	began := time.Now()
	for l.progress() < 100 {
		if _, err := l.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	indexed := time.Since(began)
	l.last()
	var worst time.Duration
	for i := range 1000 {
		began := time.Now()
		l.scroll(-1)
		window := l.window()
		worst = max(worst, time.Since(began))
		if want := fmt.Sprint(count - 1 - i - 1); window[len(window)-1] != want {
			t.Fatalf("after %d keys the last row is %q, want %q", i+1, window[len(window)-1], want)
		}
	}
	t.Logf("%d lines: indexed in %s, the slowest of 1000 keys took %s", count, indexed, worst)
}

// TestALongNameLeavesTheVerdict, and how far the run is, in the first row.
func TestALongNameLeavesTheVerdict(t *testing.T) {
	t.Parallel()
	s := on(t, ran(t), "loud")
	s.view.Status.Name = "Migrate the billing service, its fourteen clients and the reconciliation jobs to the new ledger"
	for _, width := range []int{60, 80, 120} {
		s.Resize(width, 24)
		if row := check(t, s)[0]; !strings.HasPrefix(row, "Migrate the") || !strings.HasSuffix(row, " finished") {
			t.Errorf("%d columns: %q", width, row)
		}
	}
}

// TestFiguresAreNeverCut: where a row of the plan has no room for all, the word is said in short,
// and then the name is cut.
func TestFiguresAreNeverCut(t *testing.T) {
	t.Parallel()
	s := New()
	n := &liveview.Node{Codon: "improve#2", Verdict: "completed", Attempts: 12, But: "failure ignored"}
	const figures = "    4.3s   $0.98"
	for room := 30; room < 100; room++ {
		row := s.planRow("    ✓ improve#2", figures, n, room)
		if term.Columns(row) > room || !strings.HasSuffix(row, figures) || !strings.Contains(row, "completed") {
			t.Errorf("%d columns: %q has %d", room, row, term.Columns(row))
		}
	}
}

// TestTheListHasItsFiguresAndKeys: however narrow, no row of the list ends in the middle of a figure or
// of a key, and one that is in progress and needs a person has another colour than the others.
func TestTheListHasItsFiguresAndKeys(t *testing.T) {
	t.Parallel()
	for _, width := range []int{30, 40, 50, 69, 70, 80, 200} {
		s := New()
		s.Resize(width, 12)
		one := func(name string, need *liveview.Need) liveview.Execution {
			return liveview.Execution{Status: &report.Status{Execution: "/" + name, Name: name, Verdict: verdict.Running, Live: true, Done: 10, Extent: plan.Extent{Codons: 11}, Bill: state.Bill{Cost: state.Dollars(2.84)}}, Need: need}
		}
		s.Listed(&liveview.Executions{Rows: []liveview.Execution{one("other", nil), one("A name that is much longer than a row", nil), one("limited", &liveview.Need{Reason: liveview.Limit, Text: "it waits"})}})
		rows := check(t, s)
		for _, row := range rows[1:4] {
			if !strings.Contains(row, " 10/11") || width >= 50 && !strings.Contains(row, "$2.84") || width < roomy && !strings.HasSuffix(row, "10/11") && !strings.HasSuffix(row, "$2.84") {
				t.Errorf("%d columns: %q", width, row)
			}
		}
		if keys := rows[11]; !strings.HasSuffix(keys, "?: keys   q: leave") {
			t.Errorf("%d columns: %q", width, keys)
		}
		s.Colour = true
		if rows := s.Draw(); rows[2][:4] == rows[3][:4] {
			t.Errorf("what needs a person looks like the others: %q", rows[1:4])
		}
	}
}

// TestTheNextCommandIsNotCut where there is a row for it.
func TestTheNextCommandIsNotCut(t *testing.T) {
	t.Parallel()
	s := on(t, ran(t), "loud")
	failed := *s.view
	failed.Status = &report.Status{Name: "Failed", Verdict: verdict.Failed, EndDetail: strings.Repeat("long ", 30), After: "hank retry -e /executions/one"}
	s.Viewed(&failed)
	s.Resize(80, 24)
	if rows := check(t, s); !strings.HasPrefix(rows[1], "! failed: long ") || rows[2] != "  next: hank retry -e /executions/one" {
		t.Errorf("%q", rows[1:3])
	}
	failed.Status.After = "hank run --adopt -e '/executions/" + strings.Repeat("long", 9) + " name'; before that: raise the budget of the codon in hank.json"
	s.Viewed(&failed)
	if rows := check(t, s); strings.Join(strings.Fields(rows[2]+" "+rows[3]), " ") != "next: "+failed.Status.After {
		t.Errorf("%q", rows[1:4])
	}
}

// TestExecutionsOfOneNameAreToldApart where the reason that each needs a person stands in place of its path.
func TestExecutionsOfOneNameAreToldApart(t *testing.T) {
	t.Parallel()
	s := New()
	s.Resize(100, 12)
	one := func(dir, name string) liveview.Execution {
		return liveview.Execution{Status: &report.Status{Execution: "/" + dir, Name: name, Verdict: verdict.Failed, Extent: plan.Extent{Codons: 1}}, Need: &liveview.Need{Reason: liveview.Failure, Text: "why"}}
	}
	s.Listed(&liveview.Executions{Rows: []liveview.Execution{one("monday", "h"), one("tuesday", "h"), one("other", "only")}})
	rows := check(t, s)
	for i, want := range []string{"  monday  failed: why", "  tuesday  failed: why", "  failed: why"} {
		if !strings.HasSuffix(rows[i+1], want) || i == 2 && strings.Contains(rows[3], "other") {
			t.Errorf("%q, want %q", rows[i+1], want)
		}
	}
}

// TestColumnsStayWhereTheyAre: the words of the plan end where those above them do, whatever has figures, and
// what took no second took some time.
func TestColumnsStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	s := on(t, ran(t), "loud")
	for _, width := range []int{60, 80, 100, 200} {
		s.Resize(width, 24)
		ends := map[int]int{}
		for _, row := range check(t, s)[2:20] {
			if strings.Contains(row, "$0.000000001") { // wider than its column
				continue
			}
			for _, word := range []string{"completed ", " next"} {
				if at := strings.Index(row, word); at >= 0 && (word == " next" || !strings.Contains(row[at:], "attempt")) {
					ends[term.Columns(row[:at]+strings.TrimRight(word, " "))]++
				}
			}
			if strings.Contains(row, " 0s ") {
				t.Errorf("%d columns: %q", width, row)
			}
		}
		if len(ends) != 1 {
			t.Errorf("%d columns: words end at %v:\n%s", width, ends, strings.Join(s.Draw(), "\n"))
		}
	}
}

// TestTheLastRowLeadsToTheKeys: however narrow, the keys that lead to the others and away are there.
func TestTheLastRowLeadsToTheKeys(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 80, 100, 200} {
		s := on(t, ran(t), "loud")
		s.Resize(width, 24)
		if rows := check(t, s); !strings.Contains(rows[23], "?: keys   q: leave") || !strings.Contains(rows[23], "a: approve") && width > 60 {
			t.Errorf("%d columns: %q", width, rows[23])
		}
	}
}

// TestAnAnswerHasOneColour: in all its rows, and what comes after it has its own.
func TestAnAnswerHasOneColour(t *testing.T) {
	t.Parallel()
	rows := []string{"● Read: a.go", "  ⎿ package a", "", "    import x", "", "    said", "Done:", "    code", "  ⎿ error: no", "    file", "● Edit: a.go", "    - b"}
	want := []string{bold, dim, plainText, dim, plainText, dim, plainText, plainText, red, red, bold, plainText}
	if got := coloursOf(rows); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAnIterationHasTheNumberOfItsCodons: iteration 0 is that of write#0, as everywhere else.
func TestAnIterationHasTheNumberOfItsCodons(t *testing.T) {
	t.Parallel()
	s := on(t, ran(t), "write#3")
	s.Resize(100, 60)
	s.Key("k") // the loop
	s.Key("enter")
	text := strings.Join(check(t, s), "\n")
	for i := range 4 {
		_, after, _ := strings.Cut(text, fmt.Sprintf("iteration %d ", i))
		if at := strings.Index(after, "#"); at < 0 || !strings.HasPrefix(after[at:], fmt.Sprintf("#%d ", i)) {
			t.Errorf("iteration %d is not before its codon in\n%s", i, text)
		}
	}
}
