//go:build unix

package scan_test

import (
	"context"
	"testing"
	"time"

	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/scan"
)

// Who knows of nothing that can have changed the workspace gets the newest snapshot
// again. Each case changes the workspace behind the scanner's back, which shows whether it
// was looked at.
func TestALookIsRepeatedUnlessItHolds(t *testing.T) {
	t.Parallel()
	all := match.Selection{All: true}
	for name, c := range map[string]struct {
		again bool                                                 // the workspace is looked at
		then  func(r *checkpointtest.Rig, s *scan.SnapshotRequest) // between the two
	}{
		"nothing":         {false, func(*checkpointtest.Rig, *scan.SnapshotRequest) {}},
		"no instant":      {true, func(_ *checkpointtest.Rig, s *scan.SnapshotRequest) { s.Since = time.Time{} }},
		"a later instant": {true, func(_ *checkpointtest.Rig, s *scan.SnapshotRequest) { s.Since = time.Now() }},
		"another selection": {true, func(_ *checkpointtest.Rig, s *scan.SnapshotRequest) {
			s.Selection = match.Selection{Patterns: []string{"**"}}
		}},
		"the same, worded so":   {false, func(_ *checkpointtest.Rig, s *scan.SnapshotRequest) { s.Selection.Patterns = []string{} }},
		"a path to be included": {true, func(_ *checkpointtest.Rig, s *scan.SnapshotRequest) { s.MustInclude = []string{"log"} }},
		"another base":          {true, func(_ *checkpointtest.Rig, s *scan.SnapshotRequest) { s.Base = "" }},
		"dropped objects":       {true, func(r *checkpointtest.Rig, _ *scan.SnapshotRequest) { r.Store.Abort() }},
		"durable objects": {false, func(r *checkpointtest.Rig, _ *scan.SnapshotRequest) {
			testkit.Must(r.T, r.Store.Flush(context.Background()))
			r.Store.Abort()
		}},
		"packs that vouch for nothing": {true, func(r *checkpointtest.Rig, _ *scan.SnapshotRequest) { testkit.Must(r.T, r.Store.DistrustCache()) }},
		"a file that is left out": {true, func(r *checkpointtest.Rig, _ *scan.SnapshotRequest) {
			testkit.Must(r.T, match.LeaveOut(r.Store.DB, []string{"a"}))
		}},
		"another directory": {true, func(r *checkpointtest.Rig, s *scan.SnapshotRequest) {
			other := *s.Workspace
			s.Workspace = &other
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checkpointtest.NewRig(t)
			r.Write(".gitignore", "log\n")
			r.Write("log", "1")
			r.Write("a", "1")
			r.Commit(r.Snapshot(all))
			r.Write("a", "2")
			req := scan.SnapshotRequest{Workspace: r.Ws, Selection: all, Base: r.Tip, Since: time.Now()}
			first, err := r.Store.Snapshot(context.Background(), req)
			testkit.Must(t, err)
			r.Write("b", "new")
			c.then(r, &req)
			second, err := r.Store.Snapshot(context.Background(), req)
			testkit.Must(t, err)
			if again := second.Tree != first.Tree; again != c.again {
				t.Errorf("the workspace was looked at: %v, want %v", again, c.again)
			}
		})
	}
}

// What a snapshot has found it finds again when it is itself the base, but for the files
// for secrets that are new in it.
func TestALookHoldsForItsOwnCheckpoint(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a", "1")
	r.Commit(r.Snapshot(match.Selection{All: true}))
	r.Write(".env", "KEY=1")
	since := time.Now()
	first := r.Snapshot(match.Selection{All: true})
	r.Commit(first)
	if len(first.Private) != 1 {
		t.Fatalf("private: %q", first.Private)
	}
	r.Write("b", "new") // shows a look
	req := scan.SnapshotRequest{Workspace: r.Ws, Selection: match.Selection{All: true}, Base: r.Tip, Since: since}
	second, err := r.Store.Snapshot(context.Background(), req)
	testkit.Must(t, err)
	if second.Tree != first.Tree || len(second.Private) != 0 {
		t.Errorf("%+v, want the tree %s", second, first.Tree)
	}
	second.Empty = append(second.Empty, "x")
	if third, err := r.Store.Snapshot(context.Background(), req); err != nil || len(third.Empty) != 0 {
		t.Errorf("a caller has changed what the next one gets: %+v, %v", third, err)
	}
}
