package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hank/internal/advice"
	"hank/internal/term"
	"hank/runtime/control"
	"hank/runtime/history"
	"hank/runtime/liveview"
	"hank/runtime/report"
	"hank/state"
)

// Page is what is shown of an execution, or of all.
type Page int

// The pages.
const (
	List Page = iota // the executions
	Run              // the plan and a transcript
	Diff
	Checkpoints
	Events
	Money
	Help
	Answer // what a question is about, and its answer
)

// Screen is what is on the terminal.
type Screen struct {
	Width, Height int
	Colour        bool // escape sequences of the 16 colours
	Plain         bool // ASCII instead of symbols
	Now           time.Time
	Log           *Log // of the selected codon; nil: it has no transcript

	page    Page
	before  Page     // the one under the help
	covered textPage // of the one under the help
	under   Page     // the one that a diff or a question is about
	graph   checkpoints

	list   *liveview.Executions
	chosen string // the directory of the row
	view   *liveview.View
	tree   *liveview.Tree
	codon  state.CodonID // that is selected; empty: a loop is
	loop   state.CodonID // of the selected loop
	older  int           // which attempt at the selected codon is shown, of all oldest first, from 1; 0: the newest that counts
	auto   bool          // the selection stays at the codon in progress
	inLog  bool          // keys scroll the transcript, not the plan
	open   map[state.CodonID]bool
	textPage
	question *question

	typing string // what the line that is typed is for: search, reply; empty: none is
	typed  string
	sought string // what was searched for last
	notice string // what was said last
	failed string // why the files cannot be read
}

// textPage is a page that is text.
type textPage struct {
	text   []string // its lines; nil: it is being read
	folded []part   // the rows in which they are shown
	title  string
	top    int // the first row that is shown
}

// part is a row of a line that may be longer.
type part struct {
	text string
	line int // which one
}

// fold divides the lines into rows of so many columns: those of a diff anywhere, others between
// words. What is at the top stays there.
func (p *textPage) fold(columns int, words bool) {
	first := func(line int) int { return slices.IndexFunc(p.folded, func(r part) bool { return r.line == line }) }
	line, within := 0, 0
	if p.top < len(p.folded) {
		line = p.folded[p.top].line
		within = p.top - first(line)
	}
	p.folded = nil
	for i, text := range p.text {
		rows := []string{text}
		if words {
			rows = hang(text, columns)
		}
		for _, row := range rows {
			p.divide(row, i, columns)
		}
	}
	p.top = max(0, min(first(min(line, len(p.text)-1))+within, len(p.folded)-1))
}

// divide adds a row of a line, or several where it is longer.
func (p *textPage) divide(row string, line, columns int) {
	used, from := 0, 0
	for at, r := range row {
		width := 1
		if r >= utf8.RuneSelf {
			width = term.Columns(string(r))
		}
		if used += width; used > columns && at > from {
			p.folded = append(p.folded, part{row[from:at], line})
			from, used = at, width
		}
	}
	p.folded = append(p.folded, part{row[from:], line})
}

// hang divides a line of a table between words. What does not fit hangs below its last column, or
// where that is narrow, a little.
func hang(text string, columns int) []string {
	if len(text) <= columns {
		return []string{text}
	}
	at := max(0, strings.LastIndex(text, "  ")+len("  "))
	indent := term.Columns(text[:at])
	if at < len("  ") || indent > columns*2/3 || strings.TrimSpace(text[:at]) == "" {
		at, indent = 0, len("  ")
	}
	rows := term.Wrap(text[at:], columns-indent)
	for i := range rows[1:] {
		rows[i+1] = strings.Repeat(" ", indent) + rows[i+1]
	}
	rows[0] = text[:at] + rows[0]
	return rows
}

// refold divides the page that is shown, and the one under the help.
func (s *Screen) refold() {
	s.fold(s.Width, s.page != Diff && s.page != Answer)
	s.covered.fold(s.Width, s.before != Diff && s.before != Answer)
}

