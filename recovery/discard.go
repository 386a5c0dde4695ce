package recovery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/recovery/lock"
)

// discarded is what hank's directory in an execution is called while the execution
// is deleted: from then on there is none.
const discarded = layout.Dir + "-discarded"

// Discard deletes an execution with its workspace, unless that is a directory of
// the person's own (--workspace):
//
//  1. It is locked. Somebody holds it: *HeldError.
//  2. refuse looks at it once more, under the lock; what it returns is why the
//     execution must stay: *HeldError.
//  3. Hank's directory is renamed: there is no execution any more, and whoever
//     comes next finishes what a crash has interrupted.
//  4. The archive, the workspace and hank's directory are deleted, and the root if
//     nothing else is in it.
func Discard(root string, refuse func(*View) (why string)) error {
	if Discarding(root) {
		return finishDiscard(root, nil)
	}
	l := layout.LayoutOf(root)
	k, err := lock.Acquire(vfs.OS, l, "hank gc", "", time.Now(), nil)
	if err != nil {
		return err
	}
	v, err := Read(root)
	if err == nil {
		if why := refuse(v); why != "" {
			err = &lock.HeldError{Path: root, Why: why}
		}
	}
	if err != nil {
		return errors.Join(err, k.Release())
	}
	if l.Workspace != layout.DefaultWorkspace(root) {
		err = vfs.ReplaceFile(vfs.OS, l.Hank("keep-workspace"), nil, 0o600, vfs.Durable)
	}
	if err == nil {
		err = os.Rename(l.Hankweave(), filepath.Join(root, discarded))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("deleting the execution %s: %w", root, err), k.Release())
	}
	return finishDiscard(root, k)
}

// Discarding reports whether a Discard was interrupted.
func Discarding(root string) bool {
	_, err := os.Lstat(filepath.Join(root, discarded))
	return err == nil && !layout.Exists(root)
}

func finishDiscard(root string, k *lock.Lock) error {
	aside := filepath.Join(root, discarded)
	all := append(layout.ResetFiles(root), filepath.Join(root, layout.ArchiveName))
	if _, err := os.Lstat(filepath.Join(aside, "keep-workspace")); err != nil {
		all = append(all, layout.DefaultWorkspace(root))
	}
	var errs []error
	for _, path := range all {
		errs = append(errs, os.RemoveAll(path))
	}
	if k != nil {
		errs = append(errs, k.Release())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("deleting the execution %s: %w", root, err)
	}
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	_ = os.Remove(root) // it stays if the user has something there
	return nil
}
