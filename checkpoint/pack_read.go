package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/klauspost/compress/zlib"
)

// packSource is a pack whose objects can be read: one on disk, or the one that
// is being written.
type packSource interface {
	// reader gives access to the pack's bytes until release is called.
	reader() (r io.ReaderAt, release func(), err error)
	// String names the pack for messages.
	String() string
}

// packedHeader is what stands before the deflated data of a packed object.
type packedHeader struct {
	kind   plumbing.ObjectType
	size   int64         // inflated; of the delta, if it is one
	data   int64         // offset of the deflated data
	baseAt int64         // offset of the base, if kind is OFSDeltaObject
	baseID plumbing.Hash // id of the base, if kind is REFDeltaObject
}

var errBadHeader = errors.New("the header of a packed object is damaged")

// readPackedHeader decodes the header at off, as gitformat-pack(5) has it.
func readPackedHeader(r io.ReaderAt, off int64) (h packedHeader, err error) {
	var buf [48]byte
	n, err := r.ReadAt(buf[:], off)
	if n == 0 {
		return h, fmt.Errorf("%w: %w", errBadHeader, err)
	}
	b, at := buf[:n], 0
	c := b[0]
	h.kind, h.size = plumbing.ObjectType(c>>4&7), int64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if at++; at >= len(b) || shift > 56 {
			return h, errBadHeader
		}
		c = b[at]
		h.size |= int64(c&0x7f) << shift
	}
	at++
	switch h.kind {
	case plumbing.OFSDeltaObject:
		back := int64(-1)
		for more := true; more; at++ {
			if at >= len(b) || back > 1<<54 {
				return h, errBadHeader
			}
			back = (back+1)<<7 | int64(b[at]&0x7f)
			more = b[at]&0x80 != 0
		}
		h.baseAt = off - back
		if back <= 0 || h.baseAt <= 0 {
			return h, errBadHeader
		}
	case plumbing.REFDeltaObject:
		if at+hashSize > len(b) {
			return h, errBadHeader
		}
		h.baseID = plumbing.Hash(b[at : at+hashSize])
		at += hashSize
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	default:
		return h, errBadHeader
	}
	h.data = off + int64(at)
	return h, nil
}

// appendPackedHeader encodes the header of an object that is not a delta.
func appendPackedHeader(b []byte, kind plumbing.ObjectType, size int64) []byte {
	c := byte(kind)<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		b = append(b, c|0x80)
		c = byte(size & 0x7f)
	}
	return append(b, c)
}

// inflate returns a stream of the data that is deflated at off.
func inflate(r io.ReaderAt, off int64) (io.ReadCloser, error) {
	return zlib.NewReader(io.NewSectionReader(r, off, 1<<62))
}

// inflateAll returns the size bytes that are deflated at off.
func inflateAll(r io.ReaderAt, off, size int64) ([]byte, error) {
	if size > inMemory {
		return inflateStream(r, off, size)
	}
	z := inflaters.Get().(*inflater)
	defer inflaters.Put(z)
	out, err := z.inflate(r, off, size)
	if errors.Is(err, io.ErrUnexpectedEOF) { // it is damaged, or from somebody who wastes space
		return inflateStream(r, off, size)
	}
	return out, err
}

// inflateStream is inflateAll for what may be large. The size is only what the
// header says: the buffer grows with what really comes, so that a damaged
// header cannot exhaust memory.
func inflateStream(r io.ReaderAt, off, size int64) ([]byte, error) {
	z, err := inflate(r, off)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Grow(int(min(size, inMemory)) + bytes.MinRead)
	n, err := io.Copy(&out, io.LimitReader(z, size+1))
	if err == nil && n != size {
		err = errInflatedSize(size)
	}
	return out.Bytes(), firstOf(err, z.Close())
}

func errInflatedSize(size int64) error {
	return fmt.Errorf("it inflates to another size than the %d bytes that its header says", size)
}

// inflater inflates one object after the other, each after one read of the
// pack, without making its tables anew.
type inflater struct {
	deflated []byte
	from     bytes.Reader
	zlib     io.ReadCloser // nil before the first use
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// inflate returns the size bytes that are deflated at off. The error is
// io.ErrUnexpectedEOF if they take more space than those who deflate them use:
// stored as they are, with 5 bytes for each block of 16 KB, and zlib's frame.
func (z *inflater) inflate(r io.ReaderAt, off, size int64) ([]byte, error) {
	z.deflated = slices.Grow(z.deflated[:0], int(size+5*(size/(16<<10)+1)+64))
	n, err := r.ReadAt(z.deflated[:cap(z.deflated)], off)
	if err != nil && err != io.EOF {
		return nil, err
	}
	z.from.Reset(z.deflated[:n])
	if z.zlib == nil {
		z.zlib, err = zlib.NewReader(&z.from)
	} else {
		err = z.zlib.(zlib.Resetter).Reset(&z.from, nil)
	}
	if err != nil {
		z.zlib = nil
		return nil, err
	}
	out := make([]byte, size)
	if _, err := io.ReadFull(z.zlib, out); err == io.EOF {
		return nil, io.ErrUnexpectedEOF
	} else if err != nil {
		return nil, err
	}
	var more [1]byte // the end comes with the check of zlib's own checksum
	if n, err := z.zlib.Read(more[:]); n > 0 {
		return nil, errInflatedSize(size)
	} else if err != io.EOF {
		return nil, err
	}
	return out, nil
}

// firstOf returns the first of two errors: a reader that has failed says so once
// more when it is closed.
func firstOf(err, closing error) error {
	if err != nil {
		return err
	}
	return closing
}

// maxDeltaChain is git's own bound (pack.depth is at most 4095).
const maxDeltaChain = 4095

// resolve reads the object at off whole, through all its deltas. byID finds
// a base that the pack names by id.
func resolve(r io.ReaderAt, off int64, byID func(plumbing.Hash) (*gitObject, error)) (plumbing.ObjectType, []byte, error) {
	var deltas [][]byte
	for {
		h, err := readPackedHeader(r, off)
		if err != nil {
			return 0, nil, err
		}
		data, err := inflateAll(r, h.data, h.size)
		if err != nil {
			return 0, nil, err
		}
		kind := h.kind
		switch h.kind {
		case plumbing.OFSDeltaObject:
			deltas = append(deltas, data)
			off = h.baseAt
			if len(deltas) > maxDeltaChain {
				return 0, nil, errEndless
			}
			continue
		case plumbing.REFDeltaObject:
			deltas = append(deltas, data)
			base, err := byID(h.baseID)
			if err != nil {
				return 0, nil, fmt.Errorf("base of a delta: %w", err)
			}
			kind = base.kind
			if data, err = base.content(); err != nil {
				return 0, nil, err
			}
		}
		for i := len(deltas) - 1; i >= 0; i-- {
			if data, err = packfile.PatchDelta(data, deltas[i]); err != nil {
				return 0, nil, fmt.Errorf("apply delta: %w", err)
			}
		}
		return kind, data, nil
	}
}
