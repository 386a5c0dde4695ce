package journal

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/vfs"
)

// SegmentCache are closed segments that were read to their end and found whole. They
// never change again, so one whose file is untouched since, which its size,
// times and inode tell, need not be read again. A file can come back otherwise
// from a power cut, its times unchanged, so that nothing is known in another
// boot; then all are read once more.
type SegmentCache struct {
	Boot     string                  `json:"boot"` // never empty
	Segments map[string]KnownSegment `json:"segments"`
	// End is up to where the current segment is taken for whole and not read, for those who
	// only read; the zero place: all of it is read.
	End Place `json:"-"`
}

// KnownSegment is one of them.
type KnownSegment struct {
	File   vfs.Identity `json:"file"`
	Schema int          `json:"schema"`
	Base   bool         `json:"base,omitzero"`
	First  uint64       `json:"first"`
	Last   uint64       `json:"last"`
}

// tooYoung is how long a file must have been left alone before it is known: a
// change within a tick of the file system's clock does not show.
const tooYoung = 2 * time.Second

// identify returns the identity of a segment's file; false if it has none, or
// is too young.
func identify(fsys vfs.FS, path string, now time.Time) (vfs.Identity, bool) {
	id, ok := vfs.Identify(fsys, path)
	return id, ok && now.UnixNano()-max(id.MTime, id.CTime) > int64(tooYoung)
}

// skip takes a segment as it is known, if its file is untouched.
func (s *survey) skip(fsys vfs.FS, dir, name string) bool {
	k, ok := s.known.Segments[name]
	if !ok {
		return false
	}
	if id, ok := identify(fsys, filepath.Join(dir, name), s.now); !ok || id != k.File {
		return false
	}
	s.found.Segments = append(s.found.Segments, Segment{Name: name, Size: k.File.Size, keep: -1})
	seg := s.current()
	s.header(seg, header{k.Schema, k.Base}, k.First-1)
	if k.Last >= k.First {
		s.event(seg, k.First)
		s.event(seg, k.Last)
	}
	if seg.keep < 0 {
		seg.keep = seg.Size
	}
	return true
}

// leap passes over what is known of the current segment, behind its header: the lines go on at
// the end of it. Where the header is that of another segment it does nothing.
func (s *survey) leap(f io.ReadSeeker, l *lines) error {
	seg, end := s.current(), s.known.End
	if end.First != seg.First || end.Offset <= l.off+l.size || end.Last < end.First || seg.keep >= 0 {
		return nil
	}
	if _, err := f.Seek(end.Offset, io.SeekStart); err != nil {
		return err
	}
	s.event(seg, end.First)
	s.event(seg, end.Last)
	s.place(end.Offset)
	l.r.Reset(f)
	l.off, l.size = end.Offset, 0
	return nil
}

// learn remembers a closed segment whose reading has found nothing wrong with
// it, and whose file was id before.
func (s *survey) learn(fsys vfs.FS, dir string, id vfs.Identity, damage int) {
	seg := s.current()
	if len(s.found.Damage) > damage || s.bad != nil || seg.First == 0 {
		return
	}
	if now, ok := identify(fsys, filepath.Join(dir, seg.Name), s.now); ok && now == id && id.Size == seg.Size {
		s.found.learnt[seg.Name] = KnownSegment{id, s.schema, seg.Base, seg.First, seg.Last}
	}
}

// Known returns what is known now of the segments that were read or skipped.
func (o *Opened) Known(boot string) SegmentCache { return SegmentCache{Boot: boot, Segments: o.learnt} }

// Marshal returns the text of what is known, for ParseKnown.
func (k SegmentCache) Marshal() ([]byte, error) {
	text, err := json.Marshal(k, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encoding what is known of the journal: %w", err)
	}
	return fmt.Appendf(nil, "%x %s\n", sha256.Sum256(text), text), nil
}

// ParseKnown reads what Marshal has written. Whatever is not whole, or of
// another boot, says nothing.
func ParseKnown(text []byte, boot string) SegmentCache {
	sum, rest, _ := bytes.Cut(bytes.TrimSuffix(text, []byte("\n")), []byte(" "))
	var k SegmentCache
	if boot == "" || string(sum) != fmt.Sprintf("%x", sha256.Sum256(rest)) || json.Unmarshal(rest, &k) != nil || k.Boot != boot {
		return SegmentCache{}
	}
	return k
}
