package worktree

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Openat2Missing is set once the kernel (before 5.6) or a seccomp filter has
// refused openat2.
var Openat2Missing atomic.Bool

// openResolved opens the directory rel in one system call that refuses
// symlinks in every component and any way out of dirfd. ok is false if the
// path has to be opened by component instead.
func openResolved(dirfd int, rel string) (fd int, err error, ok bool) {
	if Openat2Missing.Load() {
		return -1, nil, false
	}
	how := unix.OpenHow{
		Flags:   dirFlags,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err = RetryInterrupted(func() (int, error) { return unix.Openat2(dirfd, rel, &how) })
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		Openat2Missing.Store(true)
		return -1, nil, false
	case errors.Is(err, unix.ENAMETOOLONG), errors.Is(err, unix.EAGAIN):
		// Too long for one call, or a rename elsewhere kept the kernel from
		// proving that the path stays beneath.
		return -1, nil, false
	}
	return fd, err, true
}
