package verdict

import (
	"fmt"
	"strings"

	"hank/runtime/exitcode"
	"hank/runtime/harness"
	"hank/state"
)

// Outcome is how a run is to end.
type Outcome struct {
	Reason state.EndReason // empty: the plan is done
	Code   exitcode.Code
	Codon  state.CodonID
	Detail string
}

// EndWaits ends no run: it is what the notification command is told of one that waits for
// a provider.
const EndWaits state.EndReason = "waits"

// EndStuck ends no run either: the notification command is told that an agent has shown no sign
// of life for as long as its idle timeout.
const EndStuck state.EndReason = "stuck"

// EndWarns ends no run either: the notification command is told that a budget is nearly used up.
const EndWarns state.EndReason = "budget-warning"

// FailedBy is the outcome of a run whose codon has failed.
func FailedBy(c *state.Codon) Outcome {
	if c.Interrupted == state.InterruptedByRefusal {
		return Outcome{state.EndAgent, exitcode.Agent, c.CodonID, c.FailureReason.Message}
	}
	if c.Interrupted == state.InterruptedByBudget {
		return Outcome{state.EndBudget, exitcode.Budget, c.CodonID, c.FailureReason.Message}
	}
	if c.FailureReason.Class == harness.ClassBudget { // onExceeded is fail, or the agent has a limit of its own
		return Outcome{state.EndBudget, exitcode.Failed, c.CodonID, c.FailureReason.Message}
	}
	return Outcome{state.EndCodonFailed, exitcode.Failed, c.CodonID, c.FailureReason.Message}
}

// ExhaustedBy is the outcome of a run that is paused because its codon has no retry left.
func ExhaustedBy(c *state.Codon) Outcome {
	return Outcome{state.EndExhausted, exitcode.Decision, c.CodonID, "no retry is left: " + c.FailureReason.Message}
}

func Deref(o *Outcome) Outcome {
	if o == nil {
		return Outcome{}
	}
	return *o
}

// EndedAs is a run that has ended for a reason, or completed.
func EndedAs(reason state.EndReason) *state.Run {
	if reason == "" {
		return &state.Run{Status: state.StatusCompleted}
	}
	return &state.Run{Status: state.StatusFailed, EndReason: reason}
}

// About is an outcome that is about a codon, in one sentence.
func About(out Outcome) string {
	detail := strings.TrimSpace(out.Detail)
	failed := out.Reason == state.EndCodonFailed || out.Reason == state.EndExhausted
	switch {
	case out.Reason == state.EndGate:
		return detail
	case failed && strings.HasPrefix(detail, "failed in "):
		return fmt.Sprintf("codon %s %s", out.Codon, detail)
	case failed:
		return fmt.Sprintf("codon %s failed: %s", out.Codon, detail)
	}
	return fmt.Sprintf("codon %s: %s", out.Codon, detail)
}

// FailureLine is a failure in one line. Of what a script has said it is the last line, as the shell
// ends with the command that failed.
func FailureLine(f *state.FailureReason) string {
	first, rest, more := strings.Cut(strings.TrimSpace(f.Message), "\n")
	what, _, said := strings.Cut(first, ": ")
	switch {
	case !more:
		return first
	case !said || !strings.HasPrefix(f.Rule, "exit:"):
		return first + " …"
	}
	return what + ": … " + rest[strings.LastIndexByte(rest, '\n')+1:]
}
