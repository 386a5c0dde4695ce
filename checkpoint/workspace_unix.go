//go:build unix

package checkpoint

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// dirFlags open a directory, and nothing else, without following a symlink.
const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openRoot opens the root of a workspace. O_DIRECTORY keeps a FIFO at path
// from blocking the open.
func openRoot(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
}

// retryInterrupted calls f until it is not interrupted by a signal: Go's
// runtime interrupts system calls to preempt goroutines.
func retryInterrupted[T any](f func() (T, error)) (T, error) {
	for {
		v, err := f()
		if !errors.Is(err, unix.EINTR) {
			return v, err
		}
	}
}

// openDirAt opens the directory name in the directory dirfd; name is one
// component. A symlink in its place is ELOOP or ENOTDIR, as the system says.
func openDirAt(dirfd int, name string) (int, error) {
	return retryInterrupted(func() (int, error) { return unix.Openat(dirfd, name, dirFlags, 0) })
}

// openBeneath opens the directory at the slash-separated path rel below
// dirfd, following no symlink in any component; "" or "." opens dirfd anew.
func openBeneath(dirfd int, rel string) (int, error) {
	if rel == "" || rel == "." {
		return openDirAt(dirfd, ".")
	}
	if fd, err, ok := openResolved(dirfd, rel); ok {
		return fd, err
	}
	return openByComponent(dirfd, rel)
}

// openByComponent is openBeneath for systems without openat2, and for paths
// that are longer than the system takes in one call.
func openByComponent(dirfd int, rel string) (int, error) {
	at, owned := dirfd, false
	for name := range strings.SplitSeq(rel, "/") {
		if name == "" || name == "." || name == ".." {
			if owned {
				unix.Close(at)
			}
			return -1, unix.EINVAL
		}
		next, err := openDirAt(at, name)
		if owned {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at, owned = next, true
	}
	return at, nil
}

// lstatAt is fstatat without following a symlink; name is one component.
func lstatAt(dirfd int, name string, st *unix.Stat_t) error {
	_, err := retryInterrupted(func() (struct{}, error) {
		return struct{}{}, unix.Fstatat(dirfd, name, st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return err
}

// openFileAt opens the regular file name in dirfd for reading, following no
// symlink and not waiting for a writer if a FIFO has taken its place: check
// the type with fstat before reading.
func openFileAt(dirfd int, name string) (int, error) {
	return retryInterrupted(func() (int, error) {
		return unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
}

// readLinkAt returns the target of the symlink name in dirfd, whole.
func readLinkAt(dirfd int, name string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := retryInterrupted(func() (int, error) { return unix.Readlinkat(dirfd, name, buf) })
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}
