//go:build unix

package checkpoint

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
)

// paths returns what a tree records, in order.
func (r *rig) paths(tree SHA) []string {
	r.t.Helper()
	var got []string
	walk(r.t, r, tree, func(path string) { got = append(got, path) })
	slices.Sort(got)
	return got
}

// fresh returns the tree that a store without any memory makes of the same.
func (r *rig) fresh(sel Selection) SHA {
	r.t.Helper()
	dir := r.t.TempDir()
	s, err := Init(Options{Dir: filepath.Join(dir, "store")})
	must(r.t, err)
	defer s.Close()
	snap, err := s.Snapshot(context.Background(), SnapshotRequest{Workspace: r.ws, Selection: sel})
	must(r.t, err)
	return snap.Tree
}

// One store scans with changing selections, aborts, commits and new processes;
// what it remembers must never show.
func TestTheCacheNeverShowsWhateverIsSelectedInBetween(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b.log", "d/a", "d/b.log", "d/e/f", "g/h", "g/i.log", "j"}
	selections := []Selection{{All: true}, {Patterns: []string{"d"}}, {Patterns: []string{"**/*.log"}}, {Patterns: []string{"**", "!d"}}, {All: true, Never: []string{"g/h", "j"}}, {}}
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			rng := rand.New(rand.NewPCG(seed, 2))
			for range 25 {
				for range rng.IntN(3) {
					mutate(r, rng, names)
				}
				if rng.IntN(3) == 0 {
					r.age()
				}
				sel := selections[rng.IntN(len(selections))]
				snap, err := r.store.Snapshot(context.Background(), SnapshotRequest{Workspace: r.ws, Selection: sel})
				must(t, err)
				if want := r.fresh(sel); snap.Tree != want {
					t.Fatalf("%+v: tree %s, without a memory %s", sel, snap.Tree, want)
				}
				switch rng.IntN(4) {
				case 0:
					r.store.Abort()
				case 1:
					r.commit(snap)
					r.reopen()
				default:
					r.commit(snap)
				}
			}
			r.whole()
		})
	}
}

func TestWhatIsRecordedIsInTheStoreAfterAnAbort(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("d/a", "one")
	r.age()
	r.snapshot(Selection{All: true})
	r.store.Abort()
	r.commit(r.snapshot(Selection{All: true})) // must write what the abort dropped
	r.whole()
}

func TestFilesThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 50 {
		r.write(fmt.Sprintf("tmp/%d", i), "x")
		r.commit(r.snapshot(Selection{All: true}))
		must(t, os.Remove(r.path(fmt.Sprintf("tmp/%d", i))))
	}
	r.commit(r.snapshot(Selection{All: true}))
	root := r.store.cacheFor(r.ws).root
	if i := root.find([]byte("tmp")); i >= 0 && len(root.entries[i].sub.entries) > 0 {
		t.Errorf("%d files are remembered that are gone", len(root.entries[i].sub.entries))
	}
}

func TestDeepAndWideTreesAreRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// Deeper than one path can name: made and removed relative to open folders.
	const depth = 1200
	fd, err := unix.Open(r.ws.Path(), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	for range depth {
		must(t, unix.Mkdirat(fd, "deep", 0o755))
		next, err := openDirAt(fd, "deep")
		must(t, err)
		unix.Close(fd)
		fd = next
	}
	file, err := unix.Openat(fd, "bottom", unix.O_WRONLY|unix.O_CREAT, 0o644)
	must(t, err)
	unix.Close(file)
	unix.Close(fd)
	for i := range 3000 {
		r.write(fmt.Sprintf("wide/%0200d", i), "")
	}
	snap := r.snapshot(Selection{All: true})
	if snap.Files != 3001 {
		t.Errorf("%d files", snap.Files)
	}
	bottom := strings.Repeat("deep/", depth) + "bottom"
	if paths := r.paths(snap.Tree); !slices.Contains(paths, bottom) {
		t.Error("the deepest file is lost")
	}
	r.commit(snap)
	r.whole()
}

