//go:build unix

package checkpoint_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/restore"
	"hank/checkpoint/worktree"
	"hank/internal/race"
	"hank/internal/short"
)

var (
	oracleFor = flag.Duration("oracle.for", 0, "how long TestCheckpointEqualsOracle goes on with further seeds")
)

// oracle is what a workspace holds, found by reading every byte of it with
// code of its own. Of hank it takes one thing: under which names the snapshot
// says that it stores what git refuses.
type oracle struct {
	t      testing.TB
	root   string
	stored map[string]string // by path, where it differs from the name
	kept   func(path string) bool
	shown  func(dir string) bool // a directory that is looked into

	files                  int
	skipped, nested, empty []string
}

// tree returns the id of a directory's tree, and whether it holds anything.
func (o *oracle) tree(dir string) (id [20]byte, any bool) {
	entries, err := os.ReadDir(filepath.Join(o.root, dir))
	testkit.Must(o.t, err)
	if len(entries) == 0 && dir != "" && o.shown(dir) {
		o.empty = append(o.empty, dir)
	}
	type item struct{ sort, text string }
	var items []item
	for _, e := range entries {
		path := strings.TrimPrefix(dir+"/"+e.Name(), "/")
		if e.Name() == ".git" {
			if dir != "" && o.shown(dir) {
				o.nested = append(o.nested, dir)
			}
			continue
		}
		full := filepath.Join(o.root, path)
		fi, err := os.Lstat(full)
		testkit.Must(o.t, err)
		name := e.Name()
		if as, ok := o.stored[path]; ok {
			name = as
		}
		add := func(mode, sort string, id [20]byte) {
			items = append(items, item{sort, mode + " " + name + "\x00" + string(id[:])})
		}
		switch {
		case fi.IsDir():
			if sub, any := o.tree(path); any {
				add("40000", name+"/", sub)
			}
			continue
		case !o.kept(path):
			continue
		case fi.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(full)
			testkit.Must(o.t, err)
			add("120000", name, gitID("blob", []byte(target)))
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(full)
			testkit.Must(o.t, err)
			mode := "100644"
			if fi.Mode()&0o100 != 0 {
				mode = "100755"
			}
			add(mode, name, gitID("blob", data))
		default:
			o.skipped = append(o.skipped, path)
			continue
		}
		o.files++
	}
	sort.Slice(items, func(i, j int) bool { return items[i].sort < items[j].sort })
	var text strings.Builder
	for _, it := range items {
		text.WriteString(it.text)
	}
	return gitID("tree", []byte(text.String())), len(items) > 0
}

func gitID(kind string, data []byte) [20]byte {
	return sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...))
}

// everyPath returns all files and directories, directories with a slash behind, but
// nothing called .git.
func everyPath(t testing.TB, root string) (paths []string) {
	t.Helper()
	testkit.Must(t, filepath.WalkDir(root, func(full string, d os.DirEntry, err error) error {
		switch {
		case err != nil || full == root:
			return err
		case d.Name() == ".git" && d.IsDir():
			return filepath.SkipDir
		case d.Name() == ".git":
			return nil
		case d.IsDir():
			paths = append(paths, full[len(root)+1:]+"/")
		default:
			paths = append(paths, full[len(root)+1:])
		}
		return nil
	}))
	return paths
}

// lines runs git without anybody's configuration and splits at NUL bytes.
func lines(t testing.TB, stdin string, args ...string) map[string]bool {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("git %q: %v: %s", args, err, stderr.String())
	}
	found := map[string]bool{}
	for part := range strings.SplitSeq(string(out), "\x00") {
		found[part] = true
	}
	delete(found, "")
	return found
}

