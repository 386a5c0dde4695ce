package page

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hank/internal/advice"
	"hank/internal/term"
	"hank/runtime/history"
	"hank/runtime/liveview"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/runtime/why"
	"hank/state"
)

// codonPage is the page of a codon.
type codonPage struct {
	*execution
	Codon    state.CodonID
	Loop     *report.Loop // the page is about a loop
	Others   string       // attempts in it that the iterations do not have
	Attempts []report.Attempt
	Chosen   *report.Attempt // the attempt that is shown
	Lines    []report.Line
	Why      why.Explanation
	Log      log
	Changes  *changes
	NotRun   string // why there is no attempt
}

func (e *execution) codon(ctx context.Context, q url.Values) (string, any, error) {
	id := state.CodonID(q.Get("id"))
	page := codonPage{execution: e, Codon: id}
	e.Title = "Codon " + string(id)
	if report.IsLoop(e.view, id) {
		l, err := report.ReadLoop(e.view, id, 0)
		e.Title, page.Loop = "Loop "+string(id), l
		if err == nil {
			page.Others = others(e.live.Tree(), l)
		}
		return "loop", page, err
	}
	found, err := report.WhyAfter(e.view, string(id), func() []why.Move { return e.p.open.moves(e.root) })
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrNoPlace, err)
	}
	found.Summary = advice.Render(found.Summary, e.option)
	page.Why = found
	list, err := report.ListAttempts(e.view, found.CodonID, 0, "", e.option, e.p.in.Layers)
	if err != nil {
		page.NotRun = advice.Render(err.Error(), e.option)
		return "codon", page, nil
	}
	list.Codons = withWork(list.Codons)
	page.Attempts = list.Codons
	at := slices.IndexFunc(list.Codons, func(a report.Attempt) bool {
		return string(a.RunID) == q.Get("run") && strconv.Itoa(max(1, a.Attempt)) == q.Get("attempt")
	})
	page.Chosen = &list.Codons[max(0, at)]
	page.Lines = factsOf(*page.Chosen)
	page.Log = e.transcript(page.Chosen.RunID, page.Chosen.Codon, q, perRange)
	if from, to := page.Chosen.BaseCheckpoint, page.Chosen.Checkpoint(); from != "" && to != "" {
		page.Changes = e.changes(ctx, string(from), string(to), "")
	}
	return "codon", page, nil
}

// others says how many attempts in a loop are in none of its iterations, and what they cost; empty:
// all are in one.
func others(t *liveview.Tree, l *report.Loop) string {
	n, bill := 0, state.Bill{}
	for _, node := range t.Nodes {
		if node.IsLoop() && node.Loop == l.LoopID {
			n, bill = n+node.Attempts, bill.Plus(node.Bill)
		}
	}
	cost := bill.Cost
	for _, i := range l.Iterations {
		for _, a := range i.Codons {
			if !a.FailedAtGate() {
				n--
			}
		}
		cost -= i.Cost
	}
	if n <= 0 {
		return ""
	}
	return "Without what does not count where the execution is now: " + term.Count(n, "attempt") + ", " + cost.Text()
}

// withWork leaves out the record of a gate that was not passed where the attempt that was judged is
// there: both have the same address.
func withWork(list []report.Attempt) (out []report.Attempt) {
	for _, a := range list {
		twin := func(b report.Attempt) bool {
			return b.RunID == a.RunID && max(1, b.Attempt) == max(1, a.Attempt) && !b.FailedAtGate()
		}
		if !a.FailedAtGate() || !slices.ContainsFunc(list, twin) {
			out = append(out, a)
		}
	}
	return out
}

