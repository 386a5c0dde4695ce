package progress

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"hank/internal/term"
	"hank/plan"
	"hank/runtime/codon"
	"hank/runtime/silence"
	"hank/runtime/verdict"
	"hank/state"
)

// Plain is an event as lines for a file or pipe.
func Plain(e Event) []string {
	switch e := e.(type) {
	case Begun:
		return []string{begun(e)}
	case CodonBegun:
		return []string{fmt.Sprintf("%s %s: %s%s", e.place(), e.Codon, e.Name, e.try())}
	case CodonEnded:
		return plainCodon(e)
	case Detail:
		return []string{"  " + e.Text}
	case Remark:
		return []string{e.Text}
	case Ended:
		return append([]string{"", e.Message}, rows(e)...)
	}
	return nil
}

func begun(e Begun) string {
	codons := e.Extent.Text() + " codons"
	if codons == "1 codons" {
		codons = "1 codon"
	}
	if e.Done > 0 {
		codons = fmt.Sprintf("%d of %s finished", e.Done, codons)
	}
	if e.Extent.Open {
		codons += " (a loop ends when a context is full)"
	}
	return e.Hank + ": " + codons
}

func plainCodon(e CodonEnded) []string {
	line := "  " + e.Verdict.String()
	if e.But != "" {
		line += ", " + e.But + ","
	}
	line += " in " + term.Duration(e.Took)
	if e.Bill.Cost > 0 {
		line += ", " + e.Bill.Text()
	}
	if e.Checkpoint != "" {
		line += fmt.Sprintf(", checkpoint %.12s", e.Checkpoint)
	}
	if files := e.Files.text("-"); files != "" {
		line += ", files " + files
	}
	switch {
	case e.Why != "": // which is what was said last, too
		line += ": " + e.Why
	case e.Words != "" && e.Verdict == verdict.Completed:
		line += `: "` + term.Fit(term.OneLine(e.Words), 160) + `"`
	}
	return append([]string{line}, indented(e.Notes, "  ")...)
}

// text is the numbers that are not 0: +12 ~3 -1.
func (f Files) text(minus string) string {
	var parts []string
	for _, p := range []struct {
		sign string
		n    int
	}{{"+", f.Added}, {"~", f.Changed}, {minus, f.Deleted}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s%d", p.sign, p.n))
		}
	}
	return strings.Join(parts, " ")
}

func indented(lines []string, by string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = by + l
	}
	return out
}

// rows are the facts at the end of a run.
func rows(e Ended) []string {
	var out []string
	row := func(label, text string) {
		if text != "" {
			out = append(out, fmt.Sprintf("  %-12s %s", label, text))
		}
	}
	row("codons", e.Progress+", "+e.Bill.Text())
	if e.Took > 0 {
		text := term.Duration(e.Took)
		if e.Runs > 1 {
			text += fmt.Sprintf(", %s of work in all %d runs", term.Duration(e.All), e.Runs)
		}
		row("time", text)
	}
	row("limit", e.Limits)
	row("caveats", e.Caveats)
	if e.Results != "" {
		row("results", term.ShortPath(e.Results))
	}
	row("workspace", term.ShortPath(e.Workspace))
	row("to commit", e.Land)
	row("but", e.LandBut)
	row("to finish", e.Finish)
	for _, g := range e.Gate {
		row(g[0], g[1])
	}
	row("next", e.Next)
	return out
}

// look is how an end looks: a sign, and a colour that says the same.
func look(v verdict.Verdict, but bool) (sign string, paint func(*os.File, string) term.Painted) {
	switch v {
	case verdict.Completed:
		if but {
			return "!", term.Yellow
		}
		return "✓", term.Green
	case verdict.Skipped:
		return "»", term.Yellow
	case verdict.Stopped, verdict.Budget, verdict.Paused, verdict.Unavailable:
		return "■", term.Yellow
	case verdict.Waiting, verdict.Held:
		return "?", term.Yellow
	}
	return "✗", term.Red
}

