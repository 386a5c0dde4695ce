package packdb

import (
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
)

// maxCachedTrees bounds the trees that are held, by their content: those of two
// checkpoints of 200,000 files that differ everywhere.
const maxCachedTrees = 16 * cache.MiByte

// treeCache are trees that stay in memory while somebody wants them to.
type treeCache struct {
	mu      sync.Mutex
	wanted  int
	objects *cache.ObjectLRU // nil while nobody wants them
	memo    any              // of who reads them
}

func (h *treeCache) list() *cache.ObjectLRU {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.objects
}

func (h *treeCache) get(id plumbing.Hash) (plumbing.EncodedObject, bool) {
	if objects := h.list(); objects != nil {
		return objects.Get(id)
	}
	return nil, false
}

func (h *treeCache) put(tree *GitObject) {
	if objects := h.list(); objects != nil {
		objects.Put(tree)
	}
}
