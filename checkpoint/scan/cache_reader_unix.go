//go:build unix

package scan

import (
	"golang.org/x/sys/unix"

	"hank/checkpoint/packdb"
)

// trusts reports whether a file is as it was when it was read.
func (d *CachedDir) trusts(e *cachedEntry, st *unix.Stat_t) bool {
	return e.Sub == nil && e.Flags&EntryUnsure == 0 && d.device == uint64(st.Dev) && e.stat == fingerprintOf(st)
}

// Content returns the id of what a file or link in the directory holds, "" if
// that is not known.
func (d *CachedDir) Content(name string, st *unix.Stat_t) packdb.SHA {
	if i := d.find([]byte(name)); i >= 0 && d.trusts(&d.Entries[i], st) {
		return packdb.SHA(d.Entries[i].Blob.String())
	}
	return ""
}
