package plan

import "strconv"

// Extent is how many codons a plan comes to in the end, as far as that is known
// while it runs.
type Extent struct {
	Codons int  // those in the plan, and those that its loops add up to their limits
	AtMost bool // a budget may end one of its loops earlier
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
		around := p.Loop(at.LoopID)
		switch {
		case around == nil:
		case around.TerminateOn.Type == ContextExceeded:
			e.Open = true
		default:
			e.Codons += max(0, around.TerminateOn.Limit-1-at.Iteration) * len(around.Codons)
			e.AtMost = e.AtMost || around.budgeted()
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
	case e.Open:
		return "?"
	case e.AtMost:
		return "≤" + strconv.Itoa(e.Codons)
	}
	return strconv.Itoa(e.Codons)
}

// Text is the extent in words.
func (e Extent) Text() string {
	switch {
	case e.Open:
		return strconv.Itoa(e.Codons) + " or more"
	case e.AtMost:
		return "at most " + strconv.Itoa(e.Codons)
	}
	return strconv.Itoa(e.Codons)
}
