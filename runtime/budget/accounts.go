package budget

import (
	"slices"
	"strings"
	"time"

	"hank/plan"
	"hank/runtime/retry"
	"hank/state"
)

// Use is what a codon has used. In a check of limits it is that of one
// attempt so far.
type Use struct {
	Cost    state.USD
	Time    time.Duration // since the attempt began
	Output  int64         // tokens that the agent wrote, all requests together
	Context int64         // the largest request in tokens, caches included
}

// Accounts are what everything has used so far, every attempt however it
// ended: a skip gives nothing back. The time is that in which codons were
// running.
//
// Sentinels count: what they cost is a part of what their codon has used.
//
// The total is that of all runs, for money that was spent is gone. What a
// codon or loop has used is what it has used on the way to where the execution
// is: of what the user has gone back beyond, it starts from nothing.
//
// What a replayed attempt cost was not paid and counts for nothing, except in a run
// that replays: there the budgets of the hank are for what the recording cost, so that
// what was stopped at its budget is stopped there again, and what the user allows the
// execution to spend does not limit it.
type Accounts struct {
	Codons  map[Place]account
	Loops   map[plan.CodonID]account // of all codons that ran in a loop
	Total   account
	granted state.Limits // what the user allows all of it to come to
	replays bool
}

// Place is where a codon is in the hank, all iterations of a loop in one.
type Place struct {
	loop  plan.CodonID // empty on the top level
	Codon plan.CodonID
}

type account struct {
	Cost state.USD
	Time time.Duration
}

func (a account) plus(cost state.USD, t time.Duration) account {
	return account{a.Cost + max(0, cost), a.Time + max(0, t)}
}

// NewAccounts reads all records of a state that are final, for a run that replays or not.
func NewAccounts(s *state.State, replays bool) *Accounts {
	a := &Accounts{Codons: map[Place]account{}, Loops: map[plan.CodonID]account{}, granted: s.Limits, replays: replays}
	if replays {
		a.granted.MaxDollars = 0
	}
	way, counts := onTheWay(s), newCounted(s)
	for _, run := range slices.Backward(s.Runs) { // the oldest first
		for i := range run.Len() {
			switch c := run.Codon(i); {
			case !c.Status.Terminal():
			case way[c]:
				a.leave(counts.add(c))
			default:
				a.leave([]*state.Codon{c})
			}
		}
	}
	a.leave(counts.upTo(s.Next()))
	for _, c := range counts.records {
		a.Add(c)
	}
	return a
}

// leave takes in records that count for the hank and the execution alone.
func (a *Accounts) leave(records []*state.Codon) {
	for _, c := range records {
		a.Total = a.Total.plus(a.used(c))
	}
}

// counted has the records that count for codons and loops: not those of entries that run
// again, because one before them in the plan has run after them, or is next (see
// state.State.Finished).
type counted struct {
	entries    map[plan.CodonID]int // where in the plan they are; what it has no more is in between
	loops      map[plan.CodonID]int // behind the last entry of each
	iterations map[iteration]int    // before the first entry of each
	records    []*state.Codon
	at         []int // of each, where in the plan it is; in ascending order
	last       *state.Codon
}

type iteration struct {
	loop plan.CodonID
	n    int
}

func iterationOf(c *state.Codon) iteration {
	if l := c.LoopContext; l != nil {
		return iteration{l.LoopID, l.Iteration}
	}
	return iteration{}
}

func newCounted(s *state.State) *counted {
	k := &counted{entries: map[plan.CodonID]int{}, loops: map[plan.CodonID]int{}, iterations: map[iteration]int{}}
	for i, e := range s.ExecutionPlan() {
		k.entries[e.CodonID] = 2 * i
		if l := e.LoopContext; l != nil {
			k.loops[l.LoopID] = 2*i + 1
			of := iteration{l.LoopID, l.Iteration}
			if _, known := k.iterations[of]; !known {
				k.iterations[of] = 2*i - 1
			}
		}
	}
	return k
}

// add takes in the next record on the lineage path, and returns those that do not count any
// more: of what comes later in the plan, and older ones of the codon itself, unless this is
// another attempt.
func (k *counted) add(c *state.Codon) (left []*state.Codon) {
	i, planned := k.entries[c.CodonID]
	if !planned {
		i = k.between(c)
	}
	runsAgain := planned && (k.last == nil || k.last.CodonID != c.CodonID)
	left = k.cut(func(at int) bool { return at > i || at == i && runsAgain })
	k.records, k.at, k.last = append(k.records, c), append(k.at, i), c
	return left
}

