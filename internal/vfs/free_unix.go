//go:build linux || darwin

package vfs

import "golang.org/x/sys/unix"

// Free tells how many bytes an ordinary user may still write to the disk of
// a directory, and how many it has.
func Free(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), nil
}
