//go:build unix

package checkpoint_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/restore"
	"hank/internal/short"
)

// fingerprintsBelow hashes everything about a directory that a program can see
// without changing it: names, kinds, modes, sizes, times, bytes and targets.
func fingerprintsBelow(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	testkit.Must(t, filepath.WalkDir(dir, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v %d %d\n", full, fi.Mode(), fi.Size(), fi.ModTime().UnixNano())
		switch {
		case fi.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(full)
			fmt.Fprintf(h, "%q\n", target)
			return err
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(full)
			fmt.Fprintf(h, "%x\n", sha256.Sum256(data))
			return err
		}
		return nil
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Checkpoints, estimates, comparisons, patches and restores leave the user's
// own repository as it was: the index, HEAD, hooks, the stash, and those of a
// submodule, a linked worktree, and a nested repository. Hooks that would end
// the test are never run.
func TestTheUsersRepositoriesAreNeverTouched(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	operations := 50
	if os.Getenv(testkit.LongEnv) != "" {
		operations = 1000
	}
	seed := *testkit.OracleSeed
	for _, kind := range []int{2, 3} { // a repository with everything, and a linked worktree
		rng := rand.New(rand.NewPCG(seed, 4))
		w := &world{Rig: checkpointtest.NewRigIn(t, t.TempDir()), rng: rng}
		t.Cleanup(w.release)
		kinds[kind](w)
		w.Write("stashed", "one")
		testkit.Stock(t, "-C", w.Ws.Path(), "add", "stashed")
		testkit.Stock(t, "-C", w.Ws.Path(), "stash")
		w.Write("nested/file", "x")
		testkit.Stock(t, "init", "-q", w.Path("nested"))
		testkit.Stock(t, "-C", w.Path("nested"), "add", "file")
		testkit.Stock(t, "-C", w.Path("nested"), "commit", "-qm", "one")
		for _, hook := range []string{"pre-commit", "post-commit", "post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman"} {
			testkit.Must(t, os.WriteFile(filepath.Join(w.common, "hooks", hook), []byte("#!/bin/sh\n: >\"$GIT_DIR/hook-was-run\"\n"), 0o755))
		}
		guarded := []string{w.common, w.Path(".git"), w.Path("nested/.git")}
		hash := func() (all string) {
			for _, dir := range guarded {
				all += fingerprintsBelow(t, dir) + "\n"
			}
			return all
		}
		before := hash()
		var trees []checkpoint.SHA
		count := map[string]int{}
		for n := range operations {
			what := []string{"checkpoint", "checkpoint", "restore", "diff", "estimate", "reopen", "abort", "merge"}[rng.IntN(8)]
			count[what]++
			for range rng.IntN(3) {
				w.Write(fmt.Sprintf("work%d/%d", rng.IntN(4), rng.IntN(9)), fmt.Sprint(rng.Uint64()))
			}
			req := checkpoint.SnapshotRequest{Workspace: w.Ws, Selection: checkpoint.Selection{All: true}, Base: w.Tip}
			switch what {
			case "estimate":
				_, err := w.Store.Estimate(t.Context(), req)
				testkit.Must(t, err)
			case "reopen":
				w.Reopen()
			case "merge":
				testkit.Must(t, w.Store.Merge(t.Context()))
			case "abort":
				w.Snapshot(req.Selection)
				w.Store.Abort()
			case "diff":
				if len(trees) > 0 {
					changes, err := diff.Diff(w.Store, trees[rng.IntN(len(trees))], trees[len(trees)-1])
					testkit.Must(t, err)
					testkit.Must(t, diff.WritePatch(io.Discard, w.Store, changes))
				}
			default:
				snap := w.Snapshot(req.Selection)
				w.Commit(snap)
				trees = append(trees, snap.Tree)
				if what == "restore" {
					to := trees[rng.IntN(len(trees))]
					_, err := restore.Restore(t.Context(), restore.RestoreRequest{Store: w.Store, Workspace: w.Ws, From: snap.Tree, To: to, Removable: testkit.Anything})
					testkit.Must(t, err)
				}
			}
			if after := hash(); after != before {
				t.Fatalf("seed %d: operation %d, %s: the user's own repositories were\n%s and are\n%s", seed, n, what, before, after)
			}
		}
		t.Logf("seed %d: %v on a workspace of kind %d, and nothing of %d repositories has changed", seed, count, kind, len(guarded))
	}
}
