//go:build unix

package checkpoint

import (
	"bytes"
	"os"
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