func TestSpecialNamesOfEveryKindPassFsckAndComeBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a/.gitmodules/inside", "x")
	r.write("b/.gitattributes/inside", "x")
	must(t, os.Mkdir(r.path("c"), 0o755))
	must(t, os.Symlink("elsewhere", r.path("c/.gitmodules")))
	must(t, os.Symlink("elsewhere", r.path("c/.gitattributes")))
	must(t, os.Symlink("elsewhere", r.path("c/.gitignore")))
	r.write("d/.gitmodules", "[submodule \"../x\"]\n\turl = -u\n")
	r.write("e/.gitattributes", strings.Repeat("x", 5000)+"\n")
	r.write("f/.gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.org/x\n")
	for i, name := range gitLookalikes {
		r.write(fmt.Sprintf("l%d/%s", i, name), "x")
		r.write(fmt.Sprintf("m%d/%s/inside", i, name), "x")
	}
	want := 8 + 2*len(gitLookalikes)
	snap := r.snapshot(Selection{All: true})
	if snap.Files != want {
		t.Errorf("%d files recorded of %d", snap.Files, want)
	}
	paths := r.paths(snap.Tree)
	for _, e := range snap.Escaped {
		if !slices.ContainsFunc(paths, func(p string) bool { return p == e.Path || strings.HasPrefix(p, e.Path+"/") }) {
			t.Errorf("%q is said to be kept as %q, and does not come back", e.Path, e.As)
		}
	}
	for _, p := range paths {
		if _, err := os.Lstat(r.path(p)); err != nil {
			t.Errorf("%q comes back and was never there", p)
		}
	}
	if slices.ContainsFunc(snap.Escaped, func(e Escaped) bool { return strings.HasPrefix(e.Path, "f/") }) {
		t.Error("an ordinary .gitmodules was escaped")
	}
	r.commit(snap)
	r.whole()
	again := r.snapshot(Selection{All: true})
	if again.Tree != snap.Tree || !slices.Equal(again.Escaped, snap.Escaped) {
		t.Error("the second scan says something else")
	}
}

func TestNestedRepositoriesAreKeptAsFilesAndNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("plain", "x")
	for _, dir := range []string{"with", "without", "deep/er"} {
		r.write(dir+"/file", dir)
		stock(t, "init", "-q", r.path(dir))
	}
	stock(t, "-C", r.path("with"), "add", ".")
	stock(t, "-C", r.path("with"), "commit", "-qm", "one")
	r.write("file-git/.git", "gitdir: elsewhere\n")
	r.write("file-git/file", "x")
	snap := r.snapshot(Selection{All: true})
	if want := []string{"deep/er/file", "file-git/file", "plain", "with/file", "without/file"}; !slices.Equal(r.paths(snap.Tree), want) {
		t.Errorf("recorded %q", r.paths(snap.Tree))
	}
	if want := []string{"deep/er", "file-git", "with", "without"}; !slices.Equal(snap.Nested, want) {
		t.Errorf("named %q", snap.Nested)
	}
}

func TestTheExecutionsOwnFoldersAreToldByWhatTheyAre(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agents := []string{".hankweave-todo", ".hanKweave/x", "a", "d/.HankWeave-x", "d/.hankweave/state.json", "d/rigArchive/kept", "rigArchive/x"}
	for _, name := range append([]string{"run/.hankweave/state.json", "run/rigArchive/y", "read_only_data_source/x", "d/.hankweave-rig-new/x"}, agents...) {
		r.write(name, "x")
	}
	r.write("d/.hankweave/.gitignore", "*\n")
	r.ws.SetApart(r.path("run/.hankweave"), r.path("run/rigArchive"))
	snap := r.snapshot(Selection{All: true, Never: []string{"read_only_data_source"}}, "run/.hankweave/state.json", "run/rigArchive/y")
	if want := append([]string{"d/.hankweave/.gitignore"}, agents...); !slices.Equal(r.paths(snap.Tree), slices.Sorted(slices.Values(want))) {
		t.Errorf("recorded %q", r.paths(snap.Tree))
	}
	if want := "d/.hankweave-rig-new"; len(snap.Skipped) != 1 || snap.Skipped[0].Path != want {
		t.Errorf("named %v, want %s", snap.Skipped, want)
	}
}

