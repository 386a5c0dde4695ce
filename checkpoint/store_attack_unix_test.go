//go:build unix

package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

func glob(t testing.TB, pattern ...string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func (r *rig) whole() {
	r.t.Helper()
	report, err := r.store.Check(context.Background())
	if err != nil || !report.Whole() {
		r.t.Errorf("check: %v %v", err, report)
	}
	stock(r.t, "--git-dir="+r.opts.Dir, "fsck", "--strict", "--full")
}

func TestAPackWhoseIndexIsGoneGetsTheSameOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "one")
	r.write("d/b", "two")
	r.commit(r.snapshot(Selection{All: true}))
	idx := glob(t, r.opts.Dir, "objects/pack/*.idx")
	want, err := os.ReadFile(idx[0])
	if err != nil {
		t.Fatal(err)
	}
	r.store.Close()
	os.Remove(idx[0])
	reader := r.opts
	reader.ReadOnly = true
	s, err := Open(reader)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if got := glob(t, r.opts.Dir, "objects/pack/*.idx"); len(got) != 0 {
		t.Errorf("a reader wrote %v", got)
	}
	if r.store, err = Open(r.opts); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(idx[0]); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the index is not what it was: %v", err)
	}
	r.whole()
}

func TestAPackThatIsNeitherIndexedNorWholeIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "one")
	r.commit(r.snapshot(Selection{All: true}))
	good, err := os.ReadFile(glob(t, r.opts.Dir, "objects/pack/*.pack")[0])
	if err != nil {
		t.Fatal(err)
	}
	good[len(good)/2] ^= 1
	bad := filepath.Join(r.opts.Dir, "objects/pack/pack-"+strings.Repeat("0", 40)+".pack")
	os.WriteFile(bad, good, 0o444)
	r.reopen()
	if report, err := r.store.Check(context.Background()); err != nil || report.Whole() {
		t.Errorf("not reported: %v", err)
	}
}

func TestOnlyHanksOwnLocksAreSwept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "one")
	sha := r.commit(r.snapshot(Selection{All: true}))
	unlock, err := r.store.lock("refs/heads/killed")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	theirs := filepath.Join(r.opts.Dir, "refs/heads/theirs.lock")
	os.WriteFile(theirs, nil, 0o644)
	os.WriteFile(filepath.Join(r.opts.Dir, "packed-refs.lock"), []byte(lockMarkText), 0o644)
	s, err := Open(r.opts) // a new process, after kill -9
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.SetRef("refs/heads/killed", "", sha); err != nil {
		t.Errorf("hank's own lock was left: %v", err)
	}
	var locked *LockedError
	if err := s.SetRef("refs/heads/theirs", "", sha); !errors.As(err, &locked) || locked.Path != theirs {
		t.Errorf("git's lock was not respected: %v", err)
	}
	if left := glob(t, r.opts.Dir, "*.lock"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestReferencesLiveWhereGitLeftAnEmptyFolder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "one")
	sha := r.commit(r.snapshot(Selection{All: true}))
	if err := os.MkdirAll(filepath.Join(r.opts.Dir, "refs/heads/run-1/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.store.SetRef("refs/heads/run-1", "", sha); err == nil {
		t.Error("a folder with content was replaced")
	}
	os.Remove(filepath.Join(r.opts.Dir, "refs/heads/run-1/sub"))
	if err := r.store.SetRef("refs/heads/run-1", "", sha); err != nil {
		t.Error(err)
	}
	if err := r.store.SetRef("refs/heads/run-1/below", "", sha); err == nil {
		t.Error("a reference below a reference was made")
	}
	if _, err := r.store.Ref("refs/../../etc/passwd"); err == nil {
		t.Error("a name led out of the store")
	}
	r.whole()
}

