package liveview

import (
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/state"
)

// Reason is why a person has to look at an execution, the more urgent ones first.
type Reason int

// The reasons.
const (
	Gate    Reason = iota + 1 // it waits for an answer, or to be continued after one
	Hold                      // somebody has held it
	Blocked                   // nothing can run before a decision: exit code 4
	Agent                     // the provider refuses the key or the model: exit code 9
	Spent                     // a budget is used up
	Failure                   // a codon has failed, or the runtime has crashed
	Limit                     // a provider is waited for
	Silent                    // nothing is heard of an agent
)

// String is the reason in a word.
func (r Reason) String() string {
	words := [...]string{"", "gate", "held", "decision", "agent", "budget", "failed", "usage limit", "silent"}
	if r < 0 || int(r) >= len(words) {
		return ""
	}
	return words[r]
}

// Need is what a person has to look at.
type Need struct {
	Reason  Reason
	Text    string // in one sentence
	Command string // that goes on from there; empty: there is no single one
}

// NeedOf is what of an execution needs a person; nil: nothing does.
func NeedOf(s *report.Status) *Need {
	need := func(r Reason, text string) *Need { return &Need{Reason: r, Text: text, Command: s.After} }
	detail := report.FirstLine(s.EndDetail)
	switch {
	case s.Gate != nil:
		return &Need{Gate, s.Gate.Waits(), s.Gate.Approve}
	case s.Hold != nil:
		return &Need{Hold, "held " + report.HeldText(s.Hold), s.Release}
	case s.Verdict == verdict.Blocked:
		return need(Blocked, blockedBy(s))
	case s.Verdict == verdict.Interrupted:
		return need(Failure, "a change of the workspace was interrupted")
	case s.Live && s.Waiting != nil:
		return need(Limit, s.Waiting.Says())
	case s.Live && s.Silent:
		return need(Silent, "no output from the agent for a while")
	case s.Live:
		return nil
	case s.Answered != "": // or nobody has in time
		return need(Gate, s.Answered)
	case s.Paused != nil:
		return need(Blocked, report.FirstLine(s.Paused.Detail))
	case s.Verdict == verdict.Paused:
		return need(Blocked, detail)
	case s.Verdict == verdict.Refused:
		return need(Agent, detail)
	case s.Verdict == verdict.Budget:
		return need(Spent, verdict.Beside(s.Verdict, detail))
	case s.Waiting != nil:
		return need(Limit, s.Waiting.Says())
	case s.Verdict == verdict.Unavailable:
		return need(Limit, detail)
	case s.Verdict == verdict.Crashed:
		return need(Failure, "the runtime is gone and did not end its run")
	case s.Verdict == verdict.Failed:
		return need(Failure, failureOf(s))
	}
	return nil
}

// blockedBy is what must be decided first.
func blockedBy(s *report.Status) string {
	for _, f := range s.Findings {
		if f.Severity.Planned() == "blocked" {
			return report.FirstLine(f.What)
		}
	}
	return "a decision is needed"
}

func failureOf(s *report.Status) string {
	if k := s.LastCodon; k != nil && k.Status == state.Failed && k.FailureReason != nil {
		return string(k.CodonID) + report.During(k) + ": " + verdict.FailureLine(k.FailureReason)
	}
	return report.FirstLine(s.EndDetail)
}
