package codex

import (
	"cmp"

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
	if r.failed {
		return failure(cmp.Or(r.why, r.said), r.thread != "")
	}
	return harness.Ending{
		ExitCode: exitCode, Signal: signal,
		Finished: r.ended, Event: "turn.completed", Missing: "turn:missing",
		Asked: r.asked, Session: r.thread,
		Denied: r.denied, DeniedRule: "item:declined",
		Said:  cmp.Or(r.said, r.err.String(), r.out.String()),
		Judge: func(said string) *state.FailureReason { return failure(said, r.thread != "") },
	}.Failure()
}
