package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"testing"

	"hank/internal/race"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

// story is what a writer has done so far.
type story struct {
	attempted []Event // in order; Append or NewSegment was called with them
	acked     int     // so many of them were acknowledged

	gaps, torn, leftovers int // what the crashes led to
}

// play writes a story with batches, events that ride on a later sync, segments
// that are closed, a reopening, and a new base. It ends at the first error.
func (s *story) play(fsys vfs.FS, q Quarantine) error {
	j, err := Create(fsys, dir, 0)
	if err != nil {
		return err
	}
	j.segmentSize = 700
	defer func() { _ = j.Close() }()
	add := func(n, batch uint64, sync bool) error {
		list := events(n, n+batch-1)
		s.attempted = append(s.attempted, list...)
		if err := j.Append(list...); err != nil {
			return err
		}
		if !sync {
			return nil
		}
		err := j.Sync()
		if err == nil {
			s.acked = len(s.attempted)
		}
		return err
	}
	for round := range uint64(3) {
		for k := range uint64(4) {
			if err := add(j.Last()+1, 1+k%3, k%2 == 1); err != nil {
				return err
			}
		}
		if err := j.Close(); err != nil {
			return err
		}
		s.acked = len(s.attempted)
		again, _, err := Open(fsys, dir, q)
		if err != nil {
			return err
		}
		j = again
		j.segmentSize = 700
		if round == 1 {
			base := event(j.Last() + 50)
			s.attempted = append(s.attempted, base)
			if err := j.NewSegment(base); err != nil {
				return err
			}
			s.acked = len(s.attempted)
		}
	}
	return nil
}

