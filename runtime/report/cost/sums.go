package cost

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"time"

	"hank/internal/term"
	"hank/plan"
	"hank/plan/kind"
	"hank/recovery"
	"hank/state"
	"hank/state/costindex"
)

// Ways are the ways to sum up, in the order in which they are named. Days are made of the
// quarters of an hour of the index.
var Ways = []string{"run", "codon", "loop", "model", "harness", "day"}

var byWay = map[string]costindex.By{
	"run": costindex.ByRun, "codon": costindex.ByCodon, "loop": costindex.ByLoop, "model": costindex.ByModel, "harness": costindex.ByHarness, "day": costindex.ByQuarter,
}

// Sums are the costs of an execution, summed up one way: what hank cost prints.
type Sums struct {
	Schema    int    `json:"schema"`
	Execution string `json:"execution"`
	By        string `json:"by"`
	Zone      string `json:"timeZone,omitempty"` // in which days begin and end; only by day
	Sums      []Sum  `json:"sums"`
	Total     Sum    `json:"total"` // of all sums, listed or not
	NoIndex   string `json:"noIndex,omitempty"`
	// Unpriced are tokens of models without a known price: what they cost is in no sum.
	Unpriced Unpriced `json:"unpriced"`
	// Unreported is what was interrupted before it was told: what it cost is in no sum.
	Unreported Unreported `json:"unreported"`

	Run state.RunID `json:"-"` // the only one whose attempts are counted; empty: all are
}

// Sum is the cost of all attempts that have a key in common.
type Sum struct {
	Key      string `json:"key"`
	Attempts int64  `json:"attempts"`
	state.Bill
	Tokens state.Tokens `json:"tokens"`
	// Calls are the requests of sentinels to their models, failed ones included.
	Calls int64 `json:"calls"`
}

// Unpriced is what costs leave out.
type Unpriced struct {
	Attempts int64 `json:"attempts"`
	Tokens   int64 `json:"tokens"`
}

// Unreported is what costs may leave out, because nobody has told of it.
type Unreported struct {
	// Attempts were killed, or ended by hank, while an agent asked a model for them. A request
	// that was open then is in no sum.
	Attempts int64 `json:"attempts"`
	// Calls are those of sentinels without an answer, or with one that does not say what it used.
	Calls int64 `json:"calls"`
}

// leftOut counts what has no price, and what nobody has told of, in a run, or in all of them.
func leftOut(s *state.State, run state.RunID) (p Unpriced, r Unreported) {
	for _, of := range s.Runs {
		for i := range of.Len() {
			c := of.Codon(i)
			if run != "" && run != of.RunID {
				continue
			}
			tokens := c.UnpricedTokens
			for _, s := range c.Sentinels.All() {
				if s.Unpriced {
					tokens += s.Tokens.Sum()
				}
			}
			if tokens > 0 {
				p.Attempts, p.Tokens = p.Attempts+1, p.Tokens+tokens
			}
			u := unreported(c)
			r.Attempts, r.Calls = r.Attempts+u.Attempts, r.Calls+u.Calls
		}
	}
	return p, r
}

// unreported is what nobody has told of an attempt. Of one that goes on it is yet to come.
func unreported(c *state.Codon) (u Unreported) {
	if !c.Status.Terminal() {
		return u
	}
	for _, s := range c.Sentinels.All() {
		u.Calls += int64(s.OpenCalls + s.UncountedCalls)
	}
	if cutOff(c) {
		u.Attempts = 1
	}
	return u
}

// cutOff reports whether the agent of an attempt did not end by itself, so that a request to
// its model may have been open.
func cutOff(c *state.Codon) bool {
	if c.ClaudeLogPath == "" || c.Replayed() || !kind.Of(c.Harness).UsesModel {
		return false
	}
	switch c.Interrupted {
	case state.InterruptedByCrash, state.InterruptedBySignal, state.InterruptedByStop, state.InterruptedByPause, state.InterruptedByBudget:
		return true
	}
	skipped := c.Status == state.Skipped && c.SkipReason == ""
	late := c.FailureReason != nil && c.FailureReason.Type == state.FailTimeout
	return skipped || late || c.BudgetExceeded != nil && !c.BudgetExceeded.Finished
}