// question is what a person is asked before something is done.
type question struct {
	Title string
	Show  []string // the command of hank whose output is looked at first
	Do    []string // the command that is run after a yes
	Reply string   // the option that takes a typed text; empty: none is asked for
	Needs bool     // the reply may not be empty

	First   string // what the output of Show is, where an answer counts only after it; empty: it counts at once
	Preview bool   // Show previews Do: what it refuses is not offered
	Refused string // the title where it does
	refused bool   // it does
}

// Command is what a key asks of the world outside.
type Command any

// The commands.
type (
	// Quit leaves; the run goes on.
	Quit struct{}
	// Enter looks at an execution, Leave at none.
	Enter struct{ Execution string }
	Leave struct{}
	// Show runs a command of hank for its output, which Shown gets.
	Show struct {
		Page Page
		Args []string
	}
	// Graph reads the newest checkpoints, so many, which Graphed gets.
	Graph struct{ Limit int }
	// Do runs a command of hank that acts; Told gets what it has said.
	Do struct{ Args []string }
	// Pager shows a transcript in the pager, Stream the run as a plain stream.
	Pager  struct{ Args []string }
	Stream struct{ Args []string }
	// Copy puts a text into the clipboard.
	Copy struct{ Text string }
)

// New is a screen with the list of executions.
func New() *Screen {
	return &Screen{Width: 80, Height: 24, open: map[state.CodonID]bool{}, auto: true}
}

// Resize gives the screen another size.
func (s *Screen) Resize(width, height int) {
	s.Width, s.Height = max(1, width), max(1, height)
	s.refold()
	s.fitLog()
}

// SetLog gives the screen the transcript of the selected codon; nil: it has none.
func (s *Screen) SetLog(l *Log) {
	s.Log = l
	s.fitLog()
}

func (s *Screen) fitLog() {
	if s.Log != nil {
		_, _, columns, rows := s.panes()
		s.Log.resize(columns, rows)
	}
}

// Listed gives the screen the executions.
func (s *Screen) Listed(list *liveview.Executions) {
	s.list, s.failed = list, ""
	if s.at() < 0 && len(list.Rows) > 0 {
		s.chosen = list.Rows[0].Status.Execution
	}
}

// at is where the chosen execution is in the list; -1: it is not.
func (s *Screen) at() int {
	if s.list == nil {
		return -1
	}
	return slices.IndexFunc(s.list.Rows, func(e liveview.Execution) bool { return e.Status.Execution == s.chosen })
}

// Viewed gives the screen the execution that is looked at.
func (s *Screen) Viewed(v *liveview.View) {
	if s.view == nil || s.view.State != v.State || s.view.Live != v.Live {
		s.tree = v.Tree()
	}
	if s.view == nil && s.page == List {
		s.page = Run
	}
	s.view, s.failed = v, ""
	if s.auto || s.codon != "" && s.tree.Find(s.codon) == nil {
		s.selectNext()
	}
}

// Failed says why the files cannot be read; what was read before stays.
func (s *Screen) Failed(why string) { s.failed = term.OneLine(why) }

// Told says what came of a command.
func (s *Screen) Told(text string) { s.notice = term.OneLine(text) }

// Shown gives the screen the output of a command for a page, and whether it has failed.
func (s *Screen) Shown(of Show, text string, failed bool) {
	at, page, q := &s.textPage, of.Page, s.question
	switch {
	case page == Answer && (q == nil || !slices.Equal(of.Args, q.Show)):
		return // it is about another question
	case page == s.page:
	case s.page == Help && page == s.before:
		at = &s.covered
	default:
		return // it was left meanwhile
	}
	end := page == Events && (at.text == nil || at.top >= len(at.folded)-s.body()) // what is new is there
	at.text = strings.Split(strings.TrimRight(strings.ReplaceAll(term.Printable(text), "\t", "    "), "\n"), "\n")
	if page == Answer && q.First != "" {
		s.notice = ""
		if q.refused, end = failed && q.Preview, failed; failed { // at its end is why, in a long line
			var rows []string
			for _, row := range at.text {
				rows = append(rows, term.Wrap(row, max(1, s.Width))...)
			}
			at.text = rows
		}
	}
	if s.refold(); end {
		at.top = max(0, len(at.folded)-s.body()+1)
	}
}

