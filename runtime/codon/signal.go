package codon

import (
	"context"
	"time"

	"hank/runtime/control"
	"hank/state"
)

// signalled takes in a request while an agent or a rig runs.
func (a *attempt) signalled(r Request) (stop, force bool) {
	if r.Do != nil {
		(*r.Do)()
		return false, false
	}
	if !a.isMeant(r) {
		a.host.Dropped(r)
		return false, false
	}
	switch r.Signal {
	case SkipCodon:
		if r.Operation != nil && a.host.Record(state.OperationAnswered{Operation: *r.Operation}) != nil {
			return false, false // nothing is recorded any more: the codon ends by that
		}
		a.skip = true
		a.host.Monitor().Change(func(now *Activity) { now.Stop = "skipping this codon" })
		return true, false
	case StopAfterCodon:
		a.endRun(r)
		if r.Reason != state.EndSignal { // who has pressed Ctrl-C has been told
			a.host.Say("stopping after this codon")
		}
		a.host.Monitor().Change(func(now *Activity) { now.Stop = "stopping after this codon" })
		return false, false
	case StopNow:
		a.endRun(r)
		a.host.Monitor().Change(func(now *Activity) { now.Stop = "stopping now" })
		return true, false
	}
	a.endRun(r)
	return true, true
}

// isMeant reports whether a request is for this attempt: what it is for may have ended since.
func (a *attempt) isMeant(r Request) bool {
	return r.Target.Missed(control.Target{Run: a.Run, Codon: a.Entry.CodonID, Attempt: a.Number}) == ""
}

// endRun takes in that the run is to end, after this codon at the latest.
func (a *attempt) endRun(r Request) {
	a.stop = &r
	a.host.Monitor().Change(func(now *Activity) { now.Next = nil })
	a.host.Stopping(r)
}

// stopping reports whether the codon is to end now and not only the run.
func (a *attempt) stopping() bool { return a.stop != nil && a.stop.Signal != StopAfterCodon }

func (a *attempt) interruption() string {
	if a.stop != nil && a.stop.Reason == state.EndSignal {
		return state.InterruptedBySignal
	}
	return state.InterruptedByStop
}

// silence is the longest time that an agent may show no sign of life. Scripts
// say what they like when they like: only a limit that is set holds for them.
func (a *attempt) silence() time.Duration {
	if own := a.Program.IdleTimeout(a.Entry.Codon); own > 0 {
		return own
	}
	if a.Settings.ShimIdleTimeout > 0 {
		return time.Duration(a.Settings.ShimIdleTimeout) * time.Second
	}
	if a.Entry.Codon.Model.Kind().RunsScript {
		return 0
	}
	return 180 * time.Second
}

// timeout is how long the agent of the attempt may work, all its turns together; 0: as
// long as it takes.
func (a *attempt) timeout() time.Duration {
	return a.Entry.Codon.Limit()
}

// timeoutLeft is what is left of the timeout for the next turn; 0 is no limit.
func (a *attempt) timeoutLeft() time.Duration {
	if a.timeout() == 0 || a.working.IsZero() {
		return a.timeout()
	}
	return max(1, a.timeout()-time.Since(a.working))
}

// listen takes in requests while no agent runs. The context ends when one asks
// to end the codon now. done must be called before anything else listens.
func (a *attempt) listen(ctx context.Context) (listening context.Context, done func()) {
	listening, cancel := context.WithCancel(ctx)
	var taken []Request
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case r := <-a.host.Requests():
				if taken = append(taken, r); r.Signal != StopAfterCodon && r.Do == nil && a.isMeant(r) {
					cancel()
				}
			case <-stop:
				return
			}
		}
	}()
	return listening, func() {
		close(stop)
		<-ended
		cancel()
		for _, r := range taken {
			a.signalled(r)
		}
	}
}
