package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/failpoint"
	"hank/internal/vfs"
)

// segmentSize is the size from which on a segment is closed.
const segmentSize = 64 << 20

// Quarantine takes a copy of damaged bytes away. name says which file they
// come from and why what is wrong with them. The copy must be durable when it
// returns nil: the original is changed afterwards.
type Quarantine func(name string, content io.Reader, why error) error

// Journal is the writer's end. One goroutine may use it at a time, and the
// caller sees to it that one process does: recovery/lock is for that.
type Journal struct {
	fs          vfs.FS
	dir         string
	quarantine  Quarantine
	segmentSize int64

	f       vfs.File // the current segment, in append mode
	first   uint64   // the number of its first event
	size    int64    // its bytes
	synced  int64    // of which so many are durable
	last    uint64   // the last event
	highest uint64   // the highest number in use, after damage too

	damaged *DamagedError // a base must be begun before anything is appended
	older   bool          // the current segment has an older schema: its hank must not read what is appended
	mark    os.FileInfo   // of the current segment after this process wrote to it last; nil: not asked yet
	foreign error         // what Append has seen of a change in spite of which it could write
	found   Opened
	failed  *FailedError
	buf     []byte
}

// FailedError is a write or sync that failed. The journal that returned it is
// useless; every later call returns the same error. Open tells what is kept.
type FailedError struct {
	Path string
	Err  error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("the journal %s could not be written (%v), so nothing more is done; what was acknowledged is kept: repair the cause, then `hank run` continues from there", e.Path, e.Err)
}

func (e *FailedError) Unwrap() error { return e.Err }

// DamagedError is an attempt to continue a journal that is damaged. It must
// get a new base first, see NewSegment.
type DamagedError struct {
	Dir    string
	Damage []Damage
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the journal %s is damaged in %d places (first: %v) and must begin again from a state", e.Dir, len(e.Damage), e.Damage[0])
}

// SchemaError is a journal written by a newer hank. Nothing was changed.
type SchemaError struct {
	Dir    string
	Schema int
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("the journal %s has schema %d and this hank writes schema %d; use the newer hank that wrote it", e.Dir, e.Schema, Schema)
}

// ErrForeign is why a journal that somebody else has changed is not written to:
// nothing was written.
var ErrForeign = errors.New("somebody else changed the file")

// Create begins a journal in a directory that is there and has none. Its first
// event will have the number after+1. When it returns, the journal and the
// events given are durable.
func Create(fsys vfs.FS, dir string, after uint64, events ...Event) (*Journal, error) {
	if _, _, err := list(fsys, dir); !errors.Is(err, os.ErrNotExist) {
		if err == nil {
			err = fmt.Errorf("there is a journal in %s already; open it", dir)
		}
		return nil, err
	}
	j := &Journal{fs: fsys, dir: dir, segmentSize: segmentSize, last: after, highest: after}
	j.quarantine = func(name string, _ io.Reader, _ error) error {
		return fmt.Errorf("no quarantine for %s: the journal was just created", name)
	}
	if err := j.begin(true, events); err != nil {
		return nil, err
	}
	return j, nil
}

// Open prepares a journal for writing. It heals what a crash in the middle of
// a write leaves, so that what it reports is durable:
//
//  1. All segments are verified. A newer schema ends it, nothing changed.
//  2. A closed name that an interrupted closing left beside the same bytes in
//     the current segment is removed.
//  3. Damage in history, before the last base, is put away (see settle).
//  4. A torn write at the end goes to quarantine and is truncated.
//  5. The current segment and the directory are synced: lines that a killed
//     process wrote but did not sync are about to be believed.
//
// Where more than a torn end is damaged, from the base on, the journal opens
// all the same, but only NewSegment works. Without any segment the error
// matches fs.ErrNotExist.
func Open(fsys vfs.FS, dir string, quarantine Quarantine) (*Journal, Opened, error) {
	found, err := Inspect(fsys, dir)
	if err != nil {
		return nil, found, err
	}
	j, err := OpenFound(fsys, dir, found, quarantine)
	return j, found, err
}

// OpenFound is Open after an Inspect that the caller has made since nobody
// else could write.
func OpenFound(fsys vfs.FS, dir string, found Opened, quarantine Quarantine) (*Journal, error) {
	if found.Schema > Schema {
		return nil, &SchemaError{dir, found.Schema}
	}
	j := &Journal{
		fs: fsys, dir: dir, quarantine: quarantine, segmentSize: segmentSize,
		last: found.Last, highest: found.Highest, found: found,
	}
	if !found.Whole() {
		j.damaged = &DamagedError{dir, found.Damage}
	}
	if err := j.heal(); err != nil {
		if j.f != nil {
			_ = j.f.Close()
		}
		return nil, fmt.Errorf("opening the journal %s: %w", dir, err)
	}
	return j, nil
}

// heal is steps 2 to 5 of Open.
func (j *Journal) heal() error {
	_, leftover, err := list(j.fs, j.dir)
	if err != nil {
		return err
	}
	if leftover != "" {
		if err := j.fs.Remove(j.path(leftover)); err != nil {
			return err
		}
	}
	if err := j.settle(j.found.Segments[:j.found.base]); err != nil {
		return err
	}
	if j.damaged != nil {
		return j.fs.SyncDir(j.dir)
	}
	seg := j.found.Segments[len(j.found.Segments)-1]
	j.first, j.size, j.synced = seg.First, seg.keep, seg.keep
	j.older = j.found.current < Schema
	if j.f, err = j.fs.OpenFile(j.path(current), os.O_RDWR|os.O_APPEND, 0); err != nil {
		return err
	}
	if t := j.found.Torn; t != nil {
		tail := io.NewSectionReader(j.f, t.Offset, t.Length)
		if err := j.quarantine(current, tail, errors.New(t.String())); err != nil {
			return err
		}
		if err := j.f.Truncate(t.Offset); err != nil {
			return err
		}
	}
	if err := j.f.Sync(); err != nil {
		return err
	}
	return j.fs.SyncDir(j.dir)
}

