package loop

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Decision is whether a loop goes on.
type Decision string

// The decisions. An empty one is none.
const (
	Stop     Decision = "stop"
	Continue Decision = "continue"
)

// Ballot is what the voter on a rule says about an iteration.
type Ballot struct {
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason,omitempty"`
	Codon    string   `json:"codonId,omitempty"` // that voted; empty if none did, and in a codon's own record
	// Invalid: it says nothing that can be counted, and Reason says why. It counts as
	// continue, whatever Decision is.
	Invalid bool           `json:"invalid,omitzero"`
	Unknown jsontext.Value `json:",embed"` // of a newer hank
}

// Vote is a ballot as it was counted.
type Vote struct {
	Rule     Kind           `json:"rule"`
	Voter    Voter          `json:"voter"`
	Codon    string         `json:"codonId,omitempty"`
	Decision Decision       `json:"decision"`
	Reason   string         `json:"reason,omitempty"`
	Invalid  bool           `json:"invalid,omitzero"`  // the voter gave no decision
	InARow   int            `json:"inARow,omitzero"`   // votes for stop up to this one, without another between them
	Failures int            `json:"failures,omitzero"` // of a judge: the same of those that were invalid
	Met      bool           `json:"met,omitzero"`      // the rule is met
	Unknown  jsontext.Value `json:",embed"`
}

// Verdict is whether a loop is over after an iteration, as far as its rules say. That it
// has come to its limit is no verdict.
type Verdict struct {
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason,omitempty"`
	Votes    []Vote   `json:"votes,omitempty"`
}

// Decide counts the ballots about an iteration (from 0): one for each of the rule's
// Members, in their order. before is the verdict on the iteration before it of the same
// loop; nil if there is none, so that counting begins. The rules, in this order:
//
//  1. A ballot that is invalid counts as continue. A judge whose ballots were invalid
//     maxJudgeFailures times in a row is not believed any more: from then on all that it
//     says counts as continue.
//  2. A command is met by each vote for stop; a plateau by as many in a row as its
//     consensus, this one counted once, after at least minIterations iterations.
//  3. The loop is over if the rule is met, one of any, or every one of all.
func (r Rule) Decide(iteration int, before *Verdict, ballots []Ballot) Verdict {
	members := r.Members()
	v := Verdict{Decision: Continue}
	met := 0
	for i, member := range members {
		ballot := Ballot{Invalid: true, Reason: "nobody was asked"}
		if i < len(ballots) {
			ballot = ballots[i]
		}
		vote := member.count(iteration, before.vote(i, member), ballot)
		if vote.Met {
			met++
		}
		v.Votes = append(v.Votes, vote)
	}
	if met > 0 && (r.Type != All || met == len(members)) {
		v.Decision = Stop
	}
	v.Reason = v.reason()
	return v
}

// vote is what the verdict has counted for a rule; zero where it was another rule, or
// another voter, as the hank has changed.
func (v *Verdict) vote(i int, r Rule) Vote {
	if v == nil || i >= len(v.Votes) || v.Votes[i].Rule != r.Type || v.Votes[i].Voter != r.voter() {
		return Vote{}
	}
	return v.Votes[i]
}

func (r Rule) count(iteration int, before Vote, b Ballot) Vote {
	vote := Vote{Rule: r.Type, Voter: r.voter(), Codon: b.Codon, Decision: b.Decision, Reason: b.Reason, Invalid: b.Invalid}
	if vote.Decision != Stop || b.Invalid {
		vote.Decision = Continue
	}
	if most := r.maxJudgeFailures(); vote.Voter == ByJudge || vote.Voter == BySentinel {
		switch {
		case before.Failures >= most:
			vote.Failures, vote.Decision = before.Failures, Continue
			vote.Reason = fmt.Sprintf("not counted: the judge gave no decision %s in a row", count(before.Failures, "time"))
		case b.Invalid:
			if vote.Failures = before.Failures + 1; vote.Failures >= most {
				vote.Reason += fmt.Sprintf("; this is the %s time in a row, and the judge is not counted any more", ordinal(vote.Failures))
			}
		}
	}
	if vote.Decision == Stop {
		vote.InARow = before.InARow + 1
	}
	switch r.Type {
	case Command:
		vote.Met = vote.Decision == Stop
	case Plateau:
		vote.Met = vote.InARow >= r.consensus() && iteration+1 >= r.minIterations()
	}
	return vote
}

// reason is the verdict in words: what has ended the loop, or what each voter said.
func (v Verdict) reason() string {
	if len(v.Votes) == 0 {
		return "no context is full" // else nobody would have been asked
	}
	var said []string
	for _, vote := range v.Votes {
		if v.Decision != Stop || vote.Met {
			said = append(said, vote.String())
		}
	}
	return strings.Join(said, "; ")
}

// String is the vote in words: "tree: stop (2 in a row): nothing has changed".
func (v Vote) String() string {
	who := string(v.Voter)
	if v.Codon != "" {
		who = v.Codon
	}
	text := who + ": " + string(v.Decision)
	if v.InARow > 1 {
		text += fmt.Sprintf(" (%d in a row)", v.InARow)
	}
	if v.Reason != "" {
		text += ": " + v.Reason
	}
	return text
}

func ordinal(n int) string {
	suffix := "th"
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return fmt.Sprint(n) + suffix
}
