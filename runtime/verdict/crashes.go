package verdict

import (
	"fmt"

	"hank/internal/advice"
	"hank/internal/shell"
	"hank/recovery/finding"
	"hank/runtime/history"
	"hank/state"
)

// maxCrashes is how often in a row a codon may crash the runtime before an unattended
// start is refused.
const maxCrashes = 3

// CrashLoop is why an unattended start is refused; nil if it is not. A start by the
// user begins the count again.
func CrashLoop(s *state.State) *finding.DecisionError {
	next := history.NextID(s)
	if n := history.Crashes(s, next); n >= maxCrashes {
		return &finding.DecisionError{What: fmt.Sprintf("codon %s has crashed hank %d times in a row", next, n),
			Options: []string{"inspect: `hank doctor`, " + advice.Quote("hank log "+shell.Quote(string(next))), "continue manually: `hank run`"}}
	}
	return nil
}
