//go:build unix

package scan_test

import (
	"os"
	"testing"
	"time"

	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/restore"
	"hank/checkpoint/scan"
)

// A restore believes the scan for its files only as long as they are as the
// scan found them.
func TestRestoreReadsWhatTheScanDoesNotKnow(t *testing.T) {
	t.Parallel()
	all := match.Selection{All: true}
	for name, change := range map[string]func(*checkpointtest.Rig){
		"same size, its time put back": func(r *checkpointtest.Rig) {
			info, err := os.Stat(r.Path("d/f"))
			testkit.Must(r.T, err)
			r.Write("d/f", "hers")
			testkit.Must(r.T, os.Chtimes(r.Path("d/f"), info.ModTime(), info.ModTime()))
		},
		"another file of the same size and time": func(r *checkpointtest.Rig) {
			info, err := os.Stat(r.Path("d/f"))
			testkit.Must(r.T, err)
			r.Write("new", "hers")
			testkit.Must(r.T, os.Chtimes(r.Path("new"), info.ModTime(), info.ModTime()))
			testkit.Must(r.T, os.Rename(r.Path("new"), r.Path("d/f")))
		},
		"young at the scan": func(r *checkpointtest.Rig) {
			future := time.Now().Add(time.Hour)
			testkit.Must(r.T, os.Chtimes(r.Path("d/f"), future, future))
			r.Commit(r.Snapshot(all))
			r.Write("d/f", "hers")
			testkit.Must(r.T, os.Chtimes(r.Path("d/f"), future, future))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checkpointtest.NewRig(t)
			r.Write("d/f", "old!")
			old := r.Snapshot(all)
			r.Commit(old)
			r.Write("d/f", "mine")
			r.Age()
			now := r.Snapshot(all)
			r.Commit(now)
			request := restore.RestoreRequest{Store: r.Store, Workspace: r.Ws, From: now.Tree, To: old.Tree, Known: r.Store.Cache(r.Ws)}
			plan, err := restore.PlanRestore(request)
			testkit.Must(t, err)
			if len(plan.Change) != 1 || len(plan.Blocked) > 0 {
				t.Fatalf("before the change: %+v", plan)
			}
			change(r)
			request.Known = r.Store.Cache(r.Ws)
			plan, err = restore.PlanRestore(request)
			testkit.Must(t, err)
			if len(plan.Blocked) != 1 {
				t.Errorf("what nobody has saved would be replaced: %+v", plan)
			}
		})
	}
}

// What is known is not read: a lie of the scan's is believed.
func TestRestoreDoesNotReadWhatTheScanKnows(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	all := match.Selection{All: true}
	r.Write("d/f", "old!")
	r.Write("f", "other")
	old := r.Snapshot(all)
	r.Commit(old)
	r.Write("d/f", "mine")
	r.Age()
	now := r.Snapshot(all)
	r.Commit(now)
	root := r.Store.CacheFor(r.Ws).Root
	d, f := root.Find([]byte("d")), root.Find([]byte("f"))
	root.Entries[d].Sub.Entries[0].Blob = root.Entries[f].Blob
	request := restore.RestoreRequest{Store: r.Store, Workspace: r.Ws, From: now.Tree, To: old.Tree}
	for known, blocked := range map[*scan.Cache]int{nil: 0, r.Store.Cache(r.Ws): 1} {
		request.Known = known
		plan, err := restore.PlanRestore(request)
		testkit.Must(t, err)
		if len(plan.Blocked) != blocked {
			t.Errorf("with %v: %+v", known, plan)
		}
	}
}
