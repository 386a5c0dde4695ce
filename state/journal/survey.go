package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/vfs"
)

// Range is an unbroken sequence of verified events, both ends included.
type Range struct{ First, Last uint64 }

// Damage is a place where the journal is not what was written.
type Damage struct {
	Segment string // file name
	Offset  int64
	Length  int64  // 0: no bytes are wrong, but the numbers do not follow
	After   uint64 // the last event known before it
	Next    uint64 // the first event known after it; 0: none
	Why     string

	segment int
}

func (d Damage) String() string {
	s := fmt.Sprintf("%s, byte %d", d.Segment, d.Offset)
	if d.Length > 0 {
		s += fmt.Sprintf(" to %d", d.Offset+d.Length)
	}
	s += fmt.Sprintf(", after event %d", d.After)
	if d.Next > 0 {
		s += fmt.Sprintf(" and before event %d", d.Next)
	}
	return s + ": " + d.Why
}

// Segment is one file of the journal.
type Segment struct {
	Name        string
	First, Last uint64 // numbers of its events; Last < First: it has none
	Size        int64
	Base        bool

	keep int64 // the bytes before its first damage
}

// Place is where an event ends in the segment that was written to.
type Place struct {
	First  uint64 `json:"first"`  // number of the segment's first event
	Last   uint64 `json:"last"`   // of the event
	Offset int64  `json:"offset"` // after its line
}

// Opened is what was found on disk.
type Opened struct {
	// Schema is the highest schema number of a segment.
	Schema  int
	current int // that of the current segment
	// Base is the number of the event that the story starts with, and Last
	// that of the last event of the unbroken sequence from there; Base-1 if
	// there is none.
	Base, Last uint64
	// Highest is the highest number that was ever in use, as far as verified
	// lines tell, those after damage too.
	Highest  uint64
	Segments []Segment
	// Ranges are all unbroken sequences, in the order of the files. One that
	// lies after damage continues a state that is at least as far as its
	// First-1.
	Ranges []Range
	Damage []Damage
	// Torn are unreadable bytes at the end. They are taken for what a crash in the
	// middle of a write left, which was never acknowledged; that it is not damage to
	// what was, the journal alone cannot tell. Open copies them to quarantine and cuts
	// them off.
	Torn *Damage

	base   int     // index of the segment of Base
	places []Place // in the current segment, as far as nothing is damaged; the last one is the end
	learnt map[string]KnownSegment
}

// Whole reports whether nothing is damaged from the base on, so that the journal
// can be continued. Damage before the base is history that Open has put away.
func (o *Opened) Whole() bool {
	return !slices.ContainsFunc(o.Damage, func(d Damage) bool { return d.segment >= o.base })
}

// Inspect looks at a journal and writes nothing. Without any segment the error
// matches fs.ErrNotExist.
func Inspect(fsys vfs.FS, dir string) (Opened, error) { return InspectNew(fsys, dir, SegmentCache{}) }

// InspectNew is Inspect that does not read what is known.
func InspectNew(fsys vfs.FS, dir string, known SegmentCache) (Opened, error) {
	return inspect(fsys, dir, known, time.Now())
}

func inspect(fsys vfs.FS, dir string, known SegmentCache, now time.Time) (Opened, error) {
	segments, _, err := list(fsys, dir)
	if err != nil {
		return Opened{}, err
	}
	s := survey{found: Opened{Base: 1, learnt: map[string]KnownSegment{}}, next: 1, known: known, now: now}
	for i, name := range segments {
		last, damage := i == len(segments)-1, len(s.found.Damage)
		if !last && s.skip(fsys, dir, name) {
			s.found.learnt[name] = known.Segments[name]
			continue
		}
		id, settled := identify(fsys, filepath.Join(dir, name), s.now)
		if err := s.segment(fsys, dir, name, last); err != nil {
			return Opened{}, fmt.Errorf("reading the journal: %w", err)
		}
		if !last && settled {
			s.learn(fsys, dir, id, damage)
		}
	}
	o := s.found
	o.current, o.places = s.schema, s.places
	o.Last = o.Base - 1
	if s.start < len(o.Ranges) && o.Ranges[s.start].First == o.Base {
		o.Last = o.Ranges[s.start].Last
	}
	if known.End.Offset > 0 && (len(o.Damage) > 0 || o.Torn != nil) { // where it begins is to be told
		known.End = Place{}
		return inspect(fsys, dir, known, now)
	}
	return o, nil
}

// survey reads all segments in order and notes what follows and what does not.
type survey struct {
	found Opened
	next  uint64  // the number that must come now
	apart bool    // what comes now begins a new range
	start int     // the index of the range that begins with the base
	bad   *Damage // unreadable bytes whose end is not yet seen

	known  SegmentCache
	now    time.Time
	schema int // of the present segment
	places []Place
}

func (s *survey) current() *Segment { return &s.found.Segments[len(s.found.Segments)-1] }

