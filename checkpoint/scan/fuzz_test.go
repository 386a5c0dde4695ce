package scan

import (
	"bytes"
	"crypto/sha256"
	"reflect"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// sealed puts the right SHA-256 behind a text, which no fuzzer finds by itself.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sum[:]...)
}

// FuzzDecodeCache: what is read as a stat cache says the same when it is written
// again, and is no larger than the file by more than a factor.
func FuzzDecodeCache(f *testing.F) {
	sub := newCachedDir(1, []cachedEntry{{Name: "f", Blob: plumbing.NewHash("aa"), Flags: entryTaken}})
	data, err := (&statCache{Root: newCachedDir(1, []cachedEntry{{Name: "d", Sub: sub}})}).encode(cacheHeader{Boot: "b"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[:len(data)-sha256.Size])
	f.Fuzz(func(t *testing.T, body []byte) {
		c, h, err := decodeCache(sealed(body))
		if err != nil {
			return
		}
		again, err := c.encode(h)
		if err != nil {
			t.Fatal(err)
		}
		back, h2, err := decodeCache(again)
		if err != nil || !reflect.DeepEqual(back, c) || !reflect.DeepEqual(h2, h) {
			t.Fatalf("it came back as something else: %v\n%+v\n%+v", err, h, h2)
		}
	})
}
