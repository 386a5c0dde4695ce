package sentinel

import (
	"context"
	"sync"
	"time"

	config "hank/plan/sentinel"
)

// What may wait for one sentinel. Beyond it the oldest is dropped.
const (
	mostTriggers = 100
	mostEvents   = 10_000
	mostBytes    = 32 << 20 // of the events' data
)

// Clock is the time, and waits.
type Clock interface {
	Now() time.Time
	After(time.Duration) <-chan time.Time
}

// Wall is the clock of this machine.
type Wall struct{}

// Now returns the time.
func (Wall) Now() time.Time { return time.Now() }

// After returns a channel that tells when a span of time is over.
func (Wall) After(d time.Duration) <-chan time.Time { return time.After(d) }

// batch is what one trigger of a sentinel is about.
type batch struct {
	events []config.Event
	at     time.Time // when it was complete
}

func (b batch) size() (n int) {
	for _, e := range b.events {
		n += e.Size
	}
	return n
}

// inbox collects events into batches.
type inbox struct {
	execution config.Execution
	clock     Clock

	mu      sync.Mutex
	waiting []config.Event // that are no batch yet
	matches int            // how many triggers are waiting
	due     time.Time      // when they become one; zero: no time makes them
	ready   []batch
	events  int // of ready and waiting
	bytes   int
	closed  bool
	dropped struct{ triggers, events int }
	news    chan struct{} // holds one when something has changed
}

func newInbox(e config.Execution, clock Clock) *inbox {
	return &inbox{execution: e, clock: clock, news: make(chan struct{}, 1)}
}

// add takes in the events of one match. It never waits.
func (b *inbox) add(events []config.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	now := b.clock.Now()
	b.tick(now)
	b.waiting = append(b.waiting, events...)
	b.matches++
	b.events += len(events)
	b.bytes += batch{events: events}.size()
	switch b.execution.Strategy {
	case "debounce":
		b.due = now.Add(b.execution.Span())
	case "timeWindow":
		if b.due.IsZero() {
			b.due = now.Add(b.execution.Span())
		}
	case "count":
		if b.matches >= b.execution.Threshold {
			b.complete(now)
		}
	default:
		b.complete(now)
	}
	b.bound()
	b.tell()
}

// tick makes a batch of what is due.
func (b *inbox) tick(now time.Time) {
	if b.due.IsZero() || now.Before(b.due) {
		return
	}
	at := b.due
	if b.execution.Strategy == "timeWindow" { // the next one ends where it would have ended
		for !b.due.After(now) && b.execution.Milliseconds > 0 {
			b.due = b.due.Add(b.execution.Span() * max(1, now.Sub(b.due)/b.execution.Span()))
		}
	} else {
		b.due = time.Time{}
	}
	b.complete(at)
}

// complete makes a batch of what is waiting. There may be one too many then.
func (b *inbox) complete(at time.Time) {
	if len(b.waiting) > 0 {
		b.ready = append(b.ready, batch{b.waiting, at})
	}
	b.waiting, b.matches = nil, 0
	b.bound()
}

// bound drops the oldest of what is too much: triggers first, and of the last one events. The
// newest event stays.
func (b *inbox) bound() {
	much := func() bool { return b.events > mostEvents || b.bytes > mostBytes }
	for len(b.ready) > mostTriggers || len(b.ready) > 0 && much() && len(b.ready)+len(b.waiting) > 1 {
		b.dropped.triggers++
		b.dropped.events += len(b.ready[0].events)
		b.forget(b.ready[0])
		b.ready = b.ready[1:]
	}
	oldest := &b.waiting
	if len(b.ready) > 0 {
		oldest = &b.ready[0].events
	}
	for len(*oldest) > 1 && much() {
		b.dropped.events++
		b.forget(batch{events: (*oldest)[:1]})
		*oldest = (*oldest)[1:]
	}
}

// forget takes a batch out of the counts.
func (b *inbox) forget(one batch) {
	b.events -= len(one.events)
	b.bytes -= one.size()
}

func (b *inbox) tell() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// close says that nothing more comes: what is waiting is the last batch.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.complete(b.clock.Now())
		b.closed, b.due = true, time.Time{}
		b.tell()
	}
}

// next waits for the next batch, and returns how many are left behind it; ok is false at
// the end, or when ctx ends.
func (b *inbox) next(ctx context.Context) (one batch, left int, ok bool) {
	for {
		b.mu.Lock()
		now := b.clock.Now()
		b.tick(now)
		if len(b.ready) > 0 {
			one, b.ready = b.ready[0], b.ready[1:]
			b.forget(one)
			left = len(b.ready)
			b.mu.Unlock()
			return one, left, true
		}
		if b.closed {
			b.mu.Unlock()
			return batch{}, 0, false
		}
		var timer <-chan time.Time
		if !b.due.IsZero() && len(b.waiting) > 0 {
			timer = b.clock.After(b.due.Sub(now))
		}
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return batch{}, 0, false
		case <-b.news:
		case <-timer:
		}
	}
}

// left is what nobody has taken, and what was dropped.
func (b *inbox) left() (triggers, droppedTriggers, droppedEvents int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	triggers = len(b.ready)
	if len(b.waiting) > 0 {
		triggers++
	}
	return triggers, b.dropped.triggers, b.dropped.events
}
