package finding

import (
	"fmt"
	"slices"
	"strings"

	"hank/internal/advice"
)

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	Note    Severity = "note"    // worth knowing
	Warning Severity = "warning" // will need somebody if nothing is done
	Mended  Severity = "mended"  // repaired by an opening, to be repaired for a reader; nothing is lost
	Lost    Severity = "lost"    // something cannot be brought back; the finding names it
	Blocked Severity = "blocked" // needs the user's decision
)

// Finding is one thing that opening an execution found out.
type Finding struct {
	Severity Severity `json:"severity"`
	What     string   `json:"what"`

	// Asked says that nothing is damaged or lost: somebody is asked how to go on.
	Asked bool `json:"-"`

	// Next is the end of What: what the next command does, unless it asks first, or, in
	// the report of an opening, what it did.
	Next string
}

// Deferred is a finding beside something that the next command asks about first.
func (f Finding) Deferred() Finding {
	if what, ends := strings.CutSuffix(f.What, f.Next); f.Next != "" && ends {
		return Finding{Severity: f.Severity, What: what + "what is blocked is to be settled first"}
	}
	return f
}

// IsLoss reports whether something cannot be brought back.
func (f Finding) IsLoss() bool { return f.Severity == Lost }

// LossesFirst orders findings.
func LossesFirst(a, b Finding) int {
	switch {
	case a.IsLoss() == b.IsLoss():
		return 0
	case a.IsLoss():
		return -1
	}
	return 1
}

// Report is what opening an execution found and did, or, for readers, would
// do.
type Report struct {
	Source   string    `json:"source"` // where the state came from: state.json, state.json.bak, journal, git, new
	Findings []Finding `json:"findings"`
	// Unsure: where the state came from does not know every move; what it may
	// lack is in a finding.
	Unsure bool `json:"-"`
	// Behind says that the journal lacks its newest events, which the state has; empty: it has them.
	Behind string `json:"-"`

	Reading bool // for a reader: nothing was repaired
}

// will is what an opening says that it did, or what a reader says that the next
// command will do.
func (r *Report) will(done, todo string) string {
	if r.Reading {
		return todo
	}
	return done
}

// Word is the severity for people, as an opening prints it.
func (s Severity) Word() string {
	if s == Mended {
		return "repaired"
	}
	return string(s)
}

// Planned is the severity for people, as a reader prints it: it has repaired
// nothing.
func (s Severity) Planned() string {
	if s == Mended {
		return "to repair"
	}
	return string(s)
}

// Add adds a finding in the words that readers and openings have in common.
func (r *Report) Add(s Severity, format string, args ...any) {
	r.Insert(Finding{Severity: s, What: fmt.Sprintf(format, args...)})
}

// Repair adds a finding that ends with what the opening did about it or, for a reader,
// with what the next command will do. It is for what is found before the state is
// known, and only reports: the repair is part of the opening (a damaged state.json is
// replaced by the next save). What is found from then on is planned by a stage as a
// recovery.Repair, which is report and repair in one.
func (r *Report) Repair(s Severity, found, did, todo string) {
	f := Finding{Severity: s, What: found, Next: r.will(did, todo)}
	if f.Next != "" {
		f.What += "; " + f.Next
	}
	r.Insert(f)
}

// Insert adds a finding, unless it is there.
func (r *Report) Insert(f Finding) {
	if !slices.Contains(r.Findings, f) { // what is looked at twice is said once
		r.Findings = append(r.Findings, f)
	}
}

// Replace puts a finding in the place of the one that says what.
func (r *Report) Replace(what string, f Finding) {
	for i := range r.Findings {
		if r.Findings[i].What == what {
			r.Findings[i] = f
		}
	}
}

// Doubt adds what the source of the state may not know.
func (r *Report) Doubt(format string, args ...any) {
	r.Unsure = true
	r.Add(Warning, format, args...)
}

// Has reports whether a finding of the severity is in the report.
func (r *Report) Has(s Severity) bool {
	for _, f := range r.Findings {
		if f.Severity == s {
			return true
		}
	}
	return false
}

// DecisionError says that hank cannot continue without the user.
type DecisionError struct {
	What    string   // what hank found, one sentence
	Options []string // what can be done: commands or flags with their meaning
	Command string   // the command among them that settles it without a copy or a look; empty: none does
	Answers []string // what Command can have for an option each, where it is made of the command that asks: --adopt
	First   string   // what must be done before Command; empty: nothing
	Barred  bool     // this user may not use what is there: it was not looked at
	NoRoom  bool     // for a checkpoint
	Closed  error    // why the workspace takes no file; nil: it does
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

// Both are the answers to two questions that one command asks.
func Both(one, other []string) (out []string) {
	for _, first := range one {
		for _, second := range other {
			out = append(out, first+" "+second)
		}
	}
	return out
}

// Choices are the commands between which the user has to choose, one for each option that
// a command carries out; none where there is one option. No program gives one of them.
func (e *DecisionError) Choices() (out []string) {
	if len(e.Options) < 2 || e.Command == "" {
		return nil
	}
	add := func(command string) {
		if command != "" && !slices.Contains(out, command) {
			out = append(out, command)
		}
	}
	base, flags := e.Command, strings.Fields(strings.Join(e.Answers, " "))
	for before := ""; before != base; { // the last of them goes first
		before = base
		for _, flag := range flags {
			base = strings.TrimSuffix(base, " "+flag)
		}
	}
	for _, answer := range e.Answers {
		add(base + " " + answer)
	}
	add(e.Command)
	for _, option := range e.Options {
		if len(e.Answers) == 0 {
			add(advice.Leading(option))
		}
	}
	return out
}

// WithArticle is the kind of a move with its article.
func WithArticle(kind string) string {
	if kind == "undo" {
		return "an undo"
	}
	return "a " + kind
}
