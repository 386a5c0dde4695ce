package journal

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"hank/internal/vfs"
)

// End returns the place of the last event.
func (j *Journal) End() Place { return Place{j.first, j.last, j.size} }

// Current is the path of the segment that is written to.
func Current(dir string) string { return filepath.Join(dir, current) }

// ClosedPath is the path that a segment gets when it is closed.
func ClosedPath(dir string, first uint64) string { return filepath.Join(dir, closedName(first)) }

// Closed lists the closed segments, and those that are being closed.
func Closed(fsys vfs.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if _, closed := closedNumber(e.Name()); closed {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

// ReadAfter calls fn for each event after a place, up to the last complete
// line. It is quicker than Read, because it verifies nothing before the place:
// the caller knows the segment to be the one that the place is in. The error
// says that the lines after the place are not the ones that follow it.
func ReadAfter(fsys vfs.FS, dir string, at Place, fn func(Event) error) error {
	f, err := vfs.Open(fsys, Current(dir))
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(at.Offset, io.SeekStart); err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	l := newLines(f, at.Offset)
	defer l.release()
	for {
		text, err := l.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return nil
		}
		var e Event
		if err == nil {
			e, err = EventOf(text)
		}
		if err == nil && e.Seq != at.Last+1 {
			err = fmt.Errorf("found event %d where event %d must be", e.Seq, at.Last+1)
		}
		if err != nil {
			return fmt.Errorf("reading the journal after event %d: %w", at.Last, err)
		}
		if err := fn(e); err != nil {
			return err
		}
		at.Last = e.Seq
	}
}

// EventOf is the event on a line without its end, verified by its checksum.
func EventOf(text []byte) (Event, error) {
	l, err := parse(text)
	if err != nil {
		return Event{}, err
	}
	if l.isHeader() {
		return Event{}, errForm
	}
	return l.event()
}
