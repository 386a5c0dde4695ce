package match

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
	"hank/internal/gitignore"
	"hank/internal/vfs"
)

// Ignored tells of files whether a scan of a workspace would leave them out if
// its .gitignore files were those of a tree. The excludes and the user's own
// index are those of today. The function may be called by several goroutines.
func Ignored(s *packdb.DB, tree packdb.SHA, ws *worktree.Workspace) func(path string) bool {
	x := &treeRules{store: s, tree: tree, repo: NewRepository(ws.Path(), "", nil), own: map[string]*gitignore.Rules{}}
	if text, err := vfs.ReadFile(s.FS, filepath.Join(s.Dir, "info", "exclude")); err == nil {
		x.excludes = append(x.excludes, gitignore.Parse("", text))
	}
	x.excludes = append(x.excludes, UserExclude(ws.Path()))
	return x.ignores
}

// RulesLimit is more than any .gitignore has.
const RulesLimit = 16 << 20

// CleanDir returns the name of a directory without the slash at its end; that of the
// root is ".".
func CleanDir(p string) string {
	if p == "" {
		return "."
	}
	return strings.TrimSuffix(p, "/")
}

// IsExecution reports whether a directory has the name of the one in which another
// execution keeps its state.
func IsExecution(dir string) bool { return worktree.LastComponent(CleanDir(dir)) == ".hankweave" }

// DirRules are the rules of a directory's .gitignore. That of another execution
// hides it from git, and says nothing of what its owner wants to keep.
func DirRules(dir string, text []byte) gitignore.Rules {
	if string(text) == hidesAll && IsExecution(dir) {
		return gitignore.Parse(dir, nil)
	}
	return gitignore.Parse(dir, text)
}

// hidesAll is the text of the .gitignore in the directory of an execution.
const hidesAll = "*\n"

// treeRules are the ignore rules of a tree.
type treeRules struct {
	store    *packdb.DB
	tree     packdb.SHA
	repo     *Repository
	excludes []gitignore.Rules

	mu  sync.Mutex
	own map[string]*gitignore.Rules // by directory, "" or ending in a slash; nil: it has none
}

// ignores looks at the directories of a path from the top down, as a scan comes by.
func (x *treeRules) ignores(path string) bool {
	var rules []*gitignore.Rules
	for at := 0; ; {
		dir := path[:at]
		if r := x.of(dir); r != nil {
			rules = append(rules, r)
		}
		name, _, isDir := strings.Cut(path[at:], "/")
		full := dir + name
		if x.decide(rules, full, name, isDir) {
			if isDir && x.repo.Tracks(full+"/") { // a submodule
				return false
			}
			return !x.repo.Tracks(path)
		}
		if !isDir {
			return false
		}
		at += len(name) + 1
	}
}

func (x *treeRules) decide(rules []*gitignore.Rules, path, name string, isDir bool) bool {
	for _, r := range slices.Backward(rules) {
		if v := r.Match(path, name, isDir); v != gitignore.Undecided {
			return v == gitignore.Excluded
		}
	}
	for i := range x.excludes {
		if v := x.excludes[i].Match(path, name, isDir); v != gitignore.Undecided {
			return v == gitignore.Excluded
		}
	}
	return false
}

// of returns the rules of a directory's own .gitignore.
func (x *treeRules) of(dir string) *gitignore.Rules {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r, known := x.own[dir]; known {
		return r
	}
	x.own[dir] = nil
	if e, err := x.store.Find(x.tree, dir+".gitignore"); err != nil || !e.Mode.IsFile() || e.Mode == filemode.Symlink {
		return nil
	}
	r, _, err := x.store.ReadFile(x.tree, dir+".gitignore")
	if err != nil {
		return nil
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, RulesLimit))
	if err != nil {
		return nil
	}
	rules := DirRules(dir, text)
	x.own[dir] = &rules
	return x.own[dir]
}
