//go:build unix

package restore

import (
	"errors"

	"golang.org/x/sys/unix"
)

// renames are the three ways in which a restore renames; tests have others.
type renames struct {
	// away renames to a name that is nobody's. It takes whatever is there at
	// that moment, which no rename by two calls does.
	away func(fromFd int, from string, toFd int, to string) error
	// in renames from a name that is nobody's to one that must not exist.
	in func(fromFd int, from string, toFd int, to string) error
	// swap lets two names change places.
	swap func(aFd int, a string, bFd int, b string) error
}

// linkIfAbsent is renameNew for file systems that have no such flag, as NFS: a
// hard link is never made over what exists. What is at from must be nobody
// else's. Where there are no hard links, a moment between look and rename stays.
func linkIfAbsent(fromFd int, from string, toFd int, to string) error {
	err := unix.Linkat(fromFd, from, toFd, to, 0)
	switch {
	case err == nil:
		if err = unix.Unlinkat(fromFd, from, 0); err != nil {
			err = errors.Join(err, unix.Unlinkat(toFd, to, 0))
		}
		return err
	case errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOENT):
		return err
	}
	there, err := lookAt(toFd, to)
	if err != nil {
		return err
	}
	if there.exists() {
		return unix.EEXIST
	}
	return unix.Renameat(fromFd, from, toFd, to)
}