// columns are those of the lines of codons on a terminal.
type columns struct {
	id     int  // how wide ids are
	priced bool // there is one for the cost
}

// widestID is how wide the column of ids may get.
const widestID = 24

// codonLine is an attempt that has ended, on a terminal of so many columns: one line,
// and those that say why it is not a good end.
func (c columns) codonLine(e CodonEnded, most int, out *os.File) []term.Painted {
	sign, paint := look(e.Verdict, e.But != "")
	place := e.place()
	if pad := len(fmt.Sprint(e.Extent.Codons)) - len(fmt.Sprint(e.Number)); pad > 0 && !e.Extent.Open {
		place = fmt.Sprintf("[%s%d/%s]", strings.Repeat(" ", pad), e.Number, e.Extent)
	}
	id := string(e.Codon) + e.try()
	line := term.Sprintf("%s %s %-*s  %s%*s %6s", paint(out, sign), term.Dim(out, place), c.id, id,
		paint(out, e.Verdict.String()), max(0, 9-len(e.Verdict.String())), "", term.Duration(e.Took))
	used := len("x ") + term.Columns(place) + len(" ") + max(c.id, term.Columns(id)) + len("  ") + max(9, len(e.Verdict.String())) + len(" ") + max(6, term.Columns(term.Duration(e.Took)))
	tail := func(text term.Painted, width int) {
		line += text
		used += width
	}
	cost := ""
	if e.Bill.Cost > 0 {
		cost = e.Bill.Short()
	}
	files, words := e.Files.text("−"), ""
	if e.Verdict == verdict.Completed {
		words = term.OneLine(e.Words)
	}
	if cost != "" || c.priced && (files != "" || words != "" || e.But != "") {
		tail(term.Sprintf("  %6s", cost), 2+max(6, term.Columns(cost)))
	}
	if files != "" {
		tail("  "+e.Files.painted(out), 2+term.Columns(files))
	}
	var more []term.Painted
	switch {
	case e.But != "":
		line += "  " + paint(out, e.But)
	case words != "" && most-used-2 >= 10:
		line += "  " + term.Dim(out, term.Fit(words, most-used-2))
	}
	if e.Why != "" {
		more = append(more, term.Sprintf("    %s", strings.ReplaceAll(e.Why, "\n", "\n    ")))
	}
	for _, n := range e.Notes {
		more = append(more, term.Sprintf("    %s", n))
	}
	return append([]term.Painted{line}, more...)
}

func (f Files) painted(out *os.File) term.Painted {
	var parts []string
	for _, p := range []struct {
		files Files
		paint func(*os.File, string) term.Painted
	}{{Files{Added: f.Added}, term.Green}, {Files{Changed: f.Changed}, term.Yellow}, {Files{Deleted: f.Deleted}, term.Red}} {
		if text := p.files.text("−"); text != "" {
			parts = append(parts, string(p.paint(out, text)))
		}
	}
	return term.Painted(strings.Join(parts, " "))
}

// ended is the end of a run on a terminal.
func ended(e Ended, out *os.File) []term.Painted {
	sign, paint := look(e.Verdict, e.But)
	e.Message = strings.ReplaceAll(e.Message, "\n", "\n  ")
	lines := []term.Painted{"", ""}
	if head, rest, found := strings.Cut(e.Message, ": "); found {
		lines[1] = term.Sprintf("%s: %s", paint(out, sign+" "+head), rest)
	} else if head, rest, found := strings.Cut(e.Message, ", with "); found {
		lines[1] = term.Sprintf("%s, with %s", paint(out, sign+" "+head), rest)
	} else {
		lines[1] = paint(out, sign+" "+e.Message)
	}
	for _, r := range rows(e) {
		lines = append(lines, term.Sprintf("%s", r))
	}
	return lines
}

