package vfs

import (
	"errors"
	"io"
	"os"
)

// SameFile reports whether two paths lead to one file or directory.
func SameFile(a, b string) bool {
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}

// SameBytes reports whether two streams have the same content.
func SameBytes(a, b io.Reader) (bool, error) {
	var bufA, bufB [64 << 10]byte
	for {
		na, errA := io.ReadFull(a, bufA[:])
		nb, errB := io.ReadFull(b, bufB[:])
		if string(bufA[:na]) != string(bufB[:nb]) {
			return false, nil
		}
		endA := errors.Is(errA, io.EOF) || errors.Is(errA, io.ErrUnexpectedEOF)
		endB := errors.Is(errB, io.EOF) || errors.Is(errB, io.ErrUnexpectedEOF)
		switch {
		case endA && endB:
			return true, nil
		case endA != endB:
			return false, nil
		case errA != nil || errB != nil:
			return false, errors.Join(errA, errB)
		}
	}
}
