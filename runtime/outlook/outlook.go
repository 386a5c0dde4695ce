// Package outlook estimates what the rest of a plan will cost, from what its codons have cost
// so far.
//
//   - A sample is what one codon, or one iteration of a codon of a loop, has cost until it was
//     settled, with all its attempts.
//   - What is left are the codons from the next one on, those of loops up to their limits.
//   - The estimate is, for each codon that is left and has samples, their mean times how often it
//     is left. Its bounds take the least and the greatest sample instead of the mean. They are
//     what was seen, and no promise.
//
// A codon that has never been settled has no samples, and no part in the estimate: how many there
// are is said. Amounts are rounded to two digits, for no estimate is more exact than that.
//
// The package reads an execution, and writes nothing.
package outlook

import (
	"fmt"
	"math"
	"strings"

	"hank/internal/term"
	"hank/plan"
	"hank/recovery"
	"hank/state"
)

// Estimate is what the rest of a plan will cost, beside what is spent.
type Estimate struct {
	Likely  state.USD `json:"likely"`  // the means
	Least   state.USD `json:"least"`   // the least samples
	Most    state.USD `json:"most"`    // the greatest samples
	Codons  int       `json:"codons"`  // that are left and are in the estimate
	Unknown int       `json:"unknown"` // that are left and are not in it: none of them has been settled before
	Samples int       `json:"samples"` // by which it was made
	AtMost  bool      `json:"atMost"`  // a budget, a verdict or a full context may end a loop earlier
	// PerIteration is what one more iteration of the present loop costs, where the loop has no
	// limit; its later iterations are in no other figure. Absent: it has one, or no samples.
	PerIteration state.USD `json:"perIteration,omitzero"`
}

// place is where a codon is in the hank, all iterations in one.
type place struct{ loop, codon plan.CodonID }

// samples are those of one place.
type samples struct {
	n          int
	sum        state.USD
	least, top state.USD
}

// mostSettled is how many codons a history has at most of which an estimate is made: it takes
// all records.
const mostSettled = 2000

// Read estimates the rest of the plan of an execution, of which it reads the whole state. It is
// nil where of is, and after too many codons.
func Read(v *recovery.View) *Estimate {
	next, _ := v.Head.Next()
	if v.Head.Done == 0 || v.Head.Done > mostSettled || next == "" || v.Head.Bill().Paid() == 0 {
		return nil
	}
	whole, err := recovery.ReadKnown(v.Layout.Root)
	if err != nil {
		return nil
	}
	return of(whole.State, v.Items())
}

// Of is Read of an execution that was read whole.
func Of(v *recovery.View) *Estimate {
	if v.Head.Done == 0 || v.Head.Done > mostSettled || v.Head.Bill().Paid() == 0 {
		return nil
	}
	return of(v.State, v.Items())
}

// of estimates the rest of a plan. It is nil where nothing is left, or where nothing that was
// settled has cost anything.
func of(s *state.State, items []plan.Item) *Estimate {
	seen, unsettled := collect(s)
	entries, next := s.ExecutionPlan(), s.Next()
	if next >= len(entries) {
		return nil
	}
	e, worth := &Estimate{}, false
	for _, of := range seen {
		worth = worth || of.sum > 0
	}
	if !worth {
		return nil
	}
	at := entries[next]
	started := false
	for _, item := range items {
		switch {
		case item.Codon != nil:
			if !started && (at.LoopContext != nil || item.Codon.ID != at.Codon.ID) {
				continue
			}
			e.add(seen[place{"", item.Codon.ID}], 1)
		case !started && (at.LoopContext == nil || at.LoopContext.LoopID != item.Loop.ID):
			continue
		default:
			iteration, index := 0, 0
			if !started {
				iteration, index = at.LoopContext.Iteration, at.LoopContext.CodonIndexInLoop
			}
			e.loop(item.Loop, seen, iteration, index)
		}
		started = true
	}
	e.spentAlready(unsettled[at.CodonID])
	e.Likely, e.Least, e.Most = rough(e.Likely), rough(e.Least), rough(e.Most)
	e.PerIteration = rough(e.PerIteration)
	if e.Codons == 0 && e.PerIteration == 0 {
		return nil
	}
	return e
}

