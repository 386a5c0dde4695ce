//go:build unix

package checkpoint

import (
	"os"
	"testing"
	"time"
)

// A restore believes the scan for its files only as long as they are as the
// scan found them.
func TestRestoreReadsWhatTheScanDoesNotKnow(t *testing.T) {
	t.Parallel()
	all := Selection{All: true}
	for name, change := range map[string]func(*rig){
		"same size, its time put back": func(r *rig) {
			info, err := os.Stat(r.path("d/f"))
			must(r.t, err)
			r.write("d/f", "hers")
			must(r.t, os.Chtimes(r.path("d/f"), info.ModTime(), info.ModTime()))
		},
		"another file of the same size and time": func(r *rig) {
			info, err := os.Stat(r.path("d/f"))
			must(r.t, err)
			r.write("new", "hers")
			must(r.t, os.Chtimes(r.path("new"), info.ModTime(), info.ModTime()))
			must(r.t, os.Rename(r.path("new"), r.path("d/f")))
		},
		"young at the scan": func(r *rig) {
			future := time.Now().Add(time.Hour)
			must(r.t, os.Chtimes(r.path("d/f"), future, future))
			r.commit(r.snapshot(all))
			r.write("d/f", "hers")
			must(r.t, os.Chtimes(r.path("d/f"), future, future))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.write("d/f", "old!")
			old := r.snapshot(all)
			r.commit(old)
			r.write("d/f", "mine")
			r.age()
			now := r.snapshot(all)
			r.commit(now)
			request := RestoreRequest{Store: r.store, Workspace: r.ws, From: now.Tree, To: old.Tree, Known: r.store.Known(r.ws)}
			plan, err := PlanRestore(request)
			must(t, err)
			if len(plan.Change) != 1 || len(plan.Blocked) > 0 {
				t.Fatalf("before the change: %+v", plan)
			}
			change(r)
			request.Known = r.store.Known(r.ws)
			plan, err = PlanRestore(request)
			must(t, err)
			if len(plan.Blocked) != 1 {
				t.Errorf("what nobody has saved would be replaced: %+v", plan)
			}
		})
	}
}

// What is known is not read: a lie of the scan's is believed.
func TestRestoreDoesNotReadWhatTheScanKnows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	all := Selection{All: true}
	r.write("d/f", "old!")
	r.write("f", "other")
	old := r.snapshot(all)
	r.commit(old)
	r.write("d/f", "mine")
	r.age()
	now := r.snapshot(all)
	r.commit(now)
	root := r.store.cacheFor(r.ws).root
	d, f := root.find([]byte("d")), root.find([]byte("f"))
	root.entries[d].sub.entries[0].blob = root.entries[f].blob
	request := RestoreRequest{Store: r.store, Workspace: r.ws, From: now.Tree, To: old.Tree}
	for known, blocked := range map[*Known]int{nil: 0, r.store.Known(r.ws): 1} {
		request.Known = known
		plan, err := PlanRestore(request)
		must(t, err)
		if len(plan.Blocked) != blocked {
			t.Errorf("with %v: %+v", known, plan)
		}
	}
}
