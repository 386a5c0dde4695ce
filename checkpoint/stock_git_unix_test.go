//go:build unix

package checkpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

// tidies are what people, editors and cron run over the repositories that they
// find.
var tidies = [][]string{
	{"prune", "--expire=now"},
	{"repack", "-a", "-d", "-q"},
	{"repack", "-A", "-d", "-q"},
	{"gc", "--prune=now", "-q"},
	{"-c", "gc.auto=1", "-c", "gc.autoPackLimit=1", "-c", "gc.autoDetach=false", "gc", "--auto", "--prune=now", "-q"},
	{"repack", "-d", "-q", "--geometric=2"},
	{"prune-packed", "-q"},
}

// TestStockGitTidiesUpBesideAWriter runs one of git's commands that tidy up
// before each call of a snapshot, its commit and its reference that changes the
// disk: nothing fails, and every object is there afterwards, for this store,
// for a new one, and for git.
func TestStockGitTidiesUpBesideAWriter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "zero")
	r.commit(r.snapshot(Selection{All: true}))
	r.store.Close()
	armed, calls := false, 0
	opts := r.opts
	opts.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if armed && c.Mutates() && strings.HasPrefix(c.Name, r.opts.Dir) {
			armed = false
			stock(t, append([]string{"--git-dir=" + r.opts.Dir}, tidies[calls%len(tidies)]...)...)
			calls++
			armed = true
		}
		return nil
	})
	var err error
	if r.store, err = Open(opts); err != nil {
		t.Fatal(err)
	}
	var trees, commits []SHA
	for n := range 4 {
		r.write("a", fmt.Sprint("content ", n))
		armed = true
		// A tree that no reference leads to until the next commit, as the frozen
		// program is.
		tree, err := r.store.AddTree(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		snap := r.snapshot(Selection{All: true})
		sha, err := r.store.Commit(context.Background(), CommitRequest{Tree: snap.Tree, Parents: []SHA{r.tip}, Message: "next\n", When: time.Unix(1_700_000_000, 0)})
		if err != nil {
			t.Fatal(err)
		}
		stock(t, "--git-dir="+r.opts.Dir, "repack", "-a", "-d", "-q")
		stock(t, "--git-dir="+r.opts.Dir, "prune", "--expire=now")
		if err := r.store.SetRef("refs/heads/main", r.tip, sha); err != nil {
			t.Fatal(err)
		}
		armed = false
		r.tip, trees, commits = sha, append(trees, tree, snap.Tree), append(commits, sha)
	}
	if calls < 20 {
		t.Errorf("git came between only %d times", calls)
	}
	look := func(what string) {
		for _, sha := range append(trees, commits...) {
			if !r.store.Has(sha) {
				t.Errorf("%s: %s is gone", what, sha)
			}
		}
	}
	look("the writer")
	r.reopen()
	look("opened again")
	if report, err := r.store.Check(context.Background()); err != nil || !report.Whole() {
		t.Errorf("%v %v", err, report)
	}
	stock(t, "--git-dir="+r.opts.Dir, "fsck", "--strict", "--full")
}

// TestAWriterFindsWhatWasPackedAgain: stock git puts the objects of packs that
// have no mark into one of another name while a writer has the store open.
func TestAWriterFindsWhatWasPackedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var commits []SHA
	for n := range 3 {
		r.write("a", fmt.Sprint("content ", n))
		commits = append(commits, r.commit(r.snapshot(Selection{All: true})))
	}
	r.reopen() // nothing is read yet
	pack := filepath.Join(r.opts.Dir, "objects", "pack")
	for _, mark := range glob(t, pack, "*"+keepMark) {
		if err := os.Remove(mark); err != nil {
			t.Fatal(err)
		}
	}
	before := glob(t, pack, "*.pack")
	stock(t, "--git-dir="+r.opts.Dir, "repack", "-a", "-d", "-q")
	if after := glob(t, pack, "*.pack"); len(after) != 1 || after[0] == before[0] {
		t.Fatalf("git has not packed again: %v, %v", before, after)
	}
	for _, sha := range commits {
		if !r.store.Has(sha) {
			t.Errorf("%s is not found", sha)
		}
	}
	r.write("a", "last")
	commits = append(commits, r.commit(r.snapshot(Selection{All: true})))
	r.reopen()
	if marks := glob(t, pack, "*"+keepMark); len(marks) != 2 {
		t.Errorf("the packs have %d marks", len(marks))
	}
	for _, sha := range commits {
		if !r.store.Has(sha) {
			t.Errorf("%s is not found by the next", sha)
		}
	}
}

// TestReferencesThatArePackedMeanwhileAreFound: stock git packs the references
// between any two calls of somebody who reads them.
func TestReferencesThatArePackedMeanwhileAreFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "one")
	first := r.commit(r.snapshot(Selection{All: true}))
	for at := 1; ; at++ {
		count := 0
		opts := r.opts
		opts.ReadOnly = true
		opts.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
			if count++; count == at {
				stock(t, "--git-dir="+r.opts.Dir, "pack-refs", "--all", "--prune")
			}
			return nil
		})
		s := newDB(opts)
		refs, damaged, err := s.ReadableRefs("refs/")
		if err != nil || len(damaged) > 0 || refs["refs/heads/main"] != first {
			t.Fatalf("packed at call %d: %v, %v, %v", at, refs, damaged, err)
		}
		if count < at {
			return
		}
		// A file again, beside a packed value that is older.
		if err := r.store.SetRef("refs/heads/main", first, ""); err != nil {
			t.Fatal(err)
		}
		if err := r.store.SetRef("refs/heads/main", "", first); err != nil {
			t.Fatal(err)
		}
	}
}

// TestALockOfAMomentIsWaitedFor: stock git's gc locks each reference.
func TestALockOfAMomentIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "one")
	sha := r.commit(r.snapshot(Selection{All: true}))
	r.store.Close()
	lock := filepath.Join(r.opts.Dir, "refs/heads/other.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tries := 0
	opts := r.opts
	opts.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if c.Op == vfstest.OpLink && c.Name == lock {
			if tries++; tries == 2 {
				return os.Remove(lock)
			}
		}
		return nil
	})
	var err error
	if r.store, err = Open(opts); err != nil {
		t.Fatal(err)
	}
	if err := r.store.SetRef("refs/heads/other", "", sha); err != nil || tries != 2 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// TestWhatAKilledWriterLeftGoes, under the names of today and of earlier, and
// marks without their pack.
func TestWhatAKilledWriterLeftGoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "one")
	r.commit(r.snapshot(Selection{All: true}))
	pack := filepath.Join(r.opts.Dir, "objects", "pack")
	want := fmt.Sprint(glob(t, pack, "*"))
	r.store.Close()
	for _, name := range []string{temporary + "x", temporary + "x" + indexTemporary, oldTemporary + "x", oldTemporary + "x.idx", "pack-0123" + keepMark} {
		if err := os.WriteFile(filepath.Join(pack, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.reopen()
	if got := fmt.Sprint(glob(t, pack, "*")); got != want {
		t.Errorf("there are %s, want %s", got, want)
	}
}
