package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"hank/checkpoint"
	"hank/checkpoint/worktree"
	"hank/internal/vfs"
)

// ownDirs are those that hank writes to.
func (l Layout) ownDirs() []string {
	return []string{l.Events(), l.Runs(), l.Index(), filepath.Dir(l.Store()), l.Quarantine()}
}

// MakeOwnDirs makes the directories that hank writes to.
func MakeOwnDirs(fsys vfs.FS, l Layout) error {
	for _, dir := range l.ownDirs() {
		if err := vfs.MkdirAll(fsys, dir, 0o700); err != nil {
			return err
		}
	}
	if _, err := fsys.Lstat(l.Hank(".gitignore")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return vfs.ReplaceFile(fsys, l.Hank(".gitignore"), []byte("*\n"), 0o600, vfs.Durable)
}

// OpenWorkspace opens the agents' directory. The execution's own directories are no part
// of it, wherever it lies.
func (l Layout) OpenWorkspace() (*checkpoint.Workspace, error) {
	w, err := worktree.OpenWorkspace(l.Workspace)
	if err == nil {
		w.SetApart(l.apart()...)
	}
	return w, err
}

// Entries words a number of directory entries.
func Entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// IsEmptyTree reports whether there are but directories at a path.
func IsEmptyTree(path string) bool {
	empty := true
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			empty = false
			return fs.SkipAll
		}
		return nil
	})
	return empty
}
