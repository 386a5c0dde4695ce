package restore

import (
	"github.com/go-git/go-git/v5/plumbing/storer"

	"hank/checkpoint/diff"
	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// comparison is what a restore would have to do between two trees.
type comparison struct {
	from, to packdb.SHA
	changes  []diff.Change
}

// treeMemory is a storage that holds trees.
type treeMemory interface {
	CachesTrees() bool
	Memo() any
	Memorize(any)
}

var _ treeMemory = (*packdb.DB)(nil) // nothing else would show that it is none

// Comparing returns how two trees of a storage differ, for a restore of
// everything. What it returns is not to be changed.
func Comparing(st storer.EncodedObjectStorer, from, to packdb.SHA) ([]diff.Change, error) {
	d := diff.Differ{St: st, Check: worktree.Restorable}
	s, ours := st.(treeMemory)
	if !ours || !s.CachesTrees() {
		return d.Run(from, to)
	}
	last, _ := s.Memo().(comparison)
	if last.from == from && last.to == to {
		return last.changes, nil
	}
	changes, err := d.Run(from, to)
	if err != nil {
		return nil, err
	}
	s.Memorize(comparison{from, to, changes})
	return changes, nil
}
