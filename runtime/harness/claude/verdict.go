package claude

import (
	"cmp"
	"strings"

	"hank/runtime/harness"
	"hank/state"
	"hank/state/agentend"
)

// End implements harness.Reader. An attempt succeeded if all of this holds:
//
//  1. a result line came, and no turn began after it;
//  2. it reports success: subtype success and not is_error (an API error is
//     subtype success with is_error);
//  3. the session is the one that was asked for;
//  4. no tool was refused: the agent calls it a success, and nothing was done;
//  5. the exit status is 0.
func (r *reader) End(exitCode int, signal string) harness.Verdict {
	failure := r.failure(exitCode, signal)
	r.settle()
	return harness.Verdict{
		Success:         failure == nil,
		ResultSeen:      r.result != nil && !r.open,
		ContextExceeded: r.exceeded,
		Failure:         failure,
		Session:         r.session,
		Text:            cmp.Or(r.result.text("result"), r.last),
		Usage:           r.meter.usage(),
		Denied:          r.denied,
		AgentEnd:        agentend.Report{StopReason: agentend.Word(r.result.text("stop_reason")), Turns: r.turns, APIMs: r.result.count("duration_api_ms")},
	}
}

func (r *reader) failure(exitCode int, signal string) *state.FailureReason {
	finished := r.result != nil && !r.open
	if finished {
		if f := r.resultFailure(); f != nil {
			return f
		}
	}
	return harness.Ending{
		ExitCode: exitCode, Signal: signal,
		Finished: finished, Event: "result line", Missing: "result:missing",
		Asked: r.asked, Session: cmp.Or(r.session, r.asked),
		Denied: r.denied, DeniedRule: "result:permission_denials",
		Said: cmp.Or(r.err.String(), r.out.String()),
		Judge: func(said string) *state.FailureReason {
			if f := unknownSession(said); f != nil {
				return f
			}
			return harness.Classify(harness.Evidence{Text: said, Session: r.session != ""})
		},
	}.Failure()
}

// resultFailure judges the last result line alone.
func (r *reader) resultFailure() *state.FailureReason {
	line := r.result
	if !line.flag("is_error") && line.text("subtype") == "success" {
		return nil
	}
	text := line.text("result")
	if text == "" {
		text = strings.Join(get[[]string](line, "errors"), "; ")
	}
	if f := unknownSession(text); f != nil {
		return f
	}
	words := []string{line.text("api_error"), r.apiError, line.text("api_error_type"), line.text("subtype"), line.text("stop_reason")}
	if reason := line.text("terminal_reason"); reason != "api_error" { // which is no provider's api_error
		words = append(words, reason)
	}
	return harness.Classify(harness.Evidence{
		Words:    words,
		Status:   int(line.count("api_error_status")),
		Text:     cmp.Or(text, line.text("subtype"), "the agent reported an error and did not say which"),
		Session:  r.session != "",
		ResetsAt: r.resets,
	})
}

// unknownSession recognises the answer to --resume with an id that is not there.
func unknownSession(text string) *state.FailureReason {
	if !strings.Contains(text, "No conversation found with session ID") {
		return nil
	}
	return harness.Fail(harness.ClassSessionNotFound, "text:session-not-found", false, "%s", text)
}
