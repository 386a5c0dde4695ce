package packdb

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"

	"hank/internal/vfs"
)

// shallowName is git's file of commits that count as having no parents. hank
// writes it where what came before them is lost.
const shallowName = "shallow"

// Shallow implements storer.ShallowStorer.
func (s *DB) Shallow() ([]plumbing.Hash, error) {
	s.Mu.RLock()
	defer s.Mu.RUnlock()
	return s.shallow, nil // the list is replaced, never changed
}

// SetShallow implements storer.ShallowStorer: these commits, and no others,
// count as having no parents from now on, for hank as for git. It is durable.
func (s *DB) SetShallow(ids []plumbing.Hash) (err error) {
	if s.Opts.ReadOnly {
		return ErrReadOnly
	}
	lines := make([]string, 0, len(ids))
	for _, id := range ids {
		lines = append(lines, id.String()+"\n")
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if have, _ := s.Shallow(); len(have) == 0 && len(lines) == 0 {
		return nil
	}
	unlock, err := s.lock(shallowName)
	if err != nil {
		return fmt.Errorf("ending branches where what came before is lost: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if len(lines) > 0 {
		err = s.replace(shallowName, strings.Join(lines, ""))
	} else if err = IgnoreMissing(s.FS.Remove(filepath.Join(s.Dir, shallowName))); err == nil {
		err = s.FS.SyncDir(s.Dir)
	}
	if err != nil {
		return fmt.Errorf("ending branches where what came before is lost: %w", err)
	}
	return s.readShallow()
}

// readShallow takes over what the file says.
func (s *DB) readShallow() error {
	text, err := vfs.ReadFile(s.FS, filepath.Join(s.Dir, shallowName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var ids []plumbing.Hash
	for line := range strings.FieldsSeq(string(text)) {
		if isSHA(line) { // a damaged line says nothing; a check then finds what is lost
			ids = append(ids, plumbing.NewHash(line))
		}
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.shallow = ids
	return nil
}

// EndsAt reports whether a commit counts as having no parents.
func (s *DB) EndsAt(id plumbing.Hash) bool {
	s.Mu.RLock()
	defer s.Mu.RUnlock()
	return slices.Contains(s.shallow, id)
}

// CommitObject reads a commit as hank and git see it: without parents where they are
// lost.
func (s *DB) CommitObject(id plumbing.Hash) (*gitobject.Commit, error) {
	c, err := gitobject.GetCommit(s, id)
	if err == nil && s.EndsAt(id) {
		c.ParentHashes = nil
	}
	return c, err
}

// ParentsOf returns the ids of a commit's parents.
func ParentsOf(c *gitobject.Commit) []SHA {
	var parents []SHA
	for _, p := range c.ParentHashes {
		parents = append(parents, SHA(p.String()))
	}
	return parents
}

// pruneShallow forgets commits that are gone.
func (s *DB) pruneShallow(live map[plumbing.Hash]bool) error {
	have, _ := s.Shallow()
	return s.KeepShallow(have, func(id plumbing.Hash) bool { return live[id] })
}

// KeepShallow writes those of ids that are to stay, if that changes anything.
func (s *DB) KeepShallow(ids []plumbing.Hash, stays func(plumbing.Hash) bool) error {
	have, _ := s.Shallow()
	var kept []plumbing.Hash
	for _, id := range ids {
		if !slices.Contains(kept, id) && stays(id) {
			kept = append(kept, id)
		}
	}
	if len(kept) == len(have) && !slices.ContainsFunc(kept, func(id plumbing.Hash) bool { return !slices.Contains(have, id) }) {
		return nil
	}
	return s.SetShallow(kept)
}
