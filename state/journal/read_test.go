package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hank/internal/short"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

// TestFollowSeesEveryEventOnceWhileSegmentsAreClosed reads while a writer
// appends, closes segments, begins bases and reopens.
func TestFollowSeesEveryEventOnceWhileSegmentsAreClosed(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	const last = 3000
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := make(chan error, 3)
	for range cap(errs) {
		go func() {
			next := uint64(1)
			err := Follow(ctx, m, dir, 0, 50*time.Microsecond, func(e Event) error {
				if !same(e, event(e.Seq)) || e.Seq != next {
					return fmt.Errorf("event %d came where %d must", e.Seq, next)
				}
				if next++; e.Seq == last {
					return context.Canceled
				}
				return nil
			})
			errs <- err
		}()
	}
	j, err := Create(m, dir, 0)
	must(t, err)
	for n := uint64(1); n <= last; n++ {
		j.segmentSize = 3000
		if n%777 == 0 {
			must(t, j.NewSegment(event(n)))
			continue
		}
		must(t, j.Append(event(n)))
		if n%10 == 0 {
			must(t, j.Sync())
		}
		if n%500 == 0 {
			must(t, j.Close())
			j, _, err = Open(m, dir, noQuarantine(t))
			must(t, err)
		}
	}
	for range cap(errs) {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}

// TestTheWriterMayActBetweenAnyTwoCallsOfAReader runs both as coroutines: the
// writer takes some steps (up to any of its calls, and so to the middle of the
// closing of a segment) before the reader's n-th call, and the rest later.
func TestTheWriterMayActBetweenAnyTwoCallsOfAReader(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	cases := 0
	for steps, done := 1, false; !done; steps++ {
		for n, acted := 1, true; acted; n++ {
			var finished bool
			acted, finished = interleave(t, steps, n)
			done = done || finished
			cases++
		}
	}
	t.Logf("%d cases", cases)
}

// interleave returns whether the reader made n calls, and whether the writer
// was done by then.
func interleave(t *testing.T, steps, n int) (acted, finished bool) {
	m := newDisk(t)
	j := fill(t, m, 9, 600)
	step, stop := iter.Pull(func(yield func(bool) bool) {
		m.SetHook(func(vfstest.Call) { yield(true) })
		defer m.SetHook(nil)
		for seq := uint64(10); seq <= 24; seq++ {
			if seq%8 == 0 {
				must(t, j.NewSegment(event(seq)))
			} else {
				must(t, j.Append(event(seq)))
			}
		}
	})
	defer stop()
	calls := 0
	r := newReader(vfstest.Inject(m, func(vfstest.Call) error {
		if calls++; calls == n {
			acted = true
			for range steps {
				_, running := step()
				finished = !running
			}
		}
		return nil
	}), dir, 0)
	var got []Event
	drain := func(least uint64) {
		t.Helper()
		err := r.drain(func(e Event) error { got = append(got, e); return nil })
		if err != nil || !isStory(got, 1, uint64(len(got))) || uint64(len(got)) < least {
			t.Fatalf("%d steps before call %d: %v, read %v", steps, n, err, got)
		}
	}
	drain(9)
	n = 0 // it did not get that far
	for running, more := true, 0; running; more++ {
		if _, running = step(); more < 4 {
			drain(9)
		}
	}
	drain(24)
	return acted, finished
}

func TestFollowWaitsForAJournalAndStopsWithItsContext(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	got := make(chan Event)
	go func() {
		done <- Follow(ctx, m, dir, 2, 50*time.Microsecond, func(e Event) error { got <- e; return nil })
	}()
	must(t, fill(t, m, 3, 0).Close())
	if a, b := <-got, <-got; !same(a, event(2)) || !same(b, event(3)) {
		t.Fatalf("followed %v and %v", a, b)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestAReaderIgnoresALineThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 3, 0).Close())
	whole := get(t, m, current)
	r := newReader(m, dir, 0)
	var got []Event
	take := func(e Event) error { got = append(got, e); return nil }
	line := lineOf(t, 4)
	for cut := range line {
		put(t, m, current, append(whole[:len(whole):len(whole)], line[:cut]...))
		if err := r.drain(take); err != nil || !isStory(got, 1, 3) {
			t.Fatalf("with %d bytes of a line: %d events, %v", cut, len(got), err)
		}
	}
	put(t, m, current, append(whole[:len(whole):len(whole)], line...))
	if err := r.drain(take); err != nil || !isStory(got, 1, 4) {
		t.Fatalf("%d events, %v", len(got), err)
	}
}

func TestAReaderWaitsForTheFirstEventOfABase(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	j, err := Create(m, dir, 50)
	must(t, err)
	r := newReader(m, dir, 0)
	var got []Event
	take := func(e Event) error { got = append(got, e); return nil }
	for n := uint64(51); n < 54; n++ {
		must(t, r.drain(take))
		must(t, j.Append(event(n)))
		must(t, r.drain(take))
		if !isStory(got, 51, n) {
			t.Fatalf("read %v", got)
		}
	}
}

func TestAReaderStopsWithTheErrorOfItsFunction(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 3, 0).Close())
	for _, want := range []error{errors.New("enough"), &GapError{}, os.ErrNotExist, errSum} {
		calls := 0
		err := Read(m, dir, 0, func(Event) error { calls++; return want })
		if err != want || calls != 1 {
			t.Fatalf("%v after %d calls", err, calls)
		}
	}
}

// BenchmarkAppendSync measures an acknowledged event against the floor: a bare
// append of the same bytes and an fsync.
func BenchmarkAppendSync(b *testing.B) {
	folder := b.TempDir()
	e := event(4)
	line, err := appendLine(nil, e)
	must(b, err)
	b.Run("floor", func(b *testing.B) {
		f, err := vfs.OS.OpenFile(filepath.Join(folder, "floor"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		must(b, err)
		for b.Loop() {
			_, err := f.Write(line)
			must(b, err)
			must(b, f.Sync())
		}
		must(b, f.Close())
	})
	b.Run("journal", func(b *testing.B) {
		sub, err := os.MkdirTemp(folder, "j")
		must(b, err)
		j, err := Create(vfs.OS, sub, 0)
		must(b, err)
		for b.Loop() {
			e.Seq = j.Last() + 1
			must(b, j.Append(e))
			must(b, j.Sync())
		}
		must(b, j.Close())
	})
}

// BenchmarkOpen opens a journal of a million events.
func BenchmarkOpen(b *testing.B) {
	folder := b.TempDir()
	j, err := Create(vfs.OS, folder, 0)
	must(b, err)
	for n := uint64(1); n <= 1_000_000; n += 1000 {
		must(b, j.Append(events(n, n+999)...))
	}
	must(b, j.Close())
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			j, _, err := Open(vfs.OS, folder, nil)
			must(b, err)
			must(b, j.Close())
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			n := 0
			must(b, Read(vfs.OS, folder, 0, func(Event) error { n++; return nil }))
			if n != 1_000_000 {
				b.Fatal(n)
			}
		}
	})
}
