// Package retry decides what follows when an attempt at a codon has failed: another
// attempt and when, or the end of the run and which.
//
// A series is the attempts at a codon that count together: those of a run, and of the
// runs before it that a crash or a stop has interrupted. It ends where the user goes back
// to before the codon, or tries it again by a command. So a crash gives no retries back.
//
// The decision is a function of the codon and the series. Nothing is recorded, waited for
// or started here, and no clock is read.
package retry

import (
	"slices"
	"time"

	"hank/plan"
	"hank/plan/steps"
	"hank/state"
)

// Next is what follows in a series.
type Next struct {
	Again bool // the last attempt has failed, and another one is due
	Pause bool // it has failed, none is left, and the run is to be paused
	Left  int  // the attempts to come if each of them fails as the last one has

	policy steps.Policy
	failed int // attempts of the series that count for this policy
}

// after is what follows the attempts of a series at a codon. A failure that no attempt
// can change has nothing to follow. One that was interrupted is no failure.
func after(c *plan.Codon, series []*state.Codon) Next {
	n, has := Next{}, false
	if len(series) > 0 {
		has = hasFailed(series[len(series)-1])
	}
	if !has {
		n.policy = c.Policy("")
		n.count(c, series)
		n.Left = 1 + max(0, n.policy.Retries-n.failed)
		return n
	}
	last := series[len(series)-1]
	n.policy = c.Policy(kindOf(last.FailureReason))
	n.count(c, series)
	if last.FailureReason.Retriable && !last.FailureIgnored && c.Retries(kindOf(last.FailureReason)) {
		n.Left = max(0, 1+n.policy.Retries-n.failed)
		n.Again, n.Pause = n.Left > 0, n.Left == 0 && n.policy.Pause
	}
	return n
}

// Of is what follows the series that a record of a run ends; nothing, where the plan does
// not have its codon.
func Of(s *state.State, run *state.Run, last *state.Codon) Next {
	i := s.PlanIndex(last.CodonID)
	if i < 0 || run == nil {
		return Next{}
	}
	return after(s.ExecutionPlan()[i].Codon, Series(s, run, last.CodonID))
}

// Foretold is what would follow the last record of a run if these transitions happened;
// nothing, where one of them is illegal.
func Foretold(s *state.State, run state.RunID, list []state.Transition) Next {
	for _, t := range list {
		next, err := state.Apply(s, s.Seq+1, t)
		if err != nil {
			return Next{}
		}
		s = next
	}
	r := s.Run(run)
	return Of(s, r, r.Codon(r.Len()-1))
}

// Exhausted reports whether a run is paused because the codon of its last record has no retry
// left, or would be, had nothing ended it before.
func Exhausted(s *state.State, run *state.Run, last *state.Codon) bool {
	return run != nil && (run.EndReason == state.EndExhausted || Interrupted(run) && Of(s, run, last).Pause)
}

// count counts the attempts that have failed in a way for which the same rule holds.
func (n *Next) count(c *plan.Codon, series []*state.Codon) {
	for _, a := range series {
		if hasFailed(a) && c.Policy(kindOf(a.FailureReason)).Rule == n.policy.Rule {
			n.failed++
		}
	}
}

// Most is how many attempts of a run there are at most, if the one with a number is the next of
// a series; 0: nobody knows, because an attempt that its provider did not let work costs none, or
// because failures of some kinds are counted apart.
func Most(c *plan.Codon, series []*state.Codon, number int) int {
	ofRun := series[max(0, len(series)-number+1):]
	apart := func(kind steps.Kind) bool { return c.Retries(kind) != c.Retries("") || c.Policy(kind).Rule >= 0 }
	if len(c.Fallback) > 0 || slices.ContainsFunc(steps.Kinds, apart) || slices.ContainsFunc(ofRun, func(a *state.Codon) bool { return !hasFailed(a) }) {
		return 0
	}
	return number - 1 + max(1, after(c, series).Left)
}