// Again is what brings the page up to date after an event; nil: nothing is to be read for it.
func (s *Screen) Again() []Command {
	if s.page == Checkpoints {
		return s.graph.ask()
	}
	if args := outputOf(s.page); args != nil {
		return []Command{Show{s.page, s.args(args...)}}
	}
	return nil
}

// outputOf is the command of hank whose output a page is; nil: it is none.
func outputOf(page Page) []string {
	switch page {
	case Events:
		return []string{"events", "--limit", "500"}
	case Money:
		return []string{"cost"}
	}
	return nil
}

// selectNext selects the codon in progress, or the one that comes next, or the last.
func (s *Screen) selectNext() {
	s.codon, s.loop, s.older = "", "", 0
	if k := s.view.Running(); k != nil && s.tree.Find(k.CodonID) != nil {
		s.codon = k.CodonID
		return
	}
	for _, r := range s.tree.Rows(nil) {
		if r.Codon != "" && (r.Verdict != "" || s.codon == "") {
			s.codon = r.Codon
		}
	}
}

// rows are those of the plan.
func (s *Screen) rows() []liveview.Row {
	if s.tree == nil {
		return nil
	}
	return s.tree.Rows(func(id state.CodonID) bool { return s.open[id] })
}

// selected is the row of the plan that is selected; -1: none is.
func (s *Screen) selected(rows []liveview.Row) int {
	for i, r := range rows {
		if s.codon != "" && r.Codon == s.codon || s.codon == "" && r.IsLoop() && r.Loop == s.loop {
			return i
		}
	}
	for i, r := range rows { // it is in a loop that was folded
		if n := s.tree.Find(s.codon); n != nil && r.IsLoop() && r.Loop == n.Loop {
			return i
		}
	}
	return -1
}

// Selected is the attempt whose transcript is shown; nil: there is none.
func (s *Screen) Selected() *liveview.Node {
	if s.tree == nil || s.view == nil {
		return nil
	}
	if n := s.tree.Find(s.codon); n != nil {
		if s.older > 0 {
			if list := s.view.Attempts(n); s.older <= len(list) {
				return list[s.older-1]
			}
		}
		return n
	}
	var last *liveview.Node // of a loop: the newest codon in it
	for _, n := range s.tree.Nodes {
		for _, i := range n.Has {
			for _, k := range i.Has {
				if n.Loop == s.loop && k.Record != nil {
					last = k
				}
			}
		}
	}
	return last
}

// move moves the selection, or what is scrolled, by rows.
func (s *Screen) move(by int) {
	switch {
	case s.page == List:
		if s.list != nil && len(s.list.Rows) > 0 {
			s.chosen = s.list.Rows[min(max(0, s.at()+by), len(s.list.Rows)-1)].Status.Execution
		}
	case s.page == Checkpoints:
		s.graph.move(by)
	case s.page != Run:
		s.top = min(max(0, s.top+by), max(0, len(s.folded)-1))
	case s.inLog:
		s.scroll(by)
	default:
		rows := s.rows()
		at := s.selected(rows) + by
		if step := 1; len(rows) > 0 {
			if by < 0 {
				step = -1
			}
			for at = min(max(0, at), len(rows)-1); at >= 0 && at < len(rows) && rows[at].IsIteration(); {
				at += step
			}
			at = min(max(0, at), len(rows)-1)
			s.codon, s.loop, s.older, s.auto = rows[at].Codon, rows[at].Loop, 0, false
		}
	}
}

// scroll scrolls the transcript.
func (s *Screen) scroll(by int) {
	if s.Log == nil {
		return
	}
	follows := s.Log.follows()
	if s.Log.scroll(by); follows && !s.Log.follows() {
		s.notice = "not following any more; G or f follows again"
	}
}

