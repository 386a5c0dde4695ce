package checkpoint

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// Finder is for looking up many paths: it reads each directory of a tree once, however
// many of its entries are asked for. It is for one goroutine, and holds what it has read.
type Finder struct {
	db   *packdb.DB
	dirs map[plumbing.Hash]map[string]found
}

type found struct {
	id  plumbing.Hash
	dir bool
}

// NewFinder returns a finder that has read nothing yet.
func NewFinder(db *packdb.DB) *Finder {
	return &Finder{db: db, dirs: map[plumbing.Hash]map[string]found{}}
}

// HasFile is that of the store.
func (f *Finder) HasFile(tree SHA, path string) bool {
	at := plumbing.NewHash(string(tree))
	for {
		dir, known := f.dirs[at]
		if !known {
			entries, err := packdb.ReadTree(f.db, at)
			if err != nil {
				return false
			}
			dir = make(map[string]found, len(entries))
			for _, e := range entries {
				if name := worktree.UnescapeName(e.Name); dir[name] == (found{}) { // the first of two, as Find
					dir[name] = found{e.Hash, e.Mode == filemode.Dir}
				}
			}
			f.dirs[at] = dir
		}
		first, rest, below := strings.Cut(path, "/")
		e, there := dir[first]
		switch {
		case !there || below && !e.dir:
			return false
		case !below:
			return !e.dir
		}
		at, path = e.id, rest
	}
}