// callsOf counts the requests of sentinels for each key of a query, and all of them.
func callsOf(s *state.State, q Query) (of map[string]int64, all int64) {
	of = map[string]int64{}
	for _, r := range s.Runs {
		for i := range r.Len() {
			c := r.Codon(i)
			if c.Sentinels == nil || q.Run != "" && q.Run != r.RunID {
				continue
			}
			for _, w := range c.Sentinels.All() {
				n := int64(w.LLMCallCount)
				of[q.keyOf(r.RunID, c, w)] += n
				all += n
			}
		}
	}
	return of, all
}

// keyOf is the key under which what a sentinel has cost is.
func (q Query) keyOf(run state.RunID, c *state.Codon, w state.Sentinel) string {
	switch byWay[q.By] {
	case costindex.ByRun:
		return string(run)
	case costindex.ByCodon:
		return string(c.CodonID)
	case costindex.ByModel:
		return w.Model
	case costindex.ByHarness:
		return sentinels
	case costindex.ByQuarter:
		at := c.StartTime
		if c.EndTime != nil {
			at = *c.EndTime
		}
		return at.In(q.Zone).Format(time.DateOnly)
	}
	if c.LoopContext != nil {
		return string(c.LoopContext.LoopID)
	}
	return ""
}

// Query is what is to be summed up.
type Query struct {
	By     string         // one of the Ways
	Run    state.RunID    // only its attempts count; empty: all do
	Limit  int            // so many sums are listed, the last ones; 0: all
	Before string         // only sums before this key are listed; empty: all
	Zone   *time.Location // whose days are meant
}

// SumUp answers a query. ask is that of Of.
func SumUp(v *recovery.View, q Query, ask func(string, costindex.By) (Answer, error)) *Sums {
	by := byWay[q.By]
	var r Report
	if q.Run == "" {
		r = Of(v, by, ask)
	} else {
		r = ofRun(v, by, q.Run)
	}
	out := &Sums{Schema: 1, Execution: v.Layout.Root, By: q.By, Sums: []Sum{}, Total: sumOf(r.All), NoIndex: r.NoIndex, Run: q.Run}
	out.Unpriced, out.Unreported = leftOut(v.State, q.Run)
	if by == costindex.ByQuarter {
		r.Totals, out.Zone = daysOf(r.Totals, q.Zone), zoneName(q.Zone)
	}
	place := places(v.State, by)
	order := func(a, b string) int { return cmp.Or(place(a)-place(b), cmp.Compare(a, b)) }
	slices.SortStableFunc(r.Totals, func(a, b costindex.Total) int { return order(a.Key, b.Key) })
	var calls map[string]int64
	calls, out.Total.Calls = callsOf(v.State, q)
	for _, t := range r.Totals {
		if q.Before == "" || order(t.Key, q.Before) < 0 {
			sum := sumOf(t)
			sum.Calls = calls[t.Key]
			out.Sums = append(out.Sums, sum)
		}
	}
	if q.Limit > 0 && len(out.Sums) > q.Limit {
		out.Sums = out.Sums[len(out.Sums)-q.Limit:]
	}
	return out
}

// daysOf sums up quarters of an hour to the days of a zone.
func daysOf(quarters []costindex.Total, zone *time.Location) (days []costindex.Total) {
	for _, t := range quarters {
		at, err := time.Parse(costindex.QuarterForm, t.Key)
		if err == nil {
			t.Key = at.In(zone).Format(time.DateOnly)
		}
		if n := len(days); n > 0 && days[n-1].Key == t.Key { // they are sorted
			t.Entries, t.Bill, t.Tokens = t.Entries+days[n-1].Entries, t.Plus(days[n-1].Bill), t.Tokens.Add(days[n-1].Tokens)
			days = days[:n-1]
		}
		days = append(days, t)
	}
	return days
}

