package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"hank/internal/failpoint"
)

// SyncVolume makes everything durable that was written so far, by whomever, on
// the file system that a directory is on: one call, whatever the number of files.
func SyncVolume(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil && !errors.Is(err, unix.ENOSYS) {
		return &os.PathError{Op: "syncfs", Path: dir, Err: err}
	}
	failpoint.Hit("volume.synced")
	return nil
}
