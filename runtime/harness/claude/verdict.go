package claude

import (
	"cmp"
	"fmt"
	"strings"

	"hank/runtime/harness"
	"hank/state"
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
	return harness.Verdict{
		Success:         failure == nil,
		ResultSeen:      r.result != nil && !r.open,
		ContextExceeded: r.exceeded,
		Failure:         failure,
		Session:         r.session,
		Text:            cmp.Or(r.result.text("result"), r.last),
		Usage:           r.meter.usage(),
		Denied:          r.denied,
	}
}

func (r *reader) failure(exitCode int, signal string) *state.FailureReason {
	if r.result == nil || r.open {
		return r.unfinished(exitCode, signal)
	}
	if f := r.resultFailure(); f != nil {
		return f
	}
	switch {
	case r.asked != "" && r.session != "" && r.session != r.asked:
		return harness.Fail(harness.ClassSessionNotFound, "session:mismatch", false,
			"the agent was asked to continue session %s and worked in %s", r.asked, r.session)
	case len(r.denied) > 0:
		return harness.Fail(harness.ClassPermissionDenied, "result:permission_denials", false,
			"the agent ended well, but these tools were refused: %s; allow them in its settings", strings.Join(r.denied, ", "))
	case exitCode < 0:
		return harness.Fail(harness.ClassInterrupted, "signal:"+signal, true, "the agent was done, and was then ended by %s", signal)
	case exitCode != 0:
		return harness.Fail(harness.ClassExit, fmt.Sprintf("exit:%d", exitCode), true, "the agent reported success and then ended with exit status %d", exitCode)
	}
	return nil
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
		Words:   words,
		Status:  int(line.count("api_error_status")),
		Text:    cmp.Or(text, line.text("subtype"), "the agent reported an error and did not say which"),
		Session: r.session != "",
	})
}

// unknownSession recognises the answer to --resume with an id that is not there.
func unknownSession(text string) *state.FailureReason {
	if !strings.Contains(text, "No conversation found with session ID") {
		return nil
	}
	return harness.Fail(harness.ClassSessionNotFound, "text:session-not-found", false, "%s", text)
}

// unfinished judges an attempt that ended in the middle of a turn, or before
// the first one.
func (r *reader) unfinished(exitCode int, signal string) *state.FailureReason {
	said := cmp.Or(r.err.String(), r.out.String())
	switch {
	case exitCode < 0:
		return harness.Fail(harness.ClassInterrupted, "signal:"+signal, true, "the agent was ended by %s", signal)
	case harness.SignalExits[exitCode] != "":
		return harness.Fail(harness.ClassInterrupted, fmt.Sprintf("exit:%d", exitCode), true,
			"the agent ended with exit status %d, as after %s", exitCode, harness.SignalExits[exitCode])
	case exitCode == 0:
		return harness.Fail(harness.ClassProtocol, "result:missing", true, "the agent exited without a result (exit status 0, no result line)%s", quote(said))
	}
	if f := unknownSession(said); f != nil {
		return f
	}
	f := harness.Classify(harness.Evidence{Text: said, Session: r.session != ""})
	if f.Class == harness.ClassUnknown {
		f.Class, f.Rule = harness.ClassExit, fmt.Sprintf("exit:%d", exitCode)
	}
	f.Message = harness.Excerpt(fmt.Sprintf("the agent ended with exit status %d and no result line%s", exitCode, quote(said)), harness.MaxMessage)
	return f
}

func quote(said string) string {
	if said == "" {
		return ""
	}
	return ": " + said
}