// liveLine is what a run does, in so many columns at most: the codon, its time and cost
// always, then what it does or waits for, then its last words.
func liveLine(a codon.Activity, now time.Time, columns int) string {
	head := "▸ "
	switch {
	case a.Codon != "":
		head += fmt.Sprintf("[%d/%s] %s · %s", a.Number, a.Extent, a.Codon, clock(now.Sub(a.Since)))
	case a.Step == "":
		return ""
	default:
		head += clock(now.Sub(a.Since))
	}
	if a.Cost > 0 {
		head += " · " + state.Bill{Cost: a.Cost, Replayed: a.Replayed}.Short()
	}
	if a.Stop != "" {
		head += " · " + a.Stop
	}
	doing, words := parts(a)
	const dot, fewest = 3, 10 // columns between two parts, and of words worth showing
	room := columns - term.Columns(head) - dot
	if doing != "" && words != "" {
		share := room
		if a.Tool != "" { // each gets half, or what the other leaves; but what is waited for is named in full
			share = max((room-dot)/2, room-dot-term.Columns(words))
		}
		if short := term.Fit(doing, share); room-term.Columns(short)-dot >= fewest {
			doing = short
		} else {
			words = ""
		}
	}
	for _, part := range []string{doing, words} {
		if part != "" {
			head += " · " + part
		}
	}
	return term.Fit(head, columns)
}

// blockRows is how many rows a terminal must have to show more than one line of a codon.
const blockRows = 12

// liveBlock is an Activity on a terminal of so many columns and rows: the codon with its
// time and money, what it does or is waited for, what it printed last, its silence, and
// the plan from there on, in at most half of the rows. What has ended is above it, in lines of
// its own. A low terminal has one line.
func liveBlock(a codon.Activity, now time.Time, columns, rows int) []string {
	if a.Codon == "" || rows < blockRows {
		return []string{liveLine(a, now, columns)}
	}
	head := fmt.Sprintf("▸ [%d/%s] %s · %s", a.Number, a.Extent, a.Codon, clock(now.Sub(a.Since)))
	if money := (state.Bill{Cost: a.Cost, Replayed: a.Replayed}).Short(); a.Cost > 0 || a.Allowed > 0 {
		head += " · " + money
		if a.Allowed > 0 {
			head += " of at most " + a.Allowed.Text()
		}
	}
	if a.Attempts > 1 || a.Attempt > 1 {
		head += " · " + Attempt(a.Attempt, a.Attempts)
	}
	if a.Stop != "" {
		head += " · " + a.Stop
	}
	lines := []string{head}
	doing, words := parts(a)
	if e := a.Silence; e != nil && now.Sub(e.Since) >= silence.Notable {
		doing += ", " + e.Text(now)
	}
	for _, text := range []string{doing, words} {
		if text = strings.TrimPrefix(text, ", "); text != "" {
			lines = append(lines, "  "+text)
		}
	}
	lines = append(lines, planLines(a.Next, rows/2-len(lines))...)
	for i, line := range lines {
		lines[i] = term.Fit(line, columns)
	}
	return lines
}

// planLines are what follows in a run as rows of the plan, at most so many; the last one says
// how many are left out.
func planLines(next *codon.Coming, most int) (lines []string) {
	var list []*codon.Coming
	for at := next; at != nil; at = at.Then {
		list = append(list, at)
	}
	most = max(1, most)
	left := 0
	if len(list) > most {
		left, list = len(list)-most+1, list[:most-1]
	}
	widest := 0
	for _, at := range list {
		widest = min(max(widest, term.Columns(at.Name)), widestID)
	}
	for _, at := range list {
		line := "· " + at.Name
		if at.About != "" {
			line += strings.Repeat(" ", max(0, widest-term.Columns(at.Name))) + "  " + term.OneLine(at.About)
		}
		lines = append(lines, line)
	}
	switch {
	case left > 0 && len(list)+left == mostNext: // there may be others
		lines = append(lines, "· …")
	case left > 0:
		lines = append(lines, fmt.Sprintf("· … %d more", left))
	}
	return lines
}

