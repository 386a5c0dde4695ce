//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package costindex

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock takes the index for this process, or returns a *BusyError at once. The
// kernel releases it when the process ends, however it ends.
func lock(dir string) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the cost index: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &BusyError{dir}
		}
		return nil, fmt.Errorf("locking the cost index: %w", err)
	}
	return f.Close, nil
}
