package runtime

import "hank/state"

// Signal is a request to a live run from outside.
type Signal int

// The requests.
const (
	StopAfterCodon Signal = iota // finish the codon, then stop
	StopNow                      // stop the agent in order, then stop
	StopForce                    // kill
	SkipCodon                    // end the codon as skipped and go on
)

// Request is a Signal with where it comes from.
type Request struct {
	Signal Signal
	Reason state.EndReason // EndStopped or EndSignal
	Code   ExitCode        // with which the run then ends
}
