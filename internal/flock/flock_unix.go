//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package flock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Exclusive takes the lock of an open file or directory without waiting. It
// returns ErrHeld if another opening of it has the lock, shared or not.
func Exclusive(f *os.File) error { return lock(f, unix.LOCK_EX) }

// Shared takes a lock that others can share, without waiting. It returns
// ErrHeld while somebody has the exclusive one.
func Shared(f *os.File) error { return lock(f, unix.LOCK_SH) }

func lock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrHeld
		default:
			return err
		}
	}
}

// OpenDir opens a directory. What is none is refused: to open a FIFO would
// wait for its other end.
func OpenDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
}

// Close gives the lock back, and closes the file. To close alone is not
// enough: a process that is being started has a copy of the descriptor, and
// with it the lock, until it executes its program.
func Close(f *os.File) error {
	return errors.Join(os.NewSyscallError("flock", unix.Flock(int(f.Fd()), unix.LOCK_UN)), f.Close())
}
