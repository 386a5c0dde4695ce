package scan

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"hank/checkpoint/worktree"
)

// statAt is fstatat of a listed name, not following a symlink. It is called
// for every file of the workspace: package unix would copy each name.
func statAt(dirfd int, name listed, st *unix.Stat_t) error {
	if sysFstatat == 0 {
		return worktree.LstatAt(dirfd, string(name.bytes), st)
	}
	for {
		_, _, errno := syscall.Syscall6(sysFstatat, uintptr(dirfd), uintptr(unsafe.Pointer(&name.bytes[0])),
			uintptr(unsafe.Pointer(st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return errno
		}
	}
}
