package events

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"hank/state/journal"
)

// Stream is a follower in a goroutine of its own, for the output of the process that
// drives the run: End bounds how long that can hold up the end of the process.
type Stream struct {
	bus    *Bus
	cancel context.CancelFunc
	done   chan error
	given  atomic.Uint64 // how many events fn has returned from
}

// Stream calls fn for each durable event from a number on, as Follow does, and continues
// after damage. The error of fn ends it.
func (b *Bus) Stream(from uint64, fn func(journal.Event) error) *Stream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Stream{bus: b, cancel: cancel, done: make(chan error, 1)}
	go func() {
		for {
			err := b.Follow(ctx, from, func(e journal.Event) error {
				defer s.given.Add(1)
				return fn(e)
			})
			var gap *journal.GapError
			if !errors.As(err, &gap) {
				s.done <- err
				return
			}
			from = gap.Next
		}
	}()
	return s
}

// errBehind says that whoever reads a stream did not take the rest of it in time.
var errBehind = errors.New("the events were not read in time; the journal has them all")

// End closes the bus and waits until all events were given out, as long as one is taken
// within the patience.
func (s *Stream) End(patience time.Duration) error {
	defer s.cancel()
	s.bus.Close()
	for {
		before := s.given.Load()
		select {
		case err := <-s.done:
			return err
		case <-time.After(patience):
			if s.given.Load() == before {
				return errBehind
			}
		}
	}
}
