package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hank/plan"
	"hank/plan/kind"
	"hank/recovery"
	"hank/runtime/budget"
	"hank/state"
)

// Verdict is the word for how an execution, a run or an attempt at a codon is, as
// it is shown to the user. state.json keeps the statuses that are documented
// there; a verdict says which of them the user has asked for, and which not.
type Verdict string

// The verdicts. An attempt that is not over has its status as its verdict.
const (
	NotBegun  Verdict = "not begun"
	Creating  Verdict = "being created"
	Running   Verdict = "running"
	Completed Verdict = "completed"
	Failed    Verdict = "failed"  // a codon failed
	Stopped   Verdict = "stopped" // by the user or a signal
	Crashed   Verdict = "crashed" // the runtime is gone and did not end it
	Budget    Verdict = "budget"  // a budget is used up
	Refused   Verdict = "refused" // by the provider, which takes not the key or not the model; hank run does the codon again
	Waiting   Verdict = "waiting" // for the user's answer at a gate
	// Unavailable: the provider does not answer for now. The run waits, and continues the
	// codon.
	Unavailable Verdict = "unavailable"
	Held        Verdict = "held"        // by the user: nothing runs
	Paused      Verdict = "paused"      // hank itself could not continue, or a codon has no retry left and says to pause
	Blocked     Verdict = "blocked"     // nothing can run before a decision
	Interrupted Verdict = "interrupted" // a move was; the next command finishes it
	RolledBack  Verdict = "rolled back"
	Skipped     Verdict = "skipped"
	Unfinished  Verdict = "unfinished" // an iteration: nothing of it runs, and codons of it are to come
)

// String is the verdict as people read it. While the agent's end is recorded and its checkpoint
// is not, the codon may have no sentinels to complete.
func (v Verdict) String() string {
	if v == Verdict(state.CompletingSentinels) {
		return "finishing"
	}
	return string(v)
}

// OfExecution is how an execution is.
func OfExecution(v *recovery.View) Verdict {
	run := v.State.RunAtPosition()
	if v.State.Position == nil {
		run = v.State.Newest() // also where it came to no codon
	}
	switch {
	case v.Creating():
		return Creating
	case v.Live:
		return Running
	case v.Blocked != nil:
		return Blocked
	case v.Unfinished():
		return Interrupted
	case run != nil && run.Status == state.StatusCompleted && v.Head.Done < v.Head.Planned: // by an older hank: see decision 205
		return sinceEnd(v.State, Stopped)
	case run != nil:
		return sinceEnd(v.State, On(run, v.Live, v.Crashed(run)))
	case v.State.Position == nil:
		return NotBegun
	case v.Head.Planned > 0 && v.Head.Done == v.Head.Planned:
		return Completed
	}
	return RolledBack
}

// sinceEnd is the verdict on a run with what has happened since: an answer at its gate, or the
// end of the time for one; a hold, or the end of one.
func sinceEnd(s *state.State, of Verdict) Verdict {
	switch {
	case s.Hold != nil:
		return Held
	case of == Held, of == Waiting && !waits(s, time.Now()):
		return Stopped
	}
	return of
}

// waits reports whether the newest request at a gate can still be answered.
func waits(s *state.State, now time.Time) bool {
	n := len(s.Gates)
	if n == 0 { // as far as the view has any
		return true
	}
	g := s.Gates[n-1]
	return g.Status == state.GatePending && (g.Expires == nil || now.Before(g.Expires.Time))
}

// OfRun is how a run is now. One that ended at a gate waits no longer when the gate is answered
// or has expired, or another run has begun.
func OfRun(v *recovery.View, r *state.Run) Verdict {
	of := On(r, v.Live, v.Crashed(r))
	if of == Waiting && (r.RunID != v.State.Newest().RunID || !waits(v.State, time.Now())) {
		return Stopped
	}
	return of
}

// On is the table of verdicts on a run; the first row that fits decides.
// live: a runtime holds the execution. gone: the run says running, and its runtime
// is proven gone.
func On(r *state.Run, live, gone bool) Verdict {
	switch {
	case gone || r.Status == state.StatusCrashed:
		return Crashed
	case r.Paused != nil && !live:
		return Paused
	case r.Status == state.StatusRunning:
		return Running
	case r.Status == state.StatusCompleted:
		return Completed
	}
	switch r.EndReason {
	case state.EndStopped, state.EndSignal, state.EndUntil:
		return Stopped
	case state.EndBudget:
		return Budget
	case state.EndDecision, state.EndError, state.EndExhausted:
		return Paused
	case state.EndCrash:
		return Crashed
	case state.EndAgent:
		return Refused
	case state.EndGate:
		return Waiting
	case state.EndHeld:
		return Held
	case EndWaits:
		return Unavailable
	}
	return Failed
}

// OfCodon is how an attempt at a codon is, given the verdict on its run.
func OfCodon(c *state.Codon, run Verdict) Verdict {
	switch {
	case c.Status.Terminal():
	case run == Crashed || run == Paused:
		return run
	default:
		return Verdict(c.Status)
	}
	if c.Status != state.Failed {
		return Verdict(c.Status)
	}
	switch c.Interrupted {
	case state.InterruptedByStop, state.InterruptedBySignal:
		return Stopped
	case state.InterruptedByCrash:
		return Crashed
	case state.InterruptedByPause:
		return Paused
	case state.InterruptedByRefusal:
		return Refused
	case state.InterruptedByBudget:
		return Budget
	case state.InterruptedByLimit, state.InterruptedByFallback:
		return Unavailable
	}
	return Failed
}

