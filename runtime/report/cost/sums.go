package cost

import (
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
}

// Sum is the cost of all attempts that have a key in common.
type Sum struct {
	Key      string `json:"key"`
	Attempts int64  `json:"attempts"`
	state.Bill
	Tokens state.Tokens `json:"tokens"`
}

// SumUp sums up in one of the Ways. Listed are the keys before one, if that is not
// empty, and of them the last ones, as many as limit, or all if that is 0.
func SumUp(v *recovery.View, by string, limit int, before string, ask func(string, costindex.By) (Answer, error)) *Sums {
	r := Of(v, Ways[by], ask)
	out := &Sums{Schema: 1, Execution: v.Layout.Root, By: by, Sums: []Sum{}, Total: sumOf(r.All), NoIndex: r.NoIndex}
	for _, t := range r.Totals {
		if before == "" || t.Key < before {
			out.Sums = append(out.Sums, sumOf(t))
		}
	}
	if limit > 0 && len(out.Sums) > limit {
		out.Sums = out.Sums[len(out.Sums)-limit:]
	}
	return out
}

func sumOf(t costindex.Total) Sum { return Sum{t.Key, t.Entries, t.Bill, t.Tokens} }
