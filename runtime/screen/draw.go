package screen

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hank/internal/advice"
	"hank/internal/term"
	"hank/runtime/liveview"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/state"
)

// wide is from how many columns on the plan and a transcript are beside each other, and small
// below which size there are three rows and no more.
const (
	wide         = 100
	roomy        = 70 // from how many columns on the list says more than figures
	smallColumns = 30
	smallRows    = 8
)

// The colours, which say nothing by themselves.
const (
	plainText = ""
	bold      = "1"
	dim       = "2"
	red       = "31"
	green     = "32"
	yellow    = "33"
	reverse   = "7"
)

// Draw makes the rows of the screen: as many as it has, none wider than it is.
func (s *Screen) Draw() []string {
	var out []string
	switch {
	case s.Height < 3 || s.Width < 10:
		out = []string{s.fit(s.headline(), s.Width)}
	case s.Height < smallRows || s.Width < smallColumns:
		out = []string{s.fit(s.headline(), s.Width), s.fit(s.middle(), s.Width), s.fit(s.statusLine(), s.Width)}
	default:
		out = s.full()
	}
	for len(out) < s.Height {
		out = append(out, "")
	}
	return out[:s.Height]
}

// body is how many rows there are between the first one and the last two.
func (s *Screen) body() int { return max(1, s.Height-3-len(s.need())) }

// full is a screen with everything.
func (s *Screen) full() []string {
	out := []string{s.paint(bold, s.fit(s.headline(), s.Width))}
	for _, row := range s.need() {
		out = append(out, s.paint(yellow, row))
	}
	rows := s.body()
	var body []string
	switch s.page {
	case List:
		body = s.drawList(rows)
	case Run:
		body = s.drawRun(rows)
	case Checkpoints:
		body = s.drawCheckpoints(rows)
	default:
		body = s.drawText(rows)
	}
	for len(body) < rows {
		body = append(body, "")
	}
	out = append(out, body[:rows]...)
	return append(out, s.paint(reverse, s.padded(s.statusLine(), s.Width)), s.paint(dim, s.fit(s.keyLine(), s.Width)))
}

// leastOfName is how many columns of a hank's name the first row has at least.
const leastOfName = 20

// headline is the first row.
func (s *Screen) headline() string {
	if s.view == nil {
		if s.list == nil {
			return "hank watch: reading the executions"
		}
		need := 0
		for _, e := range s.list.Rows {
			if e.Need != nil {
				need++
			}
		}
		text := "hank watch: " + term.Count(len(s.list.Rows), "execution")
		switch {
		case need == 1:
			text += ", 1 needs you"
		case need > 1:
			text += fmt.Sprintf(", %d need you", need)
		}
		return text
	}
	st := s.view.Status
	text := fmt.Sprintf("  %s %s, %s", s.symbol(st.Verdict), st.Verdict, verdict.ProgressText(st.Done, st.Extent, st.Caveats))
	if st.Forecast != nil && s.view.Live {
		text += ", " + st.Forecast.Text()
	}
	return term.Fit(term.OneLine(st.Name), max(leastOfName, s.Width-term.Columns(text))) + text
}

// need is why the execution needs a person; nothing where it does not.
func (s *Screen) need() []string {
	if s.view == nil || s.page == Help {
		return nil
	}
	n := liveview.NeedOf(s.view.Status)
	if n == nil {
		return nil
	}
	text, command := "! "+n.Reason.String()+": "+term.OneLine(n.Text), "next: "+term.OneLine(n.Command)
	switch {
	case s.view.Status.Gate != nil && n.Reason == liveview.Gate || n.Command == "": // the keys for a gate that waits are in the last row
	case s.Height >= 20 && term.Columns(text+"; "+command) > s.Width: // half a command is none
		rows := []string{s.fit(text, s.Width)}
		for _, row := range term.Wrap("  "+command, s.Width) {
			rows = append(rows, s.fit(row, s.Width))
		}
		return rows
	default:
		text += "; " + command
	}
	return []string{s.fit(text, s.Width)}
}

