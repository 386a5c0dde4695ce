//go:build unix

package checkpoint

import "sync"

// listing is what a directory holds, with the scratch memory of the scan that
// asked for it.
type listing struct {
	buf     []byte
	names   []listed
	entries []cachedEntry
	known   []int32
}

// listed is a name in a directory. A NUL byte follows the bytes in memory,
// as system calls want it.
type listed struct {
	bytes []byte
	kind  listedKind
}

// listedKind is what the directory itself says of a name.
type listedKind uint8

const (
	kindUnknown listedKind = iota // lstat tells
	kindDir
)

var listings = sync.Pool{New: func() any { return &listing{buf: make([]byte, 32<<10)} }}
