//go:build unix

package layout

import (
	"io/fs"
	"syscall"
)

// IsDeleted reports whether an open directory has been removed: no name leads to it.
func IsDeleted(dir fs.FileInfo) bool {
	st, ok := dir.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