// Its state changes while it is read, and its own checkpoints hold what is in it.
func TestAnotherExecutionThatIsRunningIsNamedAndNotRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("sub/.hankweave/state.json", "x")
	r.write("sub/agentRoot/a", "x")
	dir, err := os.Open(r.path("sub/.hankweave"))
	must(t, err)
	defer dir.Close()
	must(t, unix.Flock(int(dir.Fd()), unix.LOCK_EX))
	snap := r.snapshot(Selection{All: true})
	if want := []string{"sub/agentRoot/a"}; !slices.Equal(r.paths(snap.Tree), want) {
		t.Errorf("recorded %q", r.paths(snap.Tree))
	}
	if len(snap.Skipped) != 1 || snap.Skipped[0].Path != "sub/.hankweave" {
		t.Errorf("named %v", snap.Skipped)
	}
	must(t, unix.Flock(int(dir.Fd()), unix.LOCK_UN))
	if snap = r.snapshot(Selection{All: true}); len(r.paths(snap.Tree)) != 2 || len(snap.Skipped) != 0 {
		t.Errorf("after it has ended: recorded %q, named %v", r.paths(snap.Tree), snap.Skipped)
	}
}

func TestAFileOrFolderThatCannotBeReadIsNamedAndStopsTheCheckpoint(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIP: root reads everything")
	}
	for _, name := range []string{"d/secret", "closed"} {
		r := newRig(t)
		r.write("d/secret", "x")
		r.write("closed/f", "x")
		must(t, os.Chmod(r.path(name), 0))
		t.Cleanup(func() { os.Chmod(r.path(name), 0o700) })
		_, err := r.store.Snapshot(context.Background(), SnapshotRequest{Workspace: r.ws, Selection: Selection{All: true}})
		var unstable *UnstableError
		if !errors.As(err, &unstable) || unstable.Path != name || unstable.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.store.Snapshot(context.Background(), SnapshotRequest{Workspace: r.ws, Selection: Selection{Patterns: []string{"other"}}}); err != nil {
			t.Errorf("%s is not selected, and stops the checkpoint: %v", name, err)
		}
	}
}

func TestAStoppedScanSaysSoAndLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 200 {
		r.write(fmt.Sprintf("d%d/f", i), fmt.Sprint(i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.store.reading = func(string) { cancel() }
	if _, err := r.store.Snapshot(ctx, SnapshotRequest{Workspace: r.ws, Selection: Selection{All: true}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	r.store.Abort()
	r.store.reading = nil
	if got, want := r.snapshot(Selection{All: true}).Tree, r.oracle(); got != want {
		t.Errorf("afterwards: %s, want %s", got, want)
	}
}

func TestLargeFilesStreamExactly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rng := rand.NewChaCha8([32]byte{1})
	for i, size := range []int{inMemory - 1, inMemory, inMemory + 1, 3*inMemory + 17} {
		data := make([]byte, size)
		rng.Read(data)
		r.write(fmt.Sprintf("large%d", i), string(data))
		r.write(fmt.Sprintf("d/copy%d", i), string(data))
	}
	snap := r.snapshot(Selection{All: true})
	if snap.Tree != r.oracle() || snap.Changed != 4 {
		t.Errorf("tree %s, %d blobs", snap.Tree, snap.Changed)
	}
	r.commit(snap)
	r.whole()
	must(t, r.store.Walk(snap.Tree, func(path string, _ filemode.FileMode, _ SHA) error {
		f, size, err := r.store.ReadFile(snap.Tree, path)
		if err != nil {
			return err
		}
		defer f.Close()
		var got bytes.Buffer
		n, err := got.ReadFrom(f)
		want, rerr := os.ReadFile(r.path(path))
		if n != size || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s comes back as %d bytes", path, n)
		}
		return errors.Join(err, rerr)
	}))
}

func TestARecordedFileStaysRecordedThroughEveryWayOfScanning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("kept/x.log", "1")
	r.write("y.log", "1")
	r.commit(r.snapshot(Selection{All: true}))
	r.write(".gitignore", "*.log\nkept/\n")
	r.write("kept/new.log", "2")
	r.write("z.log", "2")
	want := []string{".gitignore", "kept/x.log", "y.log"}
	for range 3 { // by the tree object, by the cache, by a new process
		r.write("kept/x.log", fmt.Sprint(r.tip))
		snap := r.snapshot(Selection{All: true})
		if got := r.paths(snap.Tree); !slices.Equal(got, want) {
			t.Fatalf("recorded %q", got)
		}
		r.commit(snap)
		r.reopen()
	}
	must(t, os.Remove(r.path("y.log")))
	r.commit(r.snapshot(Selection{All: true}))
	r.write("y.log", "back, and new")
	if got := r.paths(r.snapshot(Selection{All: true}).Tree); slices.Contains(got, "y.log") {
		t.Error("what was not in the checkpoint before is ignored again")
	}
}