func (j *Journal) path(name string) string { return filepath.Join(j.dir, name) }

// Last returns the number of the last event; the next one must have the next.
func (j *Journal) Last() uint64 { return j.last }

// Append writes events after the last one, in one write, unless somebody else has changed
// the segment. They survive the end of the process, but not yet that of the machine: see
// Sync. Until then a crash may keep a part of them, the first ones: see AppendWhole. An
// error that is not a *FailedError is about the events, or a *DamagedError, and nothing was
// written. A segment that somebody has changed is a *FailedError with ErrForeign in it.
func (j *Journal) Append(events ...Event) error {
	if j.failed != nil {
		return j.failed
	}
	if j.damaged != nil {
		return j.damaged
	}
	buf, err := encode(j.buf[:0], j.last, events)
	if err != nil || len(buf) == 0 {
		return err
	}
	if j.buf = buf; cap(buf) > 1<<20 {
		j.buf = nil // one huge event must not hold its memory for ever
	}
	if err := j.unchanged(); err != nil { // before rotate: what somebody else has changed gets no closed name
		return j.fail(err, -1)
	}
	if j.size >= j.segmentSize || j.older {
		if err := j.rotate(); err != nil {
			return j.fail(err, j.synced)
		}
	}
	if err := writeAll(j.f, buf); err != nil {
		return j.fail(err, j.size)
	}
	j.size += int64(len(buf))
	if j.mark != nil { // somebody asks; what cannot be told now is asked again
		j.mark, _ = j.f.Stat()
	}
	j.last = events[len(events)-1].Seq
	j.highest = j.last
	failpoint.Hit("journal.appended")
	return nil
}

// Changed reports whether somebody else has changed the current segment since this
// process wrote to it: an error that says how, or nil. A change that keeps
// size and time is for the checksums to notice.
func (j *Journal) Changed() error {
	if j.foreign != nil {
		return j.foreign
	}
	fi, _, err := j.compare()
	if err == nil {
		j.mark = fi
	}
	return err
}

// unchanged returns why nothing may be appended: somebody else has changed the current
// segment. A change in spite of which that is possible is left to Changed.
func (j *Journal) unchanged() error {
	switch _, touched, err := j.compare(); {
	case touched:
		j.foreign = cmp.Or(j.foreign, err)
		return nil
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrForeign, err)
	default:
		return err
	}
}

// compare returns how the current segment differs from what this process has written: an
// error, or nil. touched: only its time does.
func (j *Journal) compare() (fi os.FileInfo, touched bool, err error) {
	fi, err = j.fs.Lstat(j.path(current))
	switch {
	case err != nil:
	case !fi.Mode().IsRegular():
		err = fmt.Errorf("%w: it is no file any more", ErrForeign)
	case fi.Size() != j.size:
		err = fmt.Errorf("%w: it has %d bytes instead of %d", ErrForeign, fi.Size(), j.size)
	case j.mark != nil && !os.SameFile(fi, j.mark):
		err = fmt.Errorf("%w: it is another file", ErrForeign)
	case j.mark != nil && !fi.ModTime().Equal(j.mark.ModTime()):
		touched, err = true, fmt.Errorf("%w at %s", ErrForeign, fi.ModTime().Format(time.TimeOnly))
	}
	return fi, touched, err
}

// Sync makes all appended events durable. They are acknowledged when it
// returns nil.
func (j *Journal) Sync() error {
	if j.failed != nil {
		return j.failed
	}
	if j.size == j.synced {
		return nil
	}
	if err := j.f.Sync(); err != nil {
		return j.fail(err, j.synced)
	}
	j.synced = j.size
	failpoint.Hit("journal.synced")
	return nil
}

// Close syncs and closes.
func (j *Journal) Close() error {
	err := j.Sync()
	if j.f != nil {
		if cerr := j.f.Close(); err == nil {
			err = cerr
		}
		j.f = nil
	}
	if j.failed == nil {
		j.failed = &FailedError{j.path(current), os.ErrClosed}
	}
	return err
}

// fail makes the journal useless. It cuts the file back to keep bytes, as far
// as the disk lets it: after a failed fsync Linux shows bytes that it will
// never write, and whoever opens the journal next must not believe them.
func (j *Journal) fail(err error, keep int64) error {
	if j.failed != nil {
		return j.failed // a step before failed
	}
	j.failed = &FailedError{j.path(current), err}
	if j.f != nil && keep >= 0 {
		_ = j.f.Truncate(keep) // the error above is the one that matters
	}
	return j.failed
}

// encode returns the lines of events that follow the number last.
func encode(buf []byte, last uint64, events []Event) ([]byte, error) {
	for _, e := range events {
		if e.Seq != last+1 {
			return nil, fmt.Errorf("event %s (%s) has the number %d, but %d comes next", e.ID, e.Type, e.Seq, last+1)
		}
		if e.Type == headerType {
			return nil, fmt.Errorf("event %d: the type %s belongs to the journal", e.Seq, headerType)
		}
		var err error
		if buf, err = appendLine(buf, e); err != nil {
			return nil, err
		}
		last = e.Seq
	}
	return buf, nil
}

func writeAll(w io.Writer, p []byte) error {
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}

func headerLine(buf []byte, base bool, after uint64) ([]byte, error) {
	data, err := json.Marshal(header{Schema, base})
	if err != nil {
		return nil, err
	}
	return appendLine(buf, Event{Seq: after, ID: "segment", Timestamp: time.Now(), Type: headerType, Data: data})
}
