//go:build unix

package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// age waits until the file system's clock has moved on, so that what was
// written is not young any more.
func (r *rig) age() {
	stamp := filepath.Join(r.t.TempDir(), "stamp")
	for first := int64(0); ; {
		if err := os.WriteFile(stamp, []byte("x"), 0o600); err != nil {
			r.t.Fatal(err)
		}
		fi, err := os.Stat(stamp)
		if err != nil {
			r.t.Fatal(err)
		}
		if now := fi.ModTime().UnixNano(); first == 0 {
			first = now
		} else if now > first {
			return
		}
	}
}

func (r *rig) reopen() {
	r.t.Helper()
	if err := r.store.Close(); err != nil {
		r.t.Fatal(err)
	}
	var err error
	if r.store, err = Open(r.opts); err != nil {
		r.t.Fatal(err)
	}
}

// A false entry in the cache shows whether the cache or the file is believed.
func TestUnchangedFilesAreReadOnceAndAgainAfterABoot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("old", "1")
	r.write("other", "2")
	r.age()
	truth := r.snapshot(Selection{All: true})
	r.commit(truth)
	falsify := func() {
		// Both scans before see the same folder, and the lie is no change to it:
		// its tree has to be made to lie too.
		root := r.store.cacheFor(r.ws).root
		root.entries[root.find([]byte("old"))].blob = root.entries[root.find([]byte("other"))].blob
		tree, _, err := r.store.putObject(plumbing.TreeObject, root.encodeTree())
		if err != nil {
			t.Fatal(err)
		}
		root.tree = tree
	}
	falsify()
	if lie := r.snapshot(Selection{All: true}); lie.Tree == truth.Tree {
		t.Error("an unchanged file was read again")
	} else {
		r.commit(lie)
	}
	r.reopen()
	if lie := r.snapshot(Selection{All: true}); lie.Tree == truth.Tree {
		t.Error("a new process read an unchanged file again")
	}
	r.opts.BootID = "another boot"
	r.reopen()
	if got := r.snapshot(Selection{All: true}); got.Tree != truth.Tree {
		t.Error("after a boot the cache is still believed")
	}
	falsifyAndTouch := func() {
		falsify()
		if err := os.Chmod(r.path("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.commit(r.snapshot(Selection{All: true}))
	falsifyAndTouch()
	if got := r.snapshot(Selection{All: true}); got.Tree != truth.Tree {
		t.Error("a file whose change time moved was not read again")
	}
}

func TestYoungFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("f", "1")
	r.commit(r.snapshot(Selection{All: true}))
	root := r.store.cacheFor(r.ws).root
	if f := root.find([]byte("f")); f < 0 || root.entries[f].flags&entryYoung == 0 {
		r.age() // the clock may have moved between the write and the scan
		t.Skip("SKIP: the file system's clock is too fine for this to show")
	}
}

func TestEstimateCountsWhatACheckpointTakes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a/b/c", "12345")
	r.write("a/d", "1")
	r.write("skip/x", "123")
	r.write(".gitignore", "skip/\n")
	size, err := Estimate(r.ws, Selection{All: true})
	if err != nil {
		t.Fatal(err)
	}
	snap := r.snapshot(Selection{All: true})
	if size.Files != snap.Files || size.Bytes != snap.Bytes {
		t.Errorf("estimate %+v, checkpoint %d files, %d bytes", size, snap.Files, snap.Bytes)
	}
	if len(size.Largest) != 2 || size.Largest[0].Path != "a" || size.Largest[0].Ignore != "/a/" || size.Largest[1].Path != "a/b" {
		t.Errorf("%+v", size.Largest)
	}
}
