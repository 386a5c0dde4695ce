//go:build unix

package scan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sys/unix"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/scan"
	"hank/checkpoint/worktree"
	"hank/internal/short"
)

// fresh returns the tree that a store without any memory makes of the same.
func fresh(r *checkpointtest.Rig, sel match.Selection) packdb.SHA {
	r.T.Helper()
	dir := r.T.TempDir()
	s, err := checkpoint.Init(packdb.Options{Dir: filepath.Join(dir, "store")})
	testkit.Must(r.T, err)
	defer s.Close()
	snap, err := s.Snapshot(context.Background(), scan.SnapshotRequest{Workspace: r.Ws, Selection: sel})
	testkit.Must(r.T, err)
	return snap.Tree
}

// One store scans with changing selections, aborts, commits and new processes;
// what it remembers must never show.
func TestTheCacheNeverShowsWhateverIsSelectedInBetween(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b.log", "d/a", "d/b.log", "d/e/f", "g/h", "g/i.log", "j"}
	selections := []match.Selection{{All: true}, {Patterns: []string{"d"}}, {Patterns: []string{"**/*.log"}}, {Patterns: []string{"**", "!d"}}, {All: true, Never: []string{"g/h", "j"}}, {}}
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := checkpointtest.NewRig(t)
			rng := rand.New(rand.NewPCG(seed, 2))
			for range 25 {
				for range rng.IntN(3) {
					checkpointtest.Mutate(r, rng, names)
				}
				if rng.IntN(3) == 0 {
					r.Age()
				}
				sel := selections[rng.IntN(len(selections))]
				snap, err := r.Store.Snapshot(context.Background(), scan.SnapshotRequest{Workspace: r.Ws, Selection: sel})
				testkit.Must(t, err)
				if want := fresh(r, sel); snap.Tree != want {
					t.Fatalf("%+v: tree %s, without a memory %s", sel, snap.Tree, want)
				}
				switch rng.IntN(4) {
				case 0:
					r.Store.Abort()
				case 1:
					r.Commit(snap)
					r.Reopen()
				default:
					r.Commit(snap)
				}
			}
			r.Whole()
		})
	}
}

func TestWhatIsRecordedIsInTheStoreAfterAnAbort(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("d/a", "one")
	r.Age()
	r.Snapshot(match.Selection{All: true})
	r.Store.Abort()
	r.Commit(r.Snapshot(match.Selection{All: true})) // must write what the abort dropped
	r.Whole()
}

func TestFilesThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	for i := range 50 {
		r.Write(fmt.Sprintf("tmp/%d", i), "x")
		r.Commit(r.Snapshot(match.Selection{All: true}))
		testkit.Must(t, os.Remove(r.Path(fmt.Sprintf("tmp/%d", i))))
	}
	r.Commit(r.Snapshot(match.Selection{All: true}))
	root := r.Store.CacheFor(r.Ws).Root
	if i := root.Find([]byte("tmp")); i >= 0 && len(root.Entries[i].Sub.Entries) > 0 {
		t.Errorf("%d files are remembered that are gone", len(root.Entries[i].Sub.Entries))
	}
}

