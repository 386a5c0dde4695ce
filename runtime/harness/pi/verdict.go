package pi

import (
	"cmp"
	"strings"

	"hank/runtime/harness"
	"hank/state"
	"hank/state/agentend"
)

// End implements harness.Reader. An attempt succeeded if all of this holds:
//
//  1. the agent has ended its work, and nothing was begun after that;
//  2. the model's last message ended because the model was done: the exit status says
//     nothing of it;
//  3. the session is the one that was asked for, in the workspace, and the model too;
//  4. the exit status is 0.
func (r *reader) End(exitCode int, signal string) harness.Verdict {
	failure := r.judge(exitCode, signal)
	return harness.Verdict{
		Success:         failure == nil,
		ResultSeen:      r.ended && r.seen,
		ContextExceeded: r.exceeded,
		Failure:         failure,
		Session:         r.session,
		Text:            r.text,
		Usage:           r.meter.usage(),
		AgentEnd:        agentend.Report{StopReason: agentend.Word(r.last.Stop), Turns: r.turns},
	}
}

func (r *reader) judge(exitCode int, signal string) *state.FailureReason {
	over := r.ended && r.seen
	said := r.said()
	switch unknown := unknownSession(said); {
	case r.other != "":
		return r.mismatch()
	case over && r.failed():
		return r.stopped()
	case !over && unknown != nil:
		return unknown
	case over && r.cwd != "" && r.req.Workspace != "" && !same(r.cwd, r.req.Workspace):
		return harness.Fail(harness.ClassSessionNotFound, "session:directory", false,
			"the agent worked in %s, and not in the workspace: the session belongs there", r.cwd)
	}
	return harness.Ending{
		ExitCode: exitCode, Signal: signal,
		Finished: over && r.last.Stop == good, Event: "agent_end after a message that is whole", Missing: "agent_end:missing",
		Asked: r.req.Session, Session: r.session,
		Said:  said,
		Judge: func(said string) *state.FailureReason { return failure(said, r.session != "") },
	}.Failure()
}

// said is what the agent's program said outside of its events. Of credentials that are
// missing it names its documents, and no variable.
func (r *reader) said() string {
	said := cmp.Or(r.err.String(), r.out.String())
	if first, _, _ := strings.Cut(said, "\n"); !r.seen && said != "" && failure(said, true).Class == harness.ClassAuth {
		return first + " (" + r.remedy + ")"
	}
	return said
}

// good is how the model's last message ends where the model is done.
const good = "stop"

// failed reports whether the model's last message ended badly. With a call of a tool it has
// not ended at all.
func (r *reader) failed() bool {
	return r.last.Stop == "error" || r.last.Stop == "length" || r.last.Stop == "aborted"
}

// stopped is why it has.
func (r *reader) stopped() *state.FailureReason {
	switch r.last.Stop {
	case "length":
		return harness.Classify(harness.Evidence{Words: []string{"max_output_tokens"}, Text: "the answer was longer than the model may write", Session: true})
	case "aborted":
		return harness.Classify(harness.Evidence{Words: []string{"aborted_streaming"}, Text: cmp.Or(r.last.Error, "the request was ended"), Session: true})
	}
	return r.advised(failure(r.last.Error, r.session != ""))
}

// advised adds to the refusal of credentials what the user can do.
func (r *reader) advised(f *state.FailureReason) *state.FailureReason {
	if harness.Refused(f) && f.Class == harness.ClassAuth {
		f.Message = harness.Excerpt(f.Message+"; "+r.remedy, harness.MaxMessage)
	}
	return f
}

// mismatch is the failure of an agent that has chosen another model.
func (r *reader) mismatch() *state.FailureReason {
	return harness.Fail(harness.ClassInvalidRequest, "model:mismatch", false,
		"the agent does not know the model %s and took %s; name one that it knows (pi --list-models), or define it in %s", r.req.Model, r.other, modelsName)
}
