//go:build unix

package scan

import "hank/checkpoint/worktree"

// What only the tests outside of the package need.

type (
	CacheHeader = cacheHeader
	StatCache   = statCache
)

var (
	Habits    = habits
	MaxOthers = maxOthers
)

func (c *statCache) Encode(h cacheHeader) ([]byte, error) { return c.encode(h) }

func (d *CachedDir) EncodeTree() []byte { return d.encodeTree() }

func (d *CachedDir) Find(name []byte) int { return d.find(name) }

func (s *Scanner) CacheFor(w *worktree.Workspace) *statCache { return s.cacheFor(w) }