// middle is the second of three rows.
func (s *Screen) middle() string {
	if rows := s.need(); len(rows) > 0 {
		return rows[0]
	}
	if n := s.Selected(); n != nil {
		return fmt.Sprintf("%s %s %s", s.symbol(n.Verdict), n.Codon, word(n))
	}
	if at := s.at(); at >= 0 && s.view == nil {
		e := s.list.Rows[at]
		return fmt.Sprintf("%s %s %s", s.symbol(e.Verdict), term.OneLine(e.Name), e.Verdict)
	}
	return ""
}

// statusLine is the row that says where the execution is.
func (s *Screen) statusLine() string {
	switch {
	case s.failed != "":
		return "cannot be read: " + s.failed
	case s.view == nil && s.list != nil:
		text := "as of " + s.list.At.Local().Format(time.TimeOnly)
		if s.list.Unread > 0 {
			text += fmt.Sprintf(", %d that cannot be read are left out (hank ls --prune)", s.list.Unread)
		}
		return text
	case s.view == nil:
		return ""
	}
	v := s.view
	bill := v.Recovery().Head.Bill()
	spent := bill.Short()
	if b := v.Budget(); b > 0 { // what was not paid is not taken off it
		if spent = bill.Paid().Of(b); bill.Replayed > 0 {
			spent += ", " + bill.Replayed.Text() + " not paid"
		}
	}
	worked := v.Worked(s.Now)
	if v.Running() != nil {
		worked = whole(worked) // else the row would change with each frame
	}
	parts := []string{fmt.Sprintf("as of event %d, %s", v.Seq, v.At.Local().Format(time.TimeOnly)), term.Duration(worked) + " of work", spent}
	if d := v.Silence(s.Now); d >= 10*time.Second {
		parts = append(parts, "silent for "+term.Duration(d.Truncate(time.Second)))
	}
	if sha := v.State.Base; sha != "" {
		parts = append(parts, "checkpoint "+report.Short(sha))
	}
	if v.Status.RunID != "" {
		parts = append(parts, "run "+string(v.Status.RunID))
	}
	for len(parts) > 1 && term.Columns(strings.Join(parts, " | ")) > s.Width { // half a name says nothing
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, " | ")
}

// whole is a duration without parts of a second; a shorter one stays as it is.
func whole(d time.Duration) time.Duration {
	if d < time.Second {
		return d
	}
	return d.Truncate(time.Second)
}

// keyLine is the last row: what was said, what is typed, or the keys.
func (s *Screen) keyLine() string {
	switch {
	case s.typing == "search":
		return "/" + s.typed + "_"
	case s.typing == "reply":
		return "reply (enter: send, esc: back): " + s.typed + "_"
	case s.notice != "":
		return s.notice
	}
	switch s.page {
	case List:
		return fitKeys([]string{"enter: look", "j/k: move"}, "?: keys   q: leave", s.Width)
	case Run:
		return s.runKeys()
	case Checkpoints:
		return fitKeys([]string{"space: mark", "enter: diff", "r: roll back", "w: with the workspace"}, "esc: back   ?: keys", s.Width)
	case Answer:
		if s.question.refused {
			return "esc: back   j/k: scroll"
		}
		if s.unseen() {
			return "n: no"
		}
		return "y: yes   n: no   j/k: scroll"
	}
	return fitKeys([]string{"esc: back", "j/k: scroll", "y: copy"}, "?: keys   q: leave", s.Width)
}

// runKeys are the keys of a run, as many as there is room for; those that lead to the others, and
// away, last.
func (s *Screen) runKeys() string {
	var keys []string
	if s.view != nil && s.view.Status.Gate != nil {
		keys = append(keys, "a: approve", "A: reject")
	}
	keys = append(keys, "tab: pane", "d: diff", "c: checkpoints", "o: events", "m: money", "/: search")
	last := "?: keys   q: leave"
	if s.view != nil && s.view.Live {
		last += " (the run continues)"
	}
	return fitKeys(keys, last, s.Width)
}

// fitKeys are as many keys as there is room for, and the last ones.
func fitKeys(keys []string, last string, columns int) string {
	for len(keys) > 0 && term.Columns(strings.Join(keys, "   "))+3+term.Columns(last) > columns {
		keys = keys[:len(keys)-1]
	}
	return strings.Join(append(keys, last), "   ")
}

