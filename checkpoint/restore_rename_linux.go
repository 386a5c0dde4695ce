package checkpoint

import (
	"errors"

	"golang.org/x/sys/unix"
)

// renameNew renames from to to, which must not exist.
func renameNew(fromFd int, from string, toFd int, to string) error {
	err := unix.Renameat2(fromFd, from, toFd, to, unix.RENAME_NOREPLACE)
	if isWithoutFlag(err) {
		return renameIfAbsent(fromFd, from, toFd, to)
	}
	return err
}

// swapNames lets two names change places, in one step. It is
// errors.ErrUnsupported where the file system cannot.
func swapNames(aFd int, a string, bFd int, b string) error {
	err := unix.Renameat2(aFd, a, bFd, b, unix.RENAME_EXCHANGE)
	if isWithoutFlag(err) {
		return errors.ErrUnsupported
	}
	return err
}

func isWithoutFlag(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP)
}
