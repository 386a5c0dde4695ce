package state

import (
	"fmt"
	"slices"
	"time"
)

// Caveats are what the number of settled codons does not say: those that did
// not do all that they were to do, in the order of the plan.
type Caveats struct {
	CutOff      []Caveat  `json:"cutOff,omitempty"`          // completed, but ended by a budget
	Ignored     []Caveat  `json:"ignoredFailures,omitempty"` // failed, and the plan continues
	FullContext []Caveat  `json:"fullContext,omitempty"`     // completed, with the agent's context full
	Skipped     []CodonID `json:"skipped,omitempty"`
	Unobserved  []CodonID `json:"sentinelsNotRun,omitempty"` // some of their sentinels could not be loaded
	Unpriced    []CodonID `json:"unpriced,omitempty"`        // what they cost is in no figure: their model has no known price
	NotRun      []CodonID `json:"notRun,omitempty"`          // completed by --noop, so that nothing of them was done
}

// Caveat is what is to be said of one settled codon.
type Caveat struct {
	CodonID        CodonID         `json:"codonId"`
	BudgetExceeded *BudgetExceeded `json:"budgetExceeded,omitempty"`
	Message        string          `json:"message,omitempty"` // of the failure
}

// Caveats returns those of the finished codons. Complexity: the records on the lineage
// path and the plan.
func (s *State) Caveats() Caveats { return CaveatsOf(s.Finished()) }

// CaveatsOf returns those of settled codons, in their order.
func CaveatsOf(records []*Codon) (c Caveats) {
	for _, record := range records {
		if record.Settled() {
			c = c.with(record)
		}
	}
	return c
}

// Empty reports whether there is nothing to be said.
func (c Caveats) Empty() bool {
	return len(c.CutOff)+len(c.Ignored)+len(c.FullContext)+len(c.Skipped)+len(c.NotRun)+len(c.Unobserved)+len(c.Unpriced) == 0
}

// with returns the caveats with those of one more settled record. The lists of c
// are not written to: states share them.
func (c Caveats) with(record *Codon) Caveats {
	if len(record.NotObserved) > 0 && record.Status == Completed {
		c.Unobserved = append(slices.Clip(c.Unobserved), record.CodonID)
	}
	if record.UnpricedTokens > 0 {
		c.Unpriced = append(slices.Clip(c.Unpriced), record.CodonID)
	}
	about := Caveat{CodonID: record.CodonID, BudgetExceeded: record.BudgetExceeded}
	switch {
	case record.Status == Skipped:
		c.Skipped = append(slices.Clip(c.Skipped), record.CodonID)
	case record.Status == Failed:
		if record.FailureReason != nil {
			about.Message = record.FailureReason.Message
		}
		c.Ignored = append(slices.Clip(c.Ignored), about)
	case record.DidNothing():
		c.NotRun = append(slices.Clip(c.NotRun), record.CodonID)
	case record.BudgetExceeded != nil && !record.BudgetExceeded.Finished:
		c.CutOff = append(slices.Clip(c.CutOff), about)
	case record.ContextExceeded:
		c.FullContext = append(slices.Clip(c.FullContext), about)
	}
	return c
}

// String is what was used of which limit: $2.109 of $2.
func (b BudgetExceeded) String() string {
	switch b.Currency {
	case "cost":
		return Dollars(b.Used).Of(Dollars(b.Limit))
	case "duration":
		return fmt.Sprintf("%s of %s", seconds(b.Used), seconds(b.Limit))
	case "outputTokens":
		return fmt.Sprintf("%.0f of %.0f output tokens", b.Used, b.Limit)
	case "contextTokens":
		return fmt.Sprintf("%.0f of %.0f tokens of context", b.Used, b.Limit)
	}
	return fmt.Sprintf("%g of %g (%s)", b.Used, b.Limit, b.Currency)
}

// seconds is a number of seconds for people; what does not fit is the longest
// duration.
func seconds(s float64) time.Duration {
	const longest = 1<<63 - 1
	if d := s * float64(time.Second); d < longest {
		return time.Duration(d).Round(time.Millisecond)
	}
	return longest
}