// drawList are the rows of the executions.
func (s *Screen) drawList(rows int) (out []string) {
	if s.list == nil {
		return nil
	}
	if len(s.list.Rows) == 0 {
		return []string{s.fit(advice.Render("no executions of this user on this machine; to start one: `hank run HANK`", ""), s.Width)}
	}
	at := max(0, s.at())
	from := max(0, min(at-rows/2, len(s.list.Rows)-rows))
	for i := from; i < len(s.list.Rows) && len(out) < rows; i++ {
		e := s.list.Rows[i]
		right, code := term.ShortPath(e.Status.Execution), colourOf(e.Verdict)
		if e.Need != nil {
			right = s.alike(e) + e.Need.Reason.String() + ": " + term.OneLine(e.Need.Text)
			if code == bold { // it is in progress, and needs a person
				code = yellow
			}
		}
		figures, columns := fmt.Sprintf(" %4d/%-4s %8s  ", e.Done, e.Extent, e.Bill.Short()), 20
		if s.Width < roomy { // the figures, with less of the name, and nothing behind them
			figures, right = fmt.Sprintf(" %8s", fmt.Sprintf("%d/%s", e.Done, e.Extent)), ""
			if s.Width >= 50 {
				figures += fmt.Sprintf(" %8s", e.Bill.Short())
			}
			columns = max(4, min(columns, s.Width-16-term.Columns(figures)))
		}
		name := term.Fit(term.OneLine(e.Name), columns)
		left := fmt.Sprintf("%s %-11s %s%s", s.symbol(e.Verdict), e.Verdict, name, strings.Repeat(" ", columns-term.Columns(name)))
		out = append(out, s.row(i == at, code, left+figures+right, s.Width))
	}
	return out
}

// alike is the directory of an execution, as it begins its row, where another has the same name;
// empty: none has.
func (s *Screen) alike(of liveview.Execution) string {
	for i := range s.list.Rows {
		if e := s.list.Rows[i]; e.Name == of.Name && e.Status.Execution != of.Status.Execution {
			return term.OneLine(filepath.Base(of.Status.Execution)) + "  "
		}
	}
	return ""
}

// panes is how the screen of a run is divided: the columns of the plan, whether the transcript
// is beside it, and the columns and rows of that.
func (s *Screen) panes() (plan int, beside bool, columns, rows int) {
	rows = max(1, s.body()-1)
	if s.Width < wide {
		return s.Width, false, s.Width, rows
	}
	plan = min(70, max(48, s.Width*2/5))
	return plan, true, s.Width - plan - 3, rows
}

// drawRun are the rows of the plan, and of the transcript of the selected codon.
func (s *Screen) drawRun(rows int) []string {
	plan, beside, columns, _ := s.panes()
	if !beside {
		if s.inLog {
			return s.drawLog(rows, columns)
		}
		return s.drawPlan(rows, plan)
	}
	left, right := s.drawPlan(rows, plan), s.drawLog(rows, columns)
	var out []string
	for i := range rows {
		l, r := "", ""
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		bar := " │ "
		if s.Plain {
			bar = " | "
		}
		out = append(out, l+strings.Repeat(" ", max(0, plan-visible(l)))+s.paint(dim, bar)+r)
	}
	return out
}

