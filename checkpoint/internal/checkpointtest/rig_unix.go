//go:build unix

package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/checkpoint"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/repair"
	"hank/checkpoint/scan"
	"hank/checkpoint/worktree"
	"hank/internal/race"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

// Age waits until the file system's clock has moved on, so that what was
// written is not young any more.
func (r *Rig) Age() {
	stamp := filepath.Join(r.T.TempDir(), "stamp")
	for first := int64(0); ; {
		if err := os.WriteFile(stamp, []byte("x"), 0o600); err != nil {
			r.T.Fatal(err)
		}
		fi, err := os.Stat(stamp)
		if err != nil {
			r.T.Fatal(err)
		}
		if now := fi.ModTime().UnixNano(); first == 0 {
			first = now
		} else if now > first {
			return
		}
	}
}

func (r *Rig) Reopen() {
	r.T.Helper()
	if err := r.Store.Close(); err != nil {
		r.T.Fatal(err)
	}
	var err error
	if r.Store, err = checkpoint.Open(r.Opts); err != nil {
		r.T.Fatal(err)
	}
}

// Abandon makes commits on a branch of its own and forgets the branch.
func (r *Rig) Abandon(n int) (bytes int) {
	r.T.Helper()
	main := r.Tip
	for i := range n {
		text := strings.Repeat(fmt.Sprint(i, r.Tip), 100)
		bytes += len(text)
		r.Write("lost", text)
		snap := r.Snapshot(match.Selection{All: true})
		sha, err := r.Store.Commit(context.Background(), packdb.CommitRequest{Tree: snap.Tree, Parents: []packdb.SHA{r.Tip}, Message: fmt.Sprint(i)})
		if err != nil {
			r.T.Fatal(err)
		}
		r.Tip = sha
	}
	if err := r.Store.SetRef("refs/heads/abandoned", "", r.Tip); err != nil {
		r.T.Fatal(err)
	}
	r.Tip = main
	return bytes
}

func (r *Rig) Merge() {
	r.T.Helper()
	if err := r.Store.Merge(context.Background()); err != nil {
		r.T.Fatal(err)
	}
}

// MergeWidth is how many packs of one size a merge makes one; packdb has a test of it.
const MergeWidth = 8

// Grow makes n checkpoints of one changed file each.
func (r *Rig) Grow(n int) (made []packdb.SHA) {
	r.T.Helper()
	for range n {
		r.Write(fmt.Sprintf("d%d/f%d", len(made)%5, len(made)%7), fmt.Sprintf("version %d of %s", len(made), r.Tip))
		made = append(made, r.Commit(r.Snapshot(match.Selection{All: true})))
	}
	return made
}

func (r *Rig) PackFiles() []string {
	r.T.Helper()
	names, err := filepath.Glob(filepath.Join(r.Opts.Dir, "objects/pack/*"))
	if err != nil {
		r.T.Fatal(err)
	}
	return names
}

func (r *Rig) CheckWhole() {
	r.T.Helper()
	if report, err := repair.Check(context.Background(), r.Store.DB); err != nil || !report.IsComplete() {
		r.T.Fatalf("the store is not whole: %v %v", err, report)
	}
	testkit.Stock(r.T, "--git-dir="+r.Opts.Dir, "fsck", "--strict", "--no-dangling")
}

// Paths returns what a tree records, in order.
func (r *Rig) Paths(tree packdb.SHA) []string {
	r.T.Helper()
	var got []string
	Walk(r.T, r, tree, func(path string) { got = append(got, path) })
	slices.Sort(got)
	return got
}

func (r *Rig) Whole() {
	r.T.Helper()
	report, err := repair.Check(context.Background(), r.Store.DB)
	if err != nil || !report.IsComplete() {
		r.T.Errorf("check: %v %v", err, report)
	}
	testkit.Stock(r.T, "--git-dir="+r.Opts.Dir, "fsck", "--strict", "--full")
}

type Rig struct {
	T     testing.TB
	Ws    *worktree.Workspace
	Store *checkpoint.Store
	Opts  packdb.Options
	Tip   packdb.SHA
}

func NewRig(t testing.TB) *Rig {
	t.Helper()
	return NewRigIn(t, t.TempDir())
}

// NewRigIn makes workspace and store in a directory of the caller's.
func NewRigIn(t testing.TB, dir string) *Rig {
	t.Helper()
	ws := filepath.Join(dir, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &Rig{T: t, Opts: packdb.Options{Dir: filepath.Join(dir, "store"), CacheFile: filepath.Join(dir, "cache"), BootID: "boot"}}
	var err error
	if r.Store, err = checkpoint.Init(r.Opts); err != nil {
		t.Fatal(err)
	}
	if r.Ws, err = worktree.OpenWorkspace(ws); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Store.Close(); r.Ws.Close() })
	return r
}

