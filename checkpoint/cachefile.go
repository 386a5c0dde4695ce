package checkpoint

import (
	"errors"
	"path/filepath"
	"strings"

	"hank/internal/vfs"
)

// cacheFor returns the stat cache for a workspace, from memory or from disk.
func (s *Store) cacheFor(w *Workspace) *statCache {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if s.next != nil && s.cacheOf == w.Path() {
		return s.next
	}
	if s.cache == nil || s.cacheOf != w.Path() {
		s.cache, s.next = readCache(s.fs, s.opts.CacheFile, s.cacheHeader(w.Path())), nil
		s.cacheOf, s.cacheKept = w.Path(), true
	}
	return s.cache
}

// adoptCache keeps what a scan has found out. Until the pending pack is
// durable it holds for nothing but further scans into the same pack.
func (s *Store) adoptCache(fresh *statCache) {
	pending, _ := s.sources()
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	s.next = fresh
	if pending == nil {
		s.promote()
	}
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

func (s *Store) cacheHeader(workspace string) cacheHeader {
	_, packs := s.sources()
	h := cacheHeader{Workspace: workspace, Boot: s.opts.BootID}
	for _, p := range packs {
		h.Packs = append(h.Packs, strings.TrimSuffix(filepath.Base(p.base), ".pack"))
	}
	return h
}

// DropCache forgets the stat cache: Close will not keep it.
func (s *Store) DropCache() {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	s.cache, s.next = nil, nil
}

// keepCache writes the cache for the next process. It is a projection: it is
// not synced, and a crash in between costs one reading of all files.
func (s *Store) keepCache() error {
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
	if err := vfs.WriteFile(s.fs, s.opts.CacheFile, data, 0o600); err != nil {
		return errors.Join(errors.New("the stat cache was not kept"), err)
	}
	s.cacheKept = true
	return nil
}