// Key does what a key stands for, and returns what it asks of the world outside.
func (s *Screen) Key(key string) []Command {
	if s.typing != "" {
		return s.typedKey(key)
	}
	s.notice = ""
	if s.page == Answer {
		return s.answered(key)
	}
	if s.page == Checkpoints {
		if cmds, done := s.checkpointKey(key); done {
			return cmds
		}
	}
	if cmds, done := s.common(key); done {
		if s.page == Checkpoints && s.graph.more && s.graph.find(s.graph.chosen) == len(s.graph.lines)-1 {
			cmds = append(cmds, s.graph.ask()...)
		}
		return cmds
	}
	switch s.page {
	case List:
		if key == "enter" || key == "right" || key == "l" {
			if s.at() >= 0 {
				s.auto = true
				return []Command{Enter{s.chosen}}
			}
		}
	case Run:
		return s.runKey(key)
	}
	return nil
}

// common are the keys that every page has.
func (s *Screen) common(key string) ([]Command, bool) {
	page := max(1, s.Height-4)
	switch key {
	case "q", "ctrl+c":
		return []Command{Quit{}}, true
	case "?":
		if s.page == Help {
			return s.back(), true
		}
		s.before, s.covered = s.page, s.textPage
		s.page, s.textPage = Help, textPage{text: helpText(), title: "keys"}
		s.refold()
		return nil, true
	case "esc", "backspace", "left", "h":
		return s.back(), true
	case "j", "down":
		s.move(1)
	case "k", "up":
		s.move(-1)
	case "pgdown", "ctrl+f", "space", " ":
		s.move(page)
	case "pgup", "ctrl+b":
		s.move(-page)
	case "ctrl+d":
		s.move(page / 2)
	case "ctrl+u":
		s.move(-page / 2)
	case "g", "home":
		s.end(false)
	case "G", "end":
		s.end(true)
	default:
		return s.pageKey(key)
	}
	return nil, true
}

// end goes to the beginning or the end of what is scrolled.
func (s *Screen) end(last bool) {
	switch {
	case s.page == Run && s.inLog && s.Log != nil && last:
		s.Log.last()
	case s.page == Run && s.inLog && s.Log != nil:
		s.Log.first()
		s.notice = "not following any more; G or f follows again"
	case last && s.page != List && s.page != Run && s.page != Checkpoints:
		s.top = max(0, len(s.folded)-s.body()+len(s.titleRows()))
	case last:
		s.move(1 << 30)
	default:
		s.move(-1 << 30)
	}
}

// back goes to the page before.
func (s *Screen) back() []Command {
	switch s.page {
	case List:
		return nil
	case Run:
		if s.inLog && s.Width < wide {
			s.inLog = false
			return nil
		}
		s.page, s.view, s.tree, s.inLog, s.auto = List, nil, nil, false, true
		s.codon, s.loop, s.failed, s.older, s.graph = "", "", "", 0, checkpoints{}
		return []Command{Leave{}}
	case Help:
		s.page, s.textPage = s.before, s.covered
		return s.Again()
	case Diff:
		s.page = s.under
		return s.Again()
	}
	s.page = Run
	return nil
}

// pageKey are the keys that lead from page to page.
func (s *Screen) pageKey(key string) ([]Command, bool) {
	if s.view == nil {
		return nil, false
	}
	switch key {
	case "d":
		return s.diff(), true
	case "c":
		return s.showCheckpoints(), true
	case "o":
		return s.show(Events, outputOf(Events)), true
	case "m":
		return s.show(Money, outputOf(Money)), true
	case "y":
		return s.copy(), true
	case "p":
		return []Command{Stream{s.args("log", "-f")}}, true
	case "r":
		return s.rollback(), true
	case "a", "A":
		return s.answer(key == "a"), true
	case "s", "S", "X":
		return s.control(key), true
	}
	return nil, false
}

// control asks about what a run in progress is to do.
func (s *Screen) control(key string) []Command {
	if !s.view.Live {
		s.notice = "no run is in progress"
		return nil
	}
	switch key {
	case "s":
		k := s.view.Running()
		if k == nil {
			s.notice = "no codon is running"
			return nil
		}
		return s.ask(fmt.Sprintf("skip codon %s? What it has done stays.", k.CodonID), []string{"status"}, s.args(s.seen("skip")...))
	case "S":
		return s.ask("stop the run after the codon in progress?", []string{"status"}, s.args(s.seen("stop", "--after-codon")...))
	}
	return s.ask("stop the run now? The codon in progress is stopped, and its work is kept.", []string{"status"}, s.args(s.seen("stop")...))
}