func (r *Rig) Path(name string) string { return filepath.Join(r.Ws.Path(), name) }

func (r *Rig) Write(name, text string) {
	r.T.Helper()
	if err := os.MkdirAll(filepath.Dir(r.Path(name)), 0o755); err != nil {
		r.T.Fatal(err)
	}
	if err := os.WriteFile(r.Path(name), []byte(text), 0o644); err != nil {
		r.T.Fatal(err)
	}
}

func (r *Rig) Snapshot(sel match.Selection, include ...string) *scan.Snapshot {
	r.T.Helper()
	snap, err := r.Store.Snapshot(context.Background(), scan.SnapshotRequest{Workspace: r.Ws, Selection: sel, Base: r.Tip, MustInclude: include})
	if err != nil {
		r.T.Fatal(err)
	}
	return snap
}

func (r *Rig) Commit(snap *scan.Snapshot) packdb.SHA {
	r.T.Helper()
	req := packdb.CommitRequest{Tree: snap.Tree, Message: "m\n", When: time.Unix(1_700_000_000, 0)}
	if r.Tip != "" {
		req.Parents = []packdb.SHA{r.Tip}
	}
	sha, err := r.Store.Commit(context.Background(), req)
	if err == nil {
		err = r.Store.SetRef("refs/heads/main", r.Tip, sha)
	}
	if err != nil {
		r.T.Fatal(err)
	}
	r.Tip = sha
	return sha
}

// Oracle builds the tree with stock git, which reads every byte into an index
// of its own.
func (r *Rig) Oracle() packdb.SHA {
	r.T.Helper()
	dir := filepath.Join(r.T.TempDir(), "oracle")
	testkit.Stock(r.T, "init", "-q", "--bare", dir)
	base := []string{"--git-dir=" + dir, "--work-tree=" + r.Ws.Path(), "-c", "core.autocrlf=false", "-c", "core.bare=false", "-c", "core.protectHFS=false", "-c", "core.protectNTFS=false"}
	testkit.Stock(r.T, append(base, "add", "-A", ".")...)
	return packdb.SHA(strings.TrimSpace(testkit.Stock(r.T, append(base, "write-tree")...)))
}

// Mutate changes the workspace in a way that a careless scan might miss.
func Mutate(r *Rig, rng *rand.Rand, names []string) {
	name := names[rng.IntN(len(names))]
	full := r.Path(name)
	switch rng.IntN(8) {
	case 0, 1:
		os.RemoveAll(full)
		r.Write(name, fmt.Sprint(rng.Int64()))
	case 2: // same size, old modification time
		if fi, err := os.Lstat(full); err == nil && fi.Mode().IsRegular() && fi.Size() > 0 {
			text := bytes.Repeat([]byte{byte('a' + rng.IntN(26))}, int(fi.Size()))
			os.WriteFile(full, text, 0o644)
			os.Chtimes(full, fi.ModTime(), fi.ModTime())
		}
	case 3:
		os.Chmod(full, []fs.FileMode{0o644, 0o755, 0o600}[rng.IntN(3)])
	case 4:
		os.RemoveAll(full)
		os.Symlink(fmt.Sprintf("target%d", rng.IntN(5)), full)
	case 5:
		os.RemoveAll(full)
	case 6: // file becomes directory
		os.RemoveAll(full)
		r.Write(name+"/inside", fmt.Sprint(rng.IntN(100)))
	case 7:
		os.Rename(full, r.Path(names[rng.IntN(len(names))]+".moved"))
	}
}

func (r *Rig) CheckWithStockGit(commits int) {
	r.T.Helper()
	report, err := repair.Check(context.Background(), r.Store.DB)
	if err != nil || !report.IsComplete() {
		r.T.Fatalf("check: %v %v", err, report)
	}
	if out := testkit.Stock(r.T, "--git-dir="+r.Opts.Dir, "fsck", "--strict", "--full", "--no-dangling"); strings.TrimSpace(out) != "" {
		r.T.Fatalf("git fsck says: %s", out)
	}
	if n := strings.Count(testkit.Stock(r.T, "--git-dir="+r.Opts.Dir, "log", "--graph", "--all", "--oneline"), "\n"); n != commits {
		r.T.Fatalf("git log shows %d commits of %d", n, commits)
	}
	if string(r.Tip) != strings.TrimSpace(testkit.Stock(r.T, "--git-dir="+r.Opts.Dir, "rev-parse", "main")) {
		r.T.Fatal("git sees another tip")
	}
}

