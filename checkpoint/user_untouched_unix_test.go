//go:build unix

package checkpoint

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// fingerprintsBelow hashes everything about a folder that a program can see
// without changing it: names, kinds, modes, sizes, times, bytes and targets.
func fingerprintsBelow(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	must(t, filepath.WalkDir(dir, func(full string, d fs.DirEntry, err error) error {
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
	operations := 50
	if os.Getenv(longEnv) != "" {
		operations = 1000
	}
	seed := *oracleSeed
	for _, kind := range []int{2, 3} { // a repository with everything, and a linked worktree
		rng := rand.New(rand.NewPCG(seed, 4))
		w := &world{rig: newRigIn(t, t.TempDir()), rng: rng}
		t.Cleanup(w.release)
		kinds[kind](w)
		w.write("stashed", "one")
		stock(t, "-C", w.ws.Path(), "add", "stashed")
		stock(t, "-C", w.ws.Path(), "stash")
		w.write("nested/file", "x")
		stock(t, "init", "-q", w.path("nested"))
		stock(t, "-C", w.path("nested"), "add", "file")
		stock(t, "-C", w.path("nested"), "commit", "-qm", "one")
		for _, hook := range []string{"pre-commit", "post-commit", "post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman"} {
			must(t, os.WriteFile(filepath.Join(w.common, "hooks", hook), []byte("#!/bin/sh\n: >\"$GIT_DIR/hook-was-run\"\n"), 0o755))
		}
		guarded := []string{w.common, w.path(".git"), w.path("nested/.git")}
		hash := func() (all string) {
			for _, dir := range guarded {
				all += fingerprintsBelow(t, dir) + "\n"
			}
			return all
		}
		before := hash()
		var trees []SHA
		count := map[string]int{}
		for n := range operations {
			what := []string{"checkpoint", "checkpoint", "restore", "diff", "estimate", "reopen", "abort", "merge"}[rng.IntN(8)]
			count[what]++
			for range rng.IntN(3) {
				w.write(fmt.Sprintf("work%d/%d", rng.IntN(4), rng.IntN(9)), fmt.Sprint(rng.Uint64()))
			}
			req := SnapshotRequest{Workspace: w.ws, Selection: Selection{All: true}, Base: w.tip}
			switch what {
			case "estimate":
				_, err := w.store.Estimate(t.Context(), req)
				must(t, err)
			case "reopen":
				w.reopen()
			case "merge":
				must(t, w.store.Merge(t.Context()))
			case "abort":
				w.snapshot(req.Selection)
				w.store.Abort()
			case "diff":
				if len(trees) > 0 {
					changes, err := Diff(w.store, trees[rng.IntN(len(trees))], trees[len(trees)-1])
					must(t, err)
					must(t, WritePatch(io.Discard, w.store, changes))
				}
			default:
				snap := w.snapshot(req.Selection)
				w.commit(snap)
				trees = append(trees, snap.Tree)
				if what == "restore" {
					to := trees[rng.IntN(len(trees))]
					_, err := Restore(t.Context(), RestoreRequest{Store: w.store, Workspace: w.ws, From: snap.Tree, To: to, Removable: anything})
					must(t, err)
				}
			}
			if after := hash(); after != before {
				t.Fatalf("seed %d: operation %d, %s: the user's own repositories were\n%s and are\n%s", seed, n, what, before, after)
			}
		}
		t.Logf("seed %d: %v on a workspace of kind %d, and nothing of %d repositories has changed", seed, count, kind, len(guarded))
	}
}