// seen is a command about where the run is on the screen: what has begun by the time of the
// answer is not stopped or skipped by it.
func (s *Screen) seen(command ...string) []string {
	at := control.TargetOf(s.view.State)
	if at.Codon != "" {
		command = append(command, string(at.Codon))
	}
	if at.Attempt != 0 {
		command = append(command, "--attempt", fmt.Sprint(at.Attempt))
	}
	return append(command, "--run", string(at.Run))
}

// runKey are the keys of the page of a run alone.
func (s *Screen) runKey(key string) []Command {
	switch key {
	case "tab":
		s.inLog = !s.inLog
	case "enter", "right", "l":
		if rows := s.rows(); s.codon == "" && s.selected(rows) >= 0 {
			s.open[s.loop] = !s.open[s.loop]
		} else {
			s.inLog = true
		}
	case "[", "]":
		s.attempt(key == "[")
	case "f":
		s.auto = true
		if s.selectNext(); s.Log != nil {
			s.Log.last()
		}
		s.notice = "following"
	case "v":
		if n := s.Selected(); n != nil && n.Record != nil {
			return []Command{Pager{s.args("log", string(n.Codon), "--run", string(n.Run.RunID), "--attempt", fmt.Sprint(max(1, n.Record.Attempt)), "--full")}}
		}
	case "/":
		s.typing, s.typed, s.inLog = "search", "", true
	case "n", "N":
		s.search(key == "N")
	case "e", "E":
		s.find("error", "", isError, key == "E")
	}
	return nil
}

// attempt goes to the attempt before or after the one that is shown.
func (s *Screen) attempt(before bool) {
	n := s.Selected()
	if n == nil || n.Record == nil {
		s.notice = "the codon has no attempt yet"
		return
	}
	s.codon, s.loop = n.Codon, ""
	list := s.view.Attempts(n)
	at := liveview.AttemptOf(list, n)
	switch {
	case before && at <= 1:
		s.notice = "there is no earlier attempt"
		return
	case !before && at >= len(list):
		s.notice = "there is no later attempt"
		return
	case before:
		at--
	default:
		at++
	}
	if s.older, s.auto = at, false; at == len(list) && s.tree.Find(n.Codon).Record == list[at-1].Record {
		s.older = 0 // it stays the newest one
	}
}

// search looks for what was searched for last.
func (s *Screen) search(back bool) {
	if s.sought == "" {
		s.notice = "nothing to look for; / searches"
		return
	}
	want := strings.ToLower(s.sought)
	s.find(fmt.Sprintf("%q", s.sought), want, func(row string) bool { return strings.Contains(strings.ToLower(row), want) }, back)
}

// find goes to the next row that is wanted, past the end from the beginning on; see find of the Log.
func (s *Screen) find(what, needle string, wanted func(string) bool, back bool) {
	if s.Log == nil {
		s.notice = "there is no transcript"
		return
	}
	found, all := s.Log.find(needle, wanted, back)
	if !found && all {
		if found, all = s.Log.findAround(needle, wanted, back); found {
			s.notice = "past the end; on from the beginning"
			if back {
				s.notice = "past the beginning; on from the end"
			}
		}
	}
	switch {
	case found:
	case all:
		s.notice = "no " + what
	default:
		s.notice = fmt.Sprintf("no %s up to here; the same key looks on", what)
	}
}

// args are those of a command of hank about the execution.
func (s *Screen) args(args ...string) []string {
	return append(args, "-e", s.view.Execution)
}

// show goes to a page that is the output of a command.
func (s *Screen) show(page Page, args []string) []Command {
	s.page, s.textPage = page, textPage{title: report.ShortNames("hank " + strings.Join(args, " "))}
	return []Command{Show{page, s.args(args...)}}
}