// check opens what is left after a crash: acknowledged ⊆ recovered ⊆
// attempted, in order. Then it writes on, and looks again.
func (s *story) check(t *testing.T, name string, m *vfstest.Mem) {
	t.Helper()
	if _, leftover, err := list(m, dir); err == nil && leftover != "" {
		s.leftovers++
	}
	j, found, err := Open(m, dir, box(m, "/q"))
	if errors.Is(err, fs.ErrNotExist) && s.acked == 0 {
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if _, leftover, err := list(m, dir); err == nil && leftover != "" {
		t.Fatalf("%s: %s was left beside the current segment", name, leftover)
	}
	if found.Torn != nil {
		s.torn++
	}
	if !found.Whole() {
		s.gaps++
	}
	n := s.recovered(t, name, m)
	last := found.Base - 1
	if n > 0 {
		last = s.attempted[n-1].Seq
	}
	if j.Last() != last {
		t.Fatalf("%s: read up to %d, Open says %d", name, last, j.Last())
	}
	next := event(j.Last() + 1)
	if !found.Whole() {
		next = event(found.Highest + 7)
		err = j.NewSegment(next)
	} else {
		err = errors.Join(j.Append(next), j.Sync())
	}
	if err != nil {
		t.Fatalf("%s: writing on: %v (%+v)", name, err, found)
	}
	again := m.Crash(seeded(7), 0)
	j, found, err = Open(again, dir, noQuarantine(t))
	if err != nil || !found.Whole() || found.Torn != nil || j.Last() != next.Seq {
		t.Fatalf("%s: after writing on: %v, %+v", name, err, found)
	}
	if got, err := readAll(again, 0); err != nil || len(got) != n+1 || !same(got[n], next) {
		t.Fatalf("%s: after writing on %d events, %v", name, len(got), err)
	}
}

// recovered returns how many events of the story a reader finds.
func (s *story) recovered(t *testing.T, name string, m *vfstest.Mem) int {
	t.Helper()
	got, err := readAll(m, 0)
	var gap *GapError
	if err != nil && !errors.As(err, &gap) {
		t.Fatalf("%s: %v", name, err)
	}
	if len(got) < s.acked || len(got) > len(s.attempted) {
		t.Fatalf("%s: %d acknowledged, %d recovered, %d attempted (%v)", name, s.acked, len(got), len(s.attempted), err)
	}
	for i, e := range got {
		if !same(e, s.attempted[i]) {
			t.Fatalf("%s: event %d is %+v instead of %+v", name, i, e, s.attempted[i])
		}
	}
	return len(got)
}

// seeds is how many crashes are tried per moment and share; HANK_SEEDS makes
// the long form.
func seeds(usual int) uint64 {
	if n, err := strconv.Atoi(os.Getenv("HANK_SEEDS")); err == nil {
		return uint64(n)
	}
	return uint64(usual)
}

// TestAcknowledgedEventsSurviveACrashAfterEveryCall crashes the writer after
// every call that changes the disk, and the recovery after every call of its own.
func TestAcknowledgedEventsSurviveACrashAfterEveryCall(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	m := newDisk(t)
	s := &story{}
	images := 0
	crash := func(when string) {
		for _, percent := range []int{0, 10, 50, 100} {
			for seed := range seeds(3) {
				if seed > 0 && percent%100 == 0 {
					break // these do not depend on the seed
				}
				name := fmt.Sprintf("%s, %d %%, seed %d", when, percent, seed)
				images++
				s.check(t, name, m.Crash(seeded(seed), percent))
				if seed == 0 {
					images += crashRecovery(t, name, s, m.Crash(seeded(seed), percent))
				}
			}
		}
	}
	m.SetHook(func(c vfstest.Call) { crash("before " + c.String()) })
	must(t, s.play(m, noQuarantine(t)))
	m.SetHook(nil)
	crash("at the end")
	if s.acked != len(s.attempted) || s.acked < 20 {
		t.Fatalf("the story is too short: %d of %d", s.acked, len(s.attempted))
	}
	if s.gaps == 0 || s.torn == 0 || s.leftovers == 0 {
		t.Fatal("the crashes are too tame")
	}
	t.Logf("%d images of %d calls: %d with a gap, %d torn, %d in the closing of a segment", images, m.Calls(), s.gaps, s.torn, s.leftovers)
}

// crashRecovery crashes Open, and a new base where one is needed, after every call.
func crashRecovery(t *testing.T, name string, s *story, m *vfstest.Mem) (images int) {
	m.SetHook(func(c vfstest.Call) {
		images++
		s.checkAgain(t, fmt.Sprintf("%s, then before %v", name, c), m.Crash(seeded(uint64(c.N)), 50))
	})
	j, found, err := Open(m, dir, box(m, "/q"))
	if err == nil && !found.Whole() {
		must(t, j.NewSegment(event(1000)))
	}
	return images
}

// checkAgain is check where a base with number 1000 may be there already.
func (s *story) checkAgain(t *testing.T, name string, m *vfstest.Mem) {
	t.Helper()
	if o, err := Inspect(m, dir); err == nil && o.Base == 1000 {
		j, found, err := Open(m, dir, box(m, "/q"))
		if err != nil || !found.Whole() || j.Last() != 1000 {
			t.Fatalf("%s: %v, %+v", name, err, found)
		}
		got, err := readAll(m, 0)
		if err != nil || len(got)-1 < s.acked || got[len(got)-1].Seq != 1000 {
			t.Fatalf("%s: history of %d events, %d acknowledged, %v", name, len(got)-1, s.acked, err)
		}
		return
	}
	s.check(t, name, m)
}

// TestAcknowledgedEventsSurviveAnErrorOfEveryCall lets every call fail, once
// or from then on, and then opens what is there, with and without a crash.
func TestAcknowledgedEventsSurviveAnErrorOfEveryCall(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	mutating := func(c vfstest.Call) bool { return c.Mutates() }
	for _, fault := range []struct {
		name string
		fail func(n int) func(vfstest.Call) error
	}{
		{"EIO", func(n int) func(vfstest.Call) error { return vfstest.Nth(n, syscall.EIO, nil) }},
		{"EINTR", func(n int) func(vfstest.Call) error { return vfstest.Nth(n, syscall.EINTR, mutating) }},
		{"ENOSPC after half", func(n int) func(vfstest.Call) error {
			return vfstest.From(n, vfstest.Short(syscall.ENOSPC), mutating)
		}},
	} {
		fired, n := true, 0
		for fired {
			n++
			m := newDisk(t)
			s := &story{}
			decide := fault.fail(n)
			fired = false
			err := s.play(vfstest.Inject(m, func(c vfstest.Call) error {
				err := decide(c)
				fired = fired || err != nil
				return err
			}), noQuarantine(t))
			if err == nil && s.acked != len(s.attempted) {
				t.Fatalf("%s at call %d was lost", fault.name, n)
			}
			for seed := range uint64(3) {
				name := fmt.Sprintf("%s at call %d (%v), seed %d", fault.name, n, err, seed)
				s.check(t, name, m.Crash(seeded(seed), 50))
			}
			s.check(t, fmt.Sprintf("%s at call %d (%v), no crash", fault.name, n, err), m)
		}
		t.Logf("%s: %d calls", fault.name, n-1)
	}
}

// TestEventsAppendedTogetherSurviveTogether crashes the writer after every call of its
// own, and lets every call fail: a reader finds all of the events or none.
func TestEventsAppendedTogetherSurviveTogether(t *testing.T) {
	t.Parallel()
	begin := func(m *vfstest.Mem, empty bool) *Journal {
		j := fill(t, m, 3, 0)
		if empty { // nothing is in the current segment
			must(t, j.rotate())
		}
		return j
	}
	look := func(name string, m *vfstest.Mem, done bool) {
		t.Helper()
		j, found, err := Open(m, dir, box(m, "/q"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !found.Whole() || j.Last() != 3 && j.Last() != 6 || done && j.Last() != 6 {
			t.Fatalf("%s: up to event %d, %+v", name, j.Last(), found)
		}
		if got, err := readAll(m, 0); err != nil || !isStory(got, 1, j.Last()) {
			t.Fatalf("%s: %d events, %v", name, len(got), err)
		}
		must(t, j.Append(event(j.Last()+1)))
		must(t, j.Sync())
	}
	for _, empty := range []bool{false, true} {
		m := newDisk(t)
		j := begin(m, empty)
		images := 0
		crash := func(when string, done bool) {
			for _, percent := range []int{0, 10, 50, 90, 100} {
				images++
				look(fmt.Sprintf("empty %v, %s, %d %%", empty, when, percent), m.Crash(seeded(uint64(images)), percent), done)
			}
		}
		m.SetHook(func(c vfstest.Call) { crash("before "+c.String(), false) })
		must(t, j.AppendWhole(events(4, 6)...))
		m.SetHook(nil)
		crash("when it is done", true)
		must(t, j.Append(event(7)))
		must(t, j.Sync())
		if images < 30 {
			t.Errorf("only %d crashes", images)
		}
		for n, fired := 1, true; fired; n++ {
			m := newDisk(t)
			must(t, begin(m, empty).Close())
			var armed bool
			fired = false
			calls := 0
			j, _, err := Open(vfstest.Inject(m, func(c vfstest.Call) error {
				if !armed {
					return nil
				}
				if calls++; calls == n {
					fired = true
					return syscall.EIO
				}
				return nil
			}), dir, noQuarantine(t))
			must(t, err)
			armed = true
			err = j.AppendWhole(events(4, 6)...)
			armed = false
			look(fmt.Sprintf("empty %v, an error of call %d: %v", empty, n, err), m.Crash(seeded(uint64(n)), 50), err == nil)
		}
	}
}
