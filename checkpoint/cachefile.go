package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"hank/internal/vfs"
)

// clockTick is added to what counts as young where the workspace's own clock
// cannot be read: more than the coarsest clock of a local file system.
const clockTick = 2 * time.Second

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
func (s *Store) cacheFor(w *Workspace) *statCache {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if s.next != nil && s.cacheOf == w.Path() {
		return s.next
	}
	if s.cache == nil || s.cacheOf != w.Path() {
		s.cache, s.next = readCache(s.fs, s.opts.CacheFile, s.cacheHeader(w.Path())), nil
		s.cacheOf, s.cacheKept, s.unkept = w.Path(), true, 0
	}
	return s.cache
}

// adoptCache keeps what a scan that read so many files has found out. Until
// the pending pack is durable it holds for nothing but further scans into the
// same pack.
func (s *Store) adoptCache(fresh *statCache, read int) {
	pending, _ := s.sources()
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if s.cache != nil && fresh.root == s.cache.root { // nothing is new
		s.next = nil
		return
	}
	s.next = fresh
	s.unkept += read
	if pending == nil {
		s.promote()
	}
}

// worthKeeping is how many files have to be read before the cache is written
// although the store stays open: what a kill would cost, in proportion.
func (c *statCache) worthKeeping(read int) bool {
	return c.root != nil && read >= 1000+c.root.files/10
}

// settleCache is called when everything pending is durable.
func (s *Store) settleCache() {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	s.promote()
}

func (s *Store) promote() {
	if s.next != nil {
		s.cache, s.next, s.cacheKept = s.next, nil, false
	}
}

// cacheHeader is for who holds mu.
func (s *Store) cacheHeader(workspace string) cacheHeader {
	return cacheHeader{Workspace: workspace, Boot: s.opts.BootID, Packs: packNames(s.packs)}
}

func packNames(packs []*pack) []string {
	names := make([]string, len(packs))
	for i, p := range packs {
		names[i] = filepath.Base(p.base)
	}
	return names
}

// DropCache forgets the stat cache: Close will not keep it.
func (s *Store) DropCache() {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	s.cache, s.next = nil, nil
}

// DistrustCache forgets the stat cache, on disk too: it vouches for objects by
// the names of the packs that have them, and a pack may not hold any more what
// its name says.
func (s *Store) DistrustCache() error {
	s.DropCache()
	return s.removeCache()
}

// keepCache writes the cache for the next process. It is a projection: it is
// not synced, and a crash in between costs one reading of all files.
func (s *Store) keepCache() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if s.opts.ReadOnly || s.opts.CacheFile == "" || s.cache == nil || s.cacheKept {
		return nil
	}
	data, err := s.cache.encode(s.cacheHeader(s.cacheOf))
	if err != nil {
		return err
	}
	if err := vfs.MkdirAll(s.fs, filepath.Dir(s.opts.CacheFile), 0o700); err != nil {
		return err
	}
	if err := writeUnsynced(s.fs, s.opts.CacheFile, data); err != nil {
		return errors.Join(errors.New("the stat cache was not kept"), err)
	}
	s.cacheKept, s.unkept = true, 0
	return nil
}

// writeUnsynced replaces a file that is checked when it is read, and may be
// lost in a power cut.
func writeUnsynced(fsys vfs.FS, name string, data []byte) error {
	tmp := name + ".tmp"
	f, err := fsys.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return fsys.Rename(tmp, name)
}