func TestDeepAndWideTreesAreRecorded(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	// Deeper than one path can name: made and removed relative to open directories.
	const depth = 1200
	fd, err := unix.Open(r.Ws.Path(), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	testkit.Must(t, err)
	for range depth {
		testkit.Must(t, unix.Mkdirat(fd, "deep", 0o755))
		next, err := worktree.OpenDirAt(fd, "deep")
		testkit.Must(t, err)
		unix.Close(fd)
		fd = next
	}
	file, err := unix.Openat(fd, "bottom", unix.O_WRONLY|unix.O_CREAT, 0o644)
	testkit.Must(t, err)
	unix.Close(file)
	unix.Close(fd)
	for i := range 3000 {
		r.Write(fmt.Sprintf("wide/%0200d", i), "")
	}
	snap := r.Snapshot(match.Selection{All: true})
	if snap.Files != 3001 {
		t.Errorf("%d files", snap.Files)
	}
	bottom := strings.Repeat("deep/", depth) + "bottom"
	if paths := r.Paths(snap.Tree); !slices.Contains(paths, bottom) {
		t.Error("the deepest file is lost")
	}
	r.Commit(snap)
	r.Whole()
}

func TestSpecialNamesOfEveryKindPassFsckAndComeBack(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a/.gitmodules/inside", "x")
	r.Write("b/.gitattributes/inside", "x")
	testkit.Must(t, os.Mkdir(r.Path("c"), 0o755))
	testkit.Must(t, os.Symlink("elsewhere", r.Path("c/.gitmodules")))
	testkit.Must(t, os.Symlink("elsewhere", r.Path("c/.gitattributes")))
	testkit.Must(t, os.Symlink("elsewhere", r.Path("c/.gitignore")))
	r.Write("d/.gitmodules", "[submodule \"../x\"]\n\turl = -u\n")
	r.Write("e/.gitattributes", strings.Repeat("x", 5000)+"\n")
	r.Write("f/.gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.org/x\n")
	for i, name := range testkit.GitLookalikes {
		r.Write(fmt.Sprintf("l%d/%s", i, name), "x")
		r.Write(fmt.Sprintf("m%d/%s/inside", i, name), "x")
	}
	want := 8 + 2*len(testkit.GitLookalikes)
	snap := r.Snapshot(match.Selection{All: true})
	if snap.Files != want {
		t.Errorf("%d files recorded of %d", snap.Files, want)
	}
	paths := r.Paths(snap.Tree)
	for _, e := range snap.Escaped {
		if !slices.ContainsFunc(paths, func(p string) bool { return p == e.Path || strings.HasPrefix(p, e.Path+"/") }) {
			t.Errorf("%q is said to be kept as %q, and does not come back", e.Path, e.As)
		}
	}
	for _, p := range paths {
		if _, err := os.Lstat(r.Path(p)); err != nil {
			t.Errorf("%q comes back and was never there", p)
		}
	}
	if slices.ContainsFunc(snap.Escaped, func(e scan.Escaped) bool { return strings.HasPrefix(e.Path, "f/") }) {
		t.Error("an ordinary .gitmodules was escaped")
	}
	r.Commit(snap)
	r.Whole()
	again := r.Snapshot(match.Selection{All: true})
	if again.Tree != snap.Tree || !slices.Equal(again.Escaped, snap.Escaped) {
		t.Error("the second scan says something else")
	}
}

func TestNestedRepositoriesAreKeptAsFilesAndNamed(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("plain", "x")
	for _, dir := range []string{"with", "without", "deep/er"} {
		r.Write(dir+"/file", dir)
		testkit.Stock(t, "init", "-q", r.Path(dir))
	}
	testkit.Stock(t, "-C", r.Path("with"), "add", ".")
	testkit.Stock(t, "-C", r.Path("with"), "commit", "-qm", "one")
	r.Write("file-git/.git", "gitdir: elsewhere\n")
	r.Write("file-git/file", "x")
	snap := r.Snapshot(match.Selection{All: true})
	if want := []string{"deep/er/file", "file-git/file", "plain", "with/file", "without/file"}; !slices.Equal(r.Paths(snap.Tree), want) {
		t.Errorf("recorded %q", r.Paths(snap.Tree))
	}
	if want := []string{"deep/er", "file-git", "with", "without"}; !slices.Equal(snap.Nested, want) {
		t.Errorf("named %q", snap.Nested)
	}
}

func TestTheExecutionsOwnFoldersAreToldByWhatTheyAre(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	agents := []string{".hankweave-todo", ".hanKweave/x", "a", "d/.HankWeave-x", "d/.hankweave/state.json", "d/rigArchive/kept", "rigArchive/x"}
	for _, name := range append([]string{"run/.hankweave/state.json", "run/rigArchive/y", "read_only_data_source/x", "d/.hankweave-rig-new/x"}, agents...) {
		r.Write(name, "x")
	}
	r.Write("d/.hankweave/.gitignore", "*\n")
	r.Ws.SetApart(r.Path("run/.hankweave"), r.Path("run/rigArchive"))
	snap := r.Snapshot(match.Selection{All: true, Never: []string{"read_only_data_source"}}, "run/.hankweave/state.json", "run/rigArchive/y")
	if want := append([]string{"d/.hankweave/.gitignore"}, agents...); !slices.Equal(r.Paths(snap.Tree), slices.Sorted(slices.Values(want))) {
		t.Errorf("recorded %q", r.Paths(snap.Tree))
	}
	if want := "d/.hankweave-rig-new"; len(snap.Skipped) != 1 || snap.Skipped[0].Path != want {
		t.Errorf("named %v, want %s", snap.Skipped, want)
	}
}

// Its state changes while it is read, and its own checkpoints hold what is in it.
func TestAnotherExecutionThatIsRunningIsNamedAndNotRecorded(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("sub/.hankweave/state.json", "x")
	r.Write("sub/agentRoot/a", "x")
	dir, err := os.Open(r.Path("sub/.hankweave"))
	testkit.Must(t, err)
	defer dir.Close()
	testkit.Must(t, unix.Flock(int(dir.Fd()), unix.LOCK_EX))
	snap := r.Snapshot(match.Selection{All: true})
	if want := []string{"sub/agentRoot/a"}; !slices.Equal(r.Paths(snap.Tree), want) {
		t.Errorf("recorded %q", r.Paths(snap.Tree))
	}
	if len(snap.Skipped) != 1 || snap.Skipped[0].Path != "sub/.hankweave" {
		t.Errorf("named %v", snap.Skipped)
	}
	testkit.Must(t, unix.Flock(int(dir.Fd()), unix.LOCK_UN))
	if snap = r.Snapshot(match.Selection{All: true}); len(r.Paths(snap.Tree)) != 2 || len(snap.Skipped) != 0 {
		t.Errorf("after it has ended: recorded %q, named %v", r.Paths(snap.Tree), snap.Skipped)
	}
}

func TestAFileOrFolderThatCannotBeReadIsNamedAndStopsTheCheckpoint(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIP: root reads everything")
	}
	for _, name := range []string{"d/secret", "closed"} {
		r := checkpointtest.NewRig(t)
		r.Write("d/secret", "x")
		r.Write("closed/f", "x")
		testkit.Must(t, os.Chmod(r.Path(name), 0))
		t.Cleanup(func() { os.Chmod(r.Path(name), 0o700) })
		_, err := r.Store.Snapshot(context.Background(), scan.SnapshotRequest{Workspace: r.Ws, Selection: match.Selection{All: true}})
		var unstable *scan.UnstableError
		if !errors.As(err, &unstable) || unstable.Path != name || unstable.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.Store.Snapshot(context.Background(), scan.SnapshotRequest{Workspace: r.Ws, Selection: match.Selection{Patterns: []string{"other"}}}); err != nil {
			t.Errorf("%s is not selected, and stops the checkpoint: %v", name, err)
		}
	}
}