// drawPlan are the rows of the plan.
func (s *Screen) drawPlan(rows, columns int) (out []string) {
	list := s.rows()
	if len(list) == 0 {
		return []string{s.fit("no plan yet", columns)}
	}
	at := s.selected(list)
	from := max(0, min(at-rows/2, len(list)-rows))
	priced := slices.ContainsFunc(list, func(r liveview.Row) bool { return r.Bill.Cost > 0 })
	timed := columns >= 44 && slices.ContainsFunc(list, func(r liveview.Row) bool { return r.Elapsed(s.Now) > 0 })
	for i := from; i < len(list) && len(out) < rows; i++ {
		r := list[i]
		name := string(r.Codon)
		switch {
		case r.IsLoop():
			name = "loop " + string(r.Loop)
			if n := len(r.Has); n > 1 {
				name += fmt.Sprintf(" x%d", n) // iterations
			}
		case r.IsIteration():
			name = fmt.Sprintf("iteration %d", r.Iteration)
		}
		left := strings.Repeat("  ", r.Depth) + s.symbol(r.Verdict) + " " + term.OneLine(name)
		figures := ""
		switch d := r.Elapsed(s.Now); {
		case timed && d > 0:
			figures = fmt.Sprintf(" %7s", term.Duration(d))
		case timed && word(r.Node) != "":
			figures = strings.Repeat(" ", 8)
		}
		switch {
		case priced && r.Attempts > 0:
			figures += fmt.Sprintf(" %7s", r.Bill.Cost.Text())
		case priced && word(r.Node) != "": // the columns before it stay where they are
			figures += strings.Repeat(" ", 8)
		}
		out = append(out, s.row(i == at, colourOf(r.Verdict), s.planRow(left, figures, r.Node, columns-2), columns))
	}
	return out
}

// planRow is the name of a node, its word, and its figures at the right. Where there is no room
// for all, the word is said in short, and then the name is cut: figures never are.
func (s *Screen) planRow(left, figures string, n *liveview.Node, room int) string {
	words := []string{word(n)}
	if n.Verdict != "" {
		if n.Attempts > 1 && n.Codon != "" {
			words = append(words, fmt.Sprintf("%s (%d)", n.Verdict, n.Attempts))
		}
		words = append(words, n.Verdict.String())
	}
	for _, w := range words {
		if gap := room - term.Columns(left) - term.Columns(w+figures); gap >= 1 {
			return left + strings.Repeat(" ", gap) + w + figures
		}
	}
	right := words[len(words)-1] + figures
	return s.fit(left, max(4, room-term.Columns(right)-1)) + " " + right
}

// word is the verdict on a node; of a codon to come: that it is next, or nothing.
func word(n *liveview.Node) string {
	text := n.Verdict.String()
	switch {
	case text == "" && n.Next:
		text = "next"
	case n.Attempts > 1 && n.Codon != "":
		text += fmt.Sprintf(" (%d attempts)", n.Attempts)
	}
	if n.But != "" {
		text += ": " + term.Fit(term.OneLine(n.But), 24)
	}
	return text
}

// wordOf is the verdict on the attempt that is shown, and which one that is: with its number in
// its run, as everywhere.
func (s *Screen) wordOf(n *liveview.Node) string {
	in := ""
	if n.Run != nil && n.Run != s.view.State.Newest() {
		in = fmt.Sprintf(" in run %s (%s)", n.Run.RunID, s.view.OfRun(n.Run))
	}
	if n.Record == nil || n.Attempts < 2 {
		return word(n) + in
	}
	one, most, several := *n, 1, false
	one.Attempts = 1
	for _, a := range s.view.Attempts(n) {
		several = several || a.Run != n.Run
		most = max(most, a.Record.Attempt)
	}
	text := fmt.Sprintf("%s, attempt %d", word(&one), max(1, n.Record.Attempt))
	switch {
	case !several:
		return fmt.Sprintf("%s of %d%s", text, most, in)
	case in == "":
		in = " in its run"
	}
	return fmt.Sprintf("%s%s, %d in all", text, in, n.Attempts)
}

// drawLog are a heading and the rows of the transcript.
func (s *Screen) drawLog(rows, columns int) []string {
	n := s.Selected()
	head := "no codon is selected"
	if n != nil {
		head = string(n.Codon) + "  " + s.wordOf(n)
		if n.Why != "" {
			head += ": " + term.OneLine(n.Why)
		}
	}
	mark := " "
	if s.inLog {
		mark = ">"
	}
	if s.Log == nil {
		return []string{s.paint(bold, s.fit(mark+head, columns)), s.paint(dim, s.fit(noWords(n, false), columns))}
	}
	switch {
	case s.Log.progress() < 100:
		head += fmt.Sprintf("  [reading, %d %%]", s.Log.progress())
	case s.Log.follows() && n.Record != nil && n.Record == s.view.Running():
		head += "  [following]"
	}
	out := []string{s.paint(bold, s.fit(mark+head, columns))}
	window := s.Log.window()
	if len(window) == 0 {
		return append(out, s.paint(dim, s.fit(noWords(n, s.Log.file.Lines() > 0), columns)))
	}
	codes := coloursOf(window)
	for i, row := range window {
		if len(out) == rows {
			break
		}
		out = append(out, s.paint(codes[i], s.fit(row, columns)))
	}
	return out
}

