//go:build unix

package recovery

import (
	"io/fs"
	"syscall"
)

// isDeleted tells whether an open folder has been removed: no name leads to it.
func isDeleted(folder fs.FileInfo) bool {
	st, ok := folder.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