func TestAStoppedScanSaysSoAndLeavesNothing(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	for i := range 200 {
		r.Write(fmt.Sprintf("d%d/f", i), fmt.Sprint(i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.Store.Reading = func(string) { cancel() }
	if _, err := r.Store.Snapshot(ctx, scan.SnapshotRequest{Workspace: r.Ws, Selection: match.Selection{All: true}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	r.Store.Abort()
	r.Store.Reading = nil
	if got, want := r.Snapshot(match.Selection{All: true}).Tree, r.Oracle(); got != want {
		t.Errorf("afterwards: %s, want %s", got, want)
	}
}

func TestLargeFilesStreamExactly(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	rng := rand.NewChaCha8([32]byte{1})
	for i, size := range []int{packdb.InMemory - 1, packdb.InMemory, packdb.InMemory + 1, 3*packdb.InMemory + 17} {
		data := make([]byte, size)
		rng.Read(data)
		r.Write(fmt.Sprintf("large%d", i), string(data))
		r.Write(fmt.Sprintf("d/copy%d", i), string(data))
	}
	snap := r.Snapshot(match.Selection{All: true})
	if snap.Tree != r.Oracle() || snap.Changed != 4 {
		t.Errorf("tree %s, %d blobs", snap.Tree, snap.Changed)
	}
	r.Commit(snap)
	r.Whole()
	testkit.Must(t, r.Store.Walk(snap.Tree, func(path string, _ filemode.FileMode, _ packdb.SHA) error {
		f, size, err := r.Store.ReadFile(snap.Tree, path)
		if err != nil {
			return err
		}
		defer f.Close()
		var got bytes.Buffer
		n, err := got.ReadFrom(f)
		want, rerr := os.ReadFile(r.Path(path))
		if n != size || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s comes back as %d bytes", path, n)
		}
		return errors.Join(err, rerr)
	}))
}

func TestARecordedFileStaysRecordedThroughEveryWayOfScanning(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("kept/x.log", "1")
	r.Write("y.log", "1")
	r.Commit(r.Snapshot(match.Selection{All: true}))
	r.Write(".gitignore", "*.log\nkept/\n")
	r.Write("kept/new.log", "2")
	r.Write("z.log", "2")
	want := []string{".gitignore", "kept/x.log", "y.log"}
	for range 3 { // by the tree object, by the cache, by a new process
		r.Write("kept/x.log", fmt.Sprint(r.Tip))
		snap := r.Snapshot(match.Selection{All: true})
		if got := r.Paths(snap.Tree); !slices.Equal(got, want) {
			t.Fatalf("recorded %q", got)
		}
		r.Commit(snap)
		r.Reopen()
	}
	testkit.Must(t, os.Remove(r.Path("y.log")))
	r.Commit(r.Snapshot(match.Selection{All: true}))
	r.Write("y.log", "back, and new")
	if got := r.Paths(r.Snapshot(match.Selection{All: true}).Tree); slices.Contains(got, "y.log") {
		t.Error("what was not in the checkpoint before is ignored again")
	}
}
