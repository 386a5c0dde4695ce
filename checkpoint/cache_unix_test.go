//go:build unix

package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
	"time"

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

// falsify makes the cache say that a file holds what another one does.
func (r *rig) falsify(name, as string) {
	r.t.Helper()
	// The next scan sees the same folder, and the lie is no change to it: its
	// tree has to be made to lie too.
	root := r.store.cacheFor(r.ws).root
	root.entries[root.find([]byte(name))].blob = root.entries[root.find([]byte(as))].blob
	tree, _, err := r.store.putObject(plumbing.TreeObject, root.encodeTree())
	must(r.t, err)
	root.tree = tree
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
	falsify := func() { r.falsify("old", "other") }
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

// A file that changed at the scan's own time, or later by a clock that was set
// back, is read again each time: its times would not show another change.
func TestYoungFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("old", "1")
	r.write("young", "2")
	future := time.Now().Add(time.Hour)
	must(t, os.Chtimes(r.path("young"), future, future))
	r.age()
	truth := r.snapshot(Selection{All: true})
	r.commit(truth)
	root := r.store.cacheFor(r.ws).root
	for name, want := range map[string]bool{"old": false, "young": true} {
		f := root.find([]byte(name))
		if got := f >= 0 && root.entries[f].flags&entryUnsure != 0; got != want {
			t.Errorf("%s: unsure %v, not %v", name, got, want)
		}
	}
	// The same times and the same size: only its bytes tell.
	r.write("young", "3")
	must(t, os.Chtimes(r.path("young"), future, future))
	changed := r.snapshot(Selection{All: true})
	if r.commit(changed); changed.Tree == truth.Tree {
		t.Error("a young file was not read again")
	}
	r.falsify("young", "old")
	if snap := r.snapshot(Selection{All: true}); snap.Tree != changed.Tree {
		t.Error("the cache was believed for a young file")
	}
}

// A file that is written while a scan is under way, and whose modification time
// is set back, is young by its change time.
func TestAFileWhoseTimeIsSetBackIsYoung(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("old", "1")
	r.write("set-back", "1")
	r.age()
	r.store.listing = func(string) []string {
		r.write("set-back", "2")
		past := time.Now().Add(-time.Hour)
		must(t, os.Chtimes(r.path("set-back"), past, past))
		return nil
	}
	r.commit(r.snapshot(Selection{All: true}))
	root := r.store.cacheFor(r.ws).root
	for name, want := range map[string]bool{"old": false, "set-back": true} {
		f := root.find([]byte(name))
		if got := f >= 0 && root.entries[f].flags&entryUnsure != 0; got != want {
			t.Errorf("%s: unsure %v, not %v", name, got, want)
		}
	}
}

// What an estimate says is what the checkpoint takes, whatever rules, the
// user's index or an unreadable name have a say in it; and nothing is written.
func TestEstimateCountsWhatACheckpointTakes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stock(t, "init", "-q", r.ws.Path())
	r.write("a/b/c", "12345")
	r.write("a/d", "1")
	r.write("skip/x", "123")
	r.write("skip/tracked", "1234567")
	stock(t, "-C", r.ws.Path(), "add", "skip/tracked")
	r.write(".gitignore", "skip/*\n")
	r.write("excluded/x", "123")
	r.write(".git/info/exclude", "excluded/\n")
	r.write("a/of-the-store", "123")
	must(t, os.WriteFile(filepath.Join(r.opts.Dir, "info", "exclude"), []byte("of-the-store\n"), 0o644))
	must(t, os.Symlink("a", r.path("link")))
	for _, sel := range []Selection{{All: true}, {Patterns: []string{"a/**"}}, {All: true, Never: []string{"a/b"}}, {}} {
		before := list(t, filepath.Dir(r.opts.Dir))
		size, err := r.store.Estimate(t.Context(), SnapshotRequest{Workspace: r.ws, Selection: sel})
		must(t, err)
		if after := list(t, filepath.Dir(r.opts.Dir)); after != before {
			t.Errorf("the estimate has written:\n%s", after)
		}
		snap := r.snapshot(sel)
		if size.Files != snap.Files || size.Bytes != snap.Bytes {
			t.Errorf("%+v: estimate %+v, checkpoint %d files, %d bytes", sel, size, snap.Files, snap.Bytes)
		}
		r.store.Abort()
	}
	size, err := r.store.Estimate(t.Context(), SnapshotRequest{Workspace: r.ws, Selection: Selection{All: true}})
	must(t, err)
	if len(size.Largest) != 3 || size.Largest[0].Path != "skip" || size.Largest[1].Path != "a" || size.Largest[1].Ignore != "/a/" || size.Largest[2].Path != "a/b" {
		t.Errorf("%+v", size.Largest)
	}
}

// The cache vouches for objects, and a pack that is gone has taken them along.
func TestTheCacheIsNotBelievedWithoutThePacksThatItKnew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "1")
	r.age()
	snap := r.snapshot(Selection{All: true})
	r.commit(snap)
	must(t, r.store.Close())
	packs, err := filepath.Glob(filepath.Join(r.opts.Dir, "objects", "pack", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("packs %v, %v", packs, err)
	}
	for _, name := range packs {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if r.store, err = Open(r.opts); err != nil {
		t.Fatal(err)
	}
	r.tip = "" // it is lost, too
	if again := r.snapshot(Selection{All: true}); again.Tree != snap.Tree {
		t.Fatalf("another tree, %s", again.Tree)
	}
	if err := r.store.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f, _, err := r.store.ReadFile(snap.Tree, "a"); err != nil {
		t.Errorf("the file that the lost pack held was not stored again: %v", err)
	} else {
		f.Close()
	}
}
