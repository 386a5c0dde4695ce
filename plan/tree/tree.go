// Package tree reads the files of a hank: from its directory, or from where its frozen copy is.
// Paths are slash-separated and clean, relative to the directory of the hank.
package tree

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// Source is where the files of a hank come from.
type Source interface {
	// Stat does not follow a symbolic link in the last component.
	Stat(path string) (fs.FileInfo, error)
	Open(path string) (io.ReadCloser, error)
	List(path string) ([]fs.DirEntry, error)
	// Digest is the SHA-256 of a file.
	Digest(path string) (string, error)
}

// LargestFile is the size in bytes of the largest file that is read at all.
const LargestFile = 64 << 20

// ReadAll opens a file that Stat called regular, looks again at what was
// opened, and reads it.
func ReadAll(s Source, name string) ([]byte, error) {
	r, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var b bytes.Buffer
	if f, ok := r.(fs.File); ok {
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return nil, cmp.Or(err, errors.New("is not a regular file any more"))
		}
		b.Grow(int(min(info.Size(), LargestFile)) + bytes.MinRead)
	}
	if n, err := io.Copy(&b, io.LimitReader(r, LargestFile+1)); err != nil || n > LargestFile {
		return nil, cmp.Or(err, fmt.Errorf("has more than %d bytes", LargestFile))
	}
	return b.Bytes(), nil
}

// Live is the directory of a hank.
type Live struct{ Dir fs.FS }

// Stat looks at a file or directory.
func (l Live) Stat(name string) (fs.FileInfo, error) { return fs.Lstat(l.Dir, name) }

// List has the entries of a directory.
func (l Live) List(name string) ([]fs.DirEntry, error) { return fs.ReadDir(l.Dir, name) }

// Open opens a file.
func (l Live) Open(name string) (io.ReadCloser, error) { return l.Dir.Open(path.Clean(name)) }

// Digest reads a file for its digest.
func (l Live) Digest(name string) (string, error) {
	r, err := l.Open(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// DigestOf is the SHA-256 of a content, as it is written everywhere.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
