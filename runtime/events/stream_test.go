package events

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"hank/state/journal"
)

func busOf(kept []journal.Event) *Bus {
	return New(func(from uint64, fn func(journal.Event) error) error {
		for _, e := range kept {
			if e.Seq >= from {
				if err := fn(e); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// A reader that never takes anything delays neither the writer nor, for long, the end.
func TestAStreamThatNobodyReadsDelaysNothing(t *testing.T) {
	t.Parallel()
	var all []journal.Event
	bus := busOf(nil)
	stuck, entered := make(chan struct{}), make(chan struct{}, 1)
	s := bus.Stream(1, func(journal.Event) error {
		entered <- struct{}{}
		<-stuck
		return nil
	})
	defer close(stuck)
	for i := range uint64(10 * keptEvents) { // Appended and Synced return although nobody reads
		e := journal.Event{Seq: i + 1, Type: "x"}
		all = append(all, e)
		bus.Appended(e)
		bus.Synced(e.Seq)
	}
	<-entered
	if err := s.End(time.Millisecond); !errors.Is(err, errBehind) {
		t.Errorf("%d events: %v", len(all), err)
	}
	if n := len(bus.recent); n > keptEvents {
		t.Errorf("the bus keeps %d events", n)
	}
}

// A reader that reads gets all, in order, before End returns; its error ends the stream.
func TestAStreamGivesOutAllBeforeItEnds(t *testing.T) {
	t.Parallel()
	bus := busOf(nil)
	var got []uint64
	s := bus.Stream(3, func(e journal.Event) error { got = append(got, e.Seq); return nil })
	for i := range uint64(20) {
		bus.Appended(journal.Event{Seq: i + 1})
	}
	bus.Synced(18) // what is not durable is not given out
	if err := s.End(time.Minute); err != nil {
		t.Fatal(err)
	}
	if len(got) != 16 || got[0] != 3 || got[15] != 18 {
		t.Errorf("got %v", got)
	}
	gone := errors.New("gone")
	bus = busOf(nil)
	s = bus.Stream(1, func(journal.Event) error { return fmt.Errorf("write: %w", gone) })
	bus.Appended(journal.Event{Seq: 1})
	bus.Synced(1)
	if err := s.End(time.Minute); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}
