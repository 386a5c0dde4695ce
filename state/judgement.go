package state

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"hank/plan/loop"
)

type (
	// Judgement is a verdict as it is recorded, once for each iteration: it holds as
	// long as the record that it was made for is on the lineage path.
	Judgement struct {
		CodonID   CodonID `json:"codonId"` // that has ended the iteration
		LoopID    CodonID `json:"loopId"`
		Iteration int     `json:"iteration"`        // from 0
		Attempt   int     `json:"attempt,omitzero"` // of the codon
		Time      Time    `json:"time"`
		// Tree is that of the iteration's last checkpoint, and Changed how it differs
		// from that of the iteration before; nil for the first. Files that the rule
		// ignores are in neither.
		Tree    SHA      `json:"tree,omitempty"`
		Changed *Changed `json:"changed,omitempty"`
		loop.Verdict
		Unknown jsontext.Value `json:",embed"`

		encoded []byte // its text in state.json
	}

	// Changed is how much of the tracked files an iteration has changed.
	Changed struct {
		Files   int            `json:"files"`
		Lines   int            `json:"lines"` // added and deleted; those of binary files are not counted
		Unknown jsontext.Value `json:",embed"`
	}
)

// Judgement is the verdict on the iteration that a record of the run has ended; nil if it
// has none. A failure at a gate is of the attempt before it, but a verdict from before it does
// not count: the iteration is another one with it. In a run the iterations of a loop follow
// each other, so that nothing is looked for after an earlier one.
func (r *Run) Judgement(c *Codon) *Judgement {
	if c.LoopContext == nil {
		return nil
	}
	for _, j := range slices.Backward(r.judged.items) {
		if j.LoopID != c.LoopContext.LoopID {
			continue
		}
		if j.Iteration == c.LoopContext.Iteration && j.CodonID == c.CodonID && j.Attempt == c.Attempt {
			if c.FailedAtGate() && j.Time.Before(c.StartTime.Time) {
				return nil
			}
			return j
		}
		if j.Iteration < c.LoopContext.Iteration {
			return nil
		}
	}
	return nil
}

func (j *Judgement) redact(change func(string) string) *Judgement {
	next := *j
	next.encoded = nil
	next.Reason = change(j.Reason)
	next.Votes = slices.Clone(j.Votes)
	for i := range next.Votes {
		next.Votes[i].Reason = change(next.Votes[i].Reason)
	}
	return &next
}

// redactBallot masks what a codon has said of its loop.
func redactBallot(b *loop.Ballot, change func(string) string) *loop.Ballot {
	if b == nil {
		return nil
	}
	next := *b
	next.Reason = change(b.Reason)
	return &next
}
