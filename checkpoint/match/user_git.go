package match

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hank/internal/gitignore"
	"hank/internal/vfs"
)

// userGitDir returns the git directory of the user's own repository that the
// workspace is the root of, and its common directory; "" if it is none. Both are
// only ever read.
func userGitDir(workspace string) (own, common string) {
	own = filepath.Join(workspace, ".git")
	fi, err := os.Lstat(own)
	if err != nil {
		return "", ""
	}
	if fi.Mode().IsRegular() { // a linked worktree or a submodule
		text, err := vfs.ReadLimited(own, RulesLimit)
		target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
		if err != nil || !ok {
			return "", ""
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(workspace, target)
		}
		own = target
	}
	common = own
	if text, err := vfs.ReadLimited(filepath.Join(own, "commondir"), RulesLimit); err == nil {
		if common = strings.TrimSpace(string(text)); !filepath.IsAbs(common) {
			common = filepath.Join(own, common)
		}
	}
	return own, common
}

// UserExclude returns the rules of the user's info/exclude.
func UserExclude(workspace string) gitignore.Rules {
	_, common := userGitDir(workspace)
	if common == "" {
		return gitignore.Rules{}
	}
	text, err := vfs.ReadLimited(filepath.Join(common, "info", "exclude"), RulesLimit)
	if err != nil {
		return gitignore.Rules{}
	}
	return gitignore.Parse("", text)
}

// Repository is one of the user's own: the workspace is its root or a directory of it,
// or it is in a directory of the workspace. Its index is read when it is first asked:
// only what is ignored by the rules makes it matter.
type Repository struct {
	dir   string // "" or ending in a slash
	above *Repository
	index func() trackedPaths
}

// NewRepository returns the one in a directory of the workspace; there may be none.
func NewRepository(workspace, dir string, above *Repository) *Repository {
	at := filepath.Join(workspace, filepath.FromSlash(dir))
	read := func() trackedPaths { return userIndex(at) }
	if dir == "" {
		read = func() trackedPaths { return indexAround(at) }
	}
	return &Repository{dir: dir, above: above, index: sync.OnceValue(read)}
}

// Tracks reports whether a file is in the index of this repository or of one
// above.
func (r *Repository) Tracks(path string) bool {
	return r != nil && (r.index().has(path[len(r.dir):]) || r.above.Tracks(path))
}

// TracksBelow tells the same of any file below a directory, which ends in a slash.
func (r *Repository) TracksBelow(dir string) bool {
	return r != nil && (r.index().anyBelow(dir[len(r.dir):]) || r.above.TracksBelow(dir))
}

// trackedPaths are the paths in the user's own index, sorted: to git they are
// not ignored, whatever the rules say.
type trackedPaths []string

// has reports whether a file is tracked.
func (t trackedPaths) has(path string) bool {
	_, found := slices.BinarySearch(t, path)
	return found
}

// anyBelow reports whether a directory, "" or ending in a slash, has tracked files.
func (t trackedPaths) anyBelow(dir string) bool {
	i, _ := slices.BinarySearch(t, dir)
	return i < len(t) && strings.HasPrefix(t[i], dir)
}

// indexLimit is more than the index of any repository has: ten million files.
const indexLimit = 1 << 30

// indexAround reads the paths in the index of the repository that the workspace is the
// root of, or a directory of, as they are called from the workspace.
func indexAround(workspace string) trackedPaths {
	dir, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return nil
	}
	for below := ""; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return userIndex(dir).from(below)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
		below = filepath.Base(dir) + "/" + below
	}
}

// from returns the paths below a directory, "" or ending in a slash, as they are called
// from there.
func (t trackedPaths) from(dir string) trackedPaths {
	if dir == "" {
		return t
	}
	var paths trackedPaths
	for i, _ := slices.BinarySearch(t, dir); i < len(t) && strings.HasPrefix(t[i], dir); i++ {
		if path := t[i][len(dir):]; path != "" { // else the directory itself, of a sparse index
			paths = append(paths, path)
		}
	}
	return paths
}

// userIndex reads the paths in the user's own index. One that cannot be read
// adds nothing.
func userIndex(workspace string) trackedPaths {
	own, common := userGitDir(workspace)
	if own == "" {
		return nil
	}
	data, err := vfs.ReadLimited(filepath.Join(own, "index"), indexLimit)
	if err != nil {
		return nil
	}
	paths, shared := indexPaths(data)
	if shared != "" { // a split index: what both files name is a little too much, and enough
		for _, dir := range []string{own, common} {
			if data, err := vfs.ReadLimited(filepath.Join(dir, "sharedindex."+shared), indexLimit); err == nil {
				more, _ := indexPaths(data)
				paths = append(paths, more...)
				break
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
