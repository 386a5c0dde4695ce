//go:build unix

package packdb_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/packindex"
	"hank/checkpoint/repair"
	"hank/checkpoint/scan"
	"hank/internal/race"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

// What a pack had that was cut off is stored again, and can be read.
func TestWhatAPackThatWasCutOffHadIsStoredAgain(t *testing.T) {
	t.Parallel()
	for _, left := range []int64{0, 4, 12} {
		r := checkpointtest.NewRig(t)
		r.Write("a", "one")
		r.Commit(r.Snapshot(match.Selection{All: true}))
		name := testkit.Glob(t, r.Opts.Dir, "objects/pack/*.pack")[0]
		if err := errors.Join(os.Chmod(name, 0o600), os.Truncate(name, left)); err != nil {
			t.Fatal(err)
		}
		r.Reopen()
		id, added, err := r.Store.PutObject(plumbing.BlobObject, []byte("one"))
		if err != nil || !added || !r.Store.Has(packdb.SHA(id.String())) {
			t.Errorf("%d bytes left: added %t, can be read %t: %v", left, added, r.Store.Has(packdb.SHA(id.String())), err)
		}
	}
}

func TestOnlyHanksOwnLocksAreSwept(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "one")
	sha := r.Commit(r.Snapshot(match.Selection{All: true}))
	unlock, err := r.Store.Lock("refs/heads/killed")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	theirs := filepath.Join(r.Opts.Dir, "refs/heads/theirs.lock")
	os.WriteFile(theirs, nil, 0o644)
	os.WriteFile(filepath.Join(r.Opts.Dir, "packed-refs.lock"), []byte(packdb.LockMarkText), 0o644)
	s, err := checkpoint.Open(r.Opts) // a new process, after kill -9
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.SetRef("refs/heads/killed", "", sha); err != nil {
		t.Errorf("hank's own lock was left: %v", err)
	}
	var locked *packdb.LockedError
	if err := s.SetRef("refs/heads/theirs", "", sha); !errors.As(err, &locked) || locked.Path != theirs {
		t.Errorf("git's lock was not respected: %v", err)
	}
	if left := testkit.Glob(t, r.Opts.Dir, "*.lock"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestReferencesLiveWhereGitLeftAnEmptyFolder(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "one")
	sha := r.Commit(r.Snapshot(match.Selection{All: true}))
	if err := os.MkdirAll(filepath.Join(r.Opts.Dir, "refs/heads/run-1/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.Store.SetRef("refs/heads/run-1", "", sha); err == nil {
		t.Error("a folder with content was replaced")
	}
	os.Remove(filepath.Join(r.Opts.Dir, "refs/heads/run-1/sub"))
	if err := r.Store.SetRef("refs/heads/run-1", "", sha); err != nil {
		t.Error(err)
	}
	if err := r.Store.SetRef("refs/heads/run-1/below", "", sha); err == nil {
		t.Error("a reference below a reference was made")
	}
	if _, err := r.Store.Ref("refs/../../etc/passwd"); err == nil {
		t.Error("a name led out of the store")
	}
	r.Whole()
}

func TestStockGitChecksOutTheBytesWhateverAttributesSay(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write(".gitattributes", "* text=auto eol=crlf\n*.id ident\n*.u working-tree-encoding=UTF-16\n*.no export-ignore\n*.f filter=gone\n")
	for name, text := range map[string]string{"crlf": "a\r\nb\r\n", "lf": "a\nb\n", "x.id": "$Id: old $\n", "y.u": "plain\n", "z.no": "x", "w.f": "x\n"} {
		r.Write(name, text)
	}
	r.Commit(r.Snapshot(match.Selection{All: true}))
	out := t.TempDir()
	testkit.Stock(t, "--git-dir="+r.Opts.Dir, "--work-tree="+out, "-c", "core.bare=false", "checkout", "-f", "main", "--", ".")
	for _, name := range testkit.Glob(t, out, "*") {
		got, _ := os.ReadFile(name)
		want, _ := os.ReadFile(r.Path(filepath.Base(name)))
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %q, was %q", filepath.Base(name), got, want)
		}
	}
}

