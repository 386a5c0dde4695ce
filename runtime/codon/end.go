package codon

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"hank/plan"
	"hank/runtime/harness"
	"hank/state"
)

// recordEnd decides how the codon ended, and records it: from here on its agent does
// not run again. session is the checkpoint of what it remembers.
func (a *attempt) recordEnd(ctx context.Context, res ended, session state.SHA) error {
	s := a.judge(res)
	if a.Apply != nil && s.Interrupted == "" {
		done, err := a.Apply(ctx, res.exit.Stopped, a.exceeded)
		if err != nil {
			s.Status = state.Failed
			s.FailureReason = &state.FailureReason{Type: state.FailUnknown, Message: err.Error(), Class: "replay", Rule: "files"}
		} else if !done {
			a.notes = append(a.notes, "the recording was not played to its end: no file is changed as the recorded attempt has changed it")
		}
	}
	if s.Status == state.Completed {
		failure, err := a.expected(ctx, res)
		if err == nil && failure == nil && !a.skip {
			failure, err = a.copyOutputs(ctx)
		}
		switch {
		case err != nil:
			return err
		case a.skip: // which came meanwhile
			s.Status = state.Skipped
		case failure != nil:
			if s.Status, s.FailureReason, s.ExitCode = state.Failed, failure, 1; a.stopping() {
				s.Interrupted = a.interruption()
			}
		}
	}
	s.Ignored = s.Status == state.Failed && s.Interrupted == "" && a.Entry.Codon.Failure() == plan.Ignore
	if a.isRefusal(s.FailureReason) && a.FallbackOf == "" {
		a.host.ExplainRefusal(s.FailureReason)
	}
	ended := state.At(time.Now())
	s.At = &ended
	next := a.host.Live().Settle(s)
	next.ContextExceeded = a.context || res.verdict.ContextExceeded
	if s.Interrupted == state.InterruptedByBudget && a.extends(res.verdict) { // its turn is over: who continues it sends the next prompt
		next.ExtensionCount = new(a.extension + 1)
	}
	next.BudgetExceeded = a.limitHit()
	if a.exceeded != nil && s.Status == state.Completed && res.verdict.Success && !res.exit.Stopped && !a.extends(res.verdict) {
		finished := *next.BudgetExceeded
		finished.Finished = true
		next.BudgetExceeded = &finished
	}
	next.BudgetExceeded = a.ofLoop(next.Conclude(ended))
	if res.verdict.Session != "" {
		next.ClaudeSessionID = res.verdict.Session
	}
	next.SessionCheckpoint = session
	var unpriced []string
	next.UnpricedTokens, unpriced = a.unpriced()
	next.Notes = append(append(next.Notes, a.notes...), unpriced...)
	next.Decision = a.decision()
	next.AgentEnd = a.agentEnd.Recorded()
	return a.host.Record(state.CodonTransitioned{RunID: a.Run, Record: next})
}

// withoutSession is why an attempt has failed whose agent never had a session, and keeps
// what judge has decided. There is nothing that could be complete: where a limit has ended
// the agent, and counts as success, the failure is ignored.
func (a *attempt) withoutSession(res ended) *state.FailureReason {
	s := a.judge(res)
	switch {
	case s.Status == state.Completed && a.exceeded != nil:
		s.Ignored = a.Limits.OnExceeded == plan.Complete
		s.FailureReason = &state.FailureReason{Type: state.FailUnknown, Message: a.Limits.Describe(a.exceeded) + "; its agent had no session yet", Class: harness.ClassBudget, Rule: a.exceeded.Currency}
	case s.Status != state.Failed:
		s.FailureReason = a.verdictFailure(res)
	}
	a.judged = &s
	return s.FailureReason
}

// judge is the table of final statuses; the first row that fits decides.
func (a *attempt) judge(res ended) state.Settling {
	v := res.verdict
	s := state.Settling{Status: state.Failed, ExitCode: res.exit.Code, ResultSeen: v.ResultSeen}
	full := a.context || v.ContextExceeded
	switch {
	case a.stopping() && res.exit.Stopped:
		s.Interrupted = a.interruption()
		s.FailureReason = &state.FailureReason{Type: state.FailUnknown, Retriable: true, Message: "stopped on request", Class: "interrupted", Rule: s.Interrupted}
	case a.skip:
		s.Status = state.Skipped
	case a.refused != nil:
		s.FailureReason, s.Interrupted = a.refused, cmp.Or(a.interrupted(a.refused), state.InterruptedByRefusal)
	case a.exceeded == nil && res.overTime:
		a.exceeded = a.Limits.TimeExceeded()
		fallthrough
	case a.exceeded != nil && (v.Success || res.exit.Stopped): // or else it failed by itself, whatever it had used
		s = a.atLimit(s, res.exit.Stopped || a.extends(v))
	case res.timedOut && (!v.Success || res.exit.Stopped): // or else it had ended by itself
		s.FailureReason = &state.FailureReason{Type: state.FailTimeout, Retriable: true, Class: harness.ClassTimeout, Rule: "timeout",
			Message: fmt.Sprintf("its timeout of %s is over", a.timeout())}
	case res.silent:
		s.FailureReason, s.Interrupted = a.silent()
	case v.Success:
		s.Status = state.Completed
	case full && a.mayFillContext():
		s.Status = state.Completed
	default:
		s.FailureReason = a.verdictFailure(res)
		s.Interrupted = a.interrupted(s.FailureReason)
	}
	return s
}

// extends reports whether one more turn of the codon is to follow one that has ended.
func (a *attempt) extends(v harness.Verdict) bool {
	return v.Success && !a.context && !v.ContextExceeded && a.extension < a.Entry.Codon.Extensions()
}

// mayFillContext reports whether a full context is a good end: in a loop that
// waits for it, and for a codon that is to fill it.
func (a *attempt) mayFillContext() bool {
	if a.Entry.Codon.ExhaustWithPrompt != "" {
		return true
	}
	if a.Entry.LoopContext == nil {
		return false
	}
	loop := a.Program.Loop(a.Entry.LoopContext.LoopID)
	return loop != nil && loop.TerminateOn.WaitsForContext()
}
