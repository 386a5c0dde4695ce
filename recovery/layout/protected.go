package layout

import (
	"path/filepath"
	"strings"

	"hank/checkpoint/worktree"
	"hank/internal/vfs"
)

// IsOwn reports whether a name is one that checkpoints never hold, at whatever
// depth: git's, or one of hank's temporary files. Some systems ignore case.
func IsOwn(name string) bool { return strings.EqualFold(name, ".git") || worktree.IsTemporary(name) }

// Protected reports whether a path in the workspace is not the agents', by its
// name.
func Protected(rel string) bool {
	first, _, _ := strings.Cut(rel, "/")
	if strings.EqualFold(first, DataName) {
		return true
	}
	for step := range strings.SplitSeq(rel, "/") {
		if IsOwn(step) {
			return true
		}
	}
	return false
}

// apart are the execution's own directories, those of other ones in the same
// directory included: one that a reset has moved is below those that came after it.
func (l Layout) apart() []string {
	dirs := []string{l.Hankweave(), l.Archive()}
	holds := func(dir string) bool {
		rel, err := filepath.Rel(l.Workspace, dir)
		return err == nil && filepath.IsLocal(rel)
	}
	if holds(l.Root) {
		dirs = append(dirs, ResetDirs(l.Root)...)
	}
	if above := (Layout{Root: filepath.Dir(l.Root)}); holds(above.Root) && WasReset(vfs.OS, l.Root) {
		dirs = append(dirs, above.Hankweave(), above.Archive())
		dirs = append(dirs, ResetDirs(above.Root)...)
	}
	return dirs
}

// Apart returns what reports whether a path in the workspace leads to one of the
// execution's own directories, or into it.
func (l Layout) Apart() func(rel string) bool {
	return worktree.Apart(l.Workspace, l.apart()...)
}