func CrashStore(t *testing.T, w *worktree.Workspace, script func(*checkpoint.Store, func(string))) {
	for n := 1; ; n += race.Step {
		mem := vfstest.NewMem()
		if err := vfs.MkdirAll(mem, "/x", 0o700); err != nil {
			t.Fatal(err)
		}
		calls, crashed := 0, false
		var images []*vfstest.Mem
		mem.SetHook(func(vfstest.Call) {
			if calls++; calls == n && !crashed {
				crashed = true
				for seed := range uint64(3) {
					images = append(images, mem.Crash(rand.New(rand.NewPCG(seed, 7)), []int{0, 50, 100}[seed]))
				}
			}
		})
		acked := PlayStore(t, mem, w, script, func() bool { return crashed })
		for _, image := range images {
			VerifyImage(t, image, acked)
		}
		if !crashed {
			return
		}
	}
}

// PlayStore runs the script and returns the tip that was acknowledged before
// the crash.
func PlayStore(t *testing.T, mem vfs.FS, w *worktree.Workspace, script func(*checkpoint.Store, func(string)), crashed func() bool) packdb.SHA {
	s, err := checkpoint.Init(packdb.Options{FS: mem, Dir: "/x/store"})
	if err != nil {
		t.Fatal(err)
	}
	acked, tip := packdb.SHA(""), packdb.SHA("")
	script(s, func(text string) {
		if err := os.WriteFile(filepath.Join(w.Path(), "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		snap, err := s.Snapshot(context.Background(), scan.SnapshotRequest{Workspace: w, Selection: match.Selection{All: true}})
		if err != nil {
			t.Fatal(err)
		}
		var parents []packdb.SHA
		if tip != "" {
			parents = append(parents, tip)
		}
		next, err := s.Commit(context.Background(), packdb.CommitRequest{Tree: snap.Tree, Parents: parents, Message: text, When: time.Unix(1, 0)})
		if err == nil {
			err = s.SetRef("refs/heads/main", tip, next)
		}
		if err != nil {
			t.Fatal(err)
		}
		if tip = next; !crashed() {
			acked = next
		}
	})
	return acked
}

func VerifyImage(t *testing.T, image *vfstest.Mem, acked packdb.SHA) {
	s, err := checkpoint.Open(packdb.Options{FS: image, Dir: "/x/store"})
	if errors.Is(err, fs.ErrNotExist) && acked == "" {
		return
	}
	if err != nil {
		t.Fatalf("after a crash: %v", err)
	}
	report, err := repair.Check(context.Background(), s.DB)
	if err != nil || !report.IsComplete() {
		t.Fatalf("after a crash: %v %v", err, report)
	}
	files, err := image.ReadDir("/x/store/objects/pack")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range files { // it would tell of a loss
		if base, isIndex := strings.CutSuffix(e.Name(), ".idx"); isIndex && !slices.ContainsFunc(files, func(f fs.DirEntry) bool { return f.Name() == base+".pack" }) {
			t.Fatalf("after a crash: %s has no pack", e.Name())
		}
	}
	tip, err := s.Ref("refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	found := acked == ""
	if tip != "" {
		if err := s.Log(tip, func(i packdb.Info) (bool, error) { found = found || i.SHA == acked; return true, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		t.Fatalf("commit %s was acknowledged and is lost (tip %s)", acked, tip)
	}
	// Packs that the crash has left twice are merged and collected once more, and
	// nothing goes with them.
	var keep []packdb.SHA
	if acked != "" {
		keep = append(keep, acked)
	}
	_, err = s.Collect(context.Background(), keep)
	if err := errors.Join(err, s.Merge(context.Background()), s.Close()); err != nil {
		t.Fatalf("after a crash the store is not tidied up: %v", err)
	}
	if s, err = checkpoint.Open(packdb.Options{FS: image, Dir: "/x/store"}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if report, err := repair.Check(context.Background(), s.DB); err != nil || !report.IsComplete() || acked != "" && !s.Has(acked) {
		t.Fatalf("after a crash, a merge and a collection: %v %v", err, report)
	}
	next, err := s.Commit(context.Background(), packdb.CommitRequest{Tree: packdb.EmptyTree, Message: "goes on", When: time.Unix(2, 0)})
	if err == nil {
		err = s.SetRef("refs/heads/main", tip, next)
	}
	if err != nil {
		t.Fatalf("after a crash the store does not go on: %v", err)
	}
}

func Walk(t testing.TB, r *Rig, tree packdb.SHA, f func(path string)) {
	t.Helper()
	if err := r.Store.Walk(tree, func(path string, _ filemode.FileMode, _ packdb.SHA) error { f(path); return nil }); err != nil {
		t.Fatal(err)
	}
}
