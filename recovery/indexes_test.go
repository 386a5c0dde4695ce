package recovery

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hank/checkpoint"
	"hank/internal/short"
	"hank/recovery/execution"
	"hank/state"
)

// The indexes of packs are gone or damaged, and with them in turn all other memories: all
// that is known is read from the packs, the next opening makes the indexes again as they
// were, and what was damaged is in quarantine.
func TestIndexesAreMadeAgainFromTheirPacks(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := unmerged(t, 12)
	indexes := must(filepath.Glob(filepath.Join(b.l.Store(), "objects", "pack", "*.idx")))(t)
	one, other := indexes[0], indexes[1]
	flipped := slices.Clone(b.files[one])
	flipped[8+1024+3] ^= 8 // in the name of an object
	each := func(do func(string)) func() {
		return func() {
			for _, index := range indexes {
				do(index)
			}
		}
	}
	for name, c := range map[string]struct {
		do   func()
		says string
		kept []byte
	}{
		"all gone":              {each(func(index string) { remove(t, index) }), "packs of the checkpoint store is gone", nil},
		"one gone":              {func() { remove(t, one) }, "the index of 1 pack of the checkpoint store is gone", nil},
		"all junk":              {each(func(index string) { put(t, index, []byte("junk")) }), "it is in quarantine, and made again", []byte("junk")},
		"empty":                 {func() { put(t, one, nil) }, "it is in quarantine, and made again", []byte{}},
		"cut":                   {func() { put(t, one, b.files[one][:1100]) }, "it is in quarantine, and made again", b.files[one][:1100]},
		"flipped":               {func() { put(t, one, flipped) }, "its checksum is wrong", flipped},
		"another pack's":        {func() { put(t, one, b.files[other]) }, "it was made for another pack", b.files[other]},
		"one gone, one flipped": {func() { put(t, one, flipped); remove(t, other) }, "the index of 1 pack of the checkpoint store is gone", flipped},
	} {
		for _, ruined := range []bool{false, true} {
			b.reset()
			c.do()
			if ruined {
				name += ", and no other memory"
				for _, path := range []string{b.l.State(), b.l.State() + ".bak", b.l.Events()} {
					remove(t, path)
				}
			}
			says(t, name, b.recovers(name), c.says)
			for _, index := range indexes {
				if have, err := os.ReadFile(index); err != nil || !bytes.Equal(have, b.files[index]) {
					t.Errorf("%s: %s is not what it was: %v", name, filepath.Base(index), err)
				}
			}
			if c.kept != nil {
				b.inQuarantine(name, ".idx", c.kept)
			}
		}
	}
}

// While a runtime works, a missing index may be about to come, or its pack to go: nobody is
// told of it. A damaged one is named, and not touched.
func TestAMissingIndexIsNoFindingWhileARuntimeWorks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := begin(t, root, 6, CreateOptions{})
	ok(t, a.start())
	ok(t, a.play(attempt{}))
	a.settle()
	indexes := must(filepath.Glob(filepath.Join(a.x.Layout.Store(), "objects", "pack", "*.idx")))(t)
	ok(t, os.Remove(indexes[0]))
	look := func(damaged int) {
		t.Helper()
		v := must(Read(root))(t)
		if !v.Live || len(v.Report.Findings) > 0 || v.Blocked != nil {
			t.Errorf("live %t, blocked %v: %s", v.Live, v.Blocked, listed(v.Report))
		}
		store := must(v.Store())(t)
		defer store.Close()
		if found := DamagedIndexes(store); len(found) != damaged {
			t.Errorf("%d damaged indexes: %v", damaged, found)
		}
		for _, sha := range []state.SHA{v.State.InitialCheckpoint, execution.Head(v.State)} {
			if complete, err := store.IsComplete(t.Context(), checkpoint.SHA(sha)); err != nil || !complete {
				t.Errorf("checkpoint %s: %t, %v", sha, complete, err)
			}
		}
	}
	look(0)
	ok(t, os.Chmod(indexes[1], 0o600))
	ok(t, os.WriteFile(indexes[1], []byte("junk"), 0o600))
	look(1)
	a.close()
}
