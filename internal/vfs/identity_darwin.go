package vfs

import (
	"io/fs"
	"syscall"
)

func identityOf(fi fs.FileInfo) (Identity, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}, false
	}
	return Identity{uint64(st.Dev), st.Ino, st.Size, st.Mtimespec.Nano(), st.Ctimespec.Nano()}, true
}