// ask makes an oracle for a snapshot of a rig, after a checkpoint that recorded
// the paths in before. What is ignored, and what is tracked, stock git says.
func (w *world) ask(snap *checkpoint.Snapshot, before map[string]bool) *oracle {
	o := &oracle{t: w.T, root: w.Ws.Path(), stored: map[string]string{}}
	for _, e := range snap.Escaped {
		o.stored[e.Path] = e.As
	}
	o.kept = func(string) bool { return true }
	o.shown = o.kept
	if !w.rules {
		return o
	}
	// An empty repository elsewhere: check-ignore refuses paths in submodules.
	empty := filepath.Join(filepath.Dir(w.Opts.Dir), "empty")
	if _, err := os.Stat(empty); err != nil {
		testkit.Stock(w.T, "init", "-q", "--bare", empty)
	}
	if text, err := os.ReadFile(filepath.Join(w.common, "info/exclude")); err == nil {
		testkit.Must(w.T, os.WriteFile(filepath.Join(empty, "info/exclude"), text, 0o644))
	}
	all := everyPath(w.T, o.root)
	if len(all) == 0 {
		return o
	}
	ignored := lines(w.T, strings.ReplaceAll(strings.Join(all, "\x00")+"\x00", "/\x00", "\x00"), "-C", o.root, "--git-dir="+empty, "--work-tree="+o.root, "-c", "core.bare=false", "-c", "core.excludesFile=",
		"check-ignore", "--no-index", "-z", "--stdin")
	tracked := map[string]bool{}
	index := func(dir string) {
		for path := range lines(w.T, "", "-C", filepath.Join(o.root, dir), "ls-files", "-z") {
			tracked[filepath.Join(dir, path)] = true
		}
	}
	if w.common != "" {
		index("")
	}
	for _, path := range all {
		if dir, ok := strings.CutSuffix(path, "/"); ok && !ignored[dir] {
			if _, err := os.Lstat(filepath.Join(o.root, dir, ".git/HEAD")); err == nil {
				index(dir)
			}
		}
	}
	o.kept = func(path string) bool { return before[path] || !ignored[path] || tracked[path] }
	o.shown = func(dir string) bool { return !ignored[dir] }
	return o
}

// step makes a checkpoint and compares. It returns the snapshot, or nil if a
// file kept changing.
func (w *world) step() *checkpoint.Snapshot {
	w.T.Helper()
	before := map[string]bool{}
	if w.rules && w.Tip != "" {
		testkit.Must(w.T, w.Store.Walk(checkpoint.SHA(strings.TrimSpace(testkit.Stock(w.T, "--git-dir="+w.Opts.Dir, "rev-parse", string(w.Tip)+"^{tree}"))),
			func(path string, _ testkit.FSMode, _ checkpoint.SHA) error { before[path] = true; return nil }))
	}
	racers := w.racers()
	w.Store.Reading = w.race(racers)
	snap, err := w.Store.Snapshot(context.Background(), checkpoint.SnapshotRequest{Workspace: w.Ws, Selection: checkpoint.Selection{All: true}, Base: w.Tip})
	w.Store.Reading = nil
	var changing *checkpoint.UnstableError
	if errors.As(err, &changing) && w.raced.Load() && filepath.Base(changing.Path) == racer {
		w.Store.Abort()
		return nil
	}
	testkit.Must(w.T, err)
	if w.raced.Load() && racers > 1 {
		// One may have changed after its turn: what counts is what the scan
		// remembers of it.
		w.moves = append(w.moves, "a race of many")
		return w.step()
	}
	o := w.ask(snap, before)
	id, _ := o.tree("")
	if want := checkpoint.SHA(fmt.Sprintf("%x", id)); snap.Tree != want {
		w.T.Fatalf("tree %s, the oracle says %s; after %q\n%s", snap.Tree, want, w.moves, w.difference(snap, o, before))
	}
	var skipped []string
	for _, s := range snap.Skipped {
		skipped = append(skipped, s.Path)
	}
	slices.Sort(o.skipped)
	if !slices.Equal(skipped, o.skipped) {
		w.T.Fatalf("skipped: %q, the oracle says %q; after %q", skipped, o.skipped, w.moves)
	}
	slices.Sort(o.empty)
	if !w.raced.Load() && !slices.Equal(snap.Empty, o.empty) { // a racer that vanishes leaves a directory empty
		w.T.Fatalf("empty: %q, the oracle says %q; after %q", snap.Empty, o.empty, w.moves)
	}
	for _, dir := range o.nested { // more may be named: what is ignored now, and was recorded
		if !slices.Contains(snap.Nested, dir) {
			w.T.Fatalf("the repository %q is not named, but %q; after %q", dir, snap.Nested, w.moves)
		}
	}
	if snap.Files != o.files {
		w.T.Fatalf("%d files, the oracle says %d", snap.Files, o.files)
	}
	for path, as := range o.stored {
		if _, err := os.Lstat(filepath.Join(o.root, path)); err != nil || worktree.UnescapeName(as) != filepath.Base(path) {
			w.T.Fatalf("%q is said to be stored as %q (%v)", path, as, err)
		}
	}
	w.moves = nil
	return snap
}

