//go:build unix

package remote

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/packdb"
	"hank/internal/vfs"
)

// exporting starts an export that stops before it sends a thing, lets the store
// change, and waits for its end.
func exporting(r *checkpointtest.Rig, to Remote, change func()) (*Transfer, error) {
	r.T.Helper()
	halt := &haltingFS{FS: vfs.OS, reached: make(chan bool), on: make(chan bool)}
	reader, err := checkpoint.Open(packdb.Options{FS: halt, Dir: r.Opts.Dir, ReadOnly: true})
	if err != nil {
		r.T.Fatal(err)
	}
	defer reader.Close()
	halt.armed.Store(true)
	type ended struct {
		t   *Transfer
		err error
	}
	end := make(chan ended, 1)
	go func() {
		t, err := Export(context.Background(), reader.DB, to)
		end <- ended{t, err}
	}()
	select {
	case <-halt.reached:
		change()
		close(halt.on)
	case e := <-end:
		r.T.Fatalf("the export ended before it read a pack: %+v %v", e.t, e.err)
	}
	e := <-end
	return e.t, e.err
}

// An export while checkpoints are made and packs are merged sends a beginning of
// the history, whole, and what is new with the next.
func TestAnExportOfAStoreThatIsWrittenToIsAWholeBeginning(t *testing.T) {
	t.Parallel()
	for kind, address := range remotes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := checkpointtest.NewRig(t)
			made := r.Grow(checkpointtest.MergeWidth - 1)
			dir := filepath.Join(t.TempDir(), "mirror")
			testkit.Stock(t, "init", "-q", "--bare", dir)
			to := Remote{Address: address(t, dir), Prefix: "hank/x"}
			for range 2 {
				then := r.Tip
				got, err := exporting(r, to, func() { // every pack that the reader knows is merged, and there is more
					made = append(made, r.Grow(checkpointtest.MergeWidth)...)
					r.Merge()
					r.Merge()
				})
				if err != nil || len(got.Refused) > 0 {
					t.Fatalf("%+v %v", got, err)
				}
				testkit.Stock(t, "--git-dir="+dir, "fsck", "--strict")
				tip := packdb.SHA(strings.TrimSpace(testkit.Stock(t, "--git-dir="+dir, "rev-parse", "hank/x/main")))
				n, _ := strconv.Atoi(strings.TrimSpace(testkit.Stock(t, "--git-dir="+dir, "rev-list", "--count", "hank/x/main")))
				if at := slices.Index(made, tip); tip != then || at+1 != n {
					t.Errorf("it sent %d commits up to %s, checkpoint %d; it began at %s", n, tip, at, then)
				}
			}
			r.CheckWhole()
		})
	}
}

// What gc removes while an export is under way is not in it, and nothing else is
// missing.
func TestAnExportWhileBranchesAreRemovedBeginsAgain(t *testing.T) {
	t.Parallel()
	for kind, address := range remotes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := checkpointtest.NewRig(t)
			r.Grow(3)
			r.Abandon(3)
			dir := filepath.Join(t.TempDir(), "mirror")
			testkit.Stock(t, "init", "-q", "--bare", dir)
			got, err := exporting(r, Remote{Address: address(t, dir), Prefix: "hank/x"}, func() {
				refs, err := r.Store.Refs(packdb.Branches)
				if err == nil {
					err = r.Store.SetRef("refs/heads/abandoned", refs["refs/heads/abandoned"], "")
				}
				if err == nil {
					_, err = r.Store.Collect(context.Background(), nil)
				}
				if err != nil {
					t.Fatal(err)
				}
			})
			if err != nil || !slices.Equal(got.Moved, []string{"refs/heads/main"}) {
				t.Errorf("%+v %v", got, err)
			}
			testkit.Stock(t, "--git-dir="+dir, "fsck", "--strict")
		})
	}
}

// haltingFS stops who opens the first file of a pack.
type haltingFS struct {
	vfs.FS
	armed       atomic.Bool
	reached, on chan bool
}

func (h *haltingFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if strings.Contains(name, "/pack/") && h.armed.CompareAndSwap(true, false) {
		h.reached <- true
		<-h.on
	}
	return h.FS.OpenFile(name, flag, perm)
}
