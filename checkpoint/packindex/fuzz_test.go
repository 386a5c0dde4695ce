package packindex

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// FuzzIndex: an index that is taken can be searched without a fault, and
// what has a right checksum and is in order gives what go-git finds in it.
func FuzzIndex(f *testing.F) {
	var entries []Entry
	for i := range 5 {
		entries = append(entries, Entry{ID: sha1.Sum([]byte{byte(i)}), CRC: uint32(i), Offset: int64(i) << (10 * i)})
	}
	sum := sha1.Sum(nil)
	whole := Encode(entries, sum[:])
	f.Add(whole[:len(whole)-HashSize])
	f.Add(Encode(nil, sum[:])[:header+HashSize])
	f.Fuzz(func(t *testing.T, body []byte) {
		own := sha1.Sum(body)
		data := append(bytes.Clone(body), own[:]...)
		x, err := Parse(data)
		if err != nil {
			return
		}
		if x.Count > len(data)/28 {
			t.Fatalf("%d objects in %d bytes", x.Count, len(data))
		}
		if !x.Intact() {
			t.Fatal("its own checksum is right and not believed")
		}
		ordered := true
		for i := range x.Count {
			id := plumbing.Hash(x.ID(i))
			ordered = ordered && (i == 0 || bytes.Compare(x.ID(i-1), x.ID(i)) < 0)
			if off := x.Offset(i); off < -1 && off != int64(binary.BigEndian.Uint64(binary.BigEndian.AppendUint64(nil, uint64(off)))) {
				t.Fatalf("offset %d", off)
			}
			if at, ok := x.Find(&id); ok && plumbing.Hash(x.ID(at)) != id {
				t.Fatal("found something else")
			}
		}
		theirs := idxfile.NewMemoryIndex()
		if !ordered || idxfile.NewDecoder(bytes.NewReader(data)).Decode(theirs) != nil {
			return
		}
		for i := range x.Count {
			id := plumbing.Hash(x.ID(i))
			want, theirErr := theirs.FindOffset(id)
			at, ok := x.Find(&id)
			if theirErr == nil && (!ok || x.Offset(at) != want) {
				t.Fatalf("%s: go-git finds %d, we %v %d", id, want, ok, x.Offset(i))
			}
		}
	})
}
