//go:build unix

package checkpoint

import "golang.org/x/sys/unix"

// trusts tells whether a file is as it was when it was read.
func (d *cachedDir) trusts(e *cachedEntry, st *unix.Stat_t) bool {
	return e.sub == nil && e.flags&entryUnsure == 0 && d.device == uint64(st.Dev) && e.stat == fingerprintOf(st)
}

// content returns the id of what a file or link in the directory holds, "" if
// that is not known.
func (d *cachedDir) content(name string, st *unix.Stat_t) SHA {
	if i := d.find([]byte(name)); i >= 0 && d.trusts(&d.entries[i], st) {
		return SHA(d.entries[i].blob.String())
	}
	return ""
}
