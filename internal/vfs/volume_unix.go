//go:build unix && !linux

package vfs

import (
	"os"

	"golang.org/x/sys/unix"

	"hank/internal/failpoint"
)

// SyncVolume asks the system to write out what it has, on all file systems: there
// is no call for one, nor for waiting until it is done.
func SyncVolume(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	if err := unix.Sync(); err != nil {
		return err
	}
	failpoint.Hit("volume.synced")
	return nil
}
