package plan

import (
	"slices"
	"strconv"
)

// Extent is how many codons a plan comes to in the end, as far as that is known
// while it runs. The zero value is that of a plan of which nothing is known.
type Extent struct {
	Codons int  // those in the plan, and those that its loops add up to their limits
	AtMost bool // a budget or a verdict may end one of its loops earlier
	Open   bool // one of its loops has no limit: more codons may come
}

// Extent is that of a plan of so many entries, of which loop says where in a loop they
// are, and those before next have ended and have grown it.
func (p *Program) Extent(entries int, loop func(i int) *LoopContext, next int) Extent {
	e := Extent{Codons: entries}
	for i := max(next, 0); i < entries; i++ {
		at := loop(i)
		if at == nil || i+1 < entries && loop(i+1) != nil && loop(i+1).LoopID == at.LoopID {
			continue
		}
		if around := p.Loop(at.LoopID); around != nil {
			e.add(around, at.Iteration+1)
		}
	}
	return e
}

// add adds what a loop comes to from an iteration on.
func (e *Extent) add(l *Loop, from int) {
	if l.TerminateOn.Type == ContextExceeded {
		e.Open = true
		return
	}
	e.Codons += max(0, l.TerminateOn.Limit-from) * len(l.Codons)
	e.AtMost = e.AtMost || l.budgeted() || l.TerminateOn.Judged()
}

// Extent is that of a plan of so many entries, of which those before next have ended.
// entry is the one that is next; nil: the plan is done, or has no entries yet.
func (o Outline) Extent(entries, next int, entry *Entry) Extent {
	at := -1
	if entry != nil {
		at = slices.IndexFunc(o.Items, func(item Item) bool {
			if item.Loop != nil {
				return entry.LoopContext != nil && item.Loop.ID == entry.LoopContext.LoopID
			}
			return entry.LoopContext == nil && item.Codon.ID == entry.Codon.ID
		})
	}
	if at < 0 && entries > 0 {
		return Extent{Codons: entries}
	}
	e := Extent{Codons: next}
	for i, item := range o.Items[max(at, 0):] {
		switch {
		case item.Loop == nil:
			e.Codons++
		case i == 0 && entry != nil:
			e.Codons -= entry.LoopContext.CodonIndexInLoop
			e.add(item.Loop, entry.LoopContext.Iteration)
		default:
			e.add(item.Loop, 0)
		}
	}
	return e
}

// budgeted reports whether a budget may end the loop.
func (l *Loop) budgeted() bool {
	if l.Budget != nil {
		return true
	}
	for i := range l.Codons {
		if l.Codons[i].Budget != nil {
			return true
		}
	}
	return false
}

// String is the extent in a few characters: 11, ≤11, or ? where nobody knows.
func (e Extent) String() string {
	switch {
	case e.Open, e.Codons == 0:
		return "?"
	case e.AtMost:
		return "≤" + strconv.Itoa(e.Codons)
	}
	return strconv.Itoa(e.Codons)
}

// Text is the extent in words, before "codons".
func (e Extent) Text() string {
	switch {
	case e.Open, e.Codons == 0:
		return "an unknown number of"
	case e.AtMost:
		return "at most " + strconv.Itoa(e.Codons)
	}
	return strconv.Itoa(e.Codons)
}
