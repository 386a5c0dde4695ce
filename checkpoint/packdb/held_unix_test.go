//go:build unix

package packdb_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"hank/checkpoint/diff"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/restore"
)

// Trees are held for as long as somebody wants them: then a damaged pack is
// noticed again.
func TestTreesAreHeldUntilTheLastReleases(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a/b/c", "one")
	snap := r.Snapshot(match.Selection{All: true})
	r.Commit(snap)
	readable := func() bool { return r.Store.HasFile(snap.Tree, "a/b/c") }

	first := r.Store.CacheTrees()
	second := r.Store.CacheTrees()
	if !readable() {
		t.Fatal("the file is not in its tree")
	}
	pack := testkit.Glob(t, r.Opts.Dir, "objects/pack/*.pack")[0]
	if err := os.Chmod(pack, 0o600); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(pack)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pack, bytes.Repeat([]byte{0xff}, len(good)), 0o600); err != nil {
		t.Fatal(err)
	}
	if !readable() {
		t.Error("the trees are not held")
	}
	first()
	first() // once more is nothing
	if !readable() {
		t.Error("the trees are held no more, and the second holder has not released them")
	}
	second()
	if readable() {
		t.Error("the damaged pack is not noticed")
	}
	defer r.Store.CacheTrees()()
	if readable() {
		t.Error("who holds trees anew got old ones")
	}
}

// What differs between two trees is worked out once for a move, and not believed
// for another pair of them, nor after it.
func TestComparisonIsHeldForItsOwnTrees(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	var trees []packdb.SHA
	for _, text := range []string{"one", "two", "three"} {
		r.Write("a/b/"+text, text)
		snap := r.Snapshot(match.Selection{All: true})
		r.Commit(snap)
		trees = append(trees, snap.Tree)
	}
	compare := func(from, to packdb.SHA) []diff.Change {
		t.Helper()
		got, err := restore.Comparing(r.Store, from, to)
		testkit.Must(t, err)
		want, err := diff.Diff(r.Store, from, to)
		testkit.Must(t, err)
		if !slices.Equal(got, want) {
			t.Errorf("%s to %s: %v, want %v", from, to, got, want)
		}
		return got
	}
	release := r.Store.CacheTrees()
	first := compare(trees[0], trees[1])
	if again := compare(trees[0], trees[1]); &again[0] != &first[0] {
		t.Error("it was worked out twice")
	}
	compare(trees[1], trees[0])
	compare(trees[0], trees[2])
	compare(trees[0], trees[1])
	release()
	if again := compare(trees[0], trees[1]); &again[0] == &first[0] {
		t.Error("it is believed after the move")
	}
}
