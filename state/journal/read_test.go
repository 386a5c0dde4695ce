package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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

// reading counts the bytes that are read of a file system.
type reading struct {
	vfs.FS
	bytes int
}

type readFile struct {
	vfs.File
	of *reading
}

func (r *reading) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := r.FS.OpenFile(name, flag, perm)
	return &readFile{f, r}, err
}

func (f *readFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.of.bytes += n
	return n, err
}

// TestWhatWasVerifiedIsNotReadAgain: who has looked at a journal reads on from a place near the
// event, and sees the same as who reads all.
func TestWhatWasVerifiedIsNotReadAgain(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	j := fill(t, m, 20, 3000) // closed segments before it
	j.segmentSize = 64 << 20
	large := func(n uint64) Event {
		e := event(n)
		e.Data = jsontext.Value(`"` + strings.Repeat("x", 8<<10) + `"`)
		return e
	}
	for n := uint64(21); n <= 220; n++ {
		must(t, j.Append(large(n)))
	}
	must(t, j.Sync())
	found, err := Inspect(m, dir)
	must(t, err)
	for _, from := range []uint64{0, 1, 15, 21, 22, 100, 219, 220, 221, 222, 500} {
		var want, got []Event
		r := &reading{FS: m}
		must(t, Read(m, dir, from, func(e Event) error { want = append(want, e); return nil }))
		must(t, found.Read(r, dir, from, func(e Event) error { got = append(got, e); return nil }))
		if !slices.EqualFunc(got, want, same) {
			t.Errorf("from %d: %d events, want %d", from, len(got), len(want))
		}
		// The first line of the current segment is read three times to tell which one it is.
		if most := len(want)*(9<<10) + placeEvery + 4*(64<<10); from > 21 && r.bytes > most {
			t.Errorf("from %d: %d bytes were read, want %d at most", from, r.bytes, most)
		}
	}

	tail := found.Tail(m, dir, 221)
	saw := func() (numbers []uint64) {
		t.Helper()
		must(t, tail.Next(func(e Event) error { numbers = append(numbers, e.Seq); return nil }))
		return numbers
	}
	if got := saw(); got != nil {
		t.Errorf("at the end: %v", got)
	}
	must(t, j.Append(event(221)))
	must(t, j.rotate()) // what was looked at is a closed segment now
	must(t, j.Append(event(222)))
	if got := saw(); !slices.Equal(got, []uint64{221, 222}) {
		t.Errorf("after two more: %v", got)
	}
	if got := saw(); got != nil {
		t.Errorf("after that: %v", got)
	}
}

// TestAPlaceIsNotInWhatIsDamaged: damage ends a reading that begins near an event as it does any
// other.
func TestAPlaceIsNotInWhatIsDamaged(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 50, 0).Close())
	text := get(t, m, current)
	for at := range 50 {
		broken := bytes.Clone(text)
		broken[len(text)*at/50] ^= 1
		put(t, m, current, broken)
		found, err := Inspect(m, dir)
		must(t, err)
		for from := uint64(1); from <= 52; from++ {
			var want, got []Event
			wantErr := Read(m, dir, from, func(e Event) error { want = append(want, e); return nil })
			gotErr := found.Read(m, dir, from, func(e Event) error { got = append(got, e); return nil })
			if !slices.EqualFunc(got, want, same) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
				t.Fatalf("byte %d, from %d: %d events and %v, want %d and %v", len(text)*at/50, from, len(got), gotErr, len(want), wantErr)
			}
		}
	}
}
