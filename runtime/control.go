package runtime

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/proc"
	"hank/runtime/budget"
	"hank/runtime/codon"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/keeper"
	"hank/runtime/live"
	"hank/runtime/startpoint"
	"hank/runtime/usagelimit"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// serve starts the run, drives it while others may talk to it, and
// closes it.
func (d *driver) serve(ctx context.Context, st startpoint.Start) (verdict.Outcome, error) {
	// What a lost keeper leaves behind comes to this process. Where that
	// cannot be had, it is found by its environment.
	if err := keeper.BecomeSubreaper(); err != nil && !errors.Is(err, keeper.ErrUnsupported) {
		d.say("cannot adopt orphaned processes: %v", err)
	}
	d.accounts = budget.NewAccounts(d.x.State(), d.replay != nil || d.noop)
	if l := d.x.State().Limits; l.Any() {
		d.say("limit %s", verdict.DescribeLimits(l, d.x.State().Bill().Paid(), d.accounts.Total.Time))
	}
	if err := d.beginReplay(); err != nil {
		return verdict.Outcome{}, err
	}
	if err := d.startRun(st); err != nil {
		return verdict.Outcome{}, err
	}
	d.over = make(chan struct{})
	server, err := control.Listen(d.x.Layout.Socket(), control.Service{Handle: d.control, Follow: d.follow})
	if err != nil {
		d.say("control socket unavailable, so hank stop and hank skip will not work: %v", err)
	} else {
		defer server.Close()
	}
	defer close(d.over)    // the server waits for whoever waits for an answer
	defer d.events.Close() // before the server: its clients get the end of the run
	done := make(chan struct{})
	defer close(done)
	go d.forward(done)
	d.ui.Monitor.Begin(d.secrets.Text)
	out, err := d.drive(ctx)
	d.notified.Wait()
	if err != nil {
		return d.abort(ctx, err)
	}
	return out, d.endRun(ctx, out, nil)
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
		d.tellStop(r.Signal)
		return true
	default:
		return false
	}
}

// stopFor takes in a request that ends the run.
func (d *driver) stopFor(r codon.Request) {
	d.stop = &r
	d.tellStop(r.Signal)
}

// tellStop has the status tell of a request.
func (d *driver) tellStop(s codon.Signal) {
	switch s {
	case codon.SkipCodon:
	case codon.StopAfterCodon:
		d.stopping.CompareAndSwap(nil, &stoppingAfter)
	default:
		d.stopping.Store(&stoppingNow)
	}
}

// stoppingAfter and stoppingNow are what the status says of a request to stop.
var stoppingAfter, stoppingNow = live.StoppingAfter, live.StoppingNow

// signals are the commands that act.
var signals = map[string]codon.Signal{"stop": codon.StopNow, "stop-after-codon": codon.StopAfterCodon, "skip": codon.SkipCodon}

// control answers a client. It runs beside the driver and touches nothing but
// the queue and the state, which never changes under it.
func (d *driver) control(r control.Request) control.Response {
	signal, isSignal := signals[r.Command]
	if (isSignal || decisions[r.Command] || r.Command == live.EndWait) && r.Peer != 0 { // one outside of this PID namespace is below no keeper of it
		if err := proc.MayAct(r.Peer, d.x.Layout.Root, d.x.State().Lineage); err != nil {
			return control.Response{Error: err.Error(), Denied: true}
		}
	}
	asked, err := live.Asked(d.x.State(), r, d.judges.Load())
	switch {
	case decisions[r.Command]:
		return d.decideFor(r)
	case err != nil:
		return live.Refused(err)
	case isSignal && d.send(codon.Request{Signal: signal, Reason: state.EndStopped, Code: exitcode.Stopped, Operation: asked.Operation, Target: asked.Target}):
		return control.Response{OK: true, Loop: asked.Loop}
	case isSignal:
		return control.Response{Error: "the run has too many requests waiting"}
	case r.Command == live.EndWait:
		return d.endWaitFor()
	case r.Command == "ping":
		return control.Response{OK: true}
	case r.Command == "status":
		text, err := json.Marshal(d.liveStatus())
		if err != nil {
			return control.Response{Error: err.Error()}
		}
		return control.Response{OK: true, Status: text}
	}
	return control.Response{Error: "unknown command " + r.Command + " (supported: stop, stop-after-codon, skip, answer, hold, release, end-wait, status, ping, subscribe)"}
}

// endWaitFor ends a wait for a client.
func (d *driver) endWaitFor() control.Response {
	if usagelimit.Of(d.x.State()) == nil {
		return control.Response{Error: "the run is not waiting for a provider"}
	}
	do := func() { d.endWait = true }
	if !d.send(codon.Request{Do: &do, Signal: codon.SkipCodon}) {
		return control.Response{Error: "the run has too many requests waiting"}
	}
	return control.Response{OK: true}
}

// statusEvery is how often the status is compared with the one that a subscriber has.
const statusEvery = 200 * time.Millisecond

// follow tells a client what happens, until the run is over.
func (d *driver) follow(ctx context.Context, s control.Subscription, send func(control.Update) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var told sync.WaitGroup
	defer told.Wait()
	defer cancel()
	if s.Status {
		told.Go(func() {
			if d.sendStatus(ctx, send) != nil {
				cancel()
			}
		})
	}
	follow, from := d.events.Follow, s.From
	if s.Early {
		follow = d.events.FollowEarly
	}
	if from == 0 || !s.Events {
		from = d.events.Last() + 1
	}
	for {
		err := follow(ctx, from, func(e journal.Event) error {
			if !s.Events {
				return nil
			}
			return send(control.Update{Event: control.EventOf(e)})
		})
		var gap *journal.GapError
		if !errors.As(err, &gap) {
			return err
		}
		if s.Events {
			if err := send(control.Update{Missed: &control.Missed{After: gap.After, Next: gap.Next}}); err != nil {
				return err
			}
		}
		from = gap.Next
	}
}

// sendStatus sends the status, and each that differs from the one before it.
func (d *driver) sendStatus(ctx context.Context, send func(control.Update) error) error {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for last := []byte(nil); ; {
		text, err := json.Marshal(d.liveStatus())
		if err != nil {
			return err
		}
		if !bytes.Equal(text, last) {
			if err := send(control.Update{Status: text}); err != nil {
				return err
			}
			last = text
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (d *driver) liveStatus() live.Status {
	s := d.x.State()
	status := live.Status{RunID: s.CurrentRunID, Bill: s.Bill(), Since: d.began}
	if asked := d.stopping.Load(); asked != nil {
		status.Stopping = *asked
	}
	if run := s.Current(); run != nil {
		if c := run.Live(); c != nil {
			status.CodonID, status.Status, status.Silence = c.CodonID, string(c.Status), d.ui.Monitor.Now().Silence
		}
	}
	return status
}
