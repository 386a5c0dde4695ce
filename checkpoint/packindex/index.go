package packindex

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"slices"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
)

// Index is a version 2 pack index as gitformat-pack(5) has it: a header of
// 8 bytes, 256 cumulative counts, then the sorted ids, the CRC-32 of each
// packed object, its offset (with the top bit set: a row of the table of
// 64-bit offsets that follows), and the checksums of pack and index.
type Index struct {
	data  []byte
	Count int
}

const (
	// HashSize is how many bytes an object's id has, and the checksum of a pack.
	HashSize = sha1.Size
	header   = 8 + 256*4
	// bigOffset marks an offset that does not fit in 31 bits.
	bigOffset = 1 << 31
)

var magic = []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}

// Parse checks the shape of an index, not its checksum: see Intact.
func Parse(data []byte) (Index, error) {
	if len(data) < header+2*HashSize || !bytes.Equal(data[:8], magic) {
		return Index{}, errors.New("not a pack index of version 2")
	}
	x := Index{data: data}
	for i := 1; i < 256; i++ {
		if x.fanout(i) < x.fanout(i-1) {
			return Index{}, errors.New("its counts do not ascend")
		}
	}
	x.Count = x.fanout(255)
	least := header + x.Count*(HashSize+8) + 2*HashSize
	if len(data) < least || (len(data)-least)%8 != 0 || len(data)-least > x.Count*8 {
		return Index{}, errors.New("its size does not fit its count of objects")
	}
	return x, nil
}

func (x Index) fanout(i int) int {
	return int(binary.BigEndian.Uint32(x.data[8+4*i:]))
}

// ID returns the i-th id in order.
func (x Index) ID(i int) []byte {
	at := header + i*HashSize
	return x.data[at : at+HashSize]
}

// Offset returns where the i-th object is in the pack, or -1 if the index is damaged.
func (x Index) Offset(i int) int64 {
	offsets := header + x.Count*(HashSize+4)
	off := binary.BigEndian.Uint32(x.data[offsets+4*i:])
	if off&bigOffset == 0 {
		return int64(off)
	}
	at := offsets + 4*x.Count + 8*int(off&^bigOffset)
	if at+8 > len(x.data)-2*HashSize {
		return -1
	}
	return int64(binary.BigEndian.Uint64(x.data[at:]))
}

// CRC returns the checksum of the i-th object as it is in the pack.
func (x Index) CRC(i int) uint32 {
	return binary.BigEndian.Uint32(x.data[header+x.Count*HashSize+4*i:])
}

// Find returns the rank of id, if it is there.
func (x Index) Find(id *plumbing.Hash) (int, bool) {
	lo, hi := 0, x.fanout(int(id[0]))
	if id[0] > 0 {
		lo = x.fanout(int(id[0]) - 1)
	}
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch c := bytes.Compare(x.ID(mid), id[:]); {
		case c == 0:
			return mid, true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return 0, false
}

// From calls f for each id from first on, until f says no.
func (x Index) From(first plumbing.Hash, f func(plumbing.Hash) bool) {
	i := sort.Search(x.Count, func(i int) bool { return bytes.Compare(x.ID(i), first[:]) >= 0 })
	for ; i < x.Count && f(plumbing.Hash(x.ID(i))); i++ {
	}
}

// Bytes are the content of the file.
func (x Index) Bytes() []byte { return x.data }

// PackChecksum is the checksum of the pack that the index was made for.
func (x Index) PackChecksum() []byte {
	return x.data[len(x.data)-2*HashSize : len(x.data)-HashSize]
}

// Intact reports whether the index's own checksum is right.
func (x Index) Intact() bool {
	body := x.data[:len(x.data)-HashSize]
	sum := sha1.Sum(body)
	return bytes.Equal(sum[:], x.data[len(body):])
}

// Entry is one object of a pack.
type Entry struct {
	ID     plumbing.Hash
	CRC    uint32 // of its packed form
	Offset int64
}

// Size is how many bytes the index of n objects takes, at least.
func Size(n int) int64 { return int64(header + n*(HashSize+8) + 2*HashSize) }

// Encode returns the index of a pack with these objects; it sorts entries.
func Encode(entries []Entry, packSum []byte) []byte {
	slices.SortFunc(entries, func(a, b Entry) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	out := make([]byte, 0, Size(len(entries)))
	out = append(out, magic...)
	upTo := 0
	for first := range 256 {
		for upTo < len(entries) && int(entries[upTo].ID[0]) <= first {
			upTo++
		}
		out = binary.BigEndian.AppendUint32(out, uint32(upTo))
	}
	for i := range entries {
		out = append(out, entries[i].ID[:]...)
	}
	for i := range entries {
		out = binary.BigEndian.AppendUint32(out, entries[i].CRC)
	}
	var big []int64
	for i := range entries {
		if off := entries[i].Offset; off < bigOffset {
			out = binary.BigEndian.AppendUint32(out, uint32(off))
		} else {
			out = binary.BigEndian.AppendUint32(out, bigOffset|uint32(len(big)))
			big = append(big, off)
		}
	}
	for _, off := range big {
		out = binary.BigEndian.AppendUint64(out, uint64(off))
	}
	out = append(out, packSum...)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}
