package checkpoint

import (
	"context"
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
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.shallow, nil // the list is replaced, never changed
}

// SetShallow implements storer.ShallowStorer: these commits, and no others,
// count as having no parents from now on, for hank as for git. It is durable.
func (s *DB) SetShallow(ids []plumbing.Hash) (err error) {
	if s.opts.ReadOnly {
		return errReadOnly
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
	} else if err = ignoreMissing(s.fs.Remove(filepath.Join(s.dir, shallowName))); err == nil {
		err = s.fs.SyncDir(s.dir)
	}
	if err != nil {
		return fmt.Errorf("ending branches where what came before is lost: %w", err)
	}
	return s.readShallow()
}

// readShallow takes over what the file says.
func (s *DB) readShallow() error {
	text, err := vfs.ReadFile(s.fs, filepath.Join(s.dir, shallowName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var ids []plumbing.Hash
	for line := range strings.FieldsSeq(string(text)) {
		if isSHA(line) { // a damaged line says nothing; a check then finds what is lost
			ids = append(ids, plumbing.NewHash(line))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shallow = ids
	return nil
}

// endsAt tells whether a commit counts as having no parents.
func (s *DB) endsAt(id plumbing.Hash) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Contains(s.shallow, id)
}

// commit reads a commit as hank and git see it: without parents where they are
// lost.
func (s *DB) commit(id plumbing.Hash) (*gitobject.Commit, error) {
	c, err := gitobject.GetCommit(s, id)
	if err == nil && s.endsAt(id) {
		c.ParentHashes = nil
	}
	return c, err
}

func parentsOf(c *gitobject.Commit) []SHA {
	var parents []SHA
	for _, p := range c.ParentHashes {
		parents = append(parents, SHA(p.String()))
	}
	return parents
}

// pruneShallow forgets commits that are gone.
func (s *DB) pruneShallow(live map[plumbing.Hash]bool) error {
	have, _ := s.Shallow()
	return s.keepShallow(have, func(id plumbing.Hash) bool { return live[id] })
}

// borrowShallow ends branches where they end in the store that they were copied
// from, unless what comes before is here, and lets those go on of which that is
// here again. here are the commits behind which nothing is missing that the
// other store has.
func (s *DB) borrowShallow(from *DB, here map[plumbing.Hash]bool) error {
	theirs, _ := from.Shallow()
	have, _ := s.Shallow()
	return s.keepShallow(slices.Concat(have, theirs), func(id plumbing.Hash) bool {
		c, err := gitobject.GetCommit(s, id)
		return err == nil && !allHere(c, here)
	})
}

// endWhereNothingIs ends branches that were fetched where the other side has
// nothing either: a repository that is cut off does not say so to go-git.
func (s *DB) endWhereNothingIs(ctx context.Context, tips map[string]SHA) error {
	ends, _ := s.Shallow()
	seen := map[plumbing.Hash]bool{}
	var todo []plumbing.Hash
	for _, sha := range tips {
		todo = append(todo, plumbing.NewHash(string(sha)))
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := s.commit(id)
		if err != nil {
			return fmt.Errorf("what was fetched is not whole: %w", err)
		}
		if slices.ContainsFunc(c.ParentHashes, func(p plumbing.Hash) bool { return missing(s.HasEncodedObject(p)) }) {
			ends = append(slices.Clone(ends), id)
			continue
		}
		todo = append(todo, c.ParentHashes...)
	}
	return s.keepShallow(ends, func(plumbing.Hash) bool { return true })
}

func allHere(c *gitobject.Commit, here map[plumbing.Hash]bool) bool {
	return !slices.ContainsFunc(c.ParentHashes, func(p plumbing.Hash) bool { return !here[p] })
}

// keepShallow writes those of ids that are to stay, if that changes anything.
func (s *DB) keepShallow(ids []plumbing.Hash, stays func(plumbing.Hash) bool) error {
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
