// Package usagelimit decides when a run waits for a provider instead of failing.
//
//   - A limit is a failure that time ends without anybody doing anything: the provider
//     refuses more requests for now (kindUsage), is overloaded (kindOverload), or cannot
//     be reached (kindNetwork).
//   - A wait is what comes between an attempt that a limit has interrupted and the next
//     attempt at the same codon, which continues it. The record of the interrupted attempt
//     says until when; so a wait needs nothing else in the state, and survives a crash.
//   - A row is the attempts at a codon that one limit has interrupted: the last ones, as
//     far as none of them was answered by the model.
//
// The package decides, and looks at records. It waits for nothing, records nothing, and
// reads no clock.
package usagelimit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hank/plan"
	"hank/plan/steps"
	"hank/runtime/harness"
	"hank/runtime/retry"
	"hank/state"
)

// Kind is the kind of a limit.
type Kind string

// The kinds. An empty one is none.
const (
	kindUsage    Kind = "usage_limit"
	kindOverload Kind = "overloaded"
	kindNetwork  Kind = "network"
)

// kindOf is the kind of the limit that a failure is; empty: none.
func kindOf(f *state.FailureReason) Kind {
	if f == nil || !f.Retriable {
		return ""
	}
	switch f.Class {
	case harness.ClassRateLimit, harness.ClassUsageLimit:
		return kindUsage
	case harness.ClassOverloaded:
		return kindOverload
	case harness.ClassUnreachable:
		return kindNetwork
	}
	return ""
}

// longestNetwork is the longest wait for a lost network: a machine that has been without
// one for an hour has another problem.
const longestNetwork = time.Hour

// delays are how long to wait where nobody says when a limit ends: first, and at the most.
// Each further wait of a row is twice as long.
var delays = map[Kind]struct{ first, most time.Duration }{
	kindUsage:    {time.Minute, 30 * time.Minute},
	kindOverload: {30 * time.Second, 10 * time.Minute},
	kindNetwork:  {15 * time.Second, 2 * time.Minute},
}

// Decision is what follows a failure.
type Decision struct {
	Until   time.Time // zero: nothing is waited for, the attempt has failed
	Refused string    // why not, where it is a limit and the hank would wait; may be empty
	Instead string    // the model that the next attempt works with; then nothing is waited for
}

// Decide says whether a run waits after a failure of a codon, and until when. series are
// the attempts that count together with the failed one, which comes after them; see
// package retry. Nothing is waited for where the hank says so, or where a rule of
// retryConfig names the kind of failure and onUsageLimit is not set; nor where the wait,
// with those of the row before it, would be longer than the longest one.
func Decide(p *plan.Program, c *plan.Codon, series []*state.Codon, f *state.FailureReason, now time.Time) Decision {
	kind := kindOf(f)
	wait, longest := p.UsageLimit(c)
	if kind == "" || !wait || c.OnUsageLimit == "" && c.OnFailure == plan.Retry && c.RetryConfig.Names(steps.Kind(f.Class)) {
		return Decision{}
	}
	if kind == kindNetwork {
		longest = min(longest, longestNetwork)
	}
	row := rowOf(series)
	since := now
	if len(row) > 0 && row[0].EndTime != nil {
		since = row[0].EndTime.Time
	}
	last := since.Add(longest)
	until, known := Ends(f, len(row), now)
	if !known && until.After(last) && last.After(now) {
		until = last
	}
	switch {
	case !until.After(last):
		return Decision{Until: until}
	case known:
		return Decision{Refused: fmt.Sprintf("its limit ends at %s, and maxUsageLimitWait is %s", until.Local().Format(time.DateTime), longest)}
	}
	return Decision{Refused: fmt.Sprintf("it was waited out for %s, which is maxUsageLimitWait", now.Sub(since).Round(time.Second))}
}

// Ends is when the limit ends that a failure is, and whether the provider says so. Else it
// is estimated; n is how many estimates there were before.
func Ends(f *state.FailureReason, n int, now time.Time) (until time.Time, known bool) {
	if f.Rule == ProbedRule && f.ResetsAt != nil {
		return f.ResetsAt.Time, false
	}
	if until, known = ends(f, now); known {
		return until, true
	}
	d := delays[kindOf(f)]
	if n < 16 {
		return now.Add(min(d.first<<n, d.most)), false
	}
	return now.Add(d.most), false
}

// The rules of a limit that an attempt has not met itself: the agent was not started.
const (
	ForeseenRule = "breaker"       // another run has met it
	ProbedRule   = "breaker-probe" // another run tries whether it is over, and nobody knows how long that takes
)

// IsForeseen reports whether a failure is a limit that the attempt has not met itself.
func IsForeseen(f *state.FailureReason) bool {
	return f != nil && (f.Rule == ForeseenRule || f.Rule == ProbedRule)
}

