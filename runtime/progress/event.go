package progress

import (
	"fmt"
	"time"

	"hank/checkpoint/diff"
	"hank/plan"
	"hank/runtime/verdict"
	"hank/state"
)

// Event is what a run tells. Those of this package are all there are.
type Event interface {
	// Masked is the event with what hides secrets put over all texts of others.
	Masked(mask func(string) string) Event
}

// Begun is a run that begins, or continues, its plan.
type Begun struct {
	Hank   string      `json:"hank"`
	Done   int         `json:"codonsDone"`
	Extent plan.Extent `json:"extent"`
	Widest int         `json:"-"` // the length of the longest id
	Priced bool        `json:"-"` // a codon of it may cost money
}

// CodonBegun is an attempt at a codon that begins.
type CodonBegun struct {
	Codon    state.CodonID `json:"codonId"`
	Name     string        `json:"name"`
	Number   int           `json:"number"` // in the plan, from 1
	Extent   plan.Extent   `json:"extent"`
	Attempt  int           `json:"attempt"`  // from 1
	Attempts int           `json:"attempts"` // that there are at most; 0: nobody knows
}

// CodonEnded is an attempt that has ended, with its checkpoint.
type CodonEnded struct {
	CodonBegun
	Verdict    verdict.Verdict `json:"verdict"`
	But        string          `json:"but,omitempty"` // what the verdict leaves unsaid
	Took       time.Duration   `json:"took"`
	Bill       state.Bill      `json:"bill"`
	Checkpoint state.SHA       `json:"checkpoint,omitempty"`
	Files      Files           `json:"files"`
	Words      string          `json:"words,omitempty"` // the agent's last sentence
	Why        string          `json:"why,omitempty"`   // it failed, where the end of the run does not say so
	Notes      []string        `json:"notes,omitempty"`
}

// Files are how many files a codon has added, changed and deleted.
type Files struct {
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Deleted int `json:"deleted"`
}

// CountFiles is how many files changes are about.
func CountFiles(changes []diff.Change) (files Files) {
	for _, change := range changes {
		switch change.Kind {
		case diff.Added:
			files.Added++
		case diff.Deleted:
			files.Deleted++
		default:
			files.Changed++
		}
	}
	return files
}

// Detail is a remark on the codon that is running.
type Detail struct {
	Text string `json:"text"`
}

// Remark is anything else that is said.
type Remark struct {
	Text string `json:"text"`
}

// Ended is a run that has ended, and where everything is.
type Ended struct {
	Verdict   verdict.Verdict
	Message   string
	Progress  string // how many codons are finished
	Bill      state.Bill
	Took      time.Duration // this run; 0: there was nothing to run
	Runs      int           // that there were
	All       time.Duration // the work in all of them
	Limits    string
	But       bool   // completed, but that is not all
	Caveats   string // empty where Message says it
	Results   string // a directory
	Workspace string
	Changed   bool        // it, since the first checkpoint
	Land      string      // the command that commits that where it is the user's checkout
	LandBut   string      // why not with --switch, or why not at all
	Gate      [][2]string // what the user needs who is asked at a gate: labels and facts
	Next      string      // the one command to continue with; none where the hank is completed
	Finish    string      // where it is: the command that does again what a budget has interrupted
}

// Masked implements Event.
func (e Begun) Masked(mask func(string) string) Event {
	e.Hank = mask(e.Hank)
	return e
}

// Masked implements Event.
func (e CodonBegun) Masked(mask func(string) string) Event {
	e.Name = mask(e.Name)
	return e
}

// Masked implements Event.
func (e CodonEnded) Masked(mask func(string) string) Event {
	e.Name, e.But, e.Words, e.Why = mask(e.Name), mask(e.But), mask(e.Words), mask(e.Why)
	notes := make([]string, len(e.Notes))
	for i, n := range e.Notes {
		notes[i] = mask(n)
	}
	e.Notes = notes
	return e
}

// Masked implements Event.
func (e Detail) Masked(mask func(string) string) Event { return Detail{mask(e.Text)} }

// Masked implements Event.
func (e Remark) Masked(mask func(string) string) Event { return Remark{mask(e.Text)} }

// Masked implements Event.
func (e Ended) Masked(mask func(string) string) Event {
	e.Message = mask(e.Message)
	return e
}

// place is where in the plan a codon is: [2/11].
func (e CodonBegun) place() string { return fmt.Sprintf("[%d/%s]", e.Number, e.Extent) }

// try says which attempt it is, if it is not the first.
func (e CodonBegun) try() string {
	if e.Attempt < 2 {
		return ""
	}
	return " (" + Attempt(e.Attempt, e.Attempts) + ")"
}

// Attempt names an attempt by its number, and by how many there are at most, if that is known
// (not 0).
func Attempt(number, most int) string {
	if most == 0 {
		return fmt.Sprintf("attempt %d", number)
	}
	return fmt.Sprintf("attempt %d of %d", number, most)
}
