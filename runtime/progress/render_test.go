package progress

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/internal/term"
	"hank/plan"
	"hank/runtime/codon"
	"hank/runtime/silence"
	"hank/runtime/verdict"
	"hank/state"
)

func TestALiveLineNamesCodonTimeCostToolAndWords(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1e9, 0)
	working := codon.Activity{Codon: "api", Number: 2, Extent: plan.Extent{Codons: 7}, Since: begun, Cost: 421_000_000, Step: "waiting for the model", Tool: "Bash: go vet ./…", Words: "Two files.\nLet me read the first."}
	waiting := codon.Activity{Codon: "api", Number: 2, Extent: plan.Extent{Codons: 7}, Since: begun, Step: "making the checkpoint"}
	refused := working
	refused.Tool, refused.Step = "", "waiting for the provider, overloaded (HTTP 529)"
	stopping := waiting
	stopping.Stop = "stopping after this codon"
	for _, c := range []struct {
		a       codon.Activity
		after   time.Duration
		columns int
		want    string
	}{
		{working, 12*time.Minute + 31*time.Second, 79, `▸ [2/7] api · 12:31 · $0.42 · Bash: go vet ./… · "Two files. Let me read the f…`},
		{working, 12*time.Minute + 31*time.Second, 200, `▸ [2/7] api · 12:31 · $0.42 · Bash: go vet ./… · "Two files. Let me read the first."`},
		{working, 3*time.Hour + 2*time.Second, 50, `▸ [2/7] api · 3:00:02 · $0.42 · Bash: go vet ./…`},
		{refused, 10 * time.Second, 79, "▸ [2/7] api · 0:10 · $0.42 · waiting for the provider, overloaded (HTTP 529)"},
		{refused, 10 * time.Second, 99, `▸ [2/7] api · 0:10 · $0.42 · waiting for the provider, overloaded (HTTP 529) · "Two files. Let me …`},
		{waiting, time.Second, 79, "▸ [2/7] api · 0:01 · making the checkpoint"},
		{waiting, time.Second, 20, "▸ [2/7] api · 0:01 …"},
		{stopping, time.Second, 79, "▸ [2/7] api · 0:01 · stopping after this codon · making the checkpoint"},
		{codon.Activity{}, time.Second, 79, ""},
		{codon.Activity{Step: "opening the execution", Since: begun}, 3 * time.Second, 79, "▸ 0:03 · opening the execution"},
		{codon.Activity{Codon: "read#3", Number: 5, Extent: plan.Extent{Codons: 7, Open: true}, Since: begun}, 0, 79, "▸ [5/?] read#3 · 0:00"},
	} {
		if got := liveLine(c.a, begun.Add(c.after), c.columns); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
	for columns := range 120 {
		if got := term.Columns(liveLine(working, begun, columns)); got > columns {
			t.Errorf("%d columns, at most %d", got, columns)
		}
	}
}

// Where there is no terminal a codon has one plain line for each minute.
func TestElsewhereThereIsAPlainLineEachMinute(t *testing.T) {
	t.Parallel()
	p, printed := printerTo(t)
	begun := time.Unix(1e9, 0)
	a := codon.Activity{Codon: "api", Since: begun, Cost: 425_000_000, Tool: "Bash: printf '\x1b[2J'\n" + strings.Repeat("x", 300), Words: "\u202eword"}
	for second := range 125 {
		p.minute(a, begun.Add(time.Duration(second)*time.Second))
	}
	p.minute(codon.Activity{}, begun.Add(time.Hour))
	next := codon.Activity{Codon: "build", Since: begun.Add(10 * time.Minute), Step: "running the rig"}
	p.minute(next, next.Since.Add(59*time.Second))
	p.minute(next, next.Since.Add(3*time.Minute))
	said := strings.Split(strings.TrimSuffix(printed(), "\n"), "\n")
	if len(said) != 3 || !strings.HasPrefix(said[0], "still running: api, 1m0s, $0.43, Bash: printf '' xxx") || said[2] != "still running: build, 3m0s, running the rig" {
		t.Fatalf("%q", said)
	}
	for _, line := range said {
		if strings.ContainsAny(line, "\x1b\n\r\u202e") || term.Columns(line) > 160 {
			t.Errorf("%q", line)
		}
	}
}