func TestStockGitChecksOutTheBytesWhateverAttributesSay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(".gitattributes", "* text=auto eol=crlf\n*.id ident\n*.u working-tree-encoding=UTF-16\n*.no export-ignore\n*.f filter=gone\n")
	for name, text := range map[string]string{"crlf": "a\r\nb\r\n", "lf": "a\nb\n", "x.id": "$Id: old $\n", "y.u": "plain\n", "z.no": "x", "w.f": "x\n"} {
		r.write(name, text)
	}
	r.commit(r.snapshot(Selection{All: true}))
	out := t.TempDir()
	stock(t, "--git-dir="+r.opts.Dir, "--work-tree="+out, "-c", "core.bare=false", "checkout", "-f", "main", "--", ".")
	for _, name := range glob(t, out, "*") {
		got, _ := os.ReadFile(name)
		want, _ := os.ReadFile(r.path(filepath.Base(name)))
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %q, was %q", filepath.Base(name), got, want)
		}
	}
}

// circle writes a pack of two deltas that name each other as their base.
func circle(t *testing.T, dir string) (a, b plumbing.Hash) {
	a, b = plumbing.NewHash(strings.Repeat("aa", 20)), plumbing.NewHash(strings.Repeat("bb", 20))
	p, err := newPendingPack(vfs.OS, filepath.Join(dir, "objects/pack/"+temporary+"circle"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]plumbing.Hash{{a, b}, {b, a}} {
		var z bytes.Buffer
		if err := deflate(&z, strings.NewReader("\x01\x01\x01x")); err != nil {
			t.Fatal(err)
		}
		if _, err := p.add(pair[0], appendPackedHeader(nil, plumbing.REFDeltaObject, 4), pair[1][:], z.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := p.seal()
	if err != nil {
		t.Fatal(err)
	}
	p.file.Close()
	os.Rename(p.path, p.packBase(sum)+".pack")
	os.WriteFile(p.packBase(sum)+".idx", encodeIndex(p.entries, sum), 0o444)
	return a, b
}

func TestACircleOfDeltasEndsInAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := circle(t, r.opts.Dir)
	r.reopen()
	for _, id := range []plumbing.Hash{a, b} {
		if _, err := r.store.object(id); err == nil {
			t.Errorf("object %s was read", id)
		}
	}
	if report, err := r.store.Check(context.Background()); err != nil || report.Whole() {
		t.Errorf("check: %v %v", err, report)
	}
}

// Every call of a commit fails once; what was committed before stays, nothing
// is half there, and the same store goes on.
func TestAfterAnyFailedCallTheStoreGoesOn(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		for n := 1; ; n++ {
			if !failNth(t, n, cause) {
				break
			}
		}
	}
}

func failNth(t *testing.T, n int, cause error) (happened bool) {
	r := newRig(t)
	r.write("a", "one")
	first := r.commit(r.snapshot(Selection{All: true}))
	r.store.Close()
	armed, count := false, 0
	opts := r.opts
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
	if r.store, err = Open(opts); err != nil {
		t.Fatal(err)
	}
	r.write("a", "two")
	commit := func() error {
		snap, err := r.store.Snapshot(context.Background(), SnapshotRequest{Workspace: r.ws, Selection: Selection{All: true}, Base: r.tip})
		if err != nil {
			return err
		}
		sha, err := r.store.Commit(context.Background(), CommitRequest{Tree: snap.Tree, Parents: []SHA{first}, Message: "two\n", When: time.Unix(1_700_000_000, 0)})
		if err != nil {
			return err
		}
		have, err := r.store.Ref("refs/heads/main")
		if err != nil || have == sha {
			return err // the move was made, and its last sync failed
		}
		return r.store.SetRef("refs/heads/main", first, sha)
	}
	armed = true
	failed := commit()
	armed = false
	if happened && failed != nil && !errors.Is(failed, cause) {
		t.Errorf("call %d: the cause %v is lost in %v", n, cause, failed)
	}
	if err := commit(); err != nil {
		var locked *LockedError
		if !errors.As(err, &locked) { // the lock could not be removed: the next process does
			t.Errorf("call %d failed, and the store does not go on: %v", n, err)
		}
		r.store.Close()
		if r.store, err = Open(r.opts); err != nil {
			t.Fatal(err)
		}
		if err := commit(); err != nil {
			t.Errorf("call %d failed, and a new process does not go on: %v", n, err)
		}
	}
	tip, err := r.store.Ref("refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := r.store.ReadFile(mustInfo(t, r.store, tip).Tree, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if report, err := r.store.Check(context.Background()); err != nil || !report.Whole() {
		t.Errorf("call %d: %v %v", n, err, report)
	}
	return happened
}

func mustInfo(t *testing.T, s *Store, sha SHA) Info {
	t.Helper()
	info, err := s.CommitInfo(sha)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestAReaderWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "one")
	sha := r.commit(r.snapshot(Selection{All: true}))
	os.WriteFile(filepath.Join(r.opts.Dir, "objects/pack/"+temporary+"x"), nil, 0o600)
	before := list(t, r.opts.Dir)
	opts := r.opts
	opts.ReadOnly = true
	opts.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if c.Mutates() && strings.HasPrefix(c.Name, filepath.Dir(r.opts.Dir)) {
			t.Errorf("a reader made %s", c)
		}
		return nil
	})
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	r.write("a", "changed")
	if _, err := s.Snapshot(context.Background(), SnapshotRequest{Workspace: r.ws, Selection: Selection{All: true}, Base: sha}); err != nil {
		t.Error(err)
	}
	if err := s.SetRef("refs/heads/x", "", sha); err == nil {
		t.Error("a reader moved a reference")
	}
	if _, err := s.Commit(context.Background(), CommitRequest{Tree: emptyTree, Message: "x", When: time.Unix(1, 0)}); err == nil {
		t.Error("a reader made a commit")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if after := list(t, r.opts.Dir); after != before {
		t.Errorf("was\n%s\nis\n%s", before, after)
	}
}

