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
	if n := Crashes(s, next); n >= maxCrashes {
		return &finding.DecisionError{What: fmt.Sprintf("codon %s has crashed hank %d times in a row", next, n),
			Options: []string{"inspect: `hank doctor`, " + advice.Quote("hank log "+shell.Quote(string(next))), "continue manually: `hank run`"}}
	}
	return nil
}

// Crashes counts how often in a row the newest runs died at the same codon
// without the user having begun them: the cap on unattended restarts.
func Crashes(s *state.State, id state.CodonID) int {
	n := 0
	for _, r := range s.Runs {
		if r.Status == state.StatusRunning {
			continue
		}
		last := r.Len() - 1
		if r.Status != state.StatusCrashed || last < 0 || r.Codon(last).CodonID != id || r.Codon(last).Interrupted != state.InterruptedByCrash {
			break
		}
		if r.Len() > 1 && r.Codon(last-1).Settled() {
			n++ // it got somewhere before it died here
			break
		}
		n++
		if r.StartedBy == nil || !r.StartedBy.Unattended {
			break // the user's start resets the count
		}
	}
	return n
}
