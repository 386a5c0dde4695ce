//go:build unix

package scan

import (
	"os"
	"syscall"
)

// volume is what a scan knows of a file system that it comes across.
type volume struct {
	device uint64
	young  int64 // changes from this time (ns) on are too young to be trusted
	// unseen: what is written through a shared mapping never shows in a file's
	// times, so that every file is read each time.
	unseen bool
	// dated: each name that comes or goes moves the times of its directory, at once
	// and for every process.
	dated bool
}

// volumeOf looks at the file system that an open directory is on.
func (c *scan) volumeOf(fd int, device uint64) *volume {
	v := &volume{device: device, young: c.stamp.youngest(device)}
	v.unseen, v.dated = habits(fd)
	return v
}

// deviceOf returns the file system that a file is on.
func deviceOf(fi os.FileInfo) (uint64, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Dev), true
}
