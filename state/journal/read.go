package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/vfs"
)

// GapError is damage that a reader came upon. The events after After are
// missing or in disorder; Read from Next continues after the damage.
type GapError struct {
	Dir         string
	After, Next uint64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("the journal %s is damaged after event %d and continues with event %d", e.Dir, e.After, e.Next)
}

// Read calls fn for each event from the number from on, in order, up to the
// last complete line. It takes no lock and writes nothing; the journal may be
// written meanwhile. It delivers the rest of the one Range (see Opened) that
// from is in and all bases that follow it, and ends with a *GapError where
// that is broken. An error of fn ends it and is returned as it is. Without any
// segment the error matches fs.ErrNotExist.
func Read(fsys vfs.FS, dir string, from uint64, fn func(Event) error) error {
	return newReader(fsys, dir, from).drain(fn)
}

// ReadWanted is Read of those events that want takes by what is in their
// lines: the type in its quotes, and the data. Both belong to the reader. It is
// for those who look for few among many: the others are verified and counted,
// and nothing is made of them.
func ReadWanted(fsys vfs.FS, dir string, from uint64, want func(quotedType, data []byte) bool, fn func(Event) error) error {
	r := newReader(fsys, dir, from)
	r.want = want
	return r.drain(fn)
}

// Read is the function Read of a journal that was looked at: what o has verified of the current
// segment before the event from is not read again. o may be nil.
func (o *Opened) Read(fsys vfs.FS, dir string, from uint64, fn func(Event) error) error {
	return o.reader(fsys, dir, from).drain(fn)
}

// Tail is NewTail of a journal that was looked at, of all events. o may be nil.
func (o *Opened) Tail(fsys vfs.FS, dir string, from uint64) *Tail {
	return &Tail{o.reader(fsys, dir, from)}
}

// reader begins at the last place before an event. A segment that was begun since is
// another one for it, and it looks for the event in all.
func (o *Opened) reader(fsys vfs.FS, dir string, from uint64) *reader {
	r := newReader(fsys, dir, from)
	if o == nil || !o.Whole() {
		return r
	}
	for _, at := range o.places {
		if at.Last < r.next {
			r.first, r.off = at.First, at.Offset
		}
	}
	return r
}

