package harness

import (
	"cmp"
	"fmt"
	"strings"

	"hank/state"
)

// Ending is what a reader knows of a turn when the agent's process is gone and the agent
// has reported no failure.
type Ending struct {
	ExitCode int    // as of Reader.End
	Signal   string // as of Reader.End
	Finished bool   // the agent itself reported a good end, and nothing came after it
	// Event names the agent's own report of a good end, for messages: result line. Missing
	// is the rule that fires where there is none: result:missing.
	Event, Missing string
	Asked          string   // the session that was to be continued; empty if a new one was
	Session        string   // the session that the agent worked in, as it said itself
	Denied         []string // tools that were refused
	DeniedRule     string   // by which that was seen: result:permission_denials
	Said           string   // what the agent's program said outside of its events, or last
	// Judge makes the failure of what the program said; Class is ClassUnknown if it is not
	// understood.
	Judge func(said string) *state.FailureReason
}

// Failure returns why an attempt that ended so has failed, and nil if it succeeded. It
// succeeded if the agent reported its good end, worked in the session that was asked for,
// refused no tool, and ended with status 0.
func (e Ending) Failure() *state.FailureReason {
	switch {
	case !e.Finished:
		return e.unfinished()
	case e.Asked != "" && e.Session != e.Asked:
		return Fail(ClassSessionNotFound, "session:mismatch", false,
			"the agent was asked to continue session %s and worked in %s", e.Asked, cmp.Or(e.Session, "one that it did not name"))
	case len(e.Denied) > 0:
		return Fail(ClassPermissionDenied, e.DeniedRule, false,
			"the agent ended well, but these tools were refused: %s; allow them in its settings", strings.Join(e.Denied, ", "))
	case e.ExitCode < 0:
		return Fail(ClassInterrupted, "signal:"+e.Signal, true, "the agent was done, and was then ended by %s", e.Signal)
	case e.ExitCode != 0:
		return Fail(ClassExit, fmt.Sprintf("exit:%d", e.ExitCode), true, "the agent reported success and then ended with exit status %d", e.ExitCode)
	}
	return nil
}

// unfinished judges an attempt that ended in the middle of a turn, or before the first.
func (e Ending) unfinished() *state.FailureReason {
	said := ""
	if e.Said != "" {
		said = ": " + e.Said
	}
	switch {
	case e.ExitCode < 0:
		return Fail(ClassInterrupted, "signal:"+e.Signal, true, "the agent was ended by %s", e.Signal)
	case signalExits[e.ExitCode] != "":
		return Fail(ClassInterrupted, fmt.Sprintf("exit:%d", e.ExitCode), true,
			"the agent ended with exit status %d, as after %s", e.ExitCode, signalExits[e.ExitCode])
	case e.ExitCode == 0:
		return Fail(ClassProtocol, e.Missing, true, "the agent exited without a result (exit status 0, no %s)%s", e.Event, said)
	}
	f := e.Judge(e.Said)
	if f.Class == ClassSessionNotFound {
		return f
	}
	if f.Class == ClassUnknown {
		f.Class, f.Rule = ClassExit, fmt.Sprintf("exit:%d", e.ExitCode)
	}
	f.Message = Excerpt(fmt.Sprintf("the agent ended with exit status %d and no %s%s", e.ExitCode, e.Event, said), MaxMessage)
	return f
}