// noWords is what is shown instead of a transcript that has nothing to show. lines: it has lines.
func noWords(n *liveview.Node, lines bool) string {
	switch {
	case n != nil && n.Record == nil:
		return "it has not run yet"
	case n != nil && n.Record.Status.Terminal() && n.Record.ClaudeLogPath != "" && !lines:
		return "nothing of its transcript can be shown"
	case n != nil && n.Record.Status.Terminal():
		return "nothing was printed"
	}
	return "nothing was printed yet"
}

// coloursOf are the colours of rows of a transcript. What a tool answered has one colour in all its rows.
func coloursOf(rows []string) (out []string) {
	answer := plainText
	for _, row := range rows {
		code := colourOfRow(row)
		switch {
		case strings.HasPrefix(row, "  ⎿"):
			answer = code
		case answer != plainText && strings.HasPrefix(row, "    "):
			code = answer
		case row != "":
			answer = plainText
		}
		out = append(out, code)
	}
	return out
}

// colourOfRow is the colour of a row of a transcript, by what it begins with.
func colourOfRow(row string) string {
	trimmed := strings.TrimLeft(row, " │")
	for _, of := range []struct{ begin, code string }{
		{"✗", red}, {"⎿ error:", red}, {"stderr:", yellow}, {"↻", yellow}, {"●", bold}, {"⎿", dim}, {"✻", dim}, {"·", dim}, {"- ", plainText}, {"+ ", plainText},
	} {
		if strings.HasPrefix(trimmed, of.begin) {
			return of.code
		}
	}
	return plainText
}

// titleRows are the rows that the title of a page that is text takes.
func (s *Screen) titleRows() []string {
	title := s.title
	if s.page == Answer && s.question != nil {
		if title = s.question.Title; s.question.refused {
			title = s.question.Refused
		}
	}
	return term.Wrap(term.OneLine(title), max(1, s.Width))
}

// drawText are the rows of a page that is text.
func (s *Screen) drawText(rows int) []string {
	var out []string
	for _, row := range s.titleRows() {
		out = append(out, s.paint(bold, s.fit(row, s.Width)))
	}
	if len(s.text) == 0 && s.page != Help {
		return append(out, s.paint(dim, "reading"))
	}
	for i := s.top; i < len(s.folded) && len(out) < rows; i++ {
		code := plainText
		switch row := s.text[s.folded[i].line]; {
		case s.page != Diff && s.page != Answer:
		case strings.HasPrefix(row, "+++"), strings.HasPrefix(row, "---"), strings.HasPrefix(row, "diff "):
			code = bold
		case strings.HasPrefix(row, "+"):
			code = green
		case strings.HasPrefix(row, "-"):
			code = red
		case strings.HasPrefix(row, "@@"):
			code = dim
		}
		out = append(out, s.paint(code, s.fit(s.folded[i].text, s.Width)))
	}
	return out
}

