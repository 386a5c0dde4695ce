//go:build unix

package codon

import (
	"slices"
	"testing"
	"time"

	"hank/plan"
	"hank/runtime/control"
)

func TestWhatIsUsedIsRecordedOnceASecond(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	var p pace
	var recorded []time.Duration
	for _, step := range []struct {
		at  time.Duration
		new bool
	}{{0, false}, {100, true}, {300, true}, {400, false}, {1000, false}, {1100, false}, {1350, false}, {5000, true}, {5900, true}, {5950, true}, {6100, false}} {
		at := step.at * time.Millisecond
		p.owed = p.owed || step.new
		if now := start.Add(at); p.due(now) {
			p.done(now)
			recorded = append(recorded, step.at)
		}
	}
	if want := []time.Duration{100, 1100, 5000, 6100}; !slices.Equal(recorded, want) {
		t.Errorf("recorded at %d ms, want %d", recorded, want)
	}
}

// Recording what sentinels report leaves the agent four fifths of the time, on a slow disk too.
func TestWhatTakesLongIsDoneLessOften(t *testing.T) {
	t.Parallel()
	var r rest
	now := time.Unix(1e9, 0)
	if !r.due(now) {
		t.Error("the first is not due")
	}
	r.done(now, now.Add(time.Second))
	if r.due(now.Add(4900*time.Millisecond)) || !r.due(now.Add(5*time.Second)) {
		t.Error("a second is not followed by four others")
	}
}

// hearing is a host that keeps what it is told of requests.
type hearing struct {
	Host
	stopping, dropped []Request
	monitor           *Monitor
}

func (h *hearing) Stopping(r Request) { h.stopping = append(h.stopping, r) }
func (h *hearing) Dropped(r Request)  { h.dropped = append(h.dropped, r) }
func (h *hearing) Monitor() *Monitor  { return h.monitor }
func (h *hearing) Say(string, ...any) {}

// A stop or a skip of what has ended when the request is taken ends nothing else.
func TestARequestIsForWhatItNames(t *testing.T) {
	t.Parallel()
	for _, signal := range []Signal{StopAfterCodon, StopNow, SkipCodon} {
		for _, c := range []struct {
			target control.Target
			meant  bool
		}{
			{control.Target{}, true}, {control.Target{Run: "run"}, true}, {control.Target{Run: "run", Codon: "next", Attempt: 2}, true},
			{control.Target{Run: "before"}, false}, {control.Target{Codon: "before"}, false}, {control.Target{Run: "run", Codon: "next", Attempt: 1}, false},
		} {
			h := &hearing{}
			a := &attempt{Spec: Spec{Run: "run", Number: 2, Entry: plan.Entry{CodonID: "next"}}, host: h}
			stop, force := a.signalled(Request{Signal: signal, Target: c.target})
			if ends := stop || force || a.skip || len(h.stopping) > 0; ends != c.meant || (len(h.dropped) == 0) != c.meant {
				t.Errorf("signal %d for %+v: it ends something: %t; dropped: %v", signal, c.target, ends, h.dropped)
			}
			requests := make(chan Request)
			a.host = &asking{h, requests}
			listening, done := a.listen(t.Context())
			requests <- Request{Signal: signal, Target: c.target}
			requests <- Request{Signal: StopAfterCodon} // the one before it was looked at
			if ended := listening.Err() != nil; ended != (c.meant && signal != StopAfterCodon) {
				t.Errorf("signal %d for %+v ends what is done before the agent: %t", signal, c.target, ended)
			}
			done()
		}
	}
}

// asking is a hearing with requests.
type asking struct {
	*hearing
	requests chan Request
}

func (h *asking) Requests() <-chan Request { return h.requests }

// Who watches is promised no codon that does not come: a stop ends the run, a skip does not.
func TestNothingFollowsAStop(t *testing.T) {
	t.Parallel()
	b := &Coming{Name: "b"}
	for signal, want := range map[Signal]*Coming{StopAfterCodon: nil, StopNow: nil, StopForce: nil, SkipCodon: b} {
		h := &hearing{monitor: new(Monitor)}
		h.monitor.Change(func(now *Activity) { now.Next = b })
		a := &attempt{Spec: Spec{Entry: plan.Entry{CodonID: "a"}}, host: h}
		a.signalled(Request{Signal: signal})
		if got := h.monitor.Now().Next; got != want {
			t.Errorf("signal %d: %v follows, want %v", signal, got, want)
		}
	}
}