// mostNext is how much of what follows is named: more than half of a terminal has room for.
const mostNext = 60

// Following is what follows an entry of the plan in a run: codons, and each loop once. The run
// ends with the codon until, and with as many codons after the entry as left says; where until is
// empty and left below 0, it goes to the end of the plan.
func Following(h *plan.Hank, e plan.Entry, until plan.CodonID, left int) *codon.Coming {
	first := &codon.Coming{}
	last, named := first, 0
	passed, over := false, e.CodonID == until || left == 0
	add := func(name, about string, ends bool) {
		if !over {
			last.Then = &codon.Coming{Name: name, About: about}
			last, named = last.Then, named+1
			over = ends || named == left || named == mostNext
		}
	}
	for _, item := range h.Items {
		switch l := e.LoopContext; {
		case passed && item.Loop != nil:
			add(fmt.Sprintf("%s (a loop)", item.Loop.ID), aboutLoop(item.Loop), iterates(item.Loop, until))
		case passed:
			add(string(item.Codon.ID), item.Codon.Name, item.Codon.ID == until)
		case l == nil:
			passed = item.Codon != nil && item.Codon.ID == e.CodonID
		case item.Loop != nil && item.Loop.ID == l.LoopID:
			passed = true
			for _, c := range item.Loop.Codons[min(l.CodonIndexInLoop+1, len(item.Loop.Codons)):] {
				id := plan.IterationID(c.ID, l.Iteration)
				add(string(id), c.Name, id == until)
			}
			switch t := item.Loop.TerminateOn; {
			case t.Judged() || t.Type == plan.ContextExceeded:
				add(fmt.Sprintf("perhaps %s again", l.LoopID), aboutLoop(item.Loop), false)
			case l.Iteration+1 < t.Limit:
				add(fmt.Sprintf("%s again", l.LoopID), aboutLoop(item.Loop), false)
			}
			over = over || iterates(item.Loop, until) // it comes in this loop or not at all
		}
		if over {
			break
		}
	}
	return first.Then
}

// aboutLoop says what is repeated in a loop, and until when.
func aboutLoop(l *plan.Loop) string {
	ids := make([]string, len(l.Codons))
	for i := range l.Codons {
		ids[i] = string(l.Codons[i].ID)
	}
	return strings.Join(ids, ", ") + ": " + l.TerminateOn.String()
}

// iterates reports whether a codon is an iteration of one of a loop.
func iterates(l *plan.Loop, id plan.CodonID) bool {
	name, _, is := strings.Cut(string(id), "#")
	return is && slices.ContainsFunc(l.Codons, func(c plan.Codon) bool { return string(c.ID) == name })
}

// stillRunning is the same for a file or pipe.
func stillRunning(a codon.Activity, now time.Time) string {
	const most = 160
	line := fmt.Sprintf("still running: %s, %s", a.Codon, now.Sub(a.Since).Truncate(time.Second))
	if a.Cost > 0 {
		line += ", " + state.Bill{Cost: a.Cost, Replayed: a.Replayed}.Text()
	}
	if a.Stop != "" {
		line += ", " + a.Stop
	}
	doing, words := parts(a)
	for _, part := range []string{term.Fit(doing, most/2), words} {
		if part != "" {
			line += ", " + part
		}
	}
	return term.Fit(line, most)
}

// parts are what the agent does or is waited for, and what it printed last.
func parts(a codon.Activity) (doing, words string) {
	doing = term.OneLine(a.Step)
	if a.Tool != "" {
		doing = term.OneLine(a.Tool)
	}
	if words = term.OneLine(a.Words); words != "" {
		words = `"` + words + `"`
	}
	return doing, words
}

// clock is a time span as a clock shows it: 12:31, 1:02:03.
func clock(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