// drawCheckpoints are the rows of the page of checkpoints.
func (s *Screen) drawCheckpoints(rows int) []string {
	g := &s.graph
	title := "checkpoints, newest first"
	if g.lacks != "" {
		title += "; " + g.lacks
	}
	out := []string{s.paint(bold, s.fit(title, s.Width))}
	if len(g.lines) == 0 {
		if g.lines == nil {
			out = append(out, s.paint(dim, "reading"))
		}
		return out
	}
	at, room := max(0, g.find(g.chosen)), rows-1
	from := max(0, min(at-room/2, len(g.lines)-room))
	for i := from; i < len(g.lines) && len(out) < rows; i++ {
		l := g.lines[i]
		text, code := l.Draw, dim
		if k := l.At; k != nil {
			text += "  " + report.Short(k.SHA) + "  "
			if s.Width >= 50 { // else there is room for what tells it from the others
				text += k.Time.Local().Format(time.DateTime) + "  "
			}
			text += nameOf(k)
			if k.Name != "" && (k.Kind == state.KindRecovery || k.Kind == "") {
				text += " " + report.ShortNames(term.OneLine(k.Name))
			}
			code = plainText
			if k.SHA == g.marked {
				text, code = text+"  <- marked", yellow
			}
			if k.Current {
				text += "  <- current workspace"
			}
			if k.Cut {
				text += "  <- earlier history is lost"
			}
		}
		out = append(out, s.row(l.At != nil && i == at, code, text, s.Width))
	}
	return out
}

// row is a row that can be selected.
func (s *Screen) row(selected bool, code, text string, columns int) string {
	mark := "  "
	if selected {
		mark, code = "> ", reverse
	}
	text = s.fit(mark+text, columns)
	if selected && s.Colour {
		text = s.padded(text, columns)
	}
	return s.paint(code, text)
}

// colourOf is the colour of a verdict, beside its word.
func colourOf(of verdict.Verdict) string {
	switch of {
	case verdict.Completed:
		return green
	case verdict.Failed, verdict.Crashed, verdict.Interrupted, verdict.Blocked, verdict.Refused:
		return red
	case verdict.Stopped, verdict.Budget, verdict.Paused, verdict.Waiting, verdict.Unavailable, verdict.Held, verdict.RolledBack:
		return yellow
	case "", verdict.NotBegun, verdict.Skipped:
		return dim
	}
	return bold
}

func (s *Screen) symbol(of verdict.Verdict) string { return liveview.Symbol(of, s.Plain) }

// fit is a line cut to columns, with nothing in it that steers the terminal.
func (s *Screen) fit(line string, columns int) string {
	line = term.Fit(strings.ReplaceAll(term.Printable(line), "\n", " "), columns)
	if !s.Plain {
		return line
	}
	return strings.Map(ascii, line)
}

// ascii is a character where there are no others than those of ASCII.
func ascii(r rune) rune {
	switch r {
	case '…':
		return '~'
	case '●', '·':
		return '*'
	case '⎿', '│':
		return '|'
	case '✓':
		return '+'
	case '✗':
		return 'x'
	}
	if r > 126 {
		return '?'
	}
	return r
}

func (s *Screen) padded(line string, columns int) string {
	line = s.fit(line, columns)
	return line + strings.Repeat(" ", max(0, columns-term.Columns(line)))
}

func (s *Screen) paint(code, text string) string {
	if !s.Colour || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// visible is how many columns a painted line takes.
func visible(line string) int {
	n := 0
	for line != "" {
		begin := strings.Index(line, "\x1b[")
		if begin < 0 {
			return n + term.Columns(line)
		}
		n += term.Columns(line[:begin])
		_, line, _ = strings.Cut(line[begin:], "m")
	}
	return n
}

// helpText are the keys.
func helpText() []string {
	return strings.Split(`j k up down         move, or scroll
ctrl+d ctrl+u       by half a page; the page keys by a whole one
g G                 the beginning, the end
enter               look at it; fold and unfold a loop
esc                 back
tab                 the plan, the transcript
f                   follow the codon in progress; scrolling up ends that

/ n N               search the transcript, next, previous
e E                 next and previous error in the transcript
[ ]                 the attempt before, the attempt after
v                   the transcript in $PAGER
p                   the run as a plain stream; p comes back
d c o m             diff of the attempt, checkpoints, events, money
y                   copy what is shown (OSC 52)

a A                 approve, reject the gate that waits: shows the diff first
s S X               skip the codon, stop after it, stop now: each asks first
r                   roll back to the codon: shows the preview first

in the checkpoints:
space               mark the checkpoint to compare with
enter d             the diff from the marked one to the selected one;
                    without a mark from the one before
w                   the diff from the selected one to the workspace
r                   roll back to it: shows the preview first
y                   copy its name

q                   leave; the run continues`, "\n")
}
