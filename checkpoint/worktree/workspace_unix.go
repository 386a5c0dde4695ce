//go:build unix

package worktree

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

// RetryInterrupted calls f until it is not interrupted by a signal: Go's
// runtime interrupts system calls to preempt goroutines.
func RetryInterrupted[T any](f func() (T, error)) (T, error) {
	for {
		v, err := f()
		if !errors.Is(err, unix.EINTR) {
			return v, err
		}
	}
}

// OpenDirAt opens the directory name in the directory dirfd; name is one
// component. A symlink in its place is ELOOP or ENOTDIR, as the system says.
func OpenDirAt(dirfd int, name string) (int, error) {
	return RetryInterrupted(func() (int, error) { return unix.Openat(dirfd, name, dirFlags, 0) })
}

// OpenBeneath opens the directory at the slash-separated path rel below
// dirfd, following no symlink in any component; "" or "." opens dirfd again.
func OpenBeneath(dirfd int, rel string) (int, error) {
	if rel == "" || rel == "." {
		return OpenDirAt(dirfd, ".")
	}
	if fd, err, ok := openResolved(dirfd, rel); ok {
		return fd, err
	}
	return OpenByComponent(dirfd, rel)
}

// OpenByComponent is OpenBeneath for systems without openat2, and for paths
// that are longer than the system takes in one call.
func OpenByComponent(dirfd int, rel string) (int, error) {
	at, owned := dirfd, false
	for name := range strings.SplitSeq(rel, "/") {
		if name == "" || name == "." || name == ".." {
			if owned {
				unix.Close(at)
			}
			return -1, unix.EINVAL
		}
		next, err := OpenDirAt(at, name)
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

// LstatAt is fstatat without following a symlink; name is one component.
func LstatAt(dirfd int, name string, st *unix.Stat_t) error {
	_, err := RetryInterrupted(func() (struct{}, error) {
		return struct{}{}, unix.Fstatat(dirfd, name, st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return err
}

// OpenFileAt opens the regular file name in dirfd for reading, following no
// symlink and not waiting for a writer if a FIFO has taken its place: check
// the type with fstat before reading.
func OpenFileAt(dirfd int, name string) (int, error) {
	return RetryInterrupted(func() (int, error) {
		return unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
}

// ReadLinkAt returns the target of the symlink name in dirfd, whole.
func ReadLinkAt(dirfd int, name string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := RetryInterrupted(func() (int, error) { return unix.Readlinkat(dirfd, name, buf) })
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}
