//go:build unix

package scan_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/scan"
)

// falsify makes the cache say that a file holds what another one does.
func falsify(r *checkpointtest.Rig, name, as string) {
	r.T.Helper()
	// The next scan sees the same directory, and the lie is no change to it: its
	// tree has to be made to lie too.
	root := r.Store.CacheFor(r.Ws).Root
	root.Entries[root.Find([]byte(name))].Blob = root.Entries[root.Find([]byte(as))].Blob
	tree, _, err := r.Store.PutObject(plumbing.TreeObject, root.EncodeTree())
	testkit.Must(r.T, err)
	root.Tree = tree
}

// A false entry in the cache shows whether the cache or the file is believed.
func TestUnchangedFilesAreReadOnceAndAgainAfterABoot(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("old", "1")
	r.Write("other", "2")
	r.Age()
	truth := r.Snapshot(match.Selection{All: true})
	r.Commit(truth)
	falsify := func() { falsify(r, "old", "other") }
	falsify()
	if lie := r.Snapshot(match.Selection{All: true}); lie.Tree == truth.Tree {
		t.Error("an unchanged file was read again")
	} else {
		r.Commit(lie)
	}
	r.Reopen()
	if lie := r.Snapshot(match.Selection{All: true}); lie.Tree == truth.Tree {
		t.Error("a new process read an unchanged file again")
	}
	r.Opts.BootID = "another boot"
	r.Reopen()
	if got := r.Snapshot(match.Selection{All: true}); got.Tree != truth.Tree {
		t.Error("after a boot the cache is still believed")
	}
	falsifyAndTouch := func() {
		falsify()
		if err := os.Chmod(r.Path("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.Commit(r.Snapshot(match.Selection{All: true}))
	falsifyAndTouch()
	if got := r.Snapshot(match.Selection{All: true}); got.Tree != truth.Tree {
		t.Error("a file whose change time moved was not read again")
	}
}

// A file that changed at the scan's own time, or later by a clock that was set
// back, is read again each time: its times would not show another change.
func TestYoungFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("old", "1")
	r.Write("young", "2")
	future := time.Now().Add(time.Hour)
	testkit.Must(t, os.Chtimes(r.Path("young"), future, future))
	r.Age()
	truth := r.Snapshot(match.Selection{All: true})
	r.Commit(truth)
	root := r.Store.CacheFor(r.Ws).Root
	for name, want := range map[string]bool{"old": false, "young": true} {
		f := root.Find([]byte(name))
		if got := f >= 0 && root.Entries[f].Flags&scan.EntryUnsure != 0; got != want {
			t.Errorf("%s: unsure %v, not %v", name, got, want)
		}
	}
	// The same times and the same size: only its bytes tell.
	r.Write("young", "3")
	testkit.Must(t, os.Chtimes(r.Path("young"), future, future))
	changed := r.Snapshot(match.Selection{All: true})
	if r.Commit(changed); changed.Tree == truth.Tree {
		t.Error("a young file was not read again")
	}
	falsify(r, "young", "old")
	if snap := r.Snapshot(match.Selection{All: true}); snap.Tree != changed.Tree {
		t.Error("the cache was believed for a young file")
	}
}

// A file that is written while a scan is under way, and whose modification time
// is set back, is young by its change time.
func TestAFileWhoseTimeIsSetBackIsYoung(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("old", "1")
	r.Write("set-back", "1")
	r.Age()
	r.Store.Listing = func(string) []string {
		r.Write("set-back", "2")
		past := time.Now().Add(-time.Hour)
		testkit.Must(t, os.Chtimes(r.Path("set-back"), past, past))
		return nil
	}
	r.Commit(r.Snapshot(match.Selection{All: true}))
	root := r.Store.CacheFor(r.Ws).Root
	for name, want := range map[string]bool{"old": false, "set-back": true} {
		f := root.Find([]byte(name))
		if got := f >= 0 && root.Entries[f].Flags&scan.EntryUnsure != 0; got != want {
			t.Errorf("%s: unsure %v, not %v", name, got, want)
		}
	}
}

// What an estimate says is what the checkpoint takes, whatever rules, the
// user's index or an unreadable name have a say in it; and nothing is written.
func TestEstimateCountsWhatACheckpointTakes(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	testkit.Stock(t, "init", "-q", r.Ws.Path())
	r.Write("a/b/c", "12345")
	r.Write("a/d", "1")
	r.Write("skip/x", "123")
	r.Write("skip/tracked", "1234567")
	testkit.Stock(t, "-C", r.Ws.Path(), "add", "skip/tracked")
	r.Write(".gitignore", "skip/*\n")
	r.Write("excluded/x", "123")
	r.Write(".git/info/exclude", "excluded/\n")
	r.Write("a/of-the-store", "123")
	testkit.Must(t, os.WriteFile(filepath.Join(r.Opts.Dir, "info", "exclude"), []byte("of-the-store\n"), 0o644))
	testkit.Must(t, os.Symlink("a", r.Path("link")))
	for _, sel := range []match.Selection{{All: true}, {Patterns: []string{"a/**"}}, {All: true, Never: []string{"a/b"}}, {}} {
		before := testkit.List(t, filepath.Dir(r.Opts.Dir))
		size, err := r.Store.Estimate(t.Context(), scan.SnapshotRequest{Workspace: r.Ws, Selection: sel})
		testkit.Must(t, err)
		if after := testkit.List(t, filepath.Dir(r.Opts.Dir)); after != before {
			t.Errorf("the estimate has written:\n%s", after)
		}
		snap := r.Snapshot(sel)
		if size.Files != snap.Files || size.Bytes != snap.Bytes {
			t.Errorf("%+v: estimate %+v, checkpoint %d files, %d bytes", sel, size, snap.Files, snap.Bytes)
		}
		r.Store.Abort()
	}
	size, err := r.Store.Estimate(t.Context(), scan.SnapshotRequest{Workspace: r.Ws, Selection: match.Selection{All: true}})
	testkit.Must(t, err)
	if len(size.Largest) != 3 || size.Largest[0].Path != "skip" || size.Largest[1].Path != "a" || size.Largest[1].Ignore != "/a/" || size.Largest[2].Path != "a/b" {
		t.Errorf("%+v", size.Largest)
	}
}

// The cache vouches for objects, and a pack that is gone has taken them along.
func TestTheCacheIsNotBelievedWithoutThePacksThatItKnew(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "1")
	r.Age()
	snap := r.Snapshot(match.Selection{All: true})
	r.Commit(snap)
	testkit.Must(t, r.Store.Close())
	packs, err := filepath.Glob(filepath.Join(r.Opts.Dir, "objects", "pack", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("packs %v, %v", packs, err)
	}
	for _, name := range packs {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if r.Store, err = checkpoint.Open(r.Opts); err != nil {
		t.Fatal(err)
	}
	r.Tip = "" // it is lost, too
	if again := r.Snapshot(match.Selection{All: true}); again.Tree != snap.Tree {
		t.Fatalf("another tree, %s", again.Tree)
	}
	if err := r.Store.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f, _, err := r.Store.ReadFile(snap.Tree, "a"); err != nil {
		t.Errorf("the file that the lost pack held was not stored again: %v", err)
	} else {
		f.Close()
	}
}