func foreseen(c *state.Codon) bool { return IsForeseen(c.FailureReason) }

// ends is when a limit ends, where the provider says so. A second is added: clocks differ,
// and a request that comes too early may lengthen the limit.
func ends(f *state.FailureReason, now time.Time) (time.Time, bool) {
	switch {
	case f.ResetsAt != nil && f.Rule == ForeseenRule: // it has the second
		return f.ResetsAt.Time, true
	case f.ResetsAt != nil:
		return later(f.ResetsAt.Time, now), true
	case f.RetryAfterMs > 0:
		return now.Add(time.Duration(f.RetryAfterMs)*time.Millisecond + time.Second), true
	}
	if at, ok := harness.ResetAt(f.Message, now); ok {
		return later(at, now), true
	}
	return time.Time{}, false
}

func later(at, now time.Time) time.Time {
	if at.Before(now) {
		at = now
	}
	return at.Add(time.Second)
}

// rowOf are the attempts of a series that its last limit has interrupted.
func rowOf(series []*state.Codon) []*state.Codon { return tailOf(series, interrupted) }

// tailOf are the last attempts of a series that something has interrupted.
func tailOf(series []*state.Codon, interrupted func(*state.Codon) bool) []*state.Codon {
	from := len(series)
	for from > 0 && interrupted(series[from-1]) {
		from--
		if answered(series[from]) { // it had its own work before the limit came
			break
		}
	}
	return series[from:]
}

// Continued is the attempt whose session the next attempt of a series continues, in the
// workspace as it is: a limit has interrupted it, or the codon falls back to another model of
// the same agent, and the session has work in it. Of a session
// that the model has never answered there is nothing to keep. nil: none. Attempts that were
// not started, because another run had met the limit, have changed nothing.
func Continued(c *plan.Codon, series []*state.Codon) *state.Codon {
	row := slices.DeleteFunc(slices.Clone(tailOf(series, func(c *state.Codon) bool { return interrupted(c) || c.Interrupted == state.InterruptedByFallback })), foreseen)
	if len(row) == 0 || !c.Model.Kind().HasSessions {
		return nil
	}
	last := row[len(row)-1]
	if last.Harness != "" && last.Harness != c.Model.Kind().Name || last.ClaudeSessionID == "" || !slices.ContainsFunc(row, func(c *state.Codon) bool { return c.ClaudeSessionID == last.ClaudeSessionID && answered(c) }) {
		return nil
	}
	return last
}

func interrupted(c *state.Codon) bool { return c.Interrupted == state.InterruptedByLimit }

// answered reports whether the model has answered an attempt.
func answered(c *state.Codon) bool { return c.TokenCount().Output > 0 }

// Waiting is a wait that is not over, or whose codon has not begun again.
type Waiting struct {
	Kind  Kind          `json:"kind"`
	Since state.Time    `json:"since"`
	Until state.Time    `json:"until"`
	Codon state.CodonID `json:"codon"`
	// Record is the attempt that was interrupted.
	Record *state.Codon `json:"-"`
}

// After is the wait that a record leads to; nil: none. It is over when Until is past.
func After(c *state.Codon) *Waiting {
	if c == nil || !interrupted(c) || c.FailureReason == nil || c.FailureReason.ResetsAt == nil || c.EndTime == nil {
		return nil
	}
	return &Waiting{Kind: kindOf(c.FailureReason), Since: *c.EndTime, Until: *c.FailureReason.ResetsAt, Codon: c.CodonID, Record: c}
}

// Of is the wait that an execution is in: the last attempt at the codon that is next leads
// to it, and nothing has moved the execution away since. nil: there is none.
func Of(s *state.State) *Waiting {
	run, next, entries := retry.Last(s), s.Next(), s.ExecutionPlan()
	if run == nil || next >= len(entries) {
		return nil
	}
	return last(retry.Series(s, run, entries[next].CodonID))
}

// last is the wait that a series leads to; nil: none.
func last(series []*state.Codon) *Waiting {
	if len(series) == 0 {
		return nil
	}
	return After(series[len(series)-1])
}

// Concerns reports whether the limit is one of the provider and the agent that a codon works
// with: its model may have been changed. Of a record without a model nobody knows.
func (w *Waiting) Concerns(c *plan.Codon) bool {
	r := w.Record
	return r.Model == "" || r.Model == c.Model.String() ||
		r.Harness == c.Model.Kind().Name && strings.Contains("/"+r.Model, "/"+c.Model.ProviderID+"/")
}

// Says is what is waited for, in words.
func (w *Waiting) Says() string {
	what := map[Kind]string{kindUsage: "for the provider's usage limit", kindOverload: "for the provider, which is overloaded", kindNetwork: "for the network"}[w.Kind]
	return fmt.Sprintf("waiting %s until %s", what, w.Until.Local().Format(time.DateTime))
}
