package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hank/internal/failpoint"
	"hank/internal/vfs"
)

// NewSegment restarts the history with a base, whose first event is base: it carries all
// that a reader must know of the past. It is the way on after damage. Its number may
// be any one higher than Opened.Highest. When it returns nil, base is durable.
//
//  1. Every segment from the first damaged one on goes to quarantine, whole.
//  2. The verified part of the current segment gets its closed name
//     (journal.segment.closed, where all of it is verified).
//  3. A new current segment with base is written, synced, and renamed over the old
//     one (journal.segment.renamed); the directory is synced. From now on base counts.
//  4. What is damaged in history is put away (see settle).
//
// A crash before 3 leaves the journal as it was; after 3, Open does 4.
func (j *Journal) NewSegment(base Event) error {
	if j.failed != nil {
		return j.failed
	}
	if base.Seq <= j.highest {
		return fmt.Errorf("a base needs a number above %d, not %d", j.highest, base.Seq)
	}
	if _, err := encode(nil, base.Seq-1, []Event{base}); err != nil {
		return err
	}
	if err := j.newSegment(base); err != nil {
		return j.fail(err, -1)
	}
	return nil
}

func (j *Journal) newSegment(base Event) error {
	var history []Segment
	if j.damaged != nil {
		history = j.found.Segments[j.found.base : len(j.found.Segments)-1]
		bad := false
		for _, seg := range j.found.Segments[j.found.base:] {
			if bad = bad || j.isDamaged(seg); bad {
				if err := j.toQuarantine(seg.Name, errors.New("it is damaged or is after damage")); err != nil {
					return err
				}
			}
		}
		if err := j.closeDamaged(); err != nil {
			return err
		}
	} else if err := j.closeCurrent(); err != nil {
		return err
	}
	j.last = base.Seq - 1
	if err := j.begin(true, []Event{base}); err != nil {
		return err
	}
	j.damaged = nil
	if err := j.settle(history); err != nil {
		return err
	}
	return j.fs.SyncDir(j.dir)
}

func (j *Journal) isDamaged(seg Segment) bool {
	for _, d := range j.found.Damage {
		if d.Segment == seg.Name {
			return true
		}
	}
	return j.found.Torn != nil && j.found.Torn.Segment == seg.Name
}

// closeDamaged gives the verified part of a damaged current segment its closed
// name, if that part continues the story and has an event in it.
func (j *Journal) closeDamaged() error {
	segs := j.found.Segments
	seg := segs[len(segs)-1]
	for _, d := range j.found.Damage {
		if d.segment >= j.found.base && d.Segment != seg.Name {
			return nil // it is after damage
		}
	}
	if seg.keep == 0 || j.last < seg.First {
		return nil
	}
	if err := copyPart(j.fs, j.path(current), j.path(closedName(seg.First)), seg.keep); err != nil {
		return err
	}
	return j.fs.SyncDir(j.dir)
}

// AppendWhole is Append for events of which a crash keeps all or none: they begin a
// segment, and are durable when it returns nil.
func (j *Journal) AppendWhole(events ...Event) error {
	if err := j.Append(); err != nil {
		return err // nothing can be appended any more
	}
	if _, err := encode(nil, j.last, events); err != nil {
		return err
	}
	err := j.unchanged()
	if err == nil {
		err = j.closeCurrent()
	}
	if err == nil {
		err = j.begin(false, events)
	}
	if err != nil {
		return j.fail(err, -1)
	}
	failpoint.Hit("journal.appended")
	return nil
}

// rotate closes the current segment and begins the next.
func (j *Journal) rotate() error {
	if err := j.closeCurrent(); err != nil {
		return err
	}
	return j.begin(false, nil)
}

// closeCurrent gives the current segment its closed name as a second one, so
// that there is no moment without it: a rename could lose both names.
func (j *Journal) closeCurrent() error {
	if err := j.Sync(); err != nil {
		return err
	}
	if j.last < j.first {
		return nil // no event in it
	}
	name := j.path(closedName(j.first))
	if err := j.fs.Link(j.path(current), name); err != nil {
		// Not every file system has links.
		if err := copyPart(j.fs, j.path(current), name, j.size); err != nil {
			return err
		}
	}
	if err := j.fs.SyncDir(j.dir); err != nil {
		return err
	}
	failpoint.Hit("journal.segment.closed")
	return nil
}

// begin replaces the current segment by a new one that holds events, durably.
func (j *Journal) begin(base bool, events []Event) error {
	after := j.last
	buf, err := headerLine(nil, base, after)
	if err != nil {
		return err
	}
	body, err := encode(nil, after, events)
	if err != nil {
		return err
	}
	buf = append(buf, body...)
	if j.f != nil {
		_ = j.f.Close() // synced before
		j.f = nil
	}
	if err := vfs.WriteSynced(j.fs, j.path(current+".tmp"), buf, os.O_TRUNC, 0o600); err != nil {
		return err
	}
	if err := j.fs.Rename(j.path(current+".tmp"), j.path(current)); err != nil {
		return err
	}
	failpoint.Hit("journal.segment.renamed")
	if err := j.fs.SyncDir(j.dir); err != nil {
		return err
	}
	if j.f, err = j.fs.OpenFile(j.path(current), os.O_RDWR|os.O_APPEND, 0); err != nil {
		return err
	}
	j.first, j.size, j.synced, j.older = after+1, int64(len(buf)), int64(len(buf)), false
	if j.mark != nil { // as in Append; what is foreign stays so: the segment before may be changed
		j.mark, _ = j.f.Stat()
	}
	j.last = after + uint64(len(events))
	j.highest = max(j.highest, j.last)
	return nil
}

// settle puts damage in closed segments away, after a copy of each file
// concerned went to quarantine: a damaged one keeps the part before its first
// damage, and the ones after it go, up to the next base.
func (j *Journal) settle(history []Segment) error {
	behind := false
	for _, seg := range history {
		damaged := j.isDamaged(seg)
		if seg.Base {
			behind = false
		}
		if !damaged && !behind {
			continue
		}
		if err := j.toQuarantine(seg.Name, errors.New("it is damaged or is after damage")); err != nil {
			return err
		}
		if !behind && seg.keep > 0 {
			if err := copyPart(j.fs, j.path(seg.Name), j.path(seg.Name), seg.keep); err != nil {
				return err
			}
		} else if err := j.fs.Remove(j.path(seg.Name)); err != nil {
			return err
		}
		behind = true
	}
	return nil
}

func (j *Journal) toQuarantine(name string, why error) error {
	f, err := vfs.Open(j.fs, j.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := j.quarantine(name, f, why); err != nil {
		return fmt.Errorf("copying the damaged %s to quarantine: %w", name, err)
	}
	return nil
}
