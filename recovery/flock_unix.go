//go:build unix

package recovery

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// onlyFolder keeps an open from waiting for the other end of a FIFO.
const onlyFolder = unix.O_DIRECTORY

// flock takes an exclusive lock on an open folder without waiting.
func flock(dir *os.File) error { return lockFolder(dir, unix.LOCK_EX) }

// flockShared takes a shared one: it fails while somebody has the exclusive
// one. Closing the folder gives it back.
func flockShared(dir *os.File) error { return lockFolder(dir, unix.LOCK_SH) }

func lockFolder(dir *os.File, how int) error {
	for {
		err := unix.Flock(int(dir.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		default:
			return err
		}
	}
}
