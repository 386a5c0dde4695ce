package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/vfs"
)

// GapError is damage that a reader came upon. The events behind After are
// missing or in disorder; Read from Next goes on behind the damage.
type GapError struct {
	Dir         string
	After, Next uint64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("the journal %s is damaged behind event %d and goes on with event %d", e.Dir, e.After, e.Next)
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

// Follow is Read that waits for more, looking every so often, until ctx is
// done, whose error it returns. A journal that is not there yet is waited for.
func Follow(ctx context.Context, fsys vfs.FS, dir string, from uint64, every time.Duration, fn func(Event) error) error {
	r := newReader(fsys, dir, from)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		var stopped error
		err := r.drain(func(e Event) error {
			if stopped = ctx.Err(); stopped == nil {
				stopped = fn(e)
			}
			return stopped
		})
		if stopped != nil {
			return stopped
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// reader remembers where it stopped, so that looking again costs what is new.
type reader struct {
	fs      vfs.FS
	dir     string
	next    uint64 // the event wanted next
	started bool   // one was delivered
	// The current segment as it was when last read, and up to which byte.
	first uint64
	off   int64
}

func newReader(fsys vfs.FS, dir string, from uint64) *reader {
	return &reader{fs: fsys, dir: dir, next: max(from, 1)}
}

// drain delivers what is there. A gap is looked at twice: the writer may have
// closed a segment between the listing and the reading.
func (r *reader) drain(fn func(Event) error) error {
	var stopped error
	guard := func(e Event) error { stopped = fn(e); return stopped }
	err := r.pass(guard)
	var gap *GapError
	if stopped == nil && (errors.As(err, &gap) || errors.Is(err, fs.ErrNotExist)) {
		r.off = 0
		err = r.pass(guard)
	}
	if stopped != nil {
		return stopped
	}
	return err
}

// pass reads from the last segment on that can hold the event wanted.
func (r *reader) pass(fn func(Event) error) error {
	names, _, err := list(r.fs, r.dir)
	if err != nil {
		return err
	}
	last := len(names) - 1
	first, err := firstOf(r.fs, filepath.Join(r.dir, names[last]))
	if err != nil {
		return err
	}
	p := pass{reader: r, fn: fn}
	if first == r.first && r.off > 0 && first > 0 {
		p.prev, p.placed = r.next-1, true
		return p.segment(names[last], r.off)
	}
	start := 0
	for i := range names[:last] {
		if n, _ := closedNumber(names[i]); n <= r.next {
			start = i
		}
	}
	if first > 0 && first <= r.next {
		start = last
	}
	for _, name := range names[start:] {
		if err := p.segment(name, 0); err != nil {
			return err
		}
	}
	r.first = first
	r.off = p.end
	return nil
}

// pass is one walk over segments.
type pass struct {
	*reader
	fn     func(Event) error
	prev   uint64 // the number on the verified line before
	placed bool   // prev is known
	base   bool   // the next event is the first one of a base
	end    int64  // the end of the last verified line in this segment
}

func (p *pass) segment(name string, off int64) error {
	f, err := p.fs.OpenFile(filepath.Join(p.dir, name), os.O_RDONLY, 0)
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
	for l := newLines(f, off); ; {
		text, err := l.next()
		switch err {
		case nil:
			if err := p.line(text, l.off); err == errSum || err == errForm {
				continue // damage shows in what follows it, if anything does
			} else if err != nil {
				return err
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

func (p *pass) line(text []byte, off int64) error {
	l, err := parse(text)
	if err != nil {
		return err
	}
	if string(l.kind) == `"`+headerType+`"` {
		var h header
		if err := json.Unmarshal(l.data, &h); err != nil || off > 0 {
			return errForm
		}
		if p.base = h.Base; !p.placed || h.Base {
			p.prev, p.placed = l.seq, true
		}
		return nil
	}
	follows := !p.placed || !p.started || l.seq == p.prev+1
	passed := p.started && p.placed && p.prev+1 >= p.next
	jump := p.base && l.seq >= p.next
	p.base = false
	switch {
	case jump, l.seq == p.next && follows:
		e, err := l.event()
		if err != nil {
			return err
		}
		p.next, p.started = l.seq+1, true
		p.prev, p.placed = l.seq, true
		return p.fn(e)
	case l.seq < p.next && !passed:
		p.prev, p.placed = l.seq, true
		return nil
	}
	return &GapError{p.dir, p.next - 1, max(l.seq, p.next)}
}
