package restore

import (
	"errors"

	"golang.org/x/sys/unix"
)

// renameNew renames from to to, which must not exist.
func renameNew(fromFd int, from string, toFd int, to string) error {
	err := unix.RenameatxNp(fromFd, from, toFd, to, unix.RENAME_EXCL)
	if errors.Is(err, unix.ENOTSUP) {
		return linkIfAbsent(fromFd, from, toFd, to)
	}
	return err
}

// swapNames lets two names change places, in one step.
func swapNames(aFd int, a string, bFd int, b string) error {
	return unix.RenameatxNp(aFd, a, bFd, b, unix.RENAME_SWAP)
}