// circle writes a pack of two deltas that name each other as their base.
func circle(t *testing.T, dir string) (a, b plumbing.Hash) {
	a, b = plumbing.NewHash(strings.Repeat("aa", 20)), plumbing.NewHash(strings.Repeat("bb", 20))
	p, err := packdb.NewPendingPack(vfs.OS, filepath.Join(dir, "objects/pack/"+packdb.Temporary+"circle"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]plumbing.Hash{{a, b}, {b, a}} {
		var z bytes.Buffer
		if err := packdb.Deflate(&z, strings.NewReader("\x01\x01\x01x")); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Add(pair[0], packdb.AppendPackedHeader(nil, plumbing.REFDeltaObject, 4), pair[1][:], z.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := p.Seal()
	if err != nil {
		t.Fatal(err)
	}
	p.File.Close()
	os.Rename(p.Path, p.PackBase(sum)+".pack")
	os.WriteFile(p.PackBase(sum)+".idx", packindex.Encode(p.Entries, sum), 0o444)
	return a, b
}

func TestACircleOfDeltasEndsInAnError(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	a, b := circle(t, r.Opts.Dir)
	r.Reopen()
	for _, id := range []plumbing.Hash{a, b} {
		if _, err := r.Store.Object(id); err == nil {
			t.Errorf("object %s was read", id)
		}
	}
	if report, err := repair.Check(context.Background(), r.Store.DB); err != nil || report.IsComplete() {
		t.Errorf("check: %v %v", err, report)
	}
}

// Every call of a commit fails once; what was committed before stays, nothing
// is half there, and the same store continues.
func TestAfterAnyFailedCallTheStoreGoesOn(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		for n := 1; ; n++ {
			if !failNth(t, n, cause) {
				break
			}
		}
	}
}

func failNth(t *testing.T, n int, cause error) (happened bool) {
	r := checkpointtest.NewRig(t)
	r.Write("a", "one")
	first := r.Commit(r.Snapshot(match.Selection{All: true}))
	r.Store.Close()
	armed, count := false, 0
	opts := r.Opts
	opts.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if !armed || !c.Mutates() {
			return nil
		}
		if count++; count == n {
			happened = true
			return cause
		}
		return nil
	})
	var err error
	if r.Store, err = checkpoint.Open(opts); err != nil {
		t.Fatal(err)
	}
	r.Write("a", "two")
	commit := func() error {
		snap, err := r.Store.Snapshot(context.Background(), scan.SnapshotRequest{Workspace: r.Ws, Selection: match.Selection{All: true}, Base: r.Tip})
		if err != nil {
			return err
		}
		sha, err := r.Store.Commit(context.Background(), packdb.CommitRequest{Tree: snap.Tree, Parents: []packdb.SHA{first}, Message: "two\n", When: time.Unix(1_700_000_000, 0)})
		if err != nil {
			return err
		}
		have, err := r.Store.Ref("refs/heads/main")
		if err != nil || have == sha {
			return err // the move was made, and its last sync failed
		}
		return r.Store.SetRef("refs/heads/main", first, sha)
	}
	armed = true
	failed := commit()
	armed = false
	if happened && failed != nil && !errors.Is(failed, cause) {
		t.Errorf("call %d: the cause %v is lost in %v", n, cause, failed)
	}
	if err := commit(); err != nil {
		var locked *packdb.LockedError
		if !errors.As(err, &locked) { // the lock could not be removed: the next process does
			t.Errorf("call %d failed, and the store does not go on: %v", n, err)
		}
		r.Store.Close()
		if r.Store, err = checkpoint.Open(r.Opts); err != nil {
			t.Fatal(err)
		}
		if err := commit(); err != nil {
			t.Errorf("call %d failed, and a new process does not go on: %v", n, err)
		}
	}
	tip, err := r.Store.Ref("refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := r.Store.ReadFile(mustInfo(t, r.Store, tip).Tree, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if report, err := repair.Check(context.Background(), r.Store.DB); err != nil || !report.IsComplete() {
		t.Errorf("call %d: %v %v", n, err, report)
	}
	return happened
}

