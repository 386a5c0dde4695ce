package scan

import (
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// baseTree is a directory of the checkpoint before: a file that it records stays
// recorded. Its tree is read when it is asked, and only if the last scan did
// not find the very same; nil has nothing.
type baseTree struct {
	s    *packdb.DB
	id   plumbing.Hash
	last *CachedDir // what the last scan found, if it has this tree
	load sync.Once
	have map[string]gitobject.TreeEntry // by name in the workspace
}

// newBase returns a directory of the checkpoint before, last scanned as last.
func newBase(s *packdb.DB, id plumbing.Hash, last *CachedDir) *baseTree {
	b := &baseTree{s: s, id: id}
	if last != nil && last.Tree == id && last.files > 0 {
		b.last = last
	}
	return b
}

// find returns what the directory has under a name.
func (b *baseTree) find(name string) (mode filemode.FileMode, id plumbing.Hash, ok bool) {
	if b == nil {
		return 0, id, false
	}
	if b.last != nil {
		i := b.last.find([]byte(name))
		if i < 0 || !b.last.Entries[i].taken() {
			return 0, id, false
		}
		mode, id = b.last.Entries[i].treeEntry()
		return mode, id, true
	}
	b.load.Do(func() {
		tree, err := packdb.ReadTree(b.s, b.id)
		if err != nil {
			return // Check says so; here it only means: not recorded before
		}
		b.have = make(map[string]gitobject.TreeEntry, len(tree))
		for _, e := range tree {
			b.have[worktree.UnescapeName(e.Name)] = e
		}
	})
	e, ok := b.have[name]
	return e.Mode, e.Hash, ok
}

// hasFile reports whether the directory has a file or link of this name.
func (b *baseTree) hasFile(name string) bool {
	mode, _, ok := b.find(name)
	return ok && mode != filemode.Dir
}

// sub returns the directory of this name, nil if it is not there; last is what
// the last scan found in it.
func (b *baseTree) sub(name string, last *CachedDir) *baseTree {
	mode, id, ok := b.find(name)
	if !ok || mode != filemode.Dir {
		return nil
	}
	return newBase(b.s, id, last)
}
