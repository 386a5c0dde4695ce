package codex

import (
	"cmp"
	"fmt"
	"strings"

	"hank/runtime/harness"
	"hank/state"
)

// End implements harness.Reader. An attempt succeeded if all of this holds:
//
//  1. the turn was completed, and nothing came after that;
//  2. the thread is the one that was asked for;
//  3. no command was refused: the agent calls it a success, and nothing was done;
//  4. the exit status is 0.
func (r *reader) End(exitCode int, signal string) harness.Verdict {
	r.requests() // of an agent that was killed they are all there is
	failure := r.judge(exitCode, signal)
	return harness.Verdict{
		Success:         failure == nil,
		ResultSeen:      r.ended || r.failed,
		ContextExceeded: r.exceeded,
		Failure:         failure,
		Session:         r.thread,
		Text:            r.last,
		Usage:           r.meter.usage(),
		Denied:          r.denied,
	}
}

func (r *reader) judge(exitCode int, signal string) *state.FailureReason {
	switch {
	case r.failed:
		return failure(cmp.Or(r.why, r.said), r.thread != "")
	case !r.ended:
		return r.unfinished(exitCode, signal)
	case r.asked != "" && r.thread != r.asked:
		return harness.Fail(harness.ClassSessionNotFound, "session:mismatch", false,
			"the agent was asked to continue session %s and worked in %s", r.asked, cmp.Or(r.thread, "one that it did not name"))
	case len(r.denied) > 0:
		return harness.Fail(harness.ClassPermissionDenied, "item:declined", false,
			"the agent ended well, but these tools were refused: %s; allow them in its settings", strings.Join(r.denied, ", "))
	case exitCode < 0:
		return harness.Fail(harness.ClassInterrupted, "signal:"+signal, true, "the agent was done, and was then ended by %s", signal)
	case exitCode != 0:
		return harness.Fail(harness.ClassExit, fmt.Sprintf("exit:%d", exitCode), true, "the agent reported success and then ended with exit status %d", exitCode)
	}
	return nil
}

// unfinished judges an attempt that ended in the middle of a turn, or before
// the first one.
func (r *reader) unfinished(exitCode int, signal string) *state.FailureReason {
	said := cmp.Or(r.said, r.err.String(), r.out.String())
	switch {
	case exitCode < 0:
		return harness.Fail(harness.ClassInterrupted, "signal:"+signal, true, "the agent was ended by %s", signal)
	case harness.SignalExits[exitCode] != "":
		return harness.Fail(harness.ClassInterrupted, fmt.Sprintf("exit:%d", exitCode), true,
			"the agent ended with exit status %d, as after %s", exitCode, harness.SignalExits[exitCode])
	case exitCode == 0:
		return harness.Fail(harness.ClassProtocol, "turn:missing", true, "the agent exited without a result (exit status 0, no turn.completed)%s", quote(said))
	}
	if f := unknownThread(said); f != nil {
		return f
	}
	f := failure(said, r.thread != "")
	if f.Class == harness.ClassUnknown {
		f.Class, f.Rule = harness.ClassExit, fmt.Sprintf("exit:%d", exitCode)
	}
	f.Message = harness.Excerpt(fmt.Sprintf("the agent ended with exit status %d and no result%s", exitCode, quote(said)), harness.MaxMessage)
	return f
}

func quote(said string) string {
	if said == "" {
		return ""
	}
	return ": " + said
}
