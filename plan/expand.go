package plan

import "hank/plan/loop"

// Status is how an entry of the plan ended.
type Status string

// The ends.
const (
	Completed Status = "completed"
	Failed    Status = "failed"
	Skipped   Status = "skipped"
)

// Outcome is what the plan knows about an entry that ended. The plan asks for
// nothing else, and knows nothing of the rooms above it.
type Outcome struct {
	Status          Status
	FailureIgnored  bool // failed, and the hank says to continue
	ContextExceeded bool // the agent's context window was full
	BudgetExceeded  bool // the codon's budget or its loop's ran out, and not that of the hank or execution

	// Decision is the recorded verdict on the iteration whose last codon has ended; empty
	// if there is none. Tree is what the workspace had then, and ChangedLines how many
	// lines the iteration had changed: the verdict rests on them, and no rule looks at
	// them again.
	Decision     loop.Decision
	Tree         string
	ChangedLines int
}

// advances reports whether the run continues after the entry.
func (o Outcome) advances() bool {
	switch o.Status {
	case Completed, Skipped:
		return true
	case Failed:
		return o.FailureIgnored
	}
	return false
}

// step is what follows in a loop when one of its codons has ended.
type step int

const (
	stay    step = iota // the iteration continues, or the run stops here
	iterate             // the next iteration follows
	leave               // the loop is over
)

// after decides what follows in the loop when a codon of an iteration has
// ended; last says that it was the iteration's last. The rules, in this order:
//
//  1. A failure that is not ignored stops the run; the plan stays as it is.
//  2. A full context ends a loop that waits for it, and a spent budget of the
//     codon or loop ends any loop: the rest of the iteration is dropped.
//  3. Inside an iteration nothing changes.
//  4. At its end the verdict on it, if it says so, or the limit, if the loop has
//     one, ends the loop. A loop that is judged stays as it is until the verdict is
//     known.
//  5. Else one more iteration follows.
func (l *Loop) after(iteration int, last bool, o Outcome) step {
	rule := l.TerminateOn
	switch {
	case !o.advances():
		return stay
	case o.BudgetExceeded, o.ContextExceeded && rule.WaitsForContext():
		return leave
	case !last, rule.Judged() && o.Decision == "":
		return stay
	case rule.Judged() && o.Decision == loop.Stop, rule.Type != ContextExceeded && iteration >= rule.Limit-1:
		return leave
	}
	return iterate
}

// AwaitsVerdict reports whether nothing follows an entry that has ended with outcome o
// until its iteration has a verdict. rest are the entries after it; one is enough.
func (p *Program) AwaitsVerdict(at Entry, rest []Entry, o Outcome) bool {
	return at.LoopContext != nil && p.Loop(at.LoopContext.LoopID).awaits(at, rest, o)
}

// AwaitsVerdict is the same of a program that was read at a glance.
func (p Outline) AwaitsVerdict(at Entry, rest []Entry, o Outcome) bool {
	for _, item := range p.Items {
		if item.Loop != nil && at.LoopContext != nil && item.Loop.ID == at.LoopContext.LoopID {
			return item.Loop.awaits(at, rest, o)
		}
	}
	return false
}

func (l *Loop) awaits(at Entry, rest []Entry, o Outcome) bool {
	if l == nil || !l.TerminateOn.Judged() || o.Decision != "" || len(rest) > 0 && rest[0].sameIteration(at) {
		return false
	}
	return o.advances() && !o.BudgetExceeded && !(o.ContextExceeded && l.TerminateOn.WaitsForContext())
}

// Initial is the plan before anything ran: every codon of the top level once,
// and of each loop its first iteration.
func (p *Program) Initial() []Entry {
	return p.Derive(func(CodonID) (Outcome, bool) { return Outcome{}, false })
}

// Grow decides how the plan changes when entry last has ended with outcome o:
// drop entries after it go, then add is inserted after it. It is pure, and
// its cost depends on the size of the loop alone, not on the plan's length.
// Asked again for an entry whose next iteration is already there, it adds
// nothing. Entries of a loop that the program does not have never grow.
func (p *Program) Grow(entries []Entry, last int, o Outcome) (drop int, add []Entry) {
	if last < 0 || last >= len(entries) || entries[last].LoopContext == nil {
		return 0, nil
	}
	at := entries[last]
	around := p.Loop(at.LoopContext.LoopID)
	if around == nil {
		return 0, nil
	}
	rest := entries[last+1:]
	for drop < len(rest) && rest[drop].sameIteration(at) {
		drop++
	}
	switch around.after(at.LoopContext.Iteration, drop == 0, o) {
	case leave:
		return drop, nil
	case iterate:
		if len(rest) > 0 && rest[0].LoopContext != nil && rest[0].LoopContext.LoopID == around.ID {
			return 0, nil
		}
		return 0, around.iteration(at.LoopContext.Iteration + 1)
	}
	return 0, nil
}

// Derive rebuilds the whole plan from the outcomes that are known. It
// equals Initial, grown by Grow for each entry with an outcome, in plan order;
// an entry without one changes nothing. outcome must know finitely many
// entries.
func (p *Program) Derive(outcome func(CodonID) (Outcome, bool)) []Entry {
	entries := make([]Entry, 0, len(p.Hank.Items))
	for _, item := range p.Hank.Items {
		if item.Codon != nil {
			entries = append(entries, Entry{Codon: item.Codon, CodonID: item.Codon.ID})
			continue
		}
		for n, more := 0, true; more; n++ {
			var taken []Entry
			taken, more = item.Loop.derive(n, outcome)
			entries = append(entries, taken...)
		}
	}
	return entries
}

// derive is one iteration of the loop as far as the outcomes leave it in the
// plan, and whether another one follows.
func (l *Loop) derive(iteration int, outcome func(CodonID) (Outcome, bool)) (entries []Entry, more bool) {
	entries = l.iteration(iteration)
	for i, e := range entries {
		o, ended := outcome(e.CodonID)
		if !ended {
			continue
		}
		switch l.after(iteration, i == len(entries)-1, o) {
		case leave:
			return entries[:i+1], false
		case iterate:
			return entries, true
		}
	}
	return entries, false
}

// iteration is one pass through the loop's codons.
func (l *Loop) iteration(n int) []Entry {
	entries := make([]Entry, len(l.Codons))
	for i := range l.Codons {
		c := &l.Codons[i]
		entries[i] = Entry{
			Codon:       c,
			CodonID:     IterationID(c.ID, n),
			LoopContext: &LoopContext{LoopID: l.ID, Iteration: n, CodonIndexInLoop: i, LoopBudget: l.Budget, LoopGate: l.Gate, ProgressFile: l.progress},
		}
	}
	return entries
}
