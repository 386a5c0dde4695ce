package loop

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is a kind of rule.
type Kind string

// The kinds. The first two are the compatible system's.
const (
	IterationLimit  Kind = "iterationLimit"
	ContextExceeded Kind = "contextExceeded"
	Plateau         Kind = "plateau" // nothing more is gained, by a vote
	Command         Kind = "command" // a command says so
	Any             Kind = "any"     // one of several rules is met
	All             Kind = "all"     // all of several rules are met
)

// Voter says who votes.
type Voter string

// The voters. That of a plateau is any but ByCommand.
const (
	ByTree    Voter = "tree"    // the tracked files of the checkpoints
	ByAgent   Voter = "agent"   // the last codon of the loop
	ByJudge   Voter = "judge"   // the codon of the loop that the rule names
	ByCommand Voter = "command" // the exit code of a command

	BySentinel Voter = "sentinel" // the last answer of the sentinel that the rule names
)

// What a rule counts where it gives no number.
const (
	defaultConsensus        = 2
	defaultMinIterations    = 2
	defaultMaxJudgeFailures = 3
)

// Rule is terminateOn, or a part of it. Limit is of the whole; all but IterationLimit,
// ContextExceeded and what is in Of need one of ours.
type Rule struct {
	Type  Kind `json:"type"`
	Limit int  `json:"limit,omitzero"` // the most iterations

	// Of a plateau. Absent numbers have the defaults above.
	Vote             Voter    `json:"vote,omitzero"`
	MinChangedLines  int      `json:"minChangedLines,omitzero"` // ByTree: fewer are as good as none
	Ignore           []string `json:"ignore,omitzero"`          // ByTree: patterns of files that do not count
	Judge            string   `json:"judge,omitzero"`           // ByJudge: the codon's id
	Sentinel         string   `json:"sentinel,omitzero"`        // BySentinel: its id
	Consensus        int      `json:"consensus,omitzero"`       // votes for stop in a row
	MinIterations    int      `json:"minIterations,omitzero"`
	MaxJudgeFailures int      `json:"maxJudgeFailures,omitzero"` // ByJudge, BySentinel: in a row, before it is not believed any more

	// Of a command.
	Until          string  `json:"until,omitzero"` // a line for the shell
	TimeoutSeconds float64 `json:"timeoutSeconds,omitzero"`

	Of      []Rule         `json:"of,omitzero"` // of any and all
	Unknown jsontext.Value `json:",embed"`
}

// Judged reports whether each iteration gets a verdict.
func (r Rule) Judged() bool {
	switch r.Type {
	case Plateau, Command, Any, All:
		return true
	}
	return false
}

// WaitsForContext reports whether a full context ends the loop.
func (r Rule) WaitsForContext() bool {
	if r.Type == Any {
		for _, of := range r.Of {
			if of.Type == ContextExceeded {
				return true
			}
		}
	}
	return r.Type == ContextExceeded
}

// Members are the rules that are voted on, in the order of their votes: the rule itself, or
// those that it is made of.
func (r Rule) Members() []Rule {
	switch r.Type {
	case Plateau, Command:
		return []Rule{r}
	case Any, All:
		var voted []Rule
		for _, of := range r.Of {
			if of.Type == Plateau || of.Type == Command {
				voted = append(voted, of)
			}
		}
		return voted
	}
	return nil
}

// Asked is the codon that is asked for a decision: the one that the rule names, or the last
// of the loop; empty if no codon votes on the rule.
func (r Rule) Asked(last string) string {
	switch {
	case r.Type != Plateau:
		return ""
	case r.Vote == ByJudge:
		return r.Judge
	case r.Vote == ByAgent:
		return last
	}
	return ""
}

// voter is who votes on the rule.
func (r Rule) voter() Voter {
	switch {
	case r.Type == Command:
		return ByCommand
	case r.Vote == "":
		return ByTree
	}
	return r.Vote
}

// ByTrees reports whether the trees of the checkpoints vote on the rule.
func (r Rule) ByTrees() bool { return r.Type == Plateau && r.voter() == ByTree }

func (r Rule) consensus() int { return orDefault(r.Consensus, defaultConsensus) }

// Needs is how many iterations it takes at least until a plateau is met.
func (r Rule) Needs() int { return max(r.consensus(), r.minIterations()) }

func (r Rule) minIterations() int { return orDefault(r.MinIterations, defaultMinIterations) }

func (r Rule) maxJudgeFailures() int { return orDefault(r.MaxJudgeFailures, defaultMaxJudgeFailures) }

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

// String is the rule in words: "until plateau (vote: tree), at most 10 times".
func (r Rule) String() string {
	switch r.Type {
	case IterationLimit:
		return times(r.Limit)
	case ContextExceeded:
		return "until the context is full"
	}
	text := "until " + r.condition()
	if r.Limit > 0 {
		text += ", at most " + times(r.Limit)
	}
	return text
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// condition is what the rule waits for, in words.
func (r Rule) condition() string {
	switch r.Type {
	case Plateau:
		by := string(r.voter())
		if who := r.Judge + r.Sentinel; who != "" { // one of the two
			by += " " + who
		}
		return "a plateau (vote: " + by + ")"
	case Command:
		return "a command succeeds"
	case ContextExceeded:
		return "the context is full"
	}
	var parts []string
	for _, of := range r.Of {
		parts = append(parts, of.condition())
	}
	word := " or "
	if r.Type == All {
		word = " and "
	}
	return strings.Join(parts, word)
}