// Follow is Read that waits for more, looking every so often, until ctx is
// done, whose error it returns. A journal that is not there yet is waited for.
func Follow(ctx context.Context, fsys vfs.FS, dir string, from uint64, every time.Duration, fn func(Event) error) error {
	t := NewTail(fsys, dir, from, nil)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		var stopped error
		err := t.Next(func(e Event) error {
			if stopped = ctx.Err(); stopped == nil {
				stopped = fn(e)
			}
			return stopped
		})
		if stopped != nil {
			return stopped
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Tail is the end of a journal that may grow. Looking again costs what is new.
type Tail struct{ r *reader }

// NewTail is the end of a journal from the event with a number on; want is that of ReadWanted,
// nil for all events.
func NewTail(fsys vfs.FS, dir string, from uint64, want func(quotedType, data []byte) bool) *Tail {
	r := newReader(fsys, dir, from)
	r.want = want
	return &Tail{r}
}

// Next is Read of what has come since the call before. A journal that is not there yet
// has nothing.
func (t *Tail) Next(fn func(Event) error) error {
	var stopped error
	err := t.r.drain(func(e Event) error {
		stopped = fn(e)
		return stopped
	})
	if stopped == nil && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// reader remembers where it stopped, so that looking again costs what is new.
type reader struct {
	fs      vfs.FS
	dir     string
	next    uint64                             // the event wanted next
	started bool                               // one was delivered
	want    func(quotedType, data []byte) bool // nil: all
	// The current segment as it was when last read, and up to which byte.
	first uint64
	off   int64
}

func newReader(fsys vfs.FS, dir string, from uint64) *reader {
	return &reader{fs: fsys, dir: dir, next: max(from, 1)}
}

// drain delivers what is there. A gap is looked at again if the files are not
// the same any more: the writer may have closed a segment between the listing
// and the reading.
func (r *reader) drain(fn func(Event) error) error {
	var stopped error
	guard := func(e Event) error { stopped = fn(e); return stopped }
	names, first, err := r.files()
	for err == nil {
		err = r.pass(names, first, guard)
		var gap *GapError
		if stopped != nil {
			return stopped
		}
		if !errors.As(err, &gap) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		again, firstAgain, lerr := r.files()
		if lerr != nil || firstAgain == first && slices.Equal(again, names) {
			return err
		}
		names, first, err, r.off = again, firstAgain, nil, 0
	}
	return err
}

// files lists the segments; first is the number of the current one's first event.
func (r *reader) files() (names []string, first uint64, err error) {
	if names, _, err = list(r.fs, r.dir); err != nil {
		return nil, 0, err
	}
	first, err = firstOf(r.fs, filepath.Join(r.dir, names[len(names)-1]))
	return names, first, err
}

// pass reads from the last segment on that can hold the event wanted.
func (r *reader) pass(names []string, first uint64, fn func(Event) error) error {
	last := len(names) - 1
	p := pass{reader: r, fn: fn, names: names, current: first}
	if first == r.first && r.off > 0 && first > 0 && r.next >= first {
		p.prev, p.placed = r.next-1, true
		return p.segment(names[last], r.off)
	}
	start := 0
	for i := range names[:last] {
		if n, _ := closedNumber(names[i]); n <= r.next {
			start = i
		}
	}
	if newest := closedBefore(names, last); first > newest && first <= r.next {
		start = last
	}
	for _, name := range names[start:] {
		if err := p.segment(name, 0); err != nil {
			return err
		}
	}
	r.first, r.off = first, p.end
	return nil
}

// closedBefore returns the number of the segment before the i-th; 0 if none is.
func closedBefore(names []string, i int) uint64 {
	if i == 0 {
		return 0
	}
	n, _ := closedNumber(names[i-1])
	return n
}

// pass is one walk over segments.
type pass struct {
	*reader
	fn func(Event) error
	// The files as they were listed, see reader.files.
	names   []string
	current uint64

	prev   uint64 // the number on the verified line before
	placed bool   // prev is known
	base   bool   // the next event is the first one of a base
	end    int64  // the end of the last verified line in this segment
}

func (p *pass) segment(name string, off int64) error {
	f, err := openSegment(p.fs, filepath.Join(p.dir, name))
	if name == current && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(off, io.SeekStart); err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	p.end = off
	l := newLines(f, off)
	defer l.release()
	for {
		text, err := l.next()
		switch err {
		case nil:
			ok, err := p.line(text, l.off)
			if err != nil {
				return err
			}
			if !ok {
				continue // damage shows in what follows it, if anything does
			}
			p.end = l.off + l.size
			if name == current {
				p.reader.off = p.end
			}
		case io.EOF, errTorn:
			return nil
		case errLong:
		default:
			return fmt.Errorf("reading the journal: %w", err)
		}
	}
}

// line takes a line of text; false: it is not one of the journal's.
func (p *pass) line(text []byte, off int64) (bool, error) {
	l, err := parse(text)
	if err != nil {
		return false, nil
	}
	if l.isHeader() {
		var h header
		if err := json.Unmarshal(l.data, &h); err != nil || off > 0 {
			return false, nil
		}
		if p.base = h.Base; !p.base && l.seq >= p.next {
			return false, &GapError{p.dir, p.next - 1, l.seq + 1}
		}
		if !p.placed || p.base {
			p.prev, p.placed = l.seq, true
		}
		return true, nil
	}
	passed := p.started && p.placed && p.prev+1 >= p.next
	jump := p.base && l.seq == p.prev+1 && l.seq > p.next && p.settled()
	p.base = false
	switch {
	case l.seq == p.next, jump:
		wanted := p.want == nil || p.want(l.kind, l.data)
		var e Event
		if wanted {
			if e, err = l.event(); err != nil {
				return false, nil
			}
		}
		p.next, p.started = l.seq+1, true
		p.prev, p.placed = l.seq, true
		if !wanted {
			return true, nil
		}
		return true, p.fn(e)
	case l.seq < p.next && !passed:
		p.prev, p.placed = l.seq, true
		return true, nil
	}
	return false, &GapError{p.dir, p.next - 1, max(l.seq, p.next)}
}

// settled reports whether the files are those that were listed. Before a base is
// followed over missing numbers, nothing may have come in between.
func (p *pass) settled() bool {
	names, first, err := p.files()
	return err == nil && first == p.current && slices.Equal(names, p.names)
}