// Resumable reports whether hank resume can continue the session of an agent that
// was interrupted. c is the newest record, and verdict that on it.
func Resumable(c *state.Codon, verdict Verdict) bool {
	if c.ClaudeSessionID == "" || c.Harness == "" || !kind.Of(c.Harness).HasSessions || c.Replayed() || c.Settling != nil {
		return false
	}
	return verdict == Stopped || verdict == Crashed || verdict == Paused || verdict == Budget
}

// Qualification is what a verdict on a codon leaves unsaid; empty if that is
// nothing.
func Qualification(c *state.Codon) string {
	switch {
	case c.Status == state.Completed && c.BudgetExceeded != nil:
		if c.BudgetExceeded.Finished {
			return fmt.Sprintf("%s is reached (%s)", whose(c.BudgetExceeded.Scope), usedOf(c.BudgetExceeded))
		}
		return fmt.Sprintf("stopped at %s (%s)", whose(c.BudgetExceeded.Scope), usedOf(c.BudgetExceeded))
	case c.Status == state.Completed && c.DidNothing():
		return "not run (noop)"
	case c.Status == state.Completed && c.ContextExceeded:
		return "its context was full"
	case c.Status == state.Failed && c.FailureIgnored:
		return "failure ignored"
	case c.Status == state.Skipped:
		return c.SkipReason
	}
	return ""
}

// usedOf is what a codon has used of its budget, or of what a wider one has left for it.
func usedOf(b *state.BudgetExceeded) string {
	if whose(b.Scope) == whose(budget.ScopeCodon) {
		return b.String()
	}
	return b.String() + " left for it"
}

// whose is the budget of a scope, in words.
func whose(scope string) string {
	switch scope {
	case budget.ScopeLoop:
		return "the budget of its loop"
	case budget.ScopeHank:
		return "the budget of the hank"
	case budget.ScopeExecution:
		return "the limit of this execution"
	}
	return "its budget"
}

// Beside is a reason as it is printed after the word of a verdict, which it does not repeat.
func Beside(word Verdict, reason string) string {
	if word == Budget {
		return strings.TrimPrefix(reason, budget.Exhausted)
	}
	return reason
}

// ProgressText is how many codons are finished, and how many of them only so to speak.
func ProgressText(done int, of plan.Extent, c state.Caveats) string {
	text := fmt.Sprintf("%d of %s finished", done, of.Text())
	if of.Open || of.Codons == 0 {
		text = fmt.Sprintf("%d finished of an unknown number", done)
	}
	if n := len(c.Skipped); n > 0 {
		text += fmt.Sprintf(", %d of them skipped", n)
	}
	if n := len(c.NotRun); n > 0 {
		text += fmt.Sprintf(", %d of them not run (noop)", n)
	}
	if n := len(c.Ignored); n > 0 {
		text += fmt.Sprintf(", %d of them failed", n)
	}
	return text
}

// CaveatText names what the word completed leaves unsaid of a hank; empty if that
// is nothing.
func CaveatText(c state.Caveats) string {
	var parts []string
	add := func(list []state.Caveat, one, many string) {
		if len(list) == 0 {
			return
		}
		names := make([]string, len(list))
		for i, of := range list {
			if names[i] = string(of.CodonID); of.BudgetExceeded != nil {
				names[i] += ": " + of.BudgetExceeded.String()
			}
		}
		parts = append(parts, counted(names, one, many))
	}
	for _, by := range []struct{ scope, many string }{
		{budget.ScopeCodon, "their budgets"}, {budget.ScopeLoop, "the budgets of their loops"}, {budget.ScopeHank, whose(budget.ScopeHank)}, {budget.ScopeExecution, whose(budget.ScopeExecution)},
	} {
		cut := slices.DeleteFunc(slices.Clone(c.CutOff), func(of state.Caveat) bool { return whose(of.BudgetExceeded.Scope) != whose(by.scope) })
		add(cut, "codon stopped at "+whose(by.scope), "codons stopped at "+by.many)
	}
	add(c.Ignored, "failure ignored", "failures ignored")
	add(c.FullContext, "codon ended by a full context", "codons ended by a full context")
	ids := func(list []state.CodonID, one, many string) {
		names := make([]string, len(list))
		for i, id := range list {
			names[i] = string(id)
		}
		if len(list) > 0 {
			parts = append(parts, counted(names, one, many))
		}
	}
	ids(c.Skipped, "codon skipped", "codons skipped")
	ids(c.Unobserved, "codon without a sentinel that could not be loaded", "codons without a sentinel that could not be loaded")
	ids(c.Unpriced, "codon whose model has no known price, so that its cost is in no figure", "codons whose models have no known price, so that their cost is in no figure")
	ids(c.NotRun, "codon not run because of --noop", "codons not run because of --noop")
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return strings.Join(parts, "")
}

// counted is a number of things, and the names of the first of them.
func counted(names []string, one, many string) string {
	const most = 5
	n, what, more := len(names), many, ""
	if n == 1 {
		what = one
	}
	if n > most {
		names, more = names[:most], fmt.Sprintf(", and %d more", n-most)
	}
	return fmt.Sprintf("%d %s (%s%s)", n, what, strings.Join(names, ", "), more)
}