// Wait is how long to wait before the next attempt: what the provider asked for, or the
// delay, doubled with each attempt that has failed this way, with up to a part of it by
// chance, so that many runs do not come back at once. It is never longer than the longest
// one. chance is at least 0 and below 1.
func (n Next) Wait(f *state.FailureReason, chance float64) time.Duration {
	p := n.policy
	if f.RetryAfterMs > 0 {
		return min(time.Duration(f.RetryAfterMs)*time.Millisecond, p.Longest)
	}
	wait := p.Longest
	if try := max(0, n.failed-1); try < 30 && p.Delay<<try < p.Longest {
		wait = p.Delay << try
	}
	if wait <= 0 {
		return 0
	}
	return min(wait+time.Duration(chance*p.Jitter*float64(wait)), p.Longest)
}

// kindOf is the kind of a failure.
func kindOf(f *state.FailureReason) steps.Kind {
	if kind := steps.Kind(f.Class); slices.Contains(steps.Kinds, kind) {
		return kind
	}
	return "unknown"
}

// hasFailed reports whether the attempt has failed by itself.
func hasFailed(c *state.Codon) bool {
	return c.Status == state.Failed && c.Interrupted == "" && c.FailureReason != nil
}

// Series are the attempts at a codon that count together, oldest first, up to the end of
// a run. Complexity: its records.
func Series(s *state.State, run *state.Run, id state.CodonID) []*state.Codon {
	var series []*state.Codon
	var newer *state.Codon
	for at := slices.Index(s.Runs, run); at >= 0 && at < len(s.Runs); { // newest first
		for i := s.Runs[at].Len() - 1; i >= 0; i-- {
			c := s.Runs[at].Codon(i)
			overruled := c.Settled() && newer != nil && newer.FailedAtGate() // which says how the attempt has ended
			if c.CodonID != id || c.Settled() && !overruled {
				slices.Reverse(series)
				return series
			}
			if newer = c; c.Status.Terminal() && !overruled {
				series = append(series, c)
			}
		}
		if at = Continued(s, at); at < len(s.Runs) && !Interrupted(s.Runs[at]) {
			break
		}
	}
	slices.Reverse(series)
	return series
}

// Continued is the place in s.Runs of the run whose attempts count together with those of the
// run at a place: the one before it, or the one to whose end an undo had led back. It is that
// behind the last, where the user has gone back or tried again by a command.
func Continued(s *state.State, at int) int {
	return ContinuedFrom(s, s.Runs[at].StartingConditions, at+1)
}

// ContinuedFrom is Continued of a run that begins as start says, before the run at a place.
func ContinuedFrom(s *state.State, start state.StartingConditions, next int) int {
	from, none := start.Source, len(s.Runs)
	of := func(id state.RunID) int {
		at := slices.IndexFunc(s.Runs, func(r *state.Run) bool { return r.RunID == id })
		if at < next {
			return none
		}
		return at
	}
	switch {
	case from != nil && from.EndOf != "":
		return of(from.EndOf)
	case start.Reason != state.ReasonContinue:
		return none
	case from == nil || from.Before == nil || from.Before.EndOf == "" || next >= none:
		return next
	}
	// The move that the run before has begun with is that of this one, too, if no codon has run in between.
	if r := s.Runs[next]; r.Len() == 0 {
		if was := r.StartingConditions.Source; was != nil && was.Before != nil && was.Before.CheckpointSHA == from.Before.CheckpointSHA {
			return next
		}
	}
	return of(from.Before.EndOf)
}

// Last is the run whose attempts those of the next run count together with; nil: there is none.
func Last(s *state.State) *state.Run {
	at := 0
	if p := s.Position; p != nil {
		at = ContinuedFrom(s, state.StartingConditions{Source: p, Reason: p.Reason}, 0)
	}
	if at >= len(s.Runs) {
		return nil
	}
	return s.Runs[at]
}

// LastFailure is why the newest attempt of a series that has failed by itself did; empty:
// none has.
func LastFailure(series []*state.Codon) string {
	for _, c := range slices.Backward(series) {
		if hasFailed(c) {
			return c.FailureReason.Message
		}
	}
	return ""
}

// Interrupted reports whether a run ended by a crash, on request, at a budget or by an error of
// hank itself, and not because of what its codons did. One that has no end is asked about when
// it is gone, or will be: the next opening records that it has crashed.
func Interrupted(r *state.Run) bool {
	switch r.EndReason {
	case state.EndSignal, state.EndStopped, state.EndDecision, state.EndError, state.EndGate, state.EndHeld, state.EndBudget:
		return true
	}
	return r.Status == state.StatusCrashed || r.Status == state.StatusRunning
}