// difference names the paths in which snapshot and oracle differ.
func (w *world) difference(snap *checkpoint.Snapshot, o *oracle, before map[string]bool) string {
	got, want := map[string]string{}, map[string]string{}
	testkit.Must(w.T, w.Store.Walk(snap.Tree, func(path string, mode testkit.FSMode, id checkpoint.SHA) error {
		got[path] = fmt.Sprint(mode, " ", id)
		return nil
	}))
	for _, path := range everyPath(w.T, o.root) {
		fi, err := os.Lstat(filepath.Join(o.root, path))
		if err == nil && fi.Mode()&os.ModeSymlink != 0 && o.kept(path) {
			target, _ := os.Readlink(filepath.Join(o.root, path))
			want[path] = fmt.Sprintf("0120000 %x", gitID("blob", []byte(target)))
		}
		if err == nil && fi.Mode().IsRegular() && o.kept(path) {
			data, _ := os.ReadFile(filepath.Join(o.root, path))
			mode := "0100644"
			if fi.Mode()&0o100 != 0 {
				mode = "0100755"
			}
			want[path] = fmt.Sprintf("%s %x", mode, gitID("blob", data))
		}
	}
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[path]; !ok {
			fmt.Fprintf(&b, "%q is recorded (before: %v)\n", path, before[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			fmt.Fprintf(&b, "%q is %q, want %s\n", path, got[path], want[path])
		}
	}
	return b.String()
}

// stockAgrees lets git check the store, and check the checkpoint out: what it
// writes must hash to the same tree.
func (w *world) stockAgrees() {
	w.T.Helper()
	w.Whole()
	out, err := os.MkdirTemp(filepath.Dir(w.Opts.Dir), "out")
	testkit.Must(w.T, err)
	defer os.RemoveAll(out)
	tree := strings.TrimSpace(testkit.Stock(w.T, "--git-dir="+w.Opts.Dir, "rev-parse", string(w.Tip)+"^{tree}"))
	env := []string{"--git-dir=" + w.Opts.Dir, "--work-tree=" + out, "-c", "core.bare=false", "-c", "core.protectNTFS=false"}
	testkit.Stock(w.T, append(env, "read-tree", "--reset", tree)...)
	testkit.Stock(w.T, append(env, "checkout-index", "-a", "-f")...)
	testkit.Must(w.T, os.Remove(filepath.Join(w.Opts.Dir, "index")))
	o := &oracle{t: w.T, root: out, kept: func(string) bool { return true }, shown: func(string) bool { return true }}
	if id, _ := o.tree(""); fmt.Sprintf("%x", id) != tree {
		w.T.Fatalf("git checks out %x of %s", id, tree)
	}
}

// world is a workspace under attack.
type world struct {
	*checkpointtest.Rig
	rng     *rand.Rand
	rules   bool   // there are ignore rules
	common  string // the common git directory of the user's repository, or ""
	maps    []mapping
	boots   int
	moves   []string         // since the last comparison
	history []checkpoint.SHA // trees of the checkpoints so far
	raced   atomic.Bool
	calm    bool       // no races
	mu      sync.Mutex // for the racing readers
}

// mapping is a file that stays mapped whatever becomes of its name.
type mapping struct {
	data []byte
	fd   int // for reading, so that nothing but the mapping may write
}

func (w *world) release() {
	for _, m := range w.maps {
		testkit.Must(w.T, errors.Join(unix.Munmap(m.data), unix.Close(m.fd)))
	}
	w.maps = nil
}

// attack plays one seed.
func attack(t testing.TB, seed uint64, steps int) {
	rng := rand.New(rand.NewPCG(seed, 3))
	w := &world{Rig: checkpointtest.NewRigIn(t, t.TempDir()), rng: rng}
	defer w.release()
	kinds[seed%uint64(len(kinds))](w)
	for n := 1; n <= steps; n++ {
		for range 1 + rng.IntN(4) {
			w.move()
		}
		if rng.IntN(3) == 0 {
			w.Age()
		}
		snap := w.step()
		switch choice := rng.IntN(8); {
		case snap == nil:
		case choice == 0:
			w.Store.Abort()
		default:
			w.Commit(snap)
			w.history = append(w.history, snap.Tree)
			if choice == 3 && !w.rules { // rules may keep files from the next checkpoint
				w.goBack(snap)
			}
			if choice == 1 {
				w.boots++
				w.Opts.BootID = fmt.Sprint("boot ", w.boots)
			}
			if choice <= 2 {
				w.Reopen()
			}
		}
		if n%50 == 0 && w.Tip != "" {
			w.stockAgrees()
		}
	}
	if w.Tip != "" {
		w.stockAgrees()
	}
}

// goBack restores the tree of an earlier checkpoint: the next one has the very
// same, unless something stood in the way that no checkpoint holds.
func (w *world) goBack(now *checkpoint.Snapshot) {
	w.T.Helper()
	to := w.history[w.rng.IntN(len(w.history))]
	_, err := restore.Restore(w.T.Context(), restore.RestoreRequest{Store: w.Store, Workspace: w.Ws, From: now.Tree, To: to, Removable: testkit.Anything})
	w.moves = append(w.moves, "restore of "+string(to))
	var blocked *restore.BlockedError
	if errors.As(err, &blocked) && len(now.Nested)+len(now.Skipped) > 0 {
		return
	}
	testkit.Must(w.T, err)
	w.calm = true
	snap := w.step()
	w.calm = false
	if snap.Tree != to {
		changes, err := diff.Diff(w.Store, to, snap.Tree)
		w.T.Fatalf("restored %s, and the workspace is %s: %+v %v", to, snap.Tree, changes, err)
	}
	w.Commit(snap)
}

// A checkpoint's tree equals one that is made by reading every byte, whatever
// was done to the workspace, with a memory of the scan before, one from the
// disk, or none.
func TestCheckpointEqualsOracle(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	const steps, short = 50, max(1, 8/race.Step)
	var seeds, done atomic.Int64
	deadline := time.Now().Add(*oracleFor)
	for worker := range 2 {
		t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
			t.Parallel()
			for {
				n := seeds.Add(1) - 1
				if n >= short && !time.Now().Before(deadline) {
					return
				}
				ok := t.Run(fmt.Sprint("seed ", *testkit.OracleSeed+uint64(n)), func(t *testing.T) { attack(t, *testkit.OracleSeed+uint64(n), steps) })
				if !ok {
					return
				}
				done.Add(1)
			}
		})
	}
	t.Cleanup(func() {
		t.Logf("seed %d: %d workspaces, %d checkpoints, %d times fsck and checkout by stock git", *testkit.OracleSeed, done.Load(), done.Load()*steps, done.Load()*2)
	})
}