// showOver is show of a page from which esc leads back to the one on the screen.
func (s *Screen) showOver(page Page, args []string) []Command {
	s.cover()
	return s.show(page, args)
}

// cover keeps the page to which the next one leads back: the checkpoints, or else the run.
func (s *Screen) cover() {
	switch s.page {
	case Checkpoints:
		s.under = Checkpoints
	case Diff: // as before
	default:
		s.under = Run
	}
}

// diff shows what the selected codon has changed.
func (s *Screen) diff() []Command {
	args := s.diffArgs(s.Selected())
	if args == nil {
		s.notice = "the codon has no checkpoint yet"
		return nil
	}
	return s.showOver(Diff, args)
}

// diffArgs are those of the command that shows what an attempt has changed; nil: it has no
// checkpoint.
func (s *Screen) diffArgs(n *liveview.Node) []string {
	if n == nil || n.Record == nil || n.Record.BaseCheckpoint == "" {
		return nil
	}
	if sha := n.Record.Checkpoint(); sha != "" {
		return []string{"diff", string(n.Record.BaseCheckpoint), string(sha), "--patch"}
	}
	if n.Record.Status.Terminal() {
		return nil
	}
	return []string{"diff", string(n.Record.BaseCheckpoint), "--patch"} // the workspace as it is
}

// copy puts what is selected into the clipboard.
func (s *Screen) copy() []Command {
	text := ""
	switch {
	case s.page == Run && s.Log != nil:
		text = strings.Join(s.Log.window(), "\n")
	case s.page != Run:
		if rows := s.folded[min(s.top, len(s.folded)):min(len(s.folded), s.top+s.body())]; len(rows) > 0 { // in whole lines
			text = strings.Join(s.text[rows[0].line:rows[len(rows)-1].line+1], "\n")
		}
	}
	if text == "" {
		s.notice = "there is nothing to copy"
		return nil
	}
	s.notice = "what is shown was sent to the clipboard (OSC 52), if the terminal takes it"
	return []Command{Copy{text}}
}

// rollback asks about a rollback to the checkpoint of the selected codon, with its preview.
func (s *Screen) rollback() []Command {
	n := s.Selected()
	if n == nil {
		n = &liveview.Node{}
	}
	if n.Checkpoint == "" && !s.view.Live {
		s.notice = "the codon has no checkpoint to go back to"
		return nil
	}
	return s.rollbackTo(n.Checkpoint, string(n.Codon))
}

// answer asks about the gate that the execution waits at, with what is judged.
func (s *Screen) answer(yes bool) []Command {
	g := s.view.Status.Gate
	if g == nil {
		s.notice = "no gate waits for an answer"
		return nil
	}
	verb := "approve"
	if !yes {
		verb = "reject"
	}
	var show []string
	if from := s.tree.Judged(g.CodonID); from != "" {
		show = []string{"diff", from, string(g.Checkpoint), "--patch"}
	}
	cmds := s.ask(fmt.Sprintf("%s gate %s? %s (checkpoint %.12s)", verb, g.Gate, g.Summary, g.Checkpoint), show,
		s.args(verb, g.Gate, "--checkpoint", string(g.Checkpoint)))
	if s.question != nil {
		s.question.First, s.question.Reply, s.question.Needs = "diff", "--reply", yes && g.Kind == "reply"
	}
	return cmds
}

// ask asks a question, with the output of a command to look at.
func (s *Screen) ask(title string, show, do []string) []Command {
	s.cover()
	s.question = &question{Title: title, Show: s.args(show...), Do: do}
	s.page, s.textPage = Answer, textPage{}
	return []Command{Show{Answer, s.question.Show}}
}

// answered are the keys at a question.
func (s *Screen) answered(key string) []Command {
	switch key {
	case "y":
		switch q := s.question; {
		case q.refused:
			s.notice = "it would be refused: the reason is above"
			return nil
		case s.unseen():
			s.notice = "the " + q.First + " is being read; an answer counts after it"
			return nil
		}
		if s.question.Reply != "" {
			s.typing, s.typed = "reply", ""
			return nil
		}
		return s.do(s.question.Do)
	case "n", "esc", "q", "ctrl+c":
		s.page, s.question, s.notice = s.under, nil, "nothing was done"
		return s.Again()
	case "?":
		return nil
	}
	cmds, _ := s.scrollKey(key)
	return cmds
}

