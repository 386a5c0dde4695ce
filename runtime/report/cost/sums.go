package cost

import (
	"cmp"
	"slices"

	"hank/recovery"
	"hank/state"
	"hank/state/costindex"
)

// Ways are the names of the ways to sum up.
var Ways = map[string]costindex.By{
	"run": costindex.ByRun, "codon": costindex.ByCodon, "loop": costindex.ByLoop, "model": costindex.ByModel, "day": costindex.ByDay,
}

// Sums are the costs of an execution, summed up one way: what hank cost prints.
type Sums struct {
	Schema    int    `json:"schema"`
	Execution string `json:"execution"`
	By        string `json:"by"`
	Sums      []Sum  `json:"sums"`
	Total     Sum    `json:"total"` // of all sums, listed or not
	NoIndex   string `json:"noIndex,omitempty"`

	Run state.RunID `json:"-"` // the only one whose attempts are counted; empty: all are
}

// Sum is the cost of all attempts that have a key in common.
type Sum struct {
	Key      string `json:"key"`
	Attempts int64  `json:"attempts"`
	state.Bill
	Tokens state.Tokens `json:"tokens"`
}

// SumUp sums up in one of the Ways, the attempts of a run or, where that is empty, all. Listed are the keys before one, if that is not
// empty, and of them the last ones, as many as limit, or all if that is 0.
func SumUp(v *recovery.View, by string, run state.RunID, limit int, before string, ask func(string, costindex.By) (Answer, error)) *Sums {
	var r Report
	if run == "" {
		r = Of(v, Ways[by], ask)
	} else {
		r = ofRun(v, Ways[by], run)
	}
	out := &Sums{Schema: 1, Execution: v.Layout.Root, By: by, Sums: []Sum{}, Total: sumOf(r.All), NoIndex: r.NoIndex, Run: run}
	place := places(v.State, Ways[by])
	order := func(a, b string) int { return cmp.Or(place(a)-place(b), cmp.Compare(a, b)) }
	slices.SortStableFunc(r.Totals, func(a, b costindex.Total) int { return order(a.Key, b.Key) })
	for _, t := range r.Totals {
		if before == "" || order(t.Key, before) < 0 {
			out.Sums = append(out.Sums, sumOf(t))
		}
	}
	if limit > 0 && len(out.Sums) > limit {
		out.Sums = out.Sums[len(out.Sums)-limit:]
	}
	return out
}

// places returns where in the plan a key is. Keys that are not in it are all after it.
func places(s *state.State, by costindex.By) func(key string) int {
	first := map[string]int{}
	for i, e := range s.ExecutionPlan() {
		key, is := string(e.CodonID), by == costindex.ByCodon
		if by == costindex.ByLoop {
			key, is = "", true
			if e.LoopContext != nil {
				key = string(e.LoopContext.LoopID)
			}
		}
		if _, known := first[key]; is && !known {
			first[key] = i
		}
	}
	return func(key string) int {
		if i, known := first[key]; known {
			return i
		}
		return len(s.ExecutionPlan())
	}
}

// tokenKinds are the kinds of tokens, as columns.
var tokenKinds = []struct {
	name string
	of   func(state.Tokens) int64
}{
	{"in", func(t state.Tokens) int64 { return t.Input }},
	{"out", func(t state.Tokens) int64 { return t.Output }},
	{"cache-write", func(t state.Tokens) int64 { return t.CacheCreation }},
	{"cache-read", func(t state.Tokens) int64 { return t.CacheRead }},
}

// TokenKinds are the kinds of tokens of which there are any, as headings: the first
// one says what is counted.
func (s *Sums) TokenKinds() (names []string) {
	for _, kind := range tokenKinds {
		if kind.of(s.Total.Tokens) != 0 {
			names = append(names, kind.name)
		}
	}
	if len(names) > 0 {
		names[0] = "tokens: " + names[0]
	}
	return names
}

// TokensOf are the tokens of a sum, of each of the TokenKinds.
func (s *Sums) TokensOf(sum Sum) (counts []int64) {
	for _, kind := range tokenKinds {
		if kind.of(s.Total.Tokens) != 0 {
			counts = append(counts, kind.of(sum.Tokens))
		}
	}
	return counts
}

func sumOf(t costindex.Total) Sum { return Sum{t.Key, t.Entries, t.Bill, t.Tokens} }
