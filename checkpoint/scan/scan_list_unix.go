//go:build unix

package scan

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

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

// lists reports whether the directory of which fstat says st has the names that it
// had when it was listed. What is made, removed or renamed there moves its change
// time, which no program can set back; its size is that of its own blocks.
func (d *CachedDir) lists(st *unix.Stat_t) bool {
	return d != nil && !d.listed.zero() && d.device == uint64(st.Dev) && d.listed == fingerprintOf(st)
}

// fill makes the listing from what the cache has of a directory: its entries, then
// the other names.
func (l *listing) fill(d *CachedDir) {
	size := 0
	for i := range d.Entries {
		size += len(d.Entries[i].Name) + 1
	}
	for i := range d.Others {
		size += len(d.Others[i].name) + 1
	}
	if size > len(l.buf) {
		l.buf = make([]byte, size)
	}
	l.names = l.names[:0]
	buf := l.buf
	add := func(name string, dir bool) {
		n := copy(buf, name)
		buf[n] = 0
		kind := kindUnknown
		if dir {
			kind = kindDir
		}
		l.names = append(l.names, listed{buf[: n : n+1], kind})
		buf = buf[n+1:]
	}
	for i := range d.Entries {
		add(d.Entries[i].Name, d.Entries[i].Sub != nil)
	}
	for i := range d.Others {
		add(d.Others[i].name, d.Others[i].dir)
	}
}

// isWholeSecond reports whether a time may come from a file system that knows whole
// seconds only, where a clock that is set back by a little gives it once more.
func isWholeSecond(nanoseconds int64) bool { return nanoseconds%int64(time.Second) == 0 }

var listings = sync.Pool{New: func() any { return &listing{buf: make([]byte, 32<<10)} }}
