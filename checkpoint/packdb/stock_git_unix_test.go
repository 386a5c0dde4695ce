//go:build unix

package packdb_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/repair"
	"hank/internal/short"
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
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	r.Write("a", "zero")
	r.Commit(r.Snapshot(match.Selection{All: true}))
	r.Store.Close()
	armed, calls := false, 0
	opts := r.Opts
	opts.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if armed && c.Mutates() && strings.HasPrefix(c.Name, r.Opts.Dir) {
			armed = false
			testkit.Stock(t, append([]string{"--git-dir=" + r.Opts.Dir}, tidies[calls%len(tidies)]...)...)
			calls++
			armed = true
		}
		return nil
	})
	var err error
	if r.Store, err = checkpoint.Open(opts); err != nil {
		t.Fatal(err)
	}
	var trees, commits []packdb.SHA
	for n := range 4 {
		r.Write("a", fmt.Sprint("content ", n))
		armed = true
		// A tree that no reference leads to until the next commit, as the frozen
		// program is.
		tree, err := r.Store.AddTree(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		snap := r.Snapshot(match.Selection{All: true})
		sha, err := r.Store.Commit(context.Background(), packdb.CommitRequest{Tree: snap.Tree, Parents: []packdb.SHA{r.Tip}, Message: "next\n", When: time.Unix(1_700_000_000, 0)})
		if err != nil {
			t.Fatal(err)
		}
		testkit.Stock(t, "--git-dir="+r.Opts.Dir, "repack", "-a", "-d", "-q")
		testkit.Stock(t, "--git-dir="+r.Opts.Dir, "prune", "--expire=now")
		if err := r.Store.SetRef("refs/heads/main", r.Tip, sha); err != nil {
			t.Fatal(err)
		}
		armed = false
		r.Tip, trees, commits = sha, append(trees, tree, snap.Tree), append(commits, sha)
	}
	if calls < 20 {
		t.Errorf("git came between only %d times", calls)
	}
	look := func(what string) {
		for _, sha := range append(trees, commits...) {
			if !r.Store.Has(sha) {
				t.Errorf("%s: %s is gone", what, sha)
			}
		}
	}
	look("the writer")
	r.Reopen()
	look("opened again")
	if report, err := repair.Check(context.Background(), r.Store.DB); err != nil || !report.IsComplete() {
		t.Errorf("%v %v", err, report)
	}
	testkit.Stock(t, "--git-dir="+r.Opts.Dir, "fsck", "--strict", "--full")
}

// TestAWriterFindsWhatWasPackedAgain: stock git puts the objects of packs that
// have no mark into one of another name while a writer has the store open.
func TestAWriterFindsWhatWasPackedAgain(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	var commits []packdb.SHA
	for n := range 3 {
		r.Write("a", fmt.Sprint("content ", n))
		commits = append(commits, r.Commit(r.Snapshot(match.Selection{All: true})))
	}
	r.Reopen() // nothing is read yet
	pack := filepath.Join(r.Opts.Dir, "objects", "pack")
	for _, mark := range testkit.Glob(t, pack, "*"+packdb.KeepMark) {
		if err := os.Remove(mark); err != nil {
			t.Fatal(err)
		}
	}
	before := testkit.Glob(t, pack, "*.pack")
	testkit.Stock(t, "--git-dir="+r.Opts.Dir, "repack", "-a", "-d", "-q")
	if after := testkit.Glob(t, pack, "*.pack"); len(after) != 1 || after[0] == before[0] {
		t.Fatalf("git has not packed again: %v, %v", before, after)
	}
	for _, sha := range commits {
		if !r.Store.Has(sha) {
			t.Errorf("%s is not found", sha)
		}
	}
	r.Write("a", "last")
	commits = append(commits, r.Commit(r.Snapshot(match.Selection{All: true})))
	r.Reopen()
	if marks := testkit.Glob(t, pack, "*"+packdb.KeepMark); len(marks) != 2 {
		t.Errorf("the packs have %d marks", len(marks))
	}
	for _, sha := range commits {
		if !r.Store.Has(sha) {
			t.Errorf("%s is not found by the next", sha)
		}
	}
}

// TestReferencesThatArePackedMeanwhileAreFound: stock git packs the references
// between any two calls of somebody who reads them.
func TestReferencesThatArePackedMeanwhileAreFound(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "one")
	first := r.Commit(r.Snapshot(match.Selection{All: true}))
	for at := 1; ; at++ {
		count := 0
		opts := r.Opts
		opts.ReadOnly = true
		opts.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
			if count++; count == at {
				testkit.Stock(t, "--git-dir="+r.Opts.Dir, "pack-refs", "--all", "--prune")
			}
			return nil
		})
		s := packdb.New(opts)
		refs, damaged, err := s.ReadableRefs("refs/")
		if err != nil || len(damaged) > 0 || refs["refs/heads/main"] != first {
			t.Fatalf("packed at call %d: %v, %v, %v", at, refs, damaged, err)
		}
		if count < at {
			return
		}
		// A file again, beside a packed value that is older.
		if err := r.Store.SetRef("refs/heads/main", first, ""); err != nil {
			t.Fatal(err)
		}
		if err := r.Store.SetRef("refs/heads/main", "", first); err != nil {
			t.Fatal(err)
		}
	}
}

// TestALockOfAMomentIsWaitedFor: stock git's gc locks each reference.
func TestALockOfAMomentIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "one")
	sha := r.Commit(r.Snapshot(match.Selection{All: true}))
	r.Store.Close()
	lock := filepath.Join(r.Opts.Dir, "refs/heads/other.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tries := 0
	opts := r.Opts
	opts.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if c.Op == vfstest.OpLink && c.Name == lock {
			if tries++; tries == 2 {
				return os.Remove(lock)
			}
		}
		return nil
	})
	var err error
	if r.Store, err = checkpoint.Open(opts); err != nil {
		t.Fatal(err)
	}
	if err := r.Store.SetRef("refs/heads/other", "", sha); err != nil || tries != 2 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// TestWhatAKilledWriterLeftGoes, under the names of today and of earlier, and
// marks without their pack.
func TestWhatAKilledWriterLeftGoes(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "one")
	r.Commit(r.Snapshot(match.Selection{All: true}))
	pack := filepath.Join(r.Opts.Dir, "objects", "pack")
	want := fmt.Sprint(testkit.Glob(t, pack, "*"))
	r.Store.Close()
	for _, name := range []string{packdb.Temporary + "x", packdb.Temporary + "x" + packdb.IndexTemporary, packdb.OldTemporary + "x", packdb.OldTemporary + "x.idx", "pack-0123" + packdb.KeepMark} {
		if err := os.WriteFile(filepath.Join(pack, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.Reopen()
	if got := fmt.Sprint(testkit.Glob(t, pack, "*")); got != want {
		t.Errorf("there are %s, want %s", got, want)
	}
}
