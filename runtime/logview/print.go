package logview

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"hank/internal/term"
)

// How much of a thing is shown, unless all of it is asked for.
const (
	resultLines   = 3   // of what a tool answered
	thinkingLines = 3   // of what an agent thought
	changeLines   = 4   // of what an edit takes away, and of what it puts there
	argument      = 300 // columns, of a tool's main argument
	elsewhere     = 160 // columns, of a line that is cut, where there is no terminal
	mostOfALine   = 8 << 10
)

// Style is how entries are printed.
type Style struct {
	Colour    bool
	Columns   int                 // of the terminal; 0: there is none
	Full      bool                // nothing is cut
	Workspace string              // which is left out of the arguments of tools
	Mask      func(string) string // masks secrets; nil: none
}

// Printer writes entries as text: nothing in it steers a terminal, but colours.
type Printer struct {
	Style

	out   io.Writer
	err   error
	tight bool   // what was printed last wants no empty line after it
	begun bool   // something was printed
	tool  string // the ID of the tool that was printed last
}

// NewPrinter returns a printer that has printed nothing.
func NewPrinter(out io.Writer, style Style) *Printer {
	if style.Mask == nil {
		style.Mask = func(text string) string { return text }
	}
	return &Printer{Style: style, out: out}
}

// The colours, which say nothing by themselves.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// Heading prints a line above what follows. What is after the name is dim.
func (p *Printer) Heading(name, more string) error {
	if p.begun {
		p.write("\n")
	}
	p.write(p.paint(dim, "──") + " " + p.paint(bold, p.line(name)))
	if more != "" {
		p.write(p.paint(dim, "  "+p.line(more)))
	}
	p.write("\n")
	p.tight, p.begun, p.tool = true, true, ""
	return p.err
}

// End is how what was shown ended.
type End int

// The ends.
const (
	Bad End = iota
	Good
	Cut // it was stopped
)

// Ending prints how what was shown ended: a mark and its colour, and a text.
func (p *Printer) Ending(end End, text string) error {
	mark, code := "✗", red
	switch end {
	case Good:
		mark, code = "✓", green
	case Cut:
		mark, code = "■", yellow
	}
	p.gap(true)
	lines := strings.Split(strings.TrimSpace(p.clean(text)), "\n")
	p.write(p.paint(code, mark+" "+lines[0]) + "\n")
	for _, line := range lines[1:] {
		p.write("  " + line + "\n")
	}
	return p.err
}

// Remark prints what hank says itself.
func (p *Printer) Remark(text string) error {
	p.gap(true)
	p.write(p.paint(dim, p.line(text)) + "\n")
	return p.err
}

// Entry prints an entry.
func (p *Printer) Entry(e Entry) error {
	switch e.Kind {
	case Output:
		p.gap(true)
		for line := range strings.SplitSeq(p.clean(p.overwritten(e.Text)), "\n") {
			p.write(line + "\n")
		}
	case Stderr:
		p.gap(true)
		for line := range strings.SplitSeq(p.clean(p.overwritten(e.Text)), "\n") {
			p.write(p.paint(yellow, "stderr: "+line) + "\n")
		}
	case Message:
		p.gap(false)
		if e.Error {
			p.block(e.Of, "✗ ", "  ", red, p.wrapped(e.Of, e.Text, 2))
		} else {
			p.block(e.Of, "", "", "", p.wrapped(e.Of, e.Text, 0))
		}
	case Thinking:
		p.gap(false)
		p.block(e.Of, "✻ ", "  ", dim, p.lines(e.Of, e.Text, thinkingLines))
	case Tool:
		p.gap(false)
		p.use(e)
	case Result:
		p.result(e)
	case Retry:
		p.gap(true)
		p.block("", "↻ ", "  ", yellow, []string{p.short(e.Text)})
	case Notice:
		p.gap(false)
		p.block(e.Of, "· ", "  ", dim, []string{p.short(e.Text)})
	case Damaged:
		p.gap(true)
		p.block("", "", "", yellow, []string{"(" + p.short(e.Text) + ")"})
	}
	p.tool = ""
	if e.Kind == Tool {
		p.tool = e.ID
	}
	return p.err
}

// use prints a tool with its main argument, and what an edit changes.
func (p *Printer) use(e Entry) {
	name, text := p.line(e.Tool), p.argument(e.Text)
	first := p.indent(e.Of) + p.paint(green, "●") + " " + p.paint(bold, name)
	if text == "" {
		p.write(first + "\n")
		return
	}
	p.write(first + ": " + strings.ReplaceAll(text, "\n", "\n"+p.indent(e.Of)+"    ") + "\n")
	var edit struct {
		Old *string `json:"old_string"`
		New *string `json:"new_string"`
	}
	if json.Unmarshal(e.input, &edit) != nil || edit.Old == nil || edit.New == nil {
		return
	}
	before, after := differing(*edit.Old, *edit.New)
	if before != "" {
		p.block(e.Of, "    - ", "    - ", red, p.lines(e.Of, before, changeLines))
	}
	if after != "" {
		p.block(e.Of, "    + ", "    + ", green, p.lines(e.Of, after, changeLines))
	}
}

