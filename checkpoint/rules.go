package checkpoint

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/internal/vfs"
)

// Ignored tells of files whether a scan of a workspace would leave them out if
// its .gitignore files were those of a tree. The excludes and the user's own
// index are those of today. The function may be called by several goroutines.
func (s *DB) Ignored(tree SHA, ws *Workspace) func(path string) bool {
	x := &treeRules{store: s, tree: tree, repo: newRepository(ws.Path(), "", nil), own: map[string]*ignoreRules{}}
	if text, err := vfs.ReadFile(s.fs, filepath.Join(s.dir, "info", "exclude")); err == nil {
		x.excludes = append(x.excludes, parseIgnore("", text))
	}
	x.excludes = append(x.excludes, userExclude(ws.Path()))
	return x.ignores
}

// rulesLimit is more than any .gitignore has.
const rulesLimit = 16 << 20

func cleanDir(p string) string {
	if p == "" {
		return "."
	}
	return strings.TrimSuffix(p, "/")
}

// isExecution reports whether a folder has the name of the one in which another
// execution keeps its state.
func isExecution(dir string) bool { return lastComponent(cleanDir(dir)) == ".hankweave" }

// folderRules are the rules of a folder's .gitignore. That of another execution
// hides it from git, and says nothing of what its owner wants to keep.
func folderRules(dir string, text []byte) ignoreRules {
	if string(text) == hidesAll && isExecution(dir) {
		return parseIgnore(dir, nil)
	}
	return parseIgnore(dir, text)
}

// hidesAll is the text of the .gitignore in the folder of an execution.
const hidesAll = "*\n"

// treeRules are the ignore rules of a tree.
type treeRules struct {
	store    *DB
	tree     SHA
	repo     *repository
	excludes []ignoreRules

	mu  sync.Mutex
	own map[string]*ignoreRules // by folder, "" or ending in a slash; nil: it has none
}

// ignores looks at the folders of a path from the top down, as a scan comes by.
func (x *treeRules) ignores(path string) bool {
	var rules []*ignoreRules
	for at := 0; ; {
		dir := path[:at]
		if r := x.of(dir); r != nil {
			rules = append(rules, r)
		}
		name, _, isDir := strings.Cut(path[at:], "/")
		full := dir + name
		if x.decide(rules, full, name, isDir) {
			if isDir && x.repo.tracks(full+"/") { // a submodule
				return false
			}
			return !x.repo.tracks(path)
		}
		if !isDir {
			return false
		}
		at += len(name) + 1
	}
}

func (x *treeRules) decide(rules []*ignoreRules, path, name string, isDir bool) bool {
	for _, r := range slices.Backward(rules) {
		if v := r.match(path, name, isDir); v != undecided {
			return v == ignored
		}
	}
	for i := range x.excludes {
		if v := x.excludes[i].match(path, name, isDir); v != undecided {
			return v == ignored
		}
	}
	return false
}

// of returns the rules of a folder's own .gitignore.
func (x *treeRules) of(dir string) *ignoreRules {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r, known := x.own[dir]; known {
		return r
	}
	x.own[dir] = nil
	if e, err := x.store.find(x.tree, dir+".gitignore"); err != nil || !e.Mode.IsFile() || e.Mode == filemode.Symlink {
		return nil
	}
	r, _, err := x.store.ReadFile(x.tree, dir+".gitignore")
	if err != nil {
		return nil
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, rulesLimit))
	if err != nil {
		return nil
	}
	rules := folderRules(dir, text)
	x.own[dir] = &rules
	return x.own[dir]
}
