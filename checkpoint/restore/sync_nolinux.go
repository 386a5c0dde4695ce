//go:build unix && !linux

package restore

import (
	"os"

	"golang.org/x/sys/unix"

	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// syncFile hands a new file's content to the drive.
func syncFile(fd int) error { return os.NewSyscallError("fsync", unix.Fsync(fd)) }

// Sync makes the drive keep what was handed to it.
func Sync(w *worktree.Workspace) error { return w.Root.Sync() }

// syncVolumes has nothing to do: each new file was handed to the drive.
func (a *applier) syncVolumes() error { return nil }

// sync makes everything durable that was written so far: each directory's
// fsync hands its entries to the drive, the last one makes the drive keep all.
func (a *applier) sync() error {
	for dir := range a.dirsToSync() {
		fd, err := worktree.OpenBeneath(a.root(), dir)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "open directory", Path: dir, Err: err}
		}
		err = unix.Fsync(fd)
		unix.Close(fd)
		if err != nil {
			return &os.PathError{Op: "sync directory", Path: dir, Err: err}
		}
	}
	if err := a.req.Workspace.Root.Sync(); err != nil { // F_FULLFSYNC on macOS
		return err
	}
	failpoint.Hit("restore.synced")
	return nil
}

// dirsToSync returns the directories whose entries change.
func (a *applier) dirsToSync() map[string]bool {
	dirs := map[string]bool{}
	for dir := range a.existing {
		dirs[dir] = true
	}
	for i := range a.steps {
		for dir := a.steps[i].dir; dir != "" && !dirs[dir]; dir = worktree.Parent(dir) {
			dirs[dir] = true
		}
	}
	return dirs
}
