package scan

import (
	"strings"

	"hank/checkpoint/worktree"
)

// Known is what scans have read of a workspace. It tells what a file holds
// without reading it, as long as lstat says of it what it said then, by the
// rules of the scan itself: young files and those that may change unseen are
// never known. A nil *Known knows nothing.
type Known struct{ root *CachedDir }

// Known returns what the last scan of a workspace has left.
func (s *Scanner) Known(w *worktree.Workspace) *Known { return &Known{s.cacheFor(w).Root} }

// In returns what is known of a directory, nil if nothing is.
func (k *Known) In(dir string) *CachedDir {
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
