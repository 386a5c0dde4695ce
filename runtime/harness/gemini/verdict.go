package gemini

import (
	"cmp"
	"strings"

	"hank/runtime/harness"
	"hank/state"
)

// End implements harness.Reader. An attempt succeeded if all of this holds:
//
//  1. a result line with the status success came, and nothing after it;
//  2. the agent has not ended by itself in the middle of its work, and the model has
//     answered to the last that it heard, with an answer that is not cut off: the agent
//     calls all of this a success;
//  3. the session is the one that was asked for;
//  4. no tool was refused;
//  5. the exit status is 0.
func (r *reader) End(exitCode int, signal string) harness.Verdict {
	r.requests() // of an agent that was killed they are all there is
	r.message()
	failure := r.judge(exitCode, signal)
	return harness.Verdict{
		Success:         failure == nil,
		ResultSeen:      r.ended || r.failed,
		ContextExceeded: r.full,
		Failure:         failure,
		Session:         r.session,
		Text:            r.last,
		Usage:           r.meter.usage(),
		Denied:          r.denied,
	}
}

func (r *reader) judge(exitCode int, signal string) *state.FailureReason {
	if r.failed || r.ended {
		if f := r.judgeResult(exitCode); f != nil {
			return f
		}
	}
	return harness.Ending{
		ExitCode: exitCode, Signal: signal,
		Finished: r.ended, Event: "result line", Missing: "result:missing",
		Asked: r.asked, Session: r.session,
		Denied: r.denied, DeniedRule: "tool_result:refused",
		Said:  cmp.Or(r.said, r.err.String(), r.out.String()),
		Judge: func(said string) *state.FailureReason { return r.classify(said, exitCode) },
	}.Failure()
}

// judgeResult judges the last result line alone. The exit status tells the status of the
// provider; 0: it is not known yet.
func (r *reader) judgeResult(exitCode int) *state.FailureReason {
	fail := func(class, rule string, retriable bool, format string, args ...any) *state.FailureReason {
		f := harness.Fail(class, rule, retriable, format, args...)
		if contextFull(class) {
			f.Type = state.FailAPI
		}
		return f
	}
	switch {
	case r.failed:
		return r.classify(cmp.Or(r.error, r.said), exitCode)
	case strings.HasPrefix(r.stopped, maxTurns):
		return fail(harness.ClassBudget, "event:max-turns", false, "the agent has ended by itself: %s", r.stopped)
	case strings.HasPrefix(r.stopped, blocked):
		return fail(harness.ClassPermissionDenied, "event:blocked", false, "the agent has ended by itself: %s", r.stopped)
	case r.stopped != "":
		return fail(harness.ClassUnknown, "event:loop", true, "the agent has ended by itself: %s", r.stopped)
	case r.silent && r.meter.unanswered(r.rounds):
		return fail(harness.ClassContextOverflow, "session:unanswered", false,
			"the agent reported success without asking the model again, as it does when the context has no room for the request (the last one had %d tokens)", r.meter.context)
	case r.meter.cut():
		return fail(harness.ClassMaxOutput, "session:longest-answer", true,
			"the agent reported success, but the last answer has %d tokens, which is as long as the model can write: the rest is missing", r.meter.answer)
	}
	return nil
}

// classify classifies what the agent says of its failure.
func (r *reader) classify(why string, exitCode int) *state.FailureReason {
	if f := unknownSession(why); f != nil {
		return f
	}
	f := failure(why, report{status: cmp.Or(statusOf(exitCode), r.report.status), kind: r.report.kind}, r.session != "")
	if word := exits[exitCode]; word != "" && f.Class == harness.ClassUnknown {
		f = harness.Classify(harness.Evidence{Words: []string{word}, Text: cmp.Or(why, "the agent gave no reason"), Session: r.session != ""})
	}
	return f
}