// between is where a record is of which the plan has no entry: in its iteration after what
// ran before it; after its loop, where the iteration is not laid out; else after the record
// before it.
func (k *counted) between(c *state.Codon) int {
	before, of := -1, iterationOf(c)
	if n := len(k.at); n > 0 {
		before = k.at[n-1] | 1
	}
	if i, laidOut := k.iterations[of]; laidOut {
		if n := len(k.at); n > 0 && iterationOf(k.records[n-1]) == of {
			return max(i, before)
		}
		return i
	}
	if i, known := k.loops[of.loop]; known {
		return i
	}
	return before
}

// upTo leaves out what is to run from the next entry on. Attempts at that one count.
func (k *counted) upTo(next int) []*state.Codon {
	left := k.cut(func(at int) bool { return at > 2*next })
	if n := len(k.records); n > 0 && next < len(k.entries) && k.records[n-1].Settled() {
		left = append(left, k.cut(func(at int) bool { return at == 2*next })...)
	}
	return left
}

func (k *counted) cut(over func(at int) bool) (left []*state.Codon) {
	n := len(k.at)
	for n > 0 && over(k.at[n-1]) {
		n--
	}
	left = slices.Clone(k.records[n:])
	k.records, k.at = k.records[:n], k.at[:n]
	return left
}

// onTheWay are the records that led to where the execution is: those of
// its lineage path, and the attempts in between that were interrupted or failed and were
// followed by another one without the user's going back.
func onTheWay(s *state.State) map[*state.Codon]bool {
	way := map[*state.Codon]bool{}
	from, at, whole := s.Position, 0, s.Position == nil
	if from != nil {
		if last := slices.Index(s.Runs, retry.Last(s)); last >= 0 {
			at, whole = last, true
		}
	}
	for at < len(s.Runs) { // newest first
		if !whole {
			older := slices.IndexFunc(s.Runs, func(r *state.Run) bool { return r.RunID == from.RunID })
			if from.AfterCodon == nil || older < at {
				break
			}
			at = older
		}
		run := s.Runs[at]
		for _, c := range slices.Backward(run.Codons()) {
			if whole = whole || c.CodonID == *from.AfterCodon; whole {
				way[c] = true
			}
		}
		if from = run.StartingConditions.Source; from == nil {
			break
		}
		next := retry.Continued(s, at)
		if whole = next < len(s.Runs); !whole {
			next = at + 1
		}
		at = next
	}
	return way
}

// Add takes in a record that has become final.
func (a *Accounts) Add(c *state.Codon) {
	cost, took := a.used(c)
	at := Place{Codon: c.CodonID}
	if l := c.LoopContext; l != nil {
		at = Place{l.LoopID, baseID(c.CodonID)}
		a.Loops[l.LoopID] = a.Loops[l.LoopID].plus(cost, took)
	}
	a.Codons[at] = a.Codons[at].plus(cost, took)
	a.Total = a.Total.plus(cost, took)
}

// used is what a record has used of the budgets of a run that replays or not.
func (a *Accounts) used(c *state.Codon) (state.USD, time.Duration) { return used(c, a.replays) }

func used(c *state.Codon, replays bool) (cost state.USD, took time.Duration) {
	if replays || !c.Replayed() {
		cost = c.Bill().Cost
	}
	if c.EndTime != nil {
		took = c.EndTime.Sub(c.StartTime.Time)
	}
	return cost, took
}

// baseID is the id in hank.json of an iteration: review of review#0.
func baseID(id plan.CodonID) plan.CodonID {
	if at := strings.LastIndexByte(string(id), '#'); at >= 0 {
		return id[:at]
	}
	return id
}

// UsedBefore is what the earlier attempts at a codon have used, those of runs before
// that a crash or a stop has interrupted included: its own limits hold for all of
// them together, until the user goes back to before it. Complexity: its records.
func (a *Accounts) UsedBefore(s *state.State, run *state.Run, id plan.CodonID) Use {
	var u Use
	for at := slices.Index(s.Runs, run); at >= 0 && at < len(s.Runs); at = retry.Continued(s, at) { // newest first
		for i := s.Runs[at].Len() - 1; i >= 0; i-- {
			c := s.Runs[at].Codon(i)
			if c.CodonID != id {
				return u
			}
			if !c.Status.Terminal() {
				continue
			}
			cost, took := a.used(c)
			u.Cost += max(0, cost)
			u.Output += max(0, c.TokenCount().Output)
			u.Time += max(0, took)
		}
	}
	return u
}
