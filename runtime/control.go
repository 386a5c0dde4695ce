package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/proc"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/runtime/budget"
	"hank/runtime/codon"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/keeper"
	"hank/runtime/verdict"
	"hank/state"
)

// serve starts the run, drives it while others may talk to it, and
// closes it.
func (d *driver) serve(ctx context.Context, st Start) (outcome, error) {
	// What a lost keeper leaves behind comes to this process. Where that
	// cannot be had, it is found by its environment.
	if err := keeper.BecomeSubreaper(); err != nil && !errors.Is(err, keeper.ErrUnsupported) {
		d.say("orphaned processes cannot be adopted: %v", err)
	}
	d.accounts = budget.NewAccounts(d.x.State())
	if l := d.x.State().Limits; l.Any() {
		d.say("limit %s", verdict.DescribeLimits(l, d.accounts.Total.Cost, d.accounts.Total.Time))
	}
	if err := d.startRun(st); err != nil {
		return outcome{}, err
	}
	server, err := control.Listen(d.x.Layout.Socket(), d.control)
	if err != nil {
		d.say("this run cannot be controlled from outside: %v", err)
	} else {
		defer server.Close()
	}
	defer d.events.Close() // before the server: its clients get the end of the run
	done := make(chan struct{})
	defer close(done)
	go d.forward(done)
	d.ui.Monitor.Begin(d.secrets.Text)
	out, err := d.drive(ctx)
	d.ui.Monitor.Change(func(a *codon.Activity) { *a = codon.Activity{} })
	if err != nil {
		return d.abort(ctx, err)
	}
	return out, d.endRun(ctx, out)
}

// forward passes on the requests of the process: its signals.
func (d *driver) forward(done <-chan struct{}) {
	for {
		select {
		case r, open := <-d.ui.Requests:
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
func (d *driver) send(r codon.Request) bool {
	select {
	case d.requests <- r:
		switch r.Signal {
		case codon.SkipCodon:
		case codon.StopAfterCodon:
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
var signals = map[string]codon.Signal{"stop": codon.StopNow, "stop-after-codon": codon.StopAfterCodon, "skip": codon.SkipCodon}

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
	case isSignal && d.send(codon.Request{Signal: signal, Reason: state.EndStopped, Code: exitcode.Stopped}):
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

// Control sends a command to the live run of an execution. One that acts is
// carried out only if the run answers in time, see package control; an
// *UnansweredError says that it did not.
func Control(ctx context.Context, execution, command string) (control.Response, error) {
	root, err := history.Locate(execution)
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
		return answer, &control.UnansweredError{Execution: root, Err: err}
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
