//go:build unix && !linux

package scan

import (
	"os"

	"golang.org/x/sys/unix"

	"hank/checkpoint/worktree"
)

// read lists the directory fd.
func (l *listing) read(fd int) error {
	own, err := worktree.OpenDirAt(fd, ".")
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(own), "directory")
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	l.names = l.names[:0]
	for _, name := range names {
		b := append([]byte(name), 0)
		l.names = append(l.names, listed{bytes: b[:len(name)]})
	}
	return err
}

// statAt is fstatat of a listed name, not following a symlink.
func statAt(dirfd int, name listed, st *unix.Stat_t) error {
	return worktree.LstatAt(dirfd, string(name.bytes), st)
}
