package scan

import (
	"strings"

	"hank/checkpoint/worktree"
)

// Cache is what scans have read of a workspace. It tells what a file holds
// without reading it, as long as lstat says of it what it said then, by the
// rules of the scan itself: young files and those that may change unseen are
// never known. A nil *Cache knows nothing.
type Cache struct{ root *CachedDir }

// Cache returns what the last scan of a workspace has left.
func (s *Scanner) Cache(w *worktree.Workspace) *Cache { return &Cache{s.cacheFor(w).Root} }

// In returns what is known of a directory, nil if nothing is.
func (k *Cache) In(dir string) *CachedDir {
	if k == nil {
		return nil
	}
	at := k.root
	if dir == "" {
		return at
	}
	for name := range strings.SplitSeq(dir, "/") {
		i := at.find([]byte(name))
		if i < 0 {
			return nil
		}
		at = at.Entries[i].Sub
	}
	return at
}
