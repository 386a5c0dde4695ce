package remote

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"

	"hank/checkpoint/packdb"
)

// borrowShallow ends branches where they end in the store that they were copied
// from, unless what comes before is here, and lets those continue of which that is
// here again. here are the commits behind which nothing is missing that the
// other store has.
func borrowShallow(s *packdb.DB, from *packdb.DB, here map[plumbing.Hash]bool) error {
	theirs, _ := from.Shallow()
	have, _ := s.Shallow()
	return s.KeepShallow(slices.Concat(have, theirs), func(id plumbing.Hash) bool {
		c, err := gitobject.GetCommit(s, id)
		return err == nil && !allHere(c, here)
	})
}

// endWhereNothingIs ends branches that were fetched where the other side has
// nothing either: a repository with a truncated history does not say so to go-git.
func endWhereNothingIs(ctx context.Context, s *packdb.DB, tips map[string]packdb.SHA) error {
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
		c, err := s.CommitObject(id)
		if err != nil {
			return fmt.Errorf("what was fetched is not whole: %w", err)
		}
		if slices.ContainsFunc(c.ParentHashes, func(p plumbing.Hash) bool { return packdb.IsAbsent(s.HasEncodedObject(p)) }) {
			ends = append(slices.Clone(ends), id)
			continue
		}
		todo = append(todo, c.ParentHashes...)
	}
	return s.KeepShallow(ends, func(plumbing.Hash) bool { return true })
}

func allHere(c *gitobject.Commit, here map[plumbing.Hash]bool) bool {
	return !slices.ContainsFunc(c.ParentHashes, func(p plumbing.Hash) bool { return !here[p] })
}