// factsOf says what is recorded of an attempt, with labels.
func factsOf(a report.Attempt) (lines []report.Line) {
	line := func(label, text string) {
		if text != "" {
			lines = append(lines, report.Line{Label: label, Text: text})
		}
	}
	line("started", a.StartTime.Local().Format("2006-01-02 15:04:05"))
	if d, over := a.Took(); over {
		line("took", term.Duration(d))
	}
	line("because", cmp.Or(a.SkipReason, verdict.Qualification(a.Codon)))
	if f := a.FailureReason; f != nil {
		lines = append(lines, report.Line{Label: a.Verdict.String(), Text: strings.TrimSpace(f.Message) + report.During(a.Codon), Warning: true})
		line("", a.Evidence())
	}
	line("reply", a.Reply)
	if a.Interrupted != "" {
		line("interrupted", "by "+a.Interrupted)
	}
	line("cost", a.Bill().Text())
	if n := a.TokenCount(); n.Sum() > 0 {
		line("tokens", fmt.Sprintf("%s input, %s output, %s cache-write, %s cache-read", comma(n.Input), comma(n.Output), comma(n.CacheCreation), comma(n.CacheRead)))
	}
	line("agent", (&liveCodon{Codon: a.Codon}).Agent())
	line("session", a.ClaudeSessionID)
	for _, s := range a.Sentinels.All() {
		line("sentinel", fmt.Sprint(s))
	}
	for _, n := range a.Notes {
		line("note", n)
	}
	return lines
}

// Attempt names the attempt that is shown, for addresses.
func (c codonPage) Attempt() string { return strconv.Itoa(max(1, c.Chosen.Attempt)) }

// Range is the address of a range of the transcript.
func (c codonPage) Range(from int) string {
	return c.ofTranscript(c.Chosen.RunID, c.Chosen.Codon, "from", from)
}

// ofTranscript is the address of a part of a transcript, which begins with a line; 0: its end.
func (e *execution) ofTranscript(run state.RunID, c *state.Codon, part string, line int) string {
	n := ""
	if line > 0 {
		n = strconv.Itoa(line)
	}
	return e.to("codon", "id", string(c.CodonID), "run", string(run), "attempt", strconv.Itoa(max(1, c.Attempt)), part, n)
}

// Number is an attempt's number.
func (c codonPage) Number(a report.Attempt) string { return strconv.Itoa(max(1, a.Attempt)) }

// gatePage is what waits for an answer.
type gatePage struct {
	*execution
	Rows    [][2]string
	Changes *changes
	Past    []state.Gate
}

func (e *execution) gate(ctx context.Context, _ url.Values) (string, any, error) {
	page := gatePage{execution: e, Past: slices.DeleteFunc(slices.Clone(e.view.State.Gates), func(g state.Gate) bool { return g.Answer == nil })}
	slices.Reverse(page.Past)
	if g := e.Status.Gate; g != nil {
		for _, row := range g.Rows() {
			switch row[0] {
			case "to approve", "to reject": // they are with the answer
				continue
			case "look at":
				row[1] = g.Artifact
			}
			page.Rows = append(page.Rows, row)
		}
		if from := e.live.Tree().Judged(g.CodonID); from != "" {
			page.Changes = e.changes(ctx, from, string(g.Checkpoint), "")
		}
	}
	return "gate", page, nil
}

// Sentence says what came of a request.
func (gatePage) Sentence(g state.Gate) string { return report.GateSentence(&g) }

// checkpointsPage lists checkpoints.
type checkpointsPage struct {
	*execution
	Lines   []history.GraphLine
	Removed []report.RemovedBranch
	Lost    []report.LostCheckpoint
	Older   state.SHA // where the list continues; empty: it is complete
	Problem string
}

// perList is how many checkpoints a page has.
const perList = 200

func (e *execution) checkpoints(ctx context.Context, q url.Values) (string, any, error) {
	page := checkpointsPage{execution: e}
	list, err := report.ReadCheckpoints(ctx, e.view, history.ListOptions{Limit: perList, Before: q.Get("before")})
	if err != nil {
		page.Problem = advice.Render(err.Error(), e.option)
		return "checkpoints", page, nil
	}
	page.Lines, page.Removed, page.Lost = history.Graph(list.Checkpoints), list.Removed, list.Lost
	if n := len(list.Checkpoints); n == perList {
		page.Older = list.Checkpoints[n-1].SHA
	}
	return "checkpoints", page, nil
}

// Parent is the checkpoint before one; empty: there is none.
func (checkpointsPage) Parent(l *history.Listed) string {
	if len(l.Parents) == 0 {
		return ""
	}
	return string(l.Parents[0])
}