// unseen reports whether what a question is about must be on the screen first, and is not.
func (s *Screen) unseen() bool { return s.question.First != "" && s.text == nil }

// scrollKey are those of the common keys that scroll.
func (s *Screen) scrollKey(key string) ([]Command, bool) {
	if slices.Contains([]string{"j", "k", "up", "down", "pgdown", "pgup", "ctrl+f", "ctrl+b", "ctrl+d", "ctrl+u", "g", "G", "home", "end", "space", " "}, key) {
		return s.common(key)
	}
	return nil, false
}

func (s *Screen) do(args []string) []Command {
	s.page, s.question, s.notice = s.under, nil, "hank "+strings.Join(args, " ")
	return append([]Command{Do{args}}, s.Again()...)
}

// typedKey are the keys while a line is typed.
func (s *Screen) typedKey(key string) []Command {
	switch key {
	case "esc", "ctrl+c":
		s.typing = ""
	case "backspace":
		if r := []rune(s.typed); len(r) > 0 {
			s.typed = string(r[:len(r)-1])
		}
	case "space":
		s.typed += " "
	case "enter":
		what := s.typing
		if what == "reply" && s.question.Needs && strings.TrimSpace(s.typed) == "" {
			s.notice = "this gate takes no yes without a reply"
			return nil
		}
		if s.typing = ""; what == "search" {
			s.sought = s.typed
			s.search(false)
			return nil
		}
		do := s.question.Do
		if s.typed != "" {
			do = append(slices.Clone(do), s.question.Reply+"="+s.typed)
		}
		return s.do(do)
	default:
		if r := []rune(key); len(r) == 1 {
			s.typed += key
		}
	}
	return nil
}

// Typed takes in a text that was pasted.
func (s *Screen) Typed(text string) {
	if s.typing != "" {
		s.typed += term.OneLine(text)
	}
}

// Going is whether the execution that is looked at is in progress.
func (s *Screen) Going() bool { return s.view != nil && s.view.Live }

// listed is how many checkpoints are read at first, and how many more each time the selection
// comes to the end of those.
const listed = 500

// checkpoints is what the page of checkpoints has.
type checkpoints struct {
	lines  []history.GraphLine // nil: they are being read
	wanted int                 // how many checkpoints were asked for
	more   bool                // there may be older ones
	lacks  string              // what the list lacks, or why there is none
	chosen state.SHA           // of the row that is selected
	marked state.SHA           // with which the selected one is compared; empty: none is
}

// Graphed gives the screen the checkpoints that a Graph has asked for.
func (s *Screen) Graphed(list *report.Checkpoints, err error) {
	g := &s.graph
	if err != nil {
		g.lines, g.lacks = []history.GraphLine{}, term.OneLine(err.Error())
		return
	}
	g.lines, g.lacks = append([]history.GraphLine{}, history.Graph(list.Checkpoints)...), ""
	g.more = g.wanted > 0 && len(list.Checkpoints) >= g.wanted
	var lacks []string
	if n := len(list.Lost); n > 0 {
		lacks = append(lacks, fmt.Sprintf("%s cannot be read whole", term.Count(n, "checkpoint")))
	}
	if n := len(list.Removed); n > 0 {
		lacks = append(lacks, fmt.Sprintf("those of %s were removed by hank gc", term.Count(n, "run")))
	}
	g.lacks = strings.Join(lacks, ", ")
	if g.find(g.marked) < 0 {
		g.marked = ""
	}
	if g.find(g.chosen) < 0 {
		g.chosen = ""
		for _, l := range g.lines { // the one that the workspace was last at, or else the newest
			if l.At != nil && (l.At.Current || g.chosen == "") {
				g.chosen = l.At.SHA
			}
		}
	}
}

