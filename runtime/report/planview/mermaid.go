package planview

import (
	"fmt"
	"strings"
	"unicode"

	"hank/plan"
	"hank/state"
)

// Mermaid draws the plan as a flowchart in the language of mermaid.js. A loop is a frame
// with the arrow back, a gate a hexagon, and a dotted line joins codons that share a session.
func (p *Plan) Mermaid() string {
	d := &drawing{plan: p, indent: "    ", nodes: map[state.CodonID]string{}}
	for _, e := range p.Codons {
		d.nodes[e.CodonID] = fmt.Sprintf("c%d", e.Index)
	}
	d.line("flowchart TD")
	d.line(`    start(["%s"])`, label("start"))
	before := "start"
	for i := 0; i < len(p.Codons); {
		e := p.Codons[i]
		if e.Iteration == nil {
			before = d.codon(i, before)
			i++
			continue
		}
		end := i
		for end < len(p.Codons) && p.Codons[end].LoopID == e.LoopID {
			end++
		}
		before = d.loop(i, end, before)
		i = end
	}
	d.line(`    done(["%s"])`, label("end"))
	d.arrow(before, "-->", "done")
	for _, s := range p.Sessions {
		for i := 1; i < len(s); i++ {
			d.arrow(d.nodes[s[i-1]], "-. session .-", d.nodes[s[i]])
		}
	}
	return d.text.String() + d.arrows.String()
}

type drawing struct {
	plan   *Plan
	text   strings.Builder
	arrows strings.Builder // after all nodes: a frame would take in what an arrow inside it names
	indent string
	nodes  map[state.CodonID]string
}

func (d *drawing) line(format string, args ...any) {
	fmt.Fprintf(&d.text, format+"\n", args...)
}

func (d *drawing) arrow(from, kind, to string) {
	fmt.Fprintf(&d.arrows, "    %s %s %s\n", from, kind, to)
}

// codon draws a codon with its gate, and returns what the next arrow begins at.
func (d *drawing) codon(i int, before string) string {
	e := d.plan.Codons[i]
	name := fmt.Sprintf("c%d", e.Index)
	if e.Gate != nil && e.Gate.When == plan.Before {
		before = d.gate(e.Gate, fmt.Sprintf("g%d", e.Index), before)
	}
	lines := []string{string(e.CodonID), e.Model}
	if e.Verdict != "" {
		lines = append(lines, e.Verdict.String())
	}
	d.line(`%s%s["%s"]`, d.indent, name, label(lines...))
	d.arrow(before, "-->", name)
	if e.Gate != nil && e.Gate.When == plan.After {
		return d.gate(e.Gate, fmt.Sprintf("g%d", e.Index), name)
	}
	return name
}

func (d *drawing) gate(g *plan.Gate, name, before string) string {
	d.line(`%s%s{{"%s"}}`, d.indent, name, label("gate "+g.ID, g.Summary))
	d.arrow(before, "-->", name)
	return name
}

// loop draws the iterations of a loop that are laid out, from entry i to end.
func (d *drawing) loop(i, end int, before string) string {
	e := d.plan.Codons[i]
	l := Loop{LoopID: e.LoopID}
	for _, known := range d.plan.Loops {
		if known.LoopID == e.LoopID {
			l = known
		}
	}
	gate := fmt.Sprintf("lg%d", e.Index)
	if l.Gate != nil && l.Gate.When == plan.Before {
		before = d.gate(l.Gate, gate, before)
	}
	title := string(l.LoopID)
	if l.Ends != "" {
		title += ": " + l.Ends
	}
	d.line(`    subgraph l%d ["%s"]`, e.Index, label(title))
	d.indent = "        "
	for at := i; at < end; at++ {
		before = d.codon(at, before)
	}
	d.indent = "    "
	d.line("    end")
	d.arrow(before, "-. again .->", fmt.Sprintf("c%d", e.Index))
	if l.Gate != nil && l.Gate.When == plan.After {
		before = d.gate(l.Gate, gate, before)
	}
	return before
}

// longestLabel is how many characters a line of a label may have.
const longestLabel = 120

// label is a text inside the quotes of a node. Whatever is not a letter, a digit or plain
// punctuation is written as its number, so that no text of a hank ends the label, opens a
// tag or begins Markdown.
func label(lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteString("<br/>")
		}
		n := 0
		for _, r := range line {
			if n++; n > longestLabel {
				b.WriteString("…")
				break
			}
			switch {
			case r == '-' && n > 1:
				b.WriteByte('-')
			case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune(" .,:/()+=!?'", r):
				b.WriteRune(r)
			case r == utf8Error, !unicode.IsPrint(r):
				b.WriteByte(' ')
			default:
				fmt.Fprintf(&b, "#%d;", r)
			}
		}
	}
	return b.String()
}

const utf8Error = '\uFFFD'
