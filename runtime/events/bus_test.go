package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"hank/internal/vfs"
	"hank/state/journal"
)

// writer is a journal with its bus: what an execution does with both.
type writer struct {
	t   *testing.T
	j   *journal.Journal
	bus *Bus
}

func newWriter(t *testing.T) *writer {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Create(vfs.OS, dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return &writer{t, j, New(func(from uint64, fn func(journal.Event) error) error { return journal.Read(vfs.OS, dir, from, fn) })}
}

func (w *writer) append(n, size int) {
	w.t.Helper()
	for range n {
		seq := w.j.Last() + 1
		e := journal.Event{Seq: seq, ID: fmt.Sprint("id", seq), Timestamp: time.Unix(1e9, 0).UTC(), Type: "T", Data: []byte(`"` + string(bytes.Repeat([]byte("x"), size)) + `"`)}
		if err := w.j.Append(e); err != nil {
			w.t.Error(err)
			return
		}
		w.bus.Appended(e)
	}
}

func (w *writer) sync() {
	w.t.Helper()
	if err := w.j.Sync(); err != nil {
		w.t.Error(err)
	}
	w.bus.Synced(w.j.Last())
}

// numbers follows the bus to its end, and checks that each event comes once, in
// order, with its own data.
func (w *writer) numbers(from uint64) (first, last uint64) {
	next := from
	err := w.bus.Follow(context.Background(), from, func(e journal.Event) error {
		if first == 0 {
			first, next = e.Seq, e.Seq
		}
		if e.Seq != next || e.ID != fmt.Sprint("id", next) {
			w.t.Errorf("event %d (%s) came where %d was next", e.Seq, e.ID, next)
		}
		next, last = e.Seq+1, e.Seq
		return nil
	})
	if err != nil {
		w.t.Errorf("followed from %d to %d: %v", from, last, err)
	}
	return first, last
}

// A follower gets every event once and in order, whether it reads them from memory
// or from the journal: one that is there from the start, one that comes late, one
// from a number that is yet to come.
func TestEveryFollowerGetsEveryEventOnceInOrder(t *testing.T) {
	t.Parallel()
	const events = 3 * keptEvents
	w := newWriter(t)
	var wait sync.WaitGroup
	follow := func(from, wantFirst uint64) {
		wait.Go(func() {
			if first, last := w.numbers(from); first != wantFirst || last != events {
				t.Errorf("from %d: got %d to %d, want %d to %d", from, first, last, wantFirst, events)
			}
		})
	}
	follow(0, 1)
	follow(events-1, events-1)
	for i := range events {
		w.append(1, 10)
		if i%3 == 0 || i == events-1 {
			w.sync()
		}
		if i%100 == 0 {
			follow(1, 1)
			follow(uint64(i/2+1), uint64(i/2+1))
		}
	}
	w.bus.Close()
	follow(1, 1) // after the end, too
	wait.Wait()
}

// What is not synced is not delivered: not while the run lasts, and not at its end.
func TestNothingIsDeliveredBeforeItIsDurable(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.append(2, 10)
	w.sync()
	w.append(1, 10)
	ctx, cancel := context.WithCancel(context.Background())
	var got []uint64
	err := w.bus.Follow(ctx, 1, func(e journal.Event) error {
		if got = append(got, e.Seq); len(got) == 2 {
			time.AfterFunc(20*time.Millisecond, cancel) // longer than a third one would take
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || len(got) != 2 || w.bus.Last() != 2 {
		t.Errorf("%v, last %d: %v", got, w.bus.Last(), err)
	}
	got = nil
	err = w.bus.FollowEarly(context.Background(), 2, func(e journal.Event) error {
		if got = append(got, e.Seq); len(got) == 2 {
			return io.EOF
		}
		return nil
	})
	if !errors.Is(err, io.EOF) || !slices.Equal(got, []uint64{2, 3}) {
		t.Errorf("early: %v, %v", got, err)
	}
	w.bus.Close()
	if _, last := w.numbers(1); last != 2 {
		t.Errorf("delivered up to %d at the end", last)
	}
}

// A follower that does not come back delays neither the writer nor the end, and
// loses nothing: when it continues, the journal has what memory has not.
func TestABlockedFollowerDelaysNobodyAndLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	stuck, release, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var got uint64
	go func() {
		defer close(over)
		if err := w.bus.Follow(context.Background(), 1, func(e journal.Event) error {
			if e.Seq == 1 {
				close(stuck)
				<-release
			}
			got++
			return nil
		}); err != nil {
			t.Error(err)
		}
	}()
	w.append(1, 10)
	w.sync()
	<-stuck
	written := make(chan struct{})
	go func() { // the run: to its end
		defer close(written)
		w.append(4*keptEvents, 10)
		w.sync()
		w.bus.Close()
	}()
	select {
	case <-written:
	case <-time.After(time.Minute):
		t.Fatal("the run waits for its follower")
	}
	close(release)
	<-over
	if got != 4*keptEvents+1 {
		t.Errorf("it has got %d events", got)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.append(keptEvents+10, 10)
	if n := len(w.bus.recent); n != keptEvents {
		t.Errorf("%d events are kept", n)
	}
	w.append(3, keptBytes/2)
	if n := len(w.bus.recent); n != 1 || w.bus.bytes > keptBytes {
		t.Errorf("%d events with %d bytes are kept", n, w.bus.bytes)
	}
	w.append(1, 2*keptBytes)
	if n := len(w.bus.recent); n != 0 || w.bus.bytes != 0 {
		t.Errorf("%d events with %d bytes are kept", n, w.bus.bytes)
	}
	w.sync()
	w.bus.Close()
	if first, last := w.numbers(1); first != 1 || last != w.j.Last() {
		t.Errorf("delivered %d to %d", first, last)
	}
}

// Where the journal has lost events, a follower is told from where it continues.
func TestAFollowerIsToldWhatIsLost(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.bus.read = func(uint64, func(journal.Event) error) error { return nil } // as if it was deleted
	w.append(2*keptEvents, 10)
	w.sync()
	w.bus.Close()
	var gap *journal.GapError
	err := w.bus.Follow(context.Background(), 5, func(journal.Event) error { return nil })
	if !errors.As(err, &gap) || gap.After != 4 || gap.Next != keptEvents+1 {
		t.Fatalf("%v", err)
	}
	if first, last := w.numbers(gap.Next); first != keptEvents+1 || last != 2*keptEvents {
		t.Errorf("then %d to %d", first, last)
	}
	empty := New(w.bus.read) // nothing at all is left in memory
	empty.Synced(9)
	empty.Close()
	if err := empty.Follow(context.Background(), 5, func(journal.Event) error { return nil }); !errors.As(err, &gap) || gap.Next != 10 {
		t.Errorf("%v", err)
	}
}

func TestAFollowerEndsWithItsContextOrItsOwnError(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	if err := w.bus.Follow(ctx, 1, func(journal.Event) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v", err)
	}
	w.append(2*keptEvents, 10)
	w.sync()
	for _, from := range []uint64{1, 2 * keptEvents} { // from the journal, from memory
		own := errors.New("own")
		if err := w.bus.Follow(context.Background(), from, func(journal.Event) error { return own }); !errors.Is(err, own) {
			t.Errorf("from %d: %v", from, err)
		}
		if err := w.bus.Follow(ctx, from, func(journal.Event) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("from %d: %v", from, err)
		}
	}
}