// find is the line of a checkpoint; -1: it has none.
func (g *checkpoints) find(sha state.SHA) int {
	return slices.IndexFunc(g.lines, func(l history.GraphLine) bool { return l.At != nil && l.At.SHA == sha })
}

// selected is the checkpoint that is selected; nil: none is.
func (g *checkpoints) selected() *history.Listed {
	if at := g.find(g.chosen); at >= 0 {
		return g.lines[at].At
	}
	return nil
}

// move moves the selection by checkpoints: lines between two of them are passed over.
func (g *checkpoints) move(by int) {
	at := g.find(g.chosen)
	step := 1
	if by < 0 {
		step, by = -1, -by
	}
	for at += step; by > 0 && at >= 0 && at < len(g.lines); at += step {
		if l := g.lines[at].At; l != nil {
			g.chosen = l.SHA
			by--
		}
	}
}

// ask asks for the checkpoints, for more of them where the selection is at the end of those that
// are there.
func (g *checkpoints) ask() []Command {
	if last := len(g.lines) - 1; g.wanted == 0 || g.more && g.find(g.chosen) == last {
		g.wanted, g.more = g.wanted+listed, false
	}
	return []Command{Graph{g.wanted}}
}

// showCheckpoints goes to the page of checkpoints.
func (s *Screen) showCheckpoints() []Command {
	s.page, s.under = Checkpoints, Run
	return s.graph.ask()
}

// checkpointKey are the keys of the page of checkpoints alone; false: it is none of them.
func (s *Screen) checkpointKey(key string) ([]Command, bool) {
	g := &s.graph
	at := g.selected()
	if at == nil {
		return nil, false
	}
	switch key {
	case "space", " ":
		if g.marked == at.SHA {
			g.marked = ""
		} else {
			g.marked = at.SHA
		}
		return nil, true
	case "enter", "d", "right", "l":
		return s.compare(at), true
	case "w":
		return s.showOver(Diff, []string{"diff", sha(at.SHA), "--patch"}), true
	case "r":
		return s.rollbackTo(at.SHA, nameOf(at)), true
	case "y":
		s.notice = "the name of the checkpoint was sent to the clipboard (OSC 52), if the terminal takes it"
		return []Command{Copy{string(at.SHA)}}, true
	}
	return nil, false
}

// compare shows the difference from the marked checkpoint to another one; where none is marked,
// what has changed since the one before it.
func (s *Screen) compare(at *history.Listed) []Command {
	from := s.graph.marked
	switch {
	case from == at.SHA:
		s.notice = "this one is marked; select the one to compare it with"
		return nil
	case from == "" && len(at.Parents) == 0:
		s.notice = "there is none before it; mark another one with the space bar, or w compares it with the workspace"
		return nil
	case from == "":
		from = at.Parents[0]
	}
	return s.showOver(Diff, []string{"diff", sha(from), sha(at.SHA), "--patch"})
}

// sha is a checkpoint as a target of commands.
func sha(of state.SHA) string { return "sha:" + string(of) }

// nameOf says which checkpoint one is.
func nameOf(at *history.Listed) string {
	switch {
	case at.Kind == "":
		return "a commit of another program"
	case at.CodonID != "":
		return string(at.CodonID) + ":" + string(at.Kind)
	}
	return string(at.Kind)
}

// rollbackTo asks about a rollback to a checkpoint, with its preview.
func (s *Screen) rollbackTo(to state.SHA, name string) []Command {
	if s.view.Live {
		s.notice = "a run is in progress; stop it first (S or X)"
		return nil
	}
	cmds := s.ask(fmt.Sprintf("roll the workspace back to %s (checkpoint %.12s)? The present state is kept in a checkpoint; ", name, to)+advice.Render("`hank rollback --undo` restores it.", s.view.Option),
		[]string{"rollback", sha(to), "--dry-run"}, s.args("rollback", sha(to), "--yes"))
	s.question.First, s.question.Preview, s.question.Refused = "preview", true, fmt.Sprintf("a rollback to %s (checkpoint %.12s) would be refused", name, to)
	return cmds
}
