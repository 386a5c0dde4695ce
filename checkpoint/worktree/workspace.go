package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Workspace is an open directory that agents work in. All access is relative
// to its descriptor and never follows a symlink below the root; only the path
// that leads to the root itself may go through symlinks.
//
// A Workspace may be used by several goroutines until it is closed.
type Workspace struct {
	path string
	Root *os.File
	info os.FileInfo // of the root when it was opened: its device and inode

	Apart  []string               // see SetApart
	Within func(path string) bool // see Apart
}

// ErrWorkspaceMoved says that the workspace's path no longer leads to the
// directory that was opened: it was renamed, deleted, or mounted over.
var ErrWorkspaceMoved = errors.New("the workspace is no longer at its path")

// OpenWorkspace opens the directory at path. The path is made absolute, so
// that a later change of the current directory does not move the workspace.
func OpenWorkspace(path string) (*Workspace, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", path, err)
	}
	root, err := openRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	info, err := root.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open workspace %s: %w", abs, err), root.Close())
	}
	return &Workspace{path: abs, Root: root, info: info, Within: Apart(abs)}, nil
}

// SetApart names directories, by absolute paths, that are no part of the workspace
// although they may lie in it: the execution's own. A scan tells them by device
// and inode, so that a directory of the same name elsewhere is recorded like any
// other; a restore neither writes in them nor deletes them. One may be made later.
func (w *Workspace) SetApart(dirs ...string) {
	w.Apart, w.Within = dirs, Apart(w.path, dirs...)
}

// Apart returns what reports whether a path relative to the workspace leads to
// one of the directories, or to something in it. Case is ignored: some systems do.
func Apart(workspace string, dirs ...string) func(path string) bool {
	var inside []string
	root := realPath(workspace)
	for _, f := range dirs {
		rel, err := filepath.Rel(root, filepath.Join(realPath(filepath.Dir(f)), filepath.Base(f)))
		if err == nil && filepath.IsLocal(rel) && rel != "." {
			inside = append(inside, filepath.ToSlash(rel))
		}
	}
	return func(path string) bool {
		return slices.ContainsFunc(inside, func(f string) bool {
			return len(path) >= len(f) && strings.EqualFold(path[:len(f)], f) && (len(path) == len(f) || path[len(f)] == '/')
		})
	}
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Close releases the descriptor. It does not change anything on disk.
func (w *Workspace) Close() error { return w.Root.Close() }

// Path returns the absolute path that the workspace was opened by.
func (w *Workspace) Path() string { return w.path }

// Fd returns the descriptor of the root, valid until Close.
func (w *Workspace) Fd() int { return int(w.Root.Fd()) }

// StillThere reports whether the path still leads to the directory that was
// opened, by device and inode. The error wraps ErrWorkspaceMoved if it does not.
func (w *Workspace) StillThere() error {
	now, err := os.Stat(w.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s is gone: %w; put the directory back, or open it where it is now", w.path, ErrWorkspaceMoved)
	case err != nil:
		return fmt.Errorf("look at workspace %s: %w", w.path, err)
	case !os.SameFile(now, w.info):
		return fmt.Errorf("%s now leads to another directory: %w; put the old one back, or open it where it is now", w.path, ErrWorkspaceMoved)
	}
	return nil
}
