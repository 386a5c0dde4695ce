package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/proc"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/runtime/control"
	"hank/runtime/keeper"
	"hank/state"
)

// underControl starts the run, drives it while others may talk to it, and
// closes it.
func (d *driver) underControl(ctx context.Context, s start) (outcome, error) {
	// What a lost keeper leaves behind comes to this process. Where that
	// cannot be had, it is found by its environment.
	if err := keeper.BecomeSubreaper(); err != nil && !errors.Is(err, keeper.ErrUnsupported) {
		d.say("orphaned processes cannot be adopted: %v", err)
	}
	d.accounts = newAccounts(d.x.State())
	if l := d.x.State().Limits; l.Any() {
		d.say("limit %s", DescribeLimits(l, d.accounts.total.cost, d.accounts.total.time))
	}
	if err := d.startRun(s); err != nil {
		return outcome{}, err
	}
	server, err := control.Listen(d.x.Layout.Socket(), d.control)
	if err != nil {
		d.say("this run cannot be controlled from outside: %v", err)
	} else {
		defer server.Close()
	}
	done := make(chan struct{})
	defer close(done)
	go d.forward(done)
	d.opts.Monitor.begin(d.secrets.Text)
	out, err := d.drive(ctx)
	d.opts.Monitor.change(func(a *Activity) { *a = Activity{} })
	if err != nil {
		return d.leave(ctx, err)
	}
	return out, d.endRun(ctx, out)
}

// forward passes on the requests of the process: its signals.
func (d *driver) forward(done <-chan struct{}) {
	for {
		select {
		case r, open := <-d.opts.Requests:
			if !open {
				return
			}
			d.send(r)
		case <-done:
			return
		}
	}
}

// send queues a request. A queue that is full has enough of them.
func (d *driver) send(r Request) bool {
	select {
	case d.requests <- r:
		switch r.Signal {
		case SkipCodon:
		case StopAfterCodon:
			d.stopping.CompareAndSwap(nil, &stoppingAfter)
		default:
			d.stopping.Store(&stoppingNow)
		}
		return true
	default:
		return false
	}
}

// LiveStatus is what a live run says of itself.
type LiveStatus struct {
	RunID   state.RunID   `json:"runId"`
	CodonID state.CodonID `json:"codonId,omitempty"`
	Status  string        `json:"status,omitempty"`
	Cost    state.USD     `json:"cost"`
	Since   time.Time     `json:"since"`
	// Stopping says that it was asked to stop: after-codon, or now.
	Stopping string `json:"stopping,omitempty"`
}

// The values of LiveStatus.Stopping.
var stoppingAfter, stoppingNow = "after-codon", "now"

// signals are the commands that act.
var signals = map[string]Signal{"stop": StopNow, "stop-after-codon": StopAfterCodon, "skip": SkipCodon}

// control answers a client. It runs beside the driver and touches nothing but
// the queue and the state, which never changes under it.
func (d *driver) control(r control.Request) control.Response {
	signal, isSignal := signals[r.Command]
	if isSignal && r.Peer != 0 { // one outside of this PID namespace is below no keeper of it
		if err := proc.MayAct(r.Peer, d.x.Layout.Root, d.x.State().Lineage); err != nil {
			return control.Response{Error: err.Error(), Denied: true}
		}
	}
	switch {
	case isSignal && d.send(Request{signal, state.EndStopped, ExitStopped}):
		return control.Response{OK: true}
	case isSignal:
		return control.Response{Error: "the run has too many requests waiting"}
	case r.Command == "ping":
		return control.Response{OK: true}
	case r.Command == "status":
		text, err := json.Marshal(d.liveStatus())
		if err != nil {
			return control.Response{Error: err.Error()}
		}
		return control.Response{OK: true, Status: text}
	}
	return control.Response{Error: "unknown command " + r.Command + "; there are stop, stop-after-codon, skip, status, ping"}
}

func (d *driver) liveStatus() LiveStatus {
	s := d.x.State()
	status := LiveStatus{RunID: s.CurrentRunID, Cost: s.TotalCost(), Since: d.began}
	if asked := d.stopping.Load(); asked != nil {
		status.Stopping = *asked
	}
	if run := s.Current(); run != nil {
		if live := run.Live(); live != nil {
			status.CodonID, status.Status = live.CodonID, string(live.Status)
		}
	}
	return status
}

// signalled takes in a request while an agent works.
func (a *attempt) signalled(r Request) (stop, force bool) {
	switch r.Signal {
	case SkipCodon:
		a.skip = true
		a.monitor.change(func(now *Activity) { now.Stop = "skipping this codon" })
		return true, false
	case StopAfterCodon:
		a.stop = &r
		a.say("  stopping after this codon")
		a.monitor.change(func(now *Activity) { now.Stop = "stopping after this codon" })
		return false, false
	case StopNow:
		a.stop = &r
		a.monitor.change(func(now *Activity) { now.Stop = "stopping now" })
		return true, false
	}
	a.stop = &r
	return true, true
}

// stopping tells whether the codon is to end now and not only the run.
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
	if own := a.program.IdleTimeout(a.entry.Codon); own > 0 {
		return own
	}
	if a.settings.ShimIdleTimeout > 0 {
		return time.Duration(a.settings.ShimIdleTimeout) * time.Second
	}
	if a.entry.Codon.Model.IsShell() {
		return 0
	}
	return 180 * time.Second
}

// UnansweredError says that a live run did not answer a request.
type UnansweredError struct {
	Execution string
	Err       error // says what became of the request
}

func (e *UnansweredError) Error() string { return fmt.Sprintf("%s: %v", e.Execution, e.Err) }

func (e *UnansweredError) Unwrap() error { return e.Err }

// Control sends a command to the live run of an execution. One that acts is
// carried out only if the run answers in time, see package control; an
// *UnansweredError says that it did not.
func Control(ctx context.Context, execution, command string) (control.Response, error) {
	root, err := locateExisting(execution)
	if err != nil {
		return control.Response{}, err
	}
	_, acts := signals[command]
	if acts {
		if err := lock.MayAct(root); err != nil {
			return control.Response{}, err
		}
	}
	answer, err := control.Call(ctx, layout.Layout{Root: root}.Socket(), control.Request{Command: command, Confirm: acts})
	if errors.Is(err, control.ErrNoAnswer) || errors.Is(err, control.ErrNotKnown) {
		return answer, &UnansweredError{root, err}
	}
	return answer, err
}

// Live asks the live run of an execution how it stands.
func Live(ctx context.Context, execution string) (LiveStatus, error) {
	var s LiveStatus
	answer, err := Control(ctx, execution, "status")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(answer.Status, &s)
}