func list(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		b.WriteString(name + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A tree of given files passes git's own check like one of a workspace does.
func TestATreeOfGivenFilesPassesFsckAndComesBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	content := "[submodule \"../x\"]\n\tpath = -x\n"
	want := []string{".gitattributes", "a/.gitmodules", "b/.gitmodules/inside", "c/.gitattributes", "d/.GIT/x", "e/.gitmodules", "f/git~1"}
	modes := map[string]filemode.FileMode{"e/.gitmodules": filemode.Symlink}
	texts := map[string]string{".gitattributes": "* -text\n", "c/.gitattributes": strings.Repeat("x", 5000) + "\n", "big/.gitmodules": strings.Repeat("#", inMemory+1)}
	want = append(want, "big/.gitmodules")
	slices.Sort(want)
	var files []TreeFile
	for _, path := range want {
		text := cmp.Or(texts[path], content)
		files = append(files, TreeFile{Path: path, Mode: cmp.Or(modes[path], filemode.Regular), Open: func() (io.ReadCloser, int64, error) {
			return io.NopCloser(strings.NewReader(text)), int64(len(text)), nil
		}})
	}
	tree, err := r.store.AddTree(t.Context(), files)
	must(t, err)
	r.commit(&Snapshot{Tree: tree})
	r.whole()
	if got := r.paths(tree); !slices.Equal(got, want) {
		t.Errorf("%q comes back, not %q", got, want)
	}
	if out := stock(t, "--git-dir="+r.opts.Dir, "ls-tree", "--name-only", string(tree)); !strings.Contains(out, ".gitattributes\n") {
		t.Error("an ordinary .gitattributes was escaped")
	}
}

// A pack without an index may be one that a merge is removing: that it goes
// while a check looks at it is no damage, as long as nothing is missed.
func TestACheckDoesNotMissAPackThatAMergeRemoves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a", "one")
	r.commit(r.snapshot(Selection{All: true}))
	r.store.Close()
	orphan := filepath.Join(r.opts.Dir, "objects/pack/pack-"+strings.Repeat("ab", 20)+".pack")
	opts, removed := r.opts, false
	opts.ReadOnly = true
	opts.FS = vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
		if c.Op == vfstest.OpOpen && c.Name == orphan && !removed {
			removed = true
			return os.Remove(orphan)
		}
		return nil
	})
	s, err := Open(opts)
	must(t, err)
	defer s.Close()
	must(t, os.WriteFile(orphan, []byte("PACK"), 0o600))
	report, err := s.Check(t.Context())
	must(t, err)
	if !removed || !report.Whole() {
		t.Errorf("removed while it was looked at: %v; found %v", removed, report.Problems)
	}
}
