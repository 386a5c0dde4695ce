//go:build unix

package checkpoint_test

import (
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
)

// A finder finds what the store finds, also names that the store escapes.
func TestAFinderFindsWhatTheStoreFinds(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	for _, name := range []string{"a/b/c", "a/d", "e", "f/.git-ignored/g"} {
		r.Write(name, name)
	}
	one := r.Snapshot(match.Selection{All: true})
	r.Commit(one)
	r.Write("h/i", "more")
	two := r.Snapshot(match.Selection{All: true})
	r.Commit(two)
	f := checkpoint.NewFinder(r.Store.DB)
	found := 0
	for _, tree := range []packdb.SHA{one.Tree, two.Tree, one.Tree, packdb.EmptyTree, "0123456789012345678901234567890123456789"} {
		for _, path := range []string{"a", "a/b", "a/b/c", "a/b/c/d", "a/d", "e", "e/x", "f/.git-ignored/g", "h", "h/i", "", "x/y"} {
			got := f.HasFile(tree, path)
			if got != r.Store.HasFile(tree, path) {
				t.Errorf("%s in %.7s: %v", path, tree, got)
			}
			if got {
				found++
			}
		}
	}
	if found != 13 {
		t.Errorf("%d found", found)
	}
}
