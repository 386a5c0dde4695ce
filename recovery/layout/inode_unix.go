//go:build unix

package layout

import (
	"fmt"
	"os"
	"syscall"
)

// InodeOf names the directory that a path leads to.
func InodeOf(path string) (string, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return inodeOfInfo(fi), nil
}

// DirOf is what a directory is, without its path.
func DirOf(fi os.FileInfo) DirID {
	st := fi.Sys().(*syscall.Stat_t)
	return DirID{Device: uint64(st.Dev), Inode: uint64(st.Ino), Owner: st.Uid}
}

func inodeOfInfo(fi os.FileInfo) string {
	st := fi.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d", uint64(st.Dev), uint64(st.Ino))
}
