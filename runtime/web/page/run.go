package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"hank/internal/term"
	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/runtime/liveview"
	"hank/runtime/logview"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/state"
)

// runPage is the page of an execution.
type runPage struct {
	*execution
	Need     *liveview.Need // nil: it needs nobody
	Todo     todo
	Failed   state.CodonID // whose page tells why; empty: none
	Lines    []report.Line
	Tree     *liveview.Tree
	More     string // what the plan has not yet
	Timeline *timeline
	Earlier  string // what the timeline leaves out
	Live     *liveCodon
	Runs     []report.TreeRun
}

// Heading is in a word why it needs somebody.
func (p runPage) Heading() string {
	if p.Need.Reason == liveview.Failure {
		return string(p.Status.Verdict)
	}
	return p.Need.Reason.String()
}

// liveCodon is the codon that runs, and what it has printed last.
type liveCodon struct {
	*state.Codon
	Since   string
	Entries []entry
	Status  *report.Status
}

// mostOfLive is how many entries the pane of the live codon has, and linesOfLive how many lines
// are read for it: some have none.
const (
	mostOfLive  = 12
	linesOfLive = 48
)

func (e *execution) run() (string, any, error) {
	page := runPage{execution: e, Lines: e.whole(e.Status.Lines(e.At, e.option)), Runs: report.TreeOf(e.view).Runs, Tree: e.live.Tree()}
	if page.Need = liveview.NeedOf(e.Status); layout.SetAside(vfs.OS, e.root) {
		page.Need = nil
	}
	if page.Need != nil {
		page.Todo = todoOf(liveview.Execution{Status: e.Status, Need: page.Need})
		if last := e.Status.LastCodon; last != nil && last.Status == state.Failed && (page.Need.Reason == liveview.Failure || page.Need.Reason == liveview.Agent) {
			page.Failed = last.CodonID
		}
		page.Lines = slices.DeleteFunc(page.Lines, func(l report.Line) bool { // what is said beside the need
			return l.Label == "next" || l.Label == string(e.Status.Verdict) && strings.HasSuffix(page.Need.Text, l.Text) || l.Label == "waiting" && page.Todo.EndsWait != ""
		})
	}
	spans, left := newest(e.spans())
	if page.Timeline = newTimeline(spans, e.until()); left > 0 {
		page.Earlier = term.Count(left, "earlier codon") + " left out"
	}
	if p := e.live.Plan; p != nil {
		page.More = p.More()
	}
	if c := e.live.Running(); c != nil {
		page.Live = &liveCodon{Codon: c, Since: term.Duration(e.At.Sub(c.StartTime.Time).Truncate(time.Second)), Status: e.Status}
		t := e.transcript(e.view.State.Newest().RunID, c, url.Values{}, linesOfLive)
		page.Live.Entries = t.Entries[max(0, len(t.Entries)-mostOfLive):]
	}
	return "run", page, nil
}

// whole are lines with whole paths, because who looks at a page is in no directory, and without
// those about a gate, which has a page of its own.
func (e *execution) whole(lines []report.Line) (out []report.Line) {
	gate := []string{"waiting"}
	if g := e.Status.Gate; g != nil {
		for _, row := range g.Rows() {
			gate = append(gate, row[0])
		}
	}
	for _, l := range lines {
		switch {
		case e.Status.Gate != nil && slices.Contains(gate, l.Label):
			continue
		case l.Label == "execution":
			l.Text = e.Status.Execution
		case l.Label == "workspace":
			l.Text = e.Status.Workspace
		}
		out = append(out, l)
	}
	return out
}

// The words for a node that has no verdict yet.
const (
	next   = "next"
	toCome = "to come"
)

// Word is the verdict on a node, or what else there is to say.
func (runPage) Word(n *liveview.Node) string {
	switch {
	case n.Verdict != "":
		return n.Verdict.String()
	case n.Next:
		return next
	}
	return toCome
}

// Took is how long the attempts of a node took.
func (p runPage) Took(n *liveview.Node) string {
	if d := n.Elapsed(p.At); d > 0 {
		return term.Duration(d)
	}
	return ""
}

// attempts calls fn for each attempt of the execution, oldest first.
func (e *execution) attempts(fn func(run *state.Run, c *state.Codon, v verdict.Verdict)) {
	for _, r := range slices.Backward(e.view.State.Runs) {
		of := verdict.OfRun(e.view, r)
		for _, c := range r.Codons() {
			fn(r, c, verdict.OfCodon(c, of))
		}
	}
}

// until is up to when a timeline goes at least: now, while a run is in progress, as where it waits.
func (e *execution) until() (now time.Time) {
	if e.live.Live {
		now = e.At
	}
	return now
}

func (e *execution) spans() (spans []span) {
	e.attempts(func(r *state.Run, c *state.Codon, v verdict.Verdict) {
		end := drawnTo(c, v, e.At)
		took := term.Duration(end.Sub(c.StartTime.Time))
		var loop state.CodonID
		if c.LoopContext != nil {
			loop = c.LoopContext.LoopID
		}
		spans = append(spans, span{c.CodonID, loop, c.StartTime.Time, end, string(v), fmt.Sprintf("%s, attempt %d in run %s: %s, %s, %s", c.CodonID, max(1, c.Attempt), r.RunID, v, took, c.Bill().Text())})
	})
	return spans
}

// drawnTo is where the bar of an attempt ends: at its end, or now while it is in progress.
func drawnTo(c *state.Codon, v verdict.Verdict, now time.Time) time.Time {
	end := c.StartTime.Time // nobody was there to see its end
	switch {
	case c.EndTime != nil:
		end = c.EndTime.Time
	case !c.Status.Terminal() && v == verdict.Verdict(c.Status):
		end = now
	}
	if end.Before(c.StartTime.Time) { // a clock was put back
		return c.StartTime.Time
	}
	return end
}

// listed are all attempts.
func (e *execution) listed() (list []report.Attempt) {
	e.attempts(func(r *state.Run, c *state.Codon, v verdict.Verdict) {
		list = append(list, report.Attempt{RunID: r.RunID, Verdict: v, Codon: c})
	})
	return list
}

// Agent is who works.
func (l *liveCodon) Agent() string {
	if l.Harness != "" && l.Model != "" && l.Harness != l.Model {
		return l.Harness + " (" + l.Model + ")"
	}
	return cmp.Or(l.Harness, l.Model)
}

// entry is one thing in a transcript.
type entry struct {
	N  int // of its line, from 1
	At time.Time
	logview.Entry
	Cut   bool   // bytes are left out
	Whole string // the address of the whole line; empty: there is none
}

// Fold reports whether an entry is long, and is shown folded.
func (t entry) Fold() bool { return len(t.Text) > 600 || strings.Count(t.Text, "\n") > 12 }

// brief is the beginning of a text. Secrets are masked before it is cut: what is left of one
// has no shape by which it could be known.
func (p *printer) brief(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(p.mask(text)), "\n")
	if r := []rune(line); len(r) > 160 {
		return string(r[:159]) + "…"
	}
	return line
}

// Size is how long an entry is.
func (t entry) Size() string {
	if t.Cut {
		return "its beginning"
	}
	return term.Count(strings.Count(t.Text, "\n")+1, "line")
}
