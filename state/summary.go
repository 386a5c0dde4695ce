package state

import (
	"slices"
	"time"
)

// Summary is what is needed of a state to say where an execution is, without
// its past: a state of a hundred thousand codons has a summary of some kilobytes.
// It can be carried on by what codons do, and refuses whatever would need the
// past.
type Summary struct {
	// State has of each run the header, the last final record and the live one,
	// and of the plan a few entries around the next one. Only what is in them
	// may be asked of it.
	State   *State
	Done    int  // as State.Next
	Planned int  // entries of the plan
	Past    Bill // of all final records
	// Worked is how long all final records took, from the start of each to its end.
	Worked time.Duration
	// From is the index in the plan of the first entry that State has.
	From    int
	Caveats Caveats // as State.Caveats
}

// summaryPlan is how many entries of the plan a summary has from Done on.
const summaryPlan = 64

// Summary returns the summary of a state. Complexity: its records and entries.
func (s *State) Summary() Summary {
	finished := s.Finished()
	h := Summary{Done: len(finished), Planned: s.plan.len(), Caveats: CaveatsOf(finished)}
	trimmed := *s
	trimmed.Runs = make([]*Run, len(s.Runs))
	for i, r := range s.Runs {
		h.Past = h.Past.Plus(r.Bill())
		for _, c := range r.done.items {
			h.Worked += c.took()
		}
		if r.live != nil {
			h.Past = h.Past.Minus(r.live.Bill())
		}
		run := *r
		run.done = newList(slices.Clone(r.done.items[max(0, r.done.len()-1):]))
		run.judged = newList(slices.Clone(r.judged.items[max(0, r.judged.len()-1):]))
		trimmed.Runs[i] = &run
	}
	h.From = max(0, h.Done-1)
	trimmed.plan = newList(slices.Clone(s.plan.items[h.From:min(s.plan.len(), h.Done+summaryPlan)]))
	trimmed.cursor = 0
	h.State = &trimmed
	return h
}

// Next is the codon that comes next; empty if none does. known is false if the
// summary does not reach that far.
func (h Summary) Next() (id CodonID, known bool) {
	if h.Done == h.Planned {
		return "", true
	}
	if at := h.Done - h.From; at < h.State.plan.len() {
		return h.State.plan.items[at].CodonID, true
	}
	return "", false
}

// Bill is what all runs cost, as State.Bill.
func (h Summary) Bill() Bill {
	sum := h.Past
	for _, r := range h.State.Runs {
		if r.live != nil {
			sum = sum.Plus(r.live.Bill())
		}
	}
	return sum
}

// Apply carries the summary on; false: that takes the whole state.
func (h Summary) Apply(seq uint64, t Transition) (Summary, bool) {
	switch t.(type) {
	case CodonStarted, CodonTransitioned, CostsUpdated, SentinelsUpdated, PlanGrown, CheckpointCreated, LimitsSet, IterationJudged, OperationAnswered, RunPaused, RunCompleted, RunFailed, RunCrashed:
	default:
		return h, false
	}
	if h.State.Position != nil {
		return h, false
	}
	next, err := Apply(h.State, seq, t)
	if err != nil {
		return h, false // or it is illegal, which the whole state will tell
	}
	h.State = next
	switch t := t.(type) {
	case PlanGrown:
		added, err := decodeEntries(t.Add)
		if err != nil {
			return h, false
		}
		h.Planned += len(added) - t.Drop
	case CodonTransitioned:
		if !t.Record.Status.Terminal() {
			break
		}
		h.Past = h.Past.Plus(t.Record.Bill())
		h.Worked += t.Record.took()
		if t.Record.FailedAtGate() { // which may take back what was settled
			return h, false
		}
		if !t.Record.Settled() {
			break
		}
		if id, known := h.Next(); !known || id != t.Record.CodonID || t.RunID != next.Runs[0].RunID {
			return h, false
		}
		h.Done++
		h.Caveats = h.Caveats.with(t.Record)
	}
	_, known := h.Next()
	return h, known
}

// took is how long a record took; 0 while it is not over.
func (c *Codon) took() time.Duration {
	if c.EndTime == nil {
		return 0
	}
	return c.EndTime.Sub(c.StartTime.Time)
}

// Cost is what the attempt cost, whatever its status, sentinels left out.
func (c *Codon) Cost() USD {
	for _, cost := range []*USD{c.FinalCost, c.PartialCost, c.CurrentCost} {
		if cost != nil {
			return *cost
		}
	}
	return 0
}

// Extensions is how often exhaustWithPrompt was sent.
func (c *Codon) Extensions() int {
	if c.ExtensionCount == nil {
		return 0
	}
	return *c.ExtensionCount
}

// TokenCount is what the attempt used, whatever its status.
func (c *Codon) TokenCount() Tokens {
	for _, t := range []*Tokens{c.FinalTokens, c.PartialTokens, c.CurrentTokens} {
		if t != nil {
			return *t
		}
	}
	return Tokens{}
}
