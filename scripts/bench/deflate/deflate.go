// Package deflate tells the benchmarks what is left of content that is deflated, and does
// the work of it.
//
// It reads what it is given, writes nothing and measures no time.
package deflate

import (
	"bufio"
	stdzlib "compress/zlib"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zlib"
)

// Sizes are the sums of deflated objects by their type.
type Sizes struct{ Blobs, Trees, Commits int64 }

// All is the sum of all.
func (s Sizes) All() int64 { return s.Blobs + s.Trees + s.Commits }

// Objects deflates each object that git cat-file --batch prints, as type and size and then
// its content, at hank's level and at git's.
func Objects(in *bufio.Reader) (own, git Sizes, objects int, err error) {
	var n counter
	ours, err := zlib.NewWriterLevel(&n, zlib.BestSpeed)
	if err != nil {
		return own, git, 0, err
	}
	theirs := stdzlib.NewWriter(&n)
	for {
		var kind string
		var size int64
		if _, err := fmt.Fscanf(in, "%s %d\n", &kind, &size); errors.Is(err, io.EOF) {
			return own, git, objects, nil
		} else if err != nil {
			return own, git, objects, fmt.Errorf("git cat-file: %w", err)
		}
		data := make([]byte, size+1) // and the newline behind it
		if _, err := io.ReadFull(in, data); err != nil {
			return own, git, objects, fmt.Errorf("git cat-file: %w", err)
		}
		objects++
		for _, by := range []struct {
			z interface {
				io.WriteCloser
				Reset(io.Writer)
			}
			to *Sizes
		}{{ours, &own}, {theirs, &git}} {
			n = 0
			by.z.Reset(&n)
			if _, err := by.z.Write(data[:size]); err != nil {
				return own, git, objects, err
			}
			if err := by.z.Close(); err != nil {
				return own, git, objects, err
			}
			by.to.add(kind, int64(n))
		}
	}
}

func (s *Sizes) add(kind string, n int64) {
	switch kind {
	case "blob":
		s.Blobs += n
	case "tree":
		s.Trees += n
	default:
		s.Commits += n
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// Files reads, hashes and deflates the files of a channel at hank's level, and keeps nothing.
// It takes all of them, whatever happens.
func Files(names <-chan string) (err error) {
	var n counter
	z, zerr := zlib.NewWriterLevel(&n, zlib.BestSpeed)
	if zerr != nil {
		return zerr
	}
	hash := sha1.New()
	for name := range names {
		data, rerr := os.ReadFile(name)
		hash.Reset()
		fmt.Fprintf(hash, "blob %d\x00", len(data))
		hash.Write(data)
		z.Reset(&n)
		_, werr := z.Write(data)
		err = errors.Join(err, rerr, werr, z.Close())
		n += counter(len(hash.Sum(nil)))
	}
	return err
}
