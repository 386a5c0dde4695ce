//go:build unix

package repair_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/repair"
)

// A pack is damaged, perhaps with its index: what can be read stays in the store,
// the rest is counted and put aside, and the next checkpoint is whole.
func TestSalvageKeepsWhatCanBeRead(t *testing.T) {
	t.Parallel()
	flip := func(t *testing.T, name string) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 8
		os.Chmod(name, 0o600)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	empty := func(t *testing.T, name string) {
		os.Chmod(name, 0o600)
		if err := os.Truncate(name, 0); err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string]struct {
		do    func(t *testing.T, base string)
		lost  func(n int) bool
		aside int
	}{
		"a byte of the pack": {func(t *testing.T, base string) { flip(t, base+".pack") }, func(n int) bool { return n == 1 }, 2},
		"the pack emptied":   {func(t *testing.T, base string) { empty(t, base+".pack") }, func(n int) bool { return n > 20 }, 2},
		"both":               {func(t *testing.T, base string) { flip(t, base+".idx"); flip(t, base+".pack") }, func(n int) bool { return n == -1 }, 2},
		"a byte, and no index": {func(t *testing.T, base string) {
			flip(t, base+".pack")
			if err := os.Remove(base + ".idx"); err != nil {
				t.Fatal(err)
			}
		}, func(n int) bool { return n == -1 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checkpointtest.NewRig(t)
			r.Write("large", strings.Repeat("0123456789abcdef", packdb.InMemory/8))
			r.Grow(checkpointtest.MergeWidth)
			r.Merge()
			r.Grow(1)
			if err := r.Store.Close(); err != nil {
				t.Fatal(err)
			}
			var base string
			var most int64
			for _, name := range r.PackFiles() {
				if fi, err := os.Stat(name); err == nil && strings.HasSuffix(name, ".pack") && fi.Size() > most {
					base, most = strings.TrimSuffix(name, ".pack"), fi.Size()
				}
			}
			damage.do(t, base)
			var err error
			if r.Store, err = checkpoint.Open(r.Opts); err != nil {
				t.Fatal(err)
			}
			aside := t.TempDir()
			var gone int
			found, err := repair.Salvage(context.Background(), r.Store.DB, func(name string, why error) error {
				gone++
				return os.Rename(name, filepath.Join(aside, filepath.Base(name)))
			})
			if err != nil || len(found) != 1 || found[0].Why == nil || !damage.lost(found[0].Lost) || gone != damage.aside {
				t.Fatalf("%d files aside, %+v, %v", gone, found, err)
			}
			again, err := repair.Salvage(context.Background(), r.Store.DB, func(name string, _ error) error {
				t.Errorf("%s is set aside by a second call", name)
				return nil
			})
			if err != nil || len(again) != 0 {
				t.Errorf("a second call: %v %v", again, err)
			}
			r.Tip = "" // the history begins again, from the workspace
			snap := r.Snapshot(match.Selection{All: true})
			sha, err := r.Store.Commit(context.Background(), packdb.CommitRequest{Tree: snap.Tree, Message: "anew"})
			if err != nil {
				t.Fatal(err)
			}
			if snap.Tree != r.Oracle() {
				t.Error("the next checkpoint differs from the workspace")
			}
			testkit.Stock(t, "--git-dir="+r.Opts.Dir, "rev-list", "--objects", string(sha))
			testkit.Stock(t, "--git-dir="+r.Opts.Dir, "archive", "--output="+filepath.Join(aside, "x.tar"), string(sha))
		})
	}
}
