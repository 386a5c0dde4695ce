package lock

import (
	"os"

	"golang.org/x/sys/unix"
)

// FlockTrusted reports whether the directory is on a local file system.
func FlockTrusted(dir *os.File) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		return false
	}
	return st.Flags&unix.MNT_LOCAL != 0
}
