package restore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// syncFile is for systems without syncfs; here one sync at the end does it.
func syncFile(int) error { return nil }

// sync makes everything durable that was written so far.
func (a *applier) sync() error {
	if err := a.syncVolumes(); err != nil {
		return err
	}
	failpoint.Hit("restore.synced")
	return nil
}

// Sync makes everything durable that was written to the file system of the
// workspace's root.
func Sync(w *worktree.Workspace) error {
	if err := unix.Syncfs(w.Fd()); err != nil && !errors.Is(err, unix.ENOSYS) {
		return os.NewSyscallError("syncfs", err)
	}
	return nil
}

// syncVolumes does one syncfs for each file system that the restore touches.
func (a *applier) syncVolumes() error {
	byDevice := map[uint64]string{}
	for dir, s := range a.existing {
		if _, ok := byDevice[s.dev]; !ok || dir == "" {
			byDevice[s.dev] = dir
		}
	}
	for _, dir := range byDevice {
		fd, err := worktree.OpenBeneath(a.root(), dir)
		if isMissing(err) {
			fd, err = worktree.OpenBeneath(a.root(), "") // removed; what it stood on is the root's or empty
		}
		if err != nil {
			return &os.PathError{Op: "open directory", Path: dir, Err: err}
		}
		err = unix.Syncfs(fd)
		unix.Close(fd)
		if err != nil && !errors.Is(err, unix.ENOSYS) {
			return os.NewSyscallError("syncfs", err)
		}
	}
	return nil
}