func mustInfo(t *testing.T, s *checkpoint.Store, sha packdb.SHA) packdb.Info {
	t.Helper()
	info, err := s.CommitInfo(sha)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestAReaderWritesNothing(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "one")
	sha := r.Commit(r.Snapshot(match.Selection{All: true}))
	os.WriteFile(filepath.Join(r.Opts.Dir, "objects/pack/"+packdb.Temporary+"x"), nil, 0o600)
	before := testkit.List(t, r.Opts.Dir)
	opts := r.Opts
	opts.ReadOnly = true
	opts.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if c.Mutates() && strings.HasPrefix(c.Name, filepath.Dir(r.Opts.Dir)) {
			t.Errorf("a reader made %s", c)
		}
		return nil
	})
	s, err := checkpoint.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	r.Write("a", "changed")
	if _, err := s.Snapshot(context.Background(), scan.SnapshotRequest{Workspace: r.Ws, Selection: match.Selection{All: true}, Base: sha}); err != nil {
		t.Error(err)
	}
	if err := s.SetRef("refs/heads/x", "", sha); err == nil {
		t.Error("a reader moved a reference")
	}
	if _, err := s.Commit(context.Background(), packdb.CommitRequest{Tree: packdb.EmptyTree, Message: "x", When: time.Unix(1, 0)}); err == nil {
		t.Error("a reader made a commit")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if after := testkit.List(t, r.Opts.Dir); after != before {
		t.Errorf("was\n%s\nis\n%s", before, after)
	}
}

// A tree of given files passes git's own check like one of a workspace does.
func TestATreeOfGivenFilesPassesFsckAndComesBack(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	content := "[submodule \"../x\"]\n\tpath = -x\n"
	want := []string{".gitattributes", "a/.gitmodules", "b/.gitmodules/inside", "c/.gitattributes", "d/.GIT/x", "e/.gitmodules", "f/git~1"}
	modes := map[string]filemode.FileMode{"e/.gitmodules": filemode.Symlink}
	texts := map[string]string{".gitattributes": "* -text\n", "c/.gitattributes": strings.Repeat("x", 5000) + "\n", "big/.gitmodules": strings.Repeat("#", packdb.InMemory+1)}
	want = append(want, "big/.gitmodules")
	slices.Sort(want)
	var files []checkpoint.TreeFile
	for _, path := range want {
		text := cmp.Or(texts[path], content)
		files = append(files, checkpoint.TreeFile{Path: path, Mode: cmp.Or(modes[path], filemode.Regular), Open: func() (io.ReadCloser, int64, error) {
			return io.NopCloser(strings.NewReader(text)), int64(len(text)), nil
		}})
	}
	tree, err := r.Store.AddTree(t.Context(), files)
	testkit.Must(t, err)
	r.Commit(&scan.Snapshot{Tree: tree})
	r.Whole()
	if got := r.Paths(tree); !slices.Equal(got, want) {
		t.Errorf("%q comes back, not %q", got, want)
	}
	if out := testkit.Stock(t, "--git-dir="+r.Opts.Dir, "ls-tree", "--name-only", string(tree)); !strings.Contains(out, ".gitattributes\n") {
		t.Error("an ordinary .gitattributes was escaped")
	}
}

// A pack without an index may be one that a merge is removing: that it goes
// while a check looks at it is no damage, as long as nothing is missed.
func TestACheckDoesNotMissAPackThatAMergeRemoves(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "one")
	r.Commit(r.Snapshot(match.Selection{All: true}))
	r.Store.Close()
	orphan := filepath.Join(r.Opts.Dir, "objects/pack/pack-"+strings.Repeat("ab", 20)+".pack")
	testkit.Must(t, os.WriteFile(orphan, []byte("PACK"), 0o600))
	opts, removed := r.Opts, false
	opts.ReadOnly = true
	opts.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if c.Op == vfstest.OpOpen && c.Name == orphan && !removed {
			removed = true
			return os.Remove(orphan)
		}
		return nil
	})
	s, err := checkpoint.Open(opts)
	testkit.Must(t, err)
	defer s.Close()
	report, err := repair.Check(t.Context(), s.DB)
	testkit.Must(t, err)
	if !removed || !report.IsComplete() {
		t.Errorf("removed while it was looked at: %v; found %v", removed, report.Problems)
	}
}
