package eventlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"hank/internal/vfs"
	"hank/recovery"
	"hank/runtime/lines"
	"hank/state/journal"
)

// Files calls a function with a text file whose lines are indexed as far as it is written. The
// file is the caller's, who may keep it for the next call.
type Files func(path string, fn func(*lines.File) error) error

// Back is a range of a journal that is read from its end.
type Back struct {
	Before uint64           // only events before this one; 0: all
	Take   func(Event) bool // the events that are wanted; nil: all
	Most   int              // how many events are returned
	Looks  int              // how many are looked at
}

// Found are the events of a range, the newest first.
type Found struct {
	Events []Event
	Older  uint64 // the next range is the one before this event; 0: there is none
	Looked int    // events that were looked at
}

// errUneven says that lines and numbers of a journal do not go together: it is damaged, or has
// been continued after damage.
var errUneven = errors.New("the journal is not one sequence of events")

// together is how many lines are read at once, and longest how much of one.
const (
	together = 128
	longest  = 16 << 20
)

// ReadBack reads a range of the journal of an execution, without those events that say what a
// transition says. It reads no more of the files than the range, however many events are before
// and after it. uneven reports that it cannot, because of damage or of a journal that is not
// hank's: Read can.
func ReadBack(v *recovery.View, files Files, q Back) (found Found, uneven bool, err error) {
	if v.ForeignJournal {
		return found, true, nil
	}
	b := backReader{Back: q, at: q.Before}
	err = b.read(v.Layout.Events(), files)
	if errors.Is(err, errUneven) || errors.Is(err, fs.ErrNotExist) {
		return Found{}, true, nil
	}
	return b.found, false, err
}

// backReader goes through the segments of a journal, the newest first.
type backReader struct {
	Back
	found Found
	at    uint64 // the number after the event that is wanted next; 0: the last one is
	full  bool   // enough is found, or was looked at
}

func (b *backReader) read(dir string, files Files) error {
	paths, err := journal.Closed(vfs.OS, dir)
	if err != nil {
		return err
	}
	slices.Sort(paths) // their numbers have one width
	for _, path := range slices.Backward(append(paths, journal.Current(dir))) {
		var first uint64
		if _, err := fmt.Sscanf(filepath.Base(path), "events.%d.jsonl", &first); err == nil && b.at > 0 && first >= b.at {
			continue // it is later, or is being closed
		}
		if err := files(path, b.segment); err != nil {
			return err
		}
		if b.full {
			return nil
		}
	}
	if b.at > 1 { // what is before is not there
		return errUneven
	}
	return nil
}

// segment takes the events of one segment, as far as they are before the one that was taken last.
// Where a segment is whole, each line after its head has the number after that of the line before.
func (b *backReader) segment(f *lines.File) error {
	first, head, err := begin(f)
	if err != nil || first == 0 {
		return err
	}
	end := f.Lines()
	last := first + uint64(end-head) - 1
	switch {
	case b.at == 0:
		b.at = last + 1
	case first >= b.at:
		return nil
	case b.found.Looked > 0 && last < b.at-1:
		return errUneven
	case last >= b.at:
		end = head + int(b.at-first)
	}
	for ; end > head && !b.full; end = max(head, end-together) {
		if err := b.window(f, max(head, end-together), end, first-uint64(head)); err != nil {
			return err
		}
	}
	return nil
}

// begin is the number of a segment's first event, and the line that it is on; 0: it has none.
func begin(f *lines.File) (first uint64, head int, err error) {
	err = f.Window(0, 2, longest, func(line int, text []byte, size int64) error {
		if e, err := journal.EventOf(text); err == nil && first == 0 && size <= longest && line < f.Lines() {
			first, head = e.Seq, line
		}
		return nil
	})
	if err == nil && first == 0 && f.Lines() > 1 {
		err = errUneven
	}
	return first, head, err
}

// window takes the events on the lines from one to another, the last one first. The line of an
// event has its number less offset.
func (b *backReader) window(f *lines.File, from, to int, offset uint64) error {
	var events []journal.Event
	err := f.Window(from, to-from, longest, func(line int, text []byte, size int64) error {
		e, err := journal.EventOf(text)
		if err != nil || size > longest || e.Seq != offset+uint64(line) {
			return errUneven
		}
		events = append(events, e)
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(events) {
		if e.Seq+1 != b.at && b.found.Looked > 0 {
			return errUneven
		}
		b.at = e.Seq
		b.found.Looked++
		if shown := Of(e); !slices.Contains(repeating, e.Type) && (b.Take == nil || b.Take(shown)) {
			b.found.Events = append(b.found.Events, shown)
		}
		if len(b.found.Events) >= b.Most || b.found.Looked >= b.Looks {
			b.full = true
			if b.found.Older = e.Seq; e.Seq == 1 {
				b.found.Older = 0
			}
			return nil
		}
	}
	return nil
}