// loop adds what is left of a loop from a codon of an iteration on.
func (e *Estimate) loop(l *plan.Loop, seen map[place]samples, iteration, index int) {
	open := l.TerminateOn.Type == plan.ContextExceeded
	times := 1 // the iteration that is begun
	if !open {
		times = max(1, l.TerminateOn.Limit-iteration)
	}
	e.AtMost = e.AtMost || open || l.Budget != nil || l.TerminateOn.Judged()
	each, known := state.USD(0), true
	for i, c := range l.Codons {
		of := seen[place{l.ID, c.ID}]
		e.AtMost = e.AtMost || c.Budget != nil
		each, known = each+of.mean(), known && of.n > 0
		if n := times; i >= index {
			e.add(of, n)
		} else {
			e.add(of, n-1)
		}
	}
	if open && known {
		e.PerIteration = each
	}
}

func (e *Estimate) add(of samples, times int) {
	switch {
	case times <= 0:
	case of.n == 0:
		e.Unknown += times
	default:
		n := state.USD(times)
		e.Codons, e.Samples = e.Codons+times, e.Samples+of.n
		e.Likely, e.Least, e.Most = e.Likely+n*of.mean(), e.Least+n*of.least, e.Most+n*of.top
	}
}

// spentAlready takes away what the next codon has spent in attempts that have not settled it.
func (e *Estimate) spentAlready(spent state.USD) {
	e.Likely, e.Least, e.Most = max(0, e.Likely-spent), max(0, e.Least-spent), max(0, e.Most-spent)
}

func (of samples) mean() state.USD {
	if of.n == 0 {
		return 0
	}
	return of.sum / state.USD(of.n)
}

// collect adds up the attempts at each codon until it is settled. unsettled is what was spent
// for codons since they were settled last. Replayed costs are none.
func collect(s *state.State) (seen map[place]samples, unsettled map[plan.CodonID]state.USD) {
	seen, unsettled = map[place]samples{}, map[plan.CodonID]state.USD{}
	for i := len(s.Runs) - 1; i >= 0; i-- { // the oldest first
		for _, c := range s.Runs[i].Codons() {
			unsettled[c.CodonID] += c.Bill().Paid()
			if !c.Settled() {
				continue
			}
			at, cost := place{codon: c.CodonID}, unsettled[c.CodonID]
			delete(unsettled, c.CodonID)
			if c.Status == state.Skipped || c.DidNothing() || c.Replayed() {
				continue
			}
			if l := c.LoopContext; l != nil {
				base, _, _ := strings.Cut(string(c.CodonID), "#")
				at = place{l.LoopID, plan.CodonID(base)}
			}
			of := seen[at]
			if of.n == 0 {
				of.least = cost
			}
			seen[at] = samples{of.n + 1, of.sum + cost, min(of.least, cost), max(of.top, cost)}
		}
	}
	return seen, unsettled
}

// rough rounds to two digits.
func rough(u state.USD) state.USD {
	if u <= 0 {
		return 0
	}
	unit := math.Pow10(max(0, int(math.Log10(float64(u)))-1))
	return state.USD(math.Round(float64(u)/unit) * unit)
}

// Text is the estimate for people.
func (e *Estimate) Text() string {
	var parts []string
	if e.Codons > 0 {
		text := fmt.Sprintf("about %s more for %s", e.Likely.Text(), term.Count(e.Codons, "codon"))
		if e.AtMost {
			text = fmt.Sprintf("about %s more for at most %s", e.Likely.Text(), term.Count(e.Codons, "codon"))
		}
		switch {
		case e.Least != e.Most:
			text += fmt.Sprintf(" (%s to %s, by what %s cost)", e.Least.Text(), e.Most.Text(), term.Count(e.Samples, "codon"))
		default:
			text += fmt.Sprintf(" (by %s; how much it varies is not known)", term.Count(e.Samples, "codon"))
		}
		parts = append(parts, text)
	}
	if e.PerIteration > 0 {
		parts = append(parts, fmt.Sprintf("about %s for each further iteration", e.PerIteration.Text()))
	}
	if e.Unknown > 0 {
		text := term.Count(e.Unknown, "codon") + " that have not run yet are not in it"
		if e.Unknown == 1 {
			text = "1 codon that has not run yet is not in it"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