// differing is what is left of two texts without the lines that they begin and end with
// both.
func differing(before, after string) (string, string) {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return strings.Join(a, "\n"), strings.Join(b, "\n")
}

// argument is the main argument of a tool as it is shown: in one line, unless all of it
// is asked for.
func (p *Printer) argument(text string) string {
	if p.Workspace != "" {
		text = strings.ReplaceAll(text, p.Workspace+"/", "")
	}
	if p.Full {
		return p.clean(text)
	}
	return term.Fit(p.line(bounded(text)), argument)
}

// result prints what a tool answered, below the tool; where others were printed
// since, it says which tool that was.
func (p *Printer) result(e Entry) {
	if e.ID == "" || p.tool != e.ID {
		p.gap(false)
		of := e.Tool
		if e.use != "" {
			of += ": " + p.argument(e.use)
		}
		if of != "" {
			p.write(p.indent(e.Of) + p.paint(dim, "● "+p.line(of)) + "\n")
		}
	}
	code, text := dim, e.Text
	switch {
	case strings.TrimSpace(text) == "":
		text = "(nothing)"
	case e.repeats && !p.Full:
		text = "(its last message)"
	case e.gist != "" && !p.Full:
		text = e.gist
	}
	if e.Error {
		code, text = red, "error: "+text
	}
	lines := p.lines(e.Of, text, resultLines)
	p.block(e.Of, "  ⎿ ", "    ", code, lines)
}

// block prints lines, the first and the others with what they begin with.
func (p *Printer) block(of, first, other, code string, lines []string) {
	for i, line := range lines {
		begin := other
		if i == 0 {
			begin = first
		}
		p.write(strings.TrimRight(p.indent(of)+p.paint(code, begin+line), " ") + "\n")
	}
}

// indent is what a line of a subagent begins with.
func (p *Printer) indent(of string) string {
	if of == "" {
		return ""
	}
	return p.paint(dim, "  │") + " "
}

// overwritten is a line of a program that has returned to its beginning, to show its
// progress: what it had written at the end, or all of it as lines.
func (p *Printer) overwritten(line string) string {
	line = strings.TrimRight(line, "\r")
	if at := strings.LastIndexByte(line, '\r'); at >= 0 && !p.Full {
		return "… " + line[at+1:]
	}
	return strings.ReplaceAll(line, "\r", "\n")
}

// lines are the lines of a text, of a subagent or not; at most about most, each cut, if that is not 0 and not
// all is asked for. The last one says what was left out.
func (p *Printer) lines(of, text string, most int) []string {
	if most == 0 || p.Full {
		return strings.Split(strings.TrimRight(p.clean(text), "\n"), "\n")
	}
	text = strings.TrimRight(text, "\n \t\r")
	columns := elsewhere
	if p.Columns > 0 {
		columns = max(20, p.Columns-6)
	}
	if of != "" {
		columns -= 4
	}
	count := strings.Count(text, "\n") + 1
	if count == most+1 {
		most++ // "1 more line" would take its place
	}
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if len(out) == most {
			return append(out, "… "+term.Count(count-most, "more line"))
		}
		out = append(out, term.Fit(strings.ReplaceAll(p.clean(bounded(line)), "\t", "    "), columns))
	}
	return out
}

// wrapped are the lines of a text, of a subagent or not, divided at spaces where the terminal has
// no room for one that begins in a column.
func (p *Printer) wrapped(of, text string, column int) (out []string) {
	lines := p.lines(of, text, 0)
	if p.Columns == 0 {
		return lines
	}
	if of != "" {
		column += 4
	}
	for _, line := range lines {
		out = append(out, term.Wrap(line, max(20, p.Columns-column))...)
	}
	return out
}

// bounded is the beginning of a text that is cut anyway, so that nobody masks all of a
// long one.
func bounded(text string) string { return text[:min(len(text), mostOfALine)] }

// short is a text in one line, cut unless all of it is asked for.
func (p *Printer) short(text string) string {
	if p.Full {
		return p.line(text)
	}
	return term.Fit(p.line(bounded(text)), argument)
}

func (p *Printer) line(text string) string { return p.Mask(term.OneLine(text)) }

// clean is a text of others as it may be printed: first without what steers a terminal,
// in which a secret could hide.
func (p *Printer) clean(text string) string { return p.Mask(term.Printable(text)) }

// gap leaves an empty line, unless what was printed and what comes are both lines of a
// list.
func (p *Printer) gap(tight bool) {
	if p.begun && !(p.tight && tight) {
		p.write("\n")
	}
	p.tight, p.begun = tight, true
}

func (p *Printer) paint(code, text string) string {
	if !p.Colour || code == "" || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%sm%s\x1b[0m", code, text)
}

func (p *Printer) write(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.out, text)
	}
}
