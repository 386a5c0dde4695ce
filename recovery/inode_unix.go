//go:build unix

package recovery

import (
	"fmt"
	"os"
	"syscall"
)

// inodeOf names the directory that a path leads to.
func inodeOf(path string) (string, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return inodeOfInfo(fi), nil
}

func inodeOfInfo(fi os.FileInfo) string {
	st := fi.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d", uint64(st.Dev), uint64(st.Ino))
}
