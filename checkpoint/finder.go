package checkpoint

import (
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// Finder is for looking up many paths: it reads each directory of a tree once, however
// many of its entries are asked for, and holds what it has read. Any number of goroutines
// may ask it.
type Finder struct {
	db   *packdb.DB
	mu   sync.RWMutex
	dirs map[plumbing.Hash]map[string]found
}

type found struct {
	id   plumbing.Hash
	mode filemode.FileMode
}

// NewFinder returns a finder that has read nothing yet.
func NewFinder(db *packdb.DB) *Finder {
	return &Finder{db: db, dirs: map[plumbing.Hash]map[string]found{}}
}

// HasFile is that of the store.
func (f *Finder) HasFile(tree SHA, path string) bool {
	mode, there := f.find(tree, path)
	return there && mode != filemode.Dir
}

// HasLink is HasFile for symbolic links alone.
func (f *Finder) HasLink(tree SHA, path string) bool {
	mode, there := f.find(tree, path)
	return there && mode == filemode.Symlink
}

func (f *Finder) find(tree SHA, path string) (mode filemode.FileMode, there bool) {
	at := plumbing.NewHash(string(tree))
	for {
		dir, err := f.dir(at)
		if err != nil {
			return 0, false
		}
		first, rest, below := strings.Cut(path, "/")
		e, there := dir[first]
		switch {
		case !there || below && e.mode != filemode.Dir:
			return 0, false
		case !below:
			return e.mode, true
		}
		at, path = e.id, rest
	}
}

// dir is a directory by the names that its entries have in a workspace.
func (f *Finder) dir(at plumbing.Hash) (map[string]found, error) {
	f.mu.RLock()
	dir, known := f.dirs[at]
	f.mu.RUnlock()
	if known {
		return dir, nil
	}
	entries, err := packdb.ReadTree(f.db, at)
	if err != nil {
		return nil, err
	}
	dir = make(map[string]found, len(entries))
	for _, e := range entries {
		if name := worktree.UnescapeName(e.Name); dir[name] == (found{}) { // the first of two, as Find
			dir[name] = found{e.Hash, e.Mode}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirs[at] = dir
	return dir, nil
}