// printerTo is a printer without a terminal, and what it has printed.
func printerTo(t *testing.T) (*Printer, func() string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return &Printer{out: out, words: func(text string) string { return text }}, func() string {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

var (
	seven = plan.Extent{Codons: 7}
	good  = CodonEnded{CodonBegun: CodonBegun{Codon: "api", Name: "Read the API", Number: 2, Extent: seven, Attempt: 1, Attempts: 1},
		Verdict: verdict.Completed, Took: 1234 * time.Millisecond, Bill: state.Bill{Cost: 420_000_000}, Files: Files{12, 3, 1}, Checkpoint: "20176fc6b7f20000", Words: "Let me read the first. \x1b[2J"}
	bad = CodonEnded{CodonBegun: CodonBegun{Codon: "vet", Name: "Vet", Number: 3, Extent: seven, Attempt: 2, Attempts: 3},
		Verdict: verdict.Failed, But: "failure ignored", Took: 12 * time.Millisecond, Why: "the script ended with exit status 3", Words: "exit status 3", Notes: []string{"killed leftover process 3 (sleep)"}}
	cut = CodonEnded{CodonBegun: CodonBegun{Codon: "essay", Number: 7, Extent: plan.Extent{Codons: 7, AtMost: true}, Attempt: 1},
		Verdict: verdict.Completed, But: "stopped at its budget ($2.11 of $2.00)", Took: 3 * time.Minute, Bill: state.Bill{Cost: 2_110_000_000}, Files: Files{Added: 1}}
	skipped = CodonEnded{CodonBegun: CodonBegun{Codon: "plot", Number: 4, Extent: plan.Extent{Codons: 9, Open: true}, Attempt: 1}, Verdict: verdict.Skipped, Took: time.Second}
)

// A codon that has ended is one line that names all that there is to know; what is no
// good end has lines that say why, uncut. Each fits the terminal but for these.
func TestACodonThatHasEndedIsALine(t *testing.T) {
	t.Parallel()
	c := columns{id: 8, priced: true}
	for _, test := range []struct {
		e     CodonEnded
		most  int
		lines []string
		plain []string
	}{
		{good, 79, []string{"✓ [2/7] api       completed   1.2s   $0.42  +12 ~3 −1  Let me read the first."},
			[]string{`  completed in 1.2s, $0.42, checkpoint 20176fc6b7f2, files +12 ~3 -1: "Let me read the first."`}},
		{good, 70, []string{"✓ [2/7] api       completed   1.2s   $0.42  +12 ~3 −1  Let me read th…"}, nil},
		{good, 60, []string{"✓ [2/7] api       completed   1.2s   $0.42  +12 ~3 −1"}, nil},
		{bad, 79, []string{"✗ [3/7] vet (attempt 2 of 3)  failed      12ms          failure ignored", "    the script ended with exit status 3", "    killed leftover process 3 (sleep)"},
			[]string{"  failed, failure ignored, in 12ms: the script ended with exit status 3", "  killed leftover process 3 (sleep)"}},
		{cut, 79, []string{"! [7/≤7] essay     completed   3m0s   $2.11  +1  stopped at its budget ($2.11 of $2.00)"},
			[]string{"  completed, stopped at its budget ($2.11 of $2.00), in 3m0s, $2.11, files +1"}},
		{skipped, 79, []string{"» [4/?] plot      skipped       1s"}, []string{"  skipped in 1s"}},
	} {
		var got []string
		for _, line := range c.codonLine(test.e, test.most, nil) {
			got = append(got, string(line))
		}
		if strings.Join(got, "\n") != strings.Join(test.lines, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.lines, "\n"))
		}
		if got := Plain(test.e); test.plain != nil && strings.Join(got, "\n") != strings.Join(test.plain, "\n") {
			t.Errorf("plain: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.plain, "\n"))
		}
	}
}

func TestTheEndOfARunNamesOneCommand(t *testing.T) {
	t.Parallel()
	e := Ended{Verdict: verdict.Failed, Message: "codon vet failed: exit status 3", Progress: "2 of at most 7 finished", Bill: state.Bill{Cost: 420_000_000}, Took: 12 * time.Second, Runs: 2, All: time.Minute,
		Limits: "$2.00 for this execution", Caveats: "1 failure ignored (lint)", Results: "/out", Workspace: "/work", Next: "hank retry"}
	want := "\ncodon vet failed: exit status 3\n  codons       2 of at most 7 finished, $0.42\n  time         12s, 1m0s of work in all 2 runs\n  limit        $2.00 for this execution\n" +
		"  caveats      1 failure ignored (lint)\n  results      /out\n  workspace    /work\n  next         hank retry"
	if got := strings.Join(Plain(e), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := string(ended(e, nil)[1]); got != "✗ codon vet failed: exit status 3" {
		t.Errorf("%q", got)
	}
	if got := Plain(Begun{Hank: "Notes", Done: 2, Extent: seven}); got[0] != "Notes: 2 of 7 codons finished" {
		t.Errorf("%q", got)
	}
	if got := Plain(Begun{Hank: "Notes", Extent: plan.Extent{Codons: 3, Open: true}}); got[0] != "Notes: an unknown number of codons (a loop ends when a context is full)" {
		t.Errorf("%q", got)
	}
}

func TestTheLastSentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "",
		"One line":                          "One line",
		"Two files. Let me read the first.": "Let me read the first.",
		"First.\n\n- **Done.** I wrote it, e.g. in a.txt.\n": "I wrote it, e.g. in a.txt.",
		"It is v1.2. See a.b. Why? Because!\n```\n":          "Because!",
		"done: 3.5 of 4. and so on":                          "done: 3.5 of 4. and so on",
		"## Summary\n---\n":                                  "Summary",
	} {
		if got := LastSentence(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What a mask hides is in no line.
func TestEventsAreMasked(t *testing.T) {
	t.Parallel()
	const secret = "hidden-value-77"
	mask := func(text string) string { return strings.ReplaceAll(text, secret, "***") }
	ended := good
	ended.Name, ended.But, ended.Words, ended.Why, ended.Notes = secret, secret, secret, secret, []string{secret}
	for _, e := range []Event{Begun{Hank: secret}, CodonBegun{Codon: state.CodonID("a"), Name: secret}, ended, Detail{secret}, Remark{secret}, Ended{Message: secret}} {
		if lines := strings.Join(Plain(e.Masked(mask)), "\n"); strings.Contains(fmt.Sprintf("%+v", e.Masked(mask)), secret) || !strings.Contains(lines, "***") {
			t.Errorf("%T: %q", e, lines)
		}
	}
}

// What no checkpoint can hold is noted with each codon, and printed when it is new.
func TestANoteIsNotPrintedAgainAfterTheNextCodon(t *testing.T) {
	t.Parallel()
	p, printed := printerTo(t)
	for _, notes := range [][]string{{"a pipe"}, {"a pipe", "a socket"}, nil, {"a pipe"}} {
		p.Show(CodonEnded{CodonBegun: CodonBegun{Codon: "one"}, Verdict: verdict.Completed, Notes: notes})
	}
	const want = "" +
		"  completed in 0s\n  a pipe\n" +
		"  completed in 0s\n  a socket\n" +
		"  completed in 0s\n" +
		"  completed in 0s\n  a pipe\n"
	if got := printed(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestAHighTerminalHasABlock(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1e9, 0)
	a := codon.Activity{Codon: "api", Number: 2, Extent: plan.Extent{Codons: 7}, Since: begun, Cost: 421_000_000, Allowed: 2_000_000_000, Attempt: 2, Attempts: 3,
		Step: "waiting for the model", Tool: "Bash: go vet ./…", Words: "Two files.", Next: coming("review (a loop)", "revise: 4 times", "publish", "Write the index", "end", ""),
		Silence: &silence.Evidence{Since: begun, Processes: 2}}
	now := begun.Add(3 * time.Minute)
	want := []string{"▸ [2/7] api · 3:00 · $0.42 of at most $2.00 · attempt 2 of 3",
		"  Bash: go vet ./…, " + a.Silence.Text(now), `  "Two files."`, "· review (a loop)  revise: 4 times", "· publish          Write the index", "· end"}
	if got := liveBlock(a, now, 200, blockRows); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := liveBlock(a, now, 79, blockRows-1); !slices.Equal(got, []string{liveLine(a, now, 79)}) {
		t.Errorf("a low terminal: %q", got)
	}
	if got := liveBlock(codon.Activity{Step: "opening", Since: begun}, now, 79, 50); !slices.Equal(got, []string{"▸ 3:00 · opening"}) {
		t.Errorf("between codons: %q", got)
	}
	for columns := range 120 {
		for _, line := range liveBlock(a, now, columns, 50) {
			if got := term.Columns(line); got > columns {
				t.Errorf("%d columns, at most %d: %q", got, columns, line)
			}
		}
	}
	var many []string
	for i := range mostNext {
		many = append(many, fmt.Sprint("c", i), "")
	}
	a.Next = coming(many[:40]...)
	for rows := blockRows; rows < 100; rows++ {
		got := liveBlock(a, now, 80, rows)
		want, plan := fmt.Sprintf("· … %d more", 20-(rows/2-3)+1), got[3:]
		if rows/2-3 >= 20 {
			want = "· c19"
		}
		if len(got) > rows/2 || plan[0] != "· c0" || plan[len(plan)-1] != want {
			t.Errorf("%d rows: %q, want %q at the end", rows, got, want)
		}
	}
	a.Next = coming(many...)
	if got := liveBlock(a, now, 80, 24); got[len(got)-1] != "· …" {
		t.Errorf("more than is named follows: %q", got)
	}
}

// coming is what follows: names, each with what it is.
func coming(texts ...string) *codon.Coming {
	if len(texts) == 0 {
		return nil
	}
	return &codon.Coming{Name: texts[0], About: texts[1], Then: coming(texts[2:]...)}
}

// names are those of what follows.
func names(next *codon.Coming) string {
	var all []string
	for ; next != nil; next = next.Then {
		all = append(all, next.Name)
	}
	return strings.Join(all, ", ")
}

func TestWhatFollowsHasEachLoopOnce(t *testing.T) {
	t.Parallel()
	codonOf := func(id plan.CodonID) *plan.Codon { return &plan.Codon{ID: id} }
	loop := &plan.Loop{ID: "l", Codons: []plan.Codon{{ID: "x"}, {ID: "y"}}, TerminateOn: plan.TerminateOn{Type: plan.IterationLimit, Limit: 6}}
	h := &plan.Hank{Items: []plan.Item{{Codon: codonOf("a")}, {Loop: loop}, {Codon: codonOf("b")}}}
	in := func(iteration, index int) *plan.LoopContext {
		return &plan.LoopContext{LoopID: "l", Iteration: iteration, CodonIndexInLoop: index}
	}
	for _, c := range []struct {
		e    plan.Entry
		want string
	}{
		{plan.Entry{CodonID: "a"}, "l (a loop), b"},
		{plan.Entry{CodonID: "x#4", LoopContext: in(4, 0)}, "y#4, l again, b"},
		{plan.Entry{CodonID: "y#5", LoopContext: in(5, 1)}, "b"},
		{plan.Entry{CodonID: "b"}, ""},
	} {
		if got := names(Following(h, c.e, "", -1)); got != c.want {
			t.Errorf("%s: %q, want %q", c.e.CodonID, got, c.want)
		}
	}
	for _, c := range []struct {
		e     plan.Entry
		until plan.CodonID
		left  int
		want  string
	}{
		{plan.Entry{CodonID: "a"}, "a", -1, ""},
		{plan.Entry{CodonID: "a"}, "y#2", -1, "l (a loop)"},
		{plan.Entry{CodonID: "a"}, "b", -1, "l (a loop), b"},
		{plan.Entry{CodonID: "x#4", LoopContext: in(4, 0)}, "x#4", -1, ""},
		{plan.Entry{CodonID: "x#4", LoopContext: in(4, 0)}, "y#4", -1, "y#4"},
		{plan.Entry{CodonID: "x#4", LoopContext: in(4, 0)}, "x#5", -1, "y#4, l again"},
		{plan.Entry{CodonID: "x#5", LoopContext: in(5, 0)}, "x#7", -1, "y#5"},
		{plan.Entry{CodonID: "x#4", LoopContext: in(4, 0)}, "", 0, ""},
		{plan.Entry{CodonID: "x#4", LoopContext: in(4, 0)}, "", 1, "y#4"},
		{plan.Entry{CodonID: "x#4", LoopContext: in(4, 0)}, "b", 2, "y#4, l again"},
	} {
		if got := names(Following(h, c.e, c.until, c.left)); got != c.want {
			t.Errorf("%s in a run until %s, with %d left: %q, want %q", c.e.CodonID, c.until, c.left, got, c.want)
		}
	}
	loop.TerminateOn = plan.TerminateOn{Type: plan.ContextExceeded}
	if got := names(Following(h, plan.Entry{CodonID: "y#5", LoopContext: in(5, 1)}, "", -1)); got != "perhaps l again, b" {
		t.Errorf("nobody knows when the loop ends: %q", got)
	}
	loop.TerminateOn = plan.TerminateOn{Type: plan.IterationLimit, Limit: 6}
	h.Items[2].Codon.Name = "Build it"
	for at, want := Following(h, plan.Entry{CodonID: "a"}, "", -1), []string{"x, y: 6 times", "Build it"}; len(want) > 0; at, want = at.Then, want[1:] {
		if at.About != want[0] {
			t.Errorf("%s is %q, want %q", at.Name, at.About, want[0])
		}
	}
	for range 2 * mostNext {
		h.Items = append(h.Items, plan.Item{Codon: codonOf("more")})
	}
	if got := names(Following(h, plan.Entry{CodonID: "a"}, "", -1)); strings.Count(got, ", ") != mostNext-1 {
		t.Errorf("%q", got)
	}
}

// The quiet form has the end alone, and so does what takes its time.
func TestTheQuietFormHasTheEndAlone(t *testing.T) {
	t.Parallel()
	p, printed := printerTo(t)
	p.quiet = true
	for _, e := range []Event{Begun{Hank: "h"}, CodonBegun{Codon: "a"}, Detail{"detail"}, CodonEnded{CodonBegun: CodonBegun{Codon: "a"}}, Remark{"remark"}} {
		p.Show(e)
	}
	end, shown := p.Work("reading", nil)
	end()
	if p.Show(Ended{Message: "the hank is completed", Progress: "1 of 1 finished"}); !shown || !strings.HasPrefix(printed(), "\nthe hank is completed\n") {
		t.Errorf("%v %q", shown, printed())
	}
}
