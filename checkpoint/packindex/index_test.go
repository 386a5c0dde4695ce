package packindex

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// Packs of more than 2 GB have offsets that do not fit in 31 bits: our own
// reader and go-git's find what was written.
func TestAnIndexHoldsOffsetsOf64Bits(t *testing.T) {
	t.Parallel()
	offsets := []int64{12, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32, 5 << 30, 1 << 40, 1<<62 + 3}
	var entries []Entry
	for i, off := range offsets {
		entries = append(entries, Entry{ID: sha1.Sum(fmt.Append(nil, i)), CRC: uint32(i), Offset: off})
	}
	want := map[string]Entry{}
	for _, e := range entries {
		want[e.ID.String()] = e
	}
	packSum := sha1.Sum([]byte("pack"))
	data := Encode(entries, packSum[:])
	x, err := Parse(data)
	if err != nil || !x.Intact() || x.Count != len(offsets) || !bytes.Equal(x.PackChecksum(), packSum[:]) {
		t.Fatalf("our own reader: %v, %d objects", err, x.Count)
	}
	theirs := idxfile.NewMemoryIndex()
	if err := idxfile.NewDecoder(bytes.NewReader(data)).Decode(theirs); err != nil {
		t.Fatal(err)
	}
	for _, e := range want {
		i, ok := x.Find(&e.ID)
		if !ok || x.Offset(i) != e.Offset {
			t.Errorf("offset %d is read as %d (%t)", e.Offset, x.Offset(i), ok)
		}
		if off, err := theirs.FindOffset(e.ID); err != nil || off != e.Offset {
			t.Errorf("go-git reads offset %d as %d, %v", e.Offset, off, err)
		}
		if crc, err := theirs.FindCRC32(e.ID); err != nil || crc != e.CRC {
			t.Errorf("go-git reads checksum %d as %d, %v", e.CRC, crc, err)
		}
	}
	for n := range data { // cut anywhere, it is refused or at least not intact
		if x, err := Parse(data[:n]); err == nil && x.Intact() {
			t.Fatalf("the first %d bytes pass for an index", n)
		}
	}
}
