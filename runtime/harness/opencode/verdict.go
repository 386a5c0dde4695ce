package opencode

import (
	"cmp"
	"strings"

	"hank/runtime/harness"
	"hank/state"
)

// End implements harness.Reader. An attempt succeeded if all of this holds:
//
//  1. the last step ended because the model was done (stop), and nothing came after it;
//  2. the session is the one that was asked for;
//  3. no tool was refused: the agent calls it a success, and nothing was done;
//  4. the exit status is 0. It is 1 also where the context was full and the agent went on
//     with less: of that error alone it says nothing.
func (r *reader) End(exitCode int, signal string) harness.Verdict {
	failure := r.judge(exitCode, signal)
	return harness.Verdict{
		Success:         failure == nil,
		ResultSeen:      r.ended() || r.fault != nil,
		ContextExceeded: r.exceeded,
		Failure:         failure,
		Session:         r.session,
		Text:            r.last,
		Usage:           r.usage(),
		Denied:          r.denied,
		AgentEnd:        r.end,
	}
}

// reasons are those of a step that is the last of a turn that did not end well, each with
// the code word that it is for.
var reasons = map[string]string{"length": "max_output_tokens", "content-filter": "refusal"}

func (r *reader) judge(exitCode int, signal string) *state.FailureReason {
	switch {
	case r.givenUp != nil && exitCode != 0: // it was ended because of it
		return r.givenUp
	case r.fault != nil:
		return r.failure(*r.fault)
	case reasons[r.reason] != "":
		return harness.Classify(harness.Evidence{Words: []string{reasons[r.reason]}, Text: "the last answer of the model was truncated (" + r.reason + ")", Session: true})
	case r.reason != "stop" && exitCode == 0 && len(r.denied) > 0: // a refusal ends the turn in the middle
		return harness.Fail(harness.ClassPermissionDenied, deniedRule, false,
			"the agent stopped because these tools were refused: %s; allow them in its settings", strings.Join(r.denied, ", "))
	case r.reason == "stop" && exitCode == 1 && r.overcame:
		exitCode = 0
	}
	return harness.Ending{
		ExitCode: exitCode, Signal: signal,
		Finished: r.reason == "stop", Event: "step that ended with stop", Missing: "step:missing",
		Asked: r.asked, Session: r.session,
		Denied: r.denied, DeniedRule: deniedRule,
		Said:  cmp.Or(r.err.String(), r.out.String()),
		Judge: func(text string) *state.FailureReason { return said(text, r.session != "") },
	}.Failure()
}

const deniedRule = "tool:refused"
