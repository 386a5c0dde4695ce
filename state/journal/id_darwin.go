package journal

import (
	"io/fs"
	"syscall"
)

func idOf(fi fs.FileInfo) (fileID, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), st.Ino, st.Size, st.Mtimespec.Nano(), st.Ctimespec.Nano()}, true
}
