package checkpoint

import "strings"

// Known is what scans have read of a workspace. It tells what a file holds
// without reading it, as long as lstat says of it what it said then, by the
// rules of the scan itself: young files and those that may change unseen are
// never known. A nil *Known knows nothing.
type Known struct{ root *cachedDir }

// Known returns what the last scan of a workspace has left.
func (s *Scanner) Known(w *Workspace) *Known { return &Known{s.cacheFor(w).root} }

// in returns what is known of a directory, nil if nothing is.
func (k *Known) in(dir string) *cachedDir {
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
		at = at.entries[i].sub
	}
	return at
}
