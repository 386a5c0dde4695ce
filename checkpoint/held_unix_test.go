//go:build unix

package checkpoint

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// Trees are held for as long as somebody wants them: then a damaged pack is
// noticed again.
func TestTreesAreHeldUntilTheLastReleases(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a/b/c", "one")
	snap := r.snapshot(Selection{All: true})
	r.commit(snap)
	readable := func() bool { return r.store.HasFile(snap.Tree, "a/b/c") }

	first := r.store.HoldTrees()
	second := r.store.HoldTrees()
	if !readable() {
		t.Fatal("the file is not in its tree")
	}
	pack := glob(t, r.opts.Dir, "objects/pack/*.pack")[0]
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
	defer r.store.HoldTrees()()
	if readable() {
		t.Error("who holds trees anew got old ones")
	}
}

// What differs between two trees is worked out once for a move, and not believed
// for another pair of them, nor after it.
func TestComparisonIsHeldForItsOwnTrees(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var trees []SHA
	for _, text := range []string{"one", "two", "three"} {
		r.write("a/b/"+text, text)
		snap := r.snapshot(Selection{All: true})
		r.commit(snap)
		trees = append(trees, snap.Tree)
	}
	compare := func(from, to SHA) []Change {
		t.Helper()
		got, err := comparing(r.store, from, to)
		must(t, err)
		want, err := Diff(r.store, from, to)
		must(t, err)
		if !slices.Equal(got, want) {
			t.Errorf("%s to %s: %v, want %v", from, to, got, want)
		}
		return got
	}
	release := r.store.HoldTrees()
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
