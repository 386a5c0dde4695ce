package packdb

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
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

// packedHeader is what is before the deflated data of a packed object.
type packedHeader struct {
	kind   plumbing.ObjectType
	size   int64         // inflated; of the delta, if it is one
	data   int64         // offset of the deflated data
	baseAt int64         // offset of the base, if kind is OFSDeltaObject
	baseID plumbing.Hash // id of the base, if kind is REFDeltaObject
}

var errBadHeader = errors.New("the header of a packed object is damaged")

// maxPackedHeader is more than any header takes: a size of nine bytes, and the
// id of a base.
const maxPackedHeader = 48

// readPackedHeader decodes the header at off.
func readPackedHeader(r io.ReaderAt, off int64) (packedHeader, error) {
	var buf [maxPackedHeader]byte
	n, err := r.ReadAt(buf[:], off)
	if n == 0 {
		return packedHeader{}, fmt.Errorf("%w: %w", errBadHeader, err)
	}
	return parsePackedHeader(buf[:n], off)
}

// parsePackedHeader decodes the header that b, found at off, begins with, as
// gitformat-pack(5) has it. It is called with at least one byte.
func parsePackedHeader(b []byte, off int64) (h packedHeader, err error) {
	at := 0
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
		if at+HashSize > len(b) {
			return h, errBadHeader
		}
		h.baseID = plumbing.Hash(b[at : at+HashSize])
		at += HashSize
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	default:
		return h, errBadHeader
	}
	h.data = off + int64(at)
	return h, nil
}

// AppendPackedHeader encodes the header of an object that is not a delta.
func AppendPackedHeader(b []byte, kind plumbing.ObjectType, size int64) []byte {
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

// inflateStream returns the size bytes that are deflated at off, which may be
// many. The size is only what the header says: the buffer grows with what really
// comes, so that a damaged header cannot exhaust memory.
func inflateStream(r io.ReaderAt, off, size int64) ([]byte, error) {
	z, err := inflate(r, off)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Grow(int(min(size, InMemory)) + bytes.MinRead)
	n, err := io.Copy(&out, io.LimitReader(z, size+1))
	if err == nil && n != size {
		err = errInflatedSize(size)
	}
	return out.Bytes(), firstOf(err, z.Close())
}

func errInflatedSize(size int64) error {
	return fmt.Errorf("it inflates to another size than the %d bytes that its header says", size)
}

// unpacker reads one packed object after the other through one small buffer, and
// without making zlib's tables again: most objects take one read of the pack.
type unpacker struct {
	pack io.ReaderAt
	next int64 // offset in the pack of what comes into the buffer next
	buf  *bufio.Reader
	zlib io.ReadCloser // nil before the first use
}

// unpackBuffer is more than most objects take when they are deflated.
const unpackBuffer = 8 << 10

var unpackers = sync.Pool{New: func() any {
	u := new(unpacker)
	u.buf = bufio.NewReaderSize(u, unpackBuffer)
	return u
}}

// unpackerOf returns an unpacker of the pack; done gives it back.
func unpackerOf(pack io.ReaderAt) (u *unpacker, done func()) {
	u = unpackers.Get().(*unpacker)
	u.pack = pack
	return u, func() {
		u.pack = nil
		unpackers.Put(u)
	}
}

// Read fills the buffer.
func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.pack.ReadAt(p, u.next)
	u.next += int64(n)
	if n > 0 && err == io.EOF {
		err = nil // the next one says so
	}
	return n, err
}

// header decodes the header at off. The deflated data comes next.
func (u *unpacker) header(off int64) (packedHeader, error) {
	u.next = off
	u.buf.Reset(u)
	b, err := u.buf.Peek(maxPackedHeader)
	if len(b) == 0 {
		return packedHeader{}, fmt.Errorf("%w: %w", errBadHeader, err)
	}
	h, err := parsePackedHeader(b, off)
	if err == nil {
		_, err = u.buf.Discard(int(h.data - off))
	}
	return h, err
}

// inflate returns what is deflated after the header that was read last.
func (u *unpacker) inflate(h packedHeader) ([]byte, error) {
	if h.size > InMemory {
		return inflateStream(u.pack, h.data, h.size)
	}
	var err error
	if u.zlib == nil {
		u.zlib, err = zlib.NewReader(u.buf)
	} else {
		err = u.zlib.(zlib.Resetter).Reset(u.buf, nil)
	}
	if err != nil {
		u.zlib = nil
		return nil, err
	}
	out := make([]byte, h.size)
	n, _ := io.ReadFull(u.zlib, out)
	// The end comes with the check of zlib's own checksum. What has failed before
	// fails again.
	var more [1]byte
	switch extra, err := u.zlib.Read(more[:]); {
	case err != nil && err != io.EOF:
		return nil, err
	case n < len(out) || extra > 0:
		return nil, errInflatedSize(h.size)
	case err == nil:
		return nil, io.ErrNoProgress
	}
	return out, nil
}

// maxDeltaChain is git's own bound (pack.depth is at most 4095).
const maxDeltaChain = 4095

// resolve returns the object whose header h was read last, whole, through all its
// deltas. byID finds a base that the pack names by id.
func (u *unpacker) resolve(h packedHeader, byID func(plumbing.Hash) (*GitObject, error)) (plumbing.ObjectType, []byte, error) {
	var deltas [][]byte
	for {
		data, err := u.inflate(h)
		if err != nil {
			return 0, nil, err
		}
		kind := h.kind
		switch h.kind {
		case plumbing.OFSDeltaObject:
			if deltas = append(deltas, data); len(deltas) > maxDeltaChain {
				return 0, nil, errEndless
			}
			if h, err = u.header(h.baseAt); err != nil {
				return 0, nil, err
			}
			continue
		case plumbing.REFDeltaObject:
			deltas = append(deltas, data)
			base, err := byID(h.baseID)
			if err != nil {
				return 0, nil, fmt.Errorf("base of a delta: %w", err)
			}
			kind = base.Kind
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

var errEndless = errors.New("its chain of deltas does not end")
