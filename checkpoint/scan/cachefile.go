package scan

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
	"hank/internal/vfs"
)

// clockTick is added to what counts as young where the workspace's own clock
// cannot be read: more than the coarsest clock of a local file system.
const clockTick = 2 * time.Second

// Scanner makes checkpoints of workspaces in a DB, and keeps what it has found out
// about their files as long as the packs vouch for it.
type Scanner struct {
	db *packdb.DB

	cacheMu   sync.Mutex // taken after the DB's own, never before it
	cache     *statCache // what the objects in finished packs vouch for
	next      *statCache // the same with the pending pack
	cacheOf   string     // the workspace of cache
	cacheKept bool       // the file on disk is cache
	unkept    int        // files read since the file was written
	newest    *look      // the last snapshot, while its objects are there

	Reading func(name string)                // tests: called before a file is read
	Listing func(dir string) (more []string) // tests: called before a directory is listed; names that are listed too
}

// New returns the one scanner of a DB.
func New(db *packdb.DB) *Scanner {
	s := &Scanner{db: db}
	db.SetVouched(s)
	return s
}

// readCache returns the cache in a file, if it fits this workspace, boot and
// set of packs; else an empty one.
func readCache(fsys vfs.FS, name string, want cacheHeader) *statCache {
	empty := &statCache{}
	if name == "" || want.Boot == "" {
		return empty
	}
	data, err := vfs.ReadFile(fsys, name)
	if err != nil {
		return empty
	}
	c, h, err := decodeCache(data)
	if err != nil || h.Workspace != want.Workspace || h.Boot != want.Boot {
		return empty
	}
	have := make(map[string]bool, len(want.Packs))
	for _, p := range want.Packs {
		have[p] = true
	}
	for _, p := range h.Packs {
		if !have[p] {
			return empty
		}
	}
	return c
}

// cacheFor returns the stat cache for a workspace, from memory or from disk.
func (s *Scanner) cacheFor(w *worktree.Workspace) (known *statCache) {
	s.db.WithPackNames(func(packs, _ []string) {
		s.cacheMu.Lock()
		defer s.cacheMu.Unlock()
		if s.next != nil && s.cacheOf == w.Path() {
			known = s.next
			return
		}
		if s.cache == nil || s.cacheOf != w.Path() {
			s.cache, s.next = readCache(s.db.FS, s.db.Opts.CacheFile, s.cacheHeader(w.Path(), packs)), nil
			s.cacheOf, s.cacheKept, s.unkept = w.Path(), true, 0
		}
		known = s.cache
	})
	return known
}

// adoptCache keeps what a scan that read so many files has found out. Until
// the pending pack is durable it holds for nothing but further scans into the
// same pack.
func (s *Scanner) adoptCache(fresh *statCache, read int) {
	pending := s.db.IsPending()
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if s.cache != nil && fresh.Root == s.cache.Root { // nothing is new
		s.next = nil
		return
	}
	s.next = fresh
	s.unkept += read
	if !pending {
		s.promote()
	}
}

// worthKeeping is how many files have to be read before the cache is written
// although the store stays open: what a kill would cost, in proportion.
func (c *statCache) worthKeeping(read int) bool {
	return c.Root != nil && read >= 1000+c.Root.files/10
}

// SettleCache is called when everything pending is durable.
func (s *Scanner) SettleCache() {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	s.promote()
	if s.newest != nil {
		s.newest.pending = false
	}
}

func (s *Scanner) promote() {
	if s.next != nil {
		s.cache, s.next, s.cacheKept = s.next, nil, false
	}
}

func (s *Scanner) cacheHeader(workspace string, packs []string) cacheHeader {
	return cacheHeader{Workspace: workspace, Boot: s.db.Opts.BootID, Packs: packs}
}

// DropCache forgets the stat cache: Close will not keep it.
func (s *Scanner) DropCache() {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	s.cache, s.next, s.newest = nil, nil, nil
}

// DistrustCache forgets the stat cache, on disk too: it vouches for objects by
// the names of the packs that have them, and a pack may not hold any more what
// its name says.
func (s *Scanner) DistrustCache() error {
	s.DropCache()
	return s.removeCache()
}

// DropPending forgets what the pending pack vouched for.
func (s *Scanner) DropPending() {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	s.next = nil
	if s.newest != nil && s.newest.pending {
		s.newest = nil
	}
}

// KeepLargeCache writes a cache that it would cost much to lose.
func (s *Scanner) KeepLargeCache() {
	s.cacheMu.Lock()
	worth := s.cache != nil && s.cache.worthKeeping(s.unkept)
	s.cacheMu.Unlock()
	if worth {
		// What cannot be kept is read again by the next process, and Close
		// says so.
		_ = s.KeepCache()
	}
}

// KeepCache writes the cache for the next process. It is a projection: it is
// not synced, and a crash in between costs one reading of all files.
func (s *Scanner) KeepCache() (err error) {
	s.db.WithPackNames(func(packs, _ []string) { err = s.keepCache(packs) })
	return err
}

func (s *Scanner) keepCache(packs []string) error {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if s.db.Opts.ReadOnly || s.db.Opts.CacheFile == "" || s.cache == nil || s.cacheKept {
		return nil
	}
	data, err := s.cache.encode(s.cacheHeader(s.cacheOf, packs))
	if err != nil {
		return err
	}
	if err := vfs.MkdirAll(s.db.FS, filepath.Dir(s.db.Opts.CacheFile), 0o700); err != nil {
		return err
	}
	if err := vfs.ReplaceFile(s.db.FS, s.db.Opts.CacheFile, data, 0o600, vfs.Volatile); err != nil {
		return errors.Join(errors.New("the stat cache was not kept"), err)
	}
	s.cacheKept, s.unkept = true, 0
	return nil
}

// RewriteCache names the present packs in the stat cache on disk, if there is
// one that the packs before them vouched for.
func (s *Scanner) RewriteCache() error {
	if s.db.Opts.CacheFile == "" {
		return nil
	}
	s.cacheMu.Lock()
	loaded := s.cache != nil
	if _, err := s.db.FS.Lstat(s.db.Opts.CacheFile); err == nil {
		s.cacheKept = false
	}
	s.cacheMu.Unlock()
	if loaded {
		return s.KeepCache()
	}
	data, err := vfs.ReadFile(s.db.FS, s.db.Opts.CacheFile)
	if err != nil {
		return packdb.IgnoreMissing(err)
	}
	c, h, err := decodeCache(data)
	if err != nil {
		return nil // it is of no use as it is
	}
	var now cacheHeader
	var known []string
	s.db.WithPackNames(func(packs, replaced []string) {
		now = s.cacheHeader(h.Workspace, packs)
		known = slices.Concat(packs, replaced)
	})
	if slices.ContainsFunc(h.Packs, func(name string) bool { return !slices.Contains(known, name) }) {
		return nil
	}
	now.Boot = h.Boot
	if data, err = c.encode(now); err != nil {
		return err
	}
	return vfs.ReplaceFile(s.db.FS, s.db.Opts.CacheFile, data, 0o600, vfs.Volatile)
}

// removeCache deletes the stat cache on disk.
func (s *Scanner) removeCache() error {
	if s.db.Opts.CacheFile == "" {
		return nil
	}
	return packdb.IgnoreMissing(s.db.FS.Remove(s.db.Opts.CacheFile))
}
