package recovery

import (
	"fmt"
	"slices"
)

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	Note    Severity = "note"    // worth knowing
	Warning Severity = "warning" // will need somebody if nothing is done
	Mended  Severity = "mended"  // was wrong, and is right again; nothing was lost
	Lost    Severity = "lost"    // something cannot be brought back; the finding names it
	Blocked Severity = "blocked" // needs a person's decision
)

// Finding is one thing that opening an execution found out.
type Finding struct {
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
}

// Report is what opening an execution found and did, or, for readers, would
// do.
type Report struct {
	Source   string    `json:"source"` // where the state came from: state.json, state.json.bak, journal, git, new
	Findings []Finding `json:"findings"`
}

func (r *Report) add(s Severity, format string, args ...any) {
	f := Finding{s, fmt.Sprintf(format, args...)}
	if !slices.Contains(r.Findings, f) { // what is looked at twice is said once
		r.Findings = append(r.Findings, f)
	}
}

// Worst returns whether a finding of the severity is in the report.
func (r *Report) Has(s Severity) bool {
	for _, f := range r.Findings {
		if f.Severity == s {
			return true
		}
	}
	return false
}

// DecisionError says that hank cannot go on without a person.
type DecisionError struct {
	What    string   // what hank found, one sentence
	Options []string // what can be done: commands or flags with their meaning
	Command string   // the command among them that settles it without a copy or a look; empty: none does
	noRoom  bool     // for a checkpoint
}

func (e *DecisionError) Error() string {
	text := e.What
	for i, o := range e.Options {
		if i == 0 {
			text += "; choose: " + o
		} else {
			text += ", or " + o
		}
	}
	return text
}
