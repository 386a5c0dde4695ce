package report

import (
	"fmt"
	"strings"

	"hank/internal/advice"
	"hank/internal/term"
	"hank/recovery/finding"
	"hank/state/consistency"
)

// Fewer is how many lines of a kind fit on one screen with the others. What blocks
// is shown however many there are: it is why the user is needed. So are the last, which say what is gone.
const Fewer = 5

// LossText is the verdict on an execution that is in order but for what is lost.
func (d *Diagnosis) LossText() string {
	if len(d.Lost) == 0 {
		return "with losses"
	}
	return term.Count(len(d.Lost), "checkpoint") + " lost"
}

// Lines are a diagnosis in words, after the line with its condition. The option is
// that of ReadStatus.
func (d *Diagnosis) Lines(option string) (lines []Line) {
	line := func(label, text string) {
		lines = append(lines, Line{Label: label, Text: strings.Join(strings.Fields(text), " ")})
	}
	if d.Name != "" { // else it is the title
		line("execution", PlaceOf(d.Execution))
	}
	if d.Happened != "" {
		line("happened", d.Happened)
	}
	more := func(n int) {
		if n > 0 {
			line("", advice.Render(fmt.Sprintf("and %d more: `hank doctor --json`", n), option))
		}
	}
	list := func(n int, each func(i int) (label, text string)) {
		for i := range min(n, Fewer) {
			line(each(i))
		}
		more(n - Fewer)
	}
	others, hidden := 0, 0
	for i, f := range d.Findings {
		if f.Severity != finding.Blocked && i < len(d.Findings)-len(d.gone) {
			if others++; others > Fewer {
				hidden++
				continue
			}
		}
		word := f.Severity.Planned()
		if i < d.Repaired {
			word = f.Severity.Word()
		}
		line(word, f.What)
	}
	more(hidden)
	if d.Validation != nil {
		issue := func(word string, issues []consistency.Issue) {
			list(len(issues), func(i int) (string, string) { return word, fmt.Sprintf("[%s] %s", issues[i].Type, issues[i].Message) })
		}
		issue("error", d.Validation.Errors)
		issue("warning", d.Validation.Warnings)
	}
	if d.Store != nil {
		list(len(d.Store.Problems), func(i int) (string, string) { return "damaged", d.Store.Problems[i] })
	}
	if n := len(d.Lost); n > 0 {
		line("lost", term.Count(n, "checkpoint")+" no longer available")
	}
	for _, s := range d.Safe {
		line("safe", s)
	}
	if len(d.Quarantine) > 0 {
		line("quarantined", quarantineText(d.Execution, d.Quarantine, d.OfOrigin))
	}
	can := "unavailable: " + d.Sandbox.Why
	if d.Sandbox.InForce() {
		can = fmt.Sprintf("available (Landlock ABI %d)", d.Sandbox.ABI)
	}
	line("sandbox", "\"workspace\" sandbox "+can)
	if d.Finish != "" {
		line("to finish", d.Finish+Before(d.FinishFirst))
	}
	line("run next", d.Next)
	if d.Resume != "" {
		line("or", d.Resume+", which continues the agent's interrupted session")
	}
	return lines
}