func (s *survey) segment(fsys vfs.FS, dir, name string, last bool) error {
	s.found.Segments, s.places = append(s.found.Segments, Segment{Name: name, keep: -1}), nil
	f, err := openSegment(fsys, filepath.Join(dir, name))
	if last && errors.Is(err, os.ErrNotExist) {
		s.current().keep = 0
		s.damage(0, 0, "the file is missing")
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	l := newLines(f, 0)
	defer l.release()
	for {
		text, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil && err != errTorn && err != errLong {
			return err
		}
		var p line
		if err == nil {
			p, err = parse(text)
		}
		if err == nil {
			err = s.line(l, p)
		}
		if err != nil {
			s.unreadable(l, err)
		} else if last && p.isHeader() {
			if err := s.leap(f, l); err != nil {
				return err
			}
		}
	}
	s.end(l.off, last)
	return nil
}

// line takes a verified line. An error makes it an unreadable one.
func (s *survey) line(l *lines, p line) error {
	seg := s.current()
	if p.isHeader() {
		if l.off != 0 {
			return errors.New("a segment's header in the middle of a segment")
		}
		var h header
		if err := json.Unmarshal(p.data, &h); err != nil {
			return errForm
		}
		s.header(seg, h, p.seq)
		s.place(l.off + l.size)
		return nil
	}
	if l.off == 0 {
		s.damage(0, 0, "the segment has no header")
	}
	if s.bad != nil {
		s.closeBad(p.seq)
	}
	if p.seq != s.next {
		s.damage(l.off, 0, fmt.Sprintf("found event %d where event %d must be", p.seq, s.next))
		s.found.Damage[len(s.found.Damage)-1].Next = p.seq
		s.apart = true
	}
	s.event(seg, p.seq)
	s.place(l.off + l.size)
	return nil
}

// placeEvery is how many bytes are between two places that are remembered.
const placeEvery = 256 << 10

// place remembers where the last event ends, or where the first one will begin.
func (s *survey) place(end int64) {
	seg, n := s.current(), len(s.places)
	if seg.keep >= 0 { // a part of it is damaged
		return
	}
	at := Place{seg.First, seg.Last, end}
	if n < 2 || end-s.places[n-2].Offset >= placeEvery {
		s.places = append(s.places, at)
	} else {
		s.places[n-1] = at
	}
}

func (s *survey) header(seg *Segment, h header, after uint64) {
	s.schema = h.Schema
	s.found.Schema = max(s.found.Schema, h.Schema)
	switch {
	case h.Base && after >= s.found.Highest:
		s.found.Base, s.found.base = after+1, len(s.found.Segments)-1
		s.start = len(s.found.Ranges)
		seg.Base, s.apart = true, true
	case after+1 != s.next:
		s.damage(0, 0, fmt.Sprintf("the segment continues event %d, but event %d is the last before it", after, s.next-1))
		s.apart = true
	}
	s.next = after + 1
	s.found.Highest = max(s.found.Highest, after)
	seg.First, seg.Last = after+1, after
}

func (s *survey) event(seg *Segment, seq uint64) {
	if seg.First == 0 || seg.Last < seg.First {
		seg.First = seq
	}
	seg.Last = seq
	if n := len(s.found.Ranges); n > 0 && !s.apart {
		s.found.Ranges[n-1].Last = seq
	} else {
		s.found.Ranges = append(s.found.Ranges, Range{seq, seq})
	}
	s.apart = false
	s.next = seq + 1
	s.found.Highest = max(s.found.Highest, seq)
}

func (s *survey) damage(off, length int64, why string) {
	seg := s.current()
	if seg.keep < 0 {
		seg.keep = off
	}
	s.found.Damage = append(s.found.Damage, Damage{
		Segment: seg.Name, Offset: off, Length: length, After: s.next - 1, Why: why, segment: len(s.found.Segments) - 1,
	})
}

func (s *survey) unreadable(l *lines, why error) {
	if s.bad == nil {
		s.bad = &Damage{Segment: s.current().Name, Offset: l.off, After: s.next - 1, Why: why.Error(), segment: len(s.found.Segments) - 1}
	}
	s.bad.Length = l.off + l.size - s.bad.Offset
}

func (s *survey) closeBad(next uint64) {
	s.bad.Next = next
	if seg := s.current(); seg.keep < 0 {
		seg.keep = s.bad.Offset
	}
	s.found.Damage = append(s.found.Damage, *s.bad)
	s.bad = nil
}

// end closes a segment. Unreadable bytes at the end of the last one are a torn
// write, if the segment was born at all.
func (s *survey) end(size int64, last bool) {
	seg := s.current()
	seg.Size = size
	if s.bad != nil && last && s.bad.Offset > 0 {
		s.found.Torn, s.bad = s.bad, nil
		if seg.keep < 0 {
			seg.keep = s.found.Torn.Offset
		}
	}
	if s.bad != nil {
		s.closeBad(0)
	}
	if size == 0 {
		s.damage(0, 0, "the file is empty")
	}
	if seg.keep < 0 {
		seg.keep = size
	}
}