// zoneName is the name of a zone. That of the machine has none of its own: what it is
// called at the moment is said, with its difference from UTC.
func zoneName(zone *time.Location) string {
	if zone != time.Local {
		return zone.String()
	}
	now := time.Now()
	name, offset := now.Zone()
	switch {
	case offset == 0:
		return "UTC"
	case name == "" || name[0] == '+' || name[0] == '-': // it has none, but its difference
		return now.Format("UTC-07:00")
	}
	return name + now.Format(" (UTC-07:00)")
}

// places returns where in the plan a key is. Codons of iterations that a rollback has left
// behind are after those of their loop that are in the plan. All other keys are after them.
func places(s *state.State, by costindex.By) func(key string) int {
	place := map[string]int{}
	put := func(key string) {
		if _, known := place[key]; !known {
			place[key] = len(place)
		}
	}
	entries, left := s.ExecutionPlan(), map[plan.CodonID][]*state.Codon{}
	if by == costindex.ByCodon {
		left = inLoops(s)
	}
	for i, e := range entries {
		loop := e.LoopContext
		switch {
		case by == costindex.ByCodon:
			put(string(e.CodonID))
		case by == costindex.ByLoop && loop != nil:
			put(string(loop.LoopID))
		case by == costindex.ByLoop:
			put("")
		}
		if loop == nil || i+1 < len(entries) && entries[i+1].LoopContext != nil && entries[i+1].LoopContext.LoopID == loop.LoopID {
			continue
		}
		for _, c := range left[loop.LoopID] {
			put(string(c.CodonID))
		}
	}
	return func(key string) int {
		if i, known := place[key]; known {
			return i
		}
		return len(place)
	}
}

// inLoops returns the records of each loop's codons in the order of its iterations.
func inLoops(s *state.State) map[plan.CodonID][]*state.Codon {
	all := map[plan.CodonID][]*state.Codon{}
	for _, run := range s.Runs {
		for _, c := range run.Codons() {
			if c.LoopContext != nil {
				all[c.LoopContext.LoopID] = append(all[c.LoopContext.LoopID], c)
			}
		}
	}
	for _, records := range all {
		slices.SortStableFunc(records, func(a, b *state.Codon) int {
			a0, b0 := a.LoopContext, b.LoopContext
			return cmp.Or(a0.Iteration-b0.Iteration, a0.CodonIndexInLoop-b0.CodonIndexInLoop)
		})
	}
	return all
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

// Requests is how often a sum was asked for, in words: attempts, and by model and harness the
// calls of sentinels, which are no attempts.
func (s *Sums) Requests(sum Sum) string {
	calls := term.Count(int(sum.Calls), "call")
	switch by := byWay[s.By]; {
	case by != costindex.ByModel && by != costindex.ByHarness || sum.Attempts > 0 && sum.Calls == 0:
		return strconv.FormatInt(sum.Attempts, 10)
	case sum.Attempts > 0:
		return strconv.FormatInt(sum.Attempts, 10) + ", " + calls
	case sum.Calls == 0 && sum.Key == "": // of sentinels that are not named
		return "-"
	}
	return calls
}

func sumOf(t costindex.Total) Sum {
	return Sum{Key: t.Key, Attempts: t.Entries, Bill: t.Bill, Tokens: t.Tokens}
}

// csvHeader names the columns of WriteCSV, after the first, which has the name of the way.
var csvHeader = []string{"attempts", "costUSD", "replayedCostUSD", "inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens", "calls"}

// WriteCSV writes the sums that are listed, without the total, as RFC 4180 has it: with a
// header, and lines that end with CR and LF. Amounts are exact, in dollars.
func (s *Sums) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	w.UseCRLF = true
	_ = w.Write(append([]string{s.By}, csvHeader...)) // errors are those of Flush
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, sum := range s.Sums {
		t := sum.Tokens
		_ = w.Write([]string{sum.Key, number(sum.Attempts), sum.Cost.String(), sum.Replayed.String(), number(t.Input), number(t.Output), number(t.CacheCreation), number(t.CacheRead), number(sum.Calls)})
	}
	w.Flush()
	return w.Error()
}
