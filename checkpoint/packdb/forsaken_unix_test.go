//go:build unix

package packdb_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"hank/checkpoint/internal/checkpointtest"
)

// Somebody puts a copy in the place of the store's directory while a pack is being
// written: the copy's namesake of the temporary file does not become a pack, and
// a store that is forsaken then removes nothing of the copy.
func TestACopyInThePlaceOfAStoreIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	if _, err := r.Store.AddTree(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	tmp := r.Store.Pending.Path
	if err := os.Remove(tmp); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tmp, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Store.Flush(context.Background()); err == nil {
		t.Error("a pack was written into a file of somebody else's")
	}
	dir := filepath.Join(r.Opts.Dir, "objects", "pack")
	if packs, err := filepath.Glob(filepath.Join(dir, "pack-*")); err != nil || len(packs) > 0 {
		t.Errorf("packs are %v, %v", packs, err)
	}

	base := filepath.Join(dir, "pack-0123456789012345678901234567890123456789")
	for _, name := range []string{base + ".pack", base + ".idx"} { // replaced, says the store, by a merge
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.Store.Replaced = append(r.Store.Replaced, r.Store.NewPack(base, 0))
	r.Store.Abandon()
	if packs, err := filepath.Glob(base + ".*"); err != nil || len(packs) != 2 {
		t.Errorf("left are %v, %v", packs, err)
	}
}
