package packdb

import (
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
)

// maxHeld bounds the trees that are held, by their content: those of two
// checkpoints of 200,000 files that differ everywhere.
const maxHeld = 16 * cache.MiByte

// heldTrees are trees that stay in memory while somebody wants them to.
type heldTrees struct {
	mu      sync.Mutex
	wanted  int
	objects *cache.ObjectLRU // nil while nobody wants them
	memo    any              // of who reads them
}

// HoldTrees keeps the trees that are read in memory, up to a bound, and how the
// last two of them differ, until release is called; it may be called while they
// are held already. Who moves a workspace asks for the same ones for each file,
// and compares them before the safety checkpoint and after it.
func (s *DB) HoldTrees() (release func()) {
	h := &s.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wanted++; h.wanted == 1 {
		h.objects = cache.NewObjectLRU(maxHeld)
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.wanted--; h.wanted == 0 {
			h.objects, h.memo = nil, nil
		}
	})
}

func (h *heldTrees) list() *cache.ObjectLRU {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.objects
}

func (h *heldTrees) get(id plumbing.Hash) (plumbing.EncodedObject, bool) {
	if objects := h.list(); objects != nil {
		return objects.Get(id)
	}
	return nil, false
}

func (h *heldTrees) put(tree *GitObject) {
	if objects := h.list(); objects != nil {
		objects.Put(tree)
	}
}

// HoldsTrees reports whether trees are held in memory.
func (s *DB) HoldsTrees() bool { return s.held.list() != nil }

// Memo returns what Memorize was given since trees are held.
func (s *DB) Memo() any {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	return s.held.memo
}

// Memorize keeps a value as long as trees are held.
func (s *DB) Memorize(memo any) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	if s.held.wanted > 0 {
		s.held.memo = memo
	}
}
