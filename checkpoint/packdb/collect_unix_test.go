//go:build unix

package packdb_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
	"hank/internal/short"
)

// TestCollectNeedsTheReferences: an open store whose references somebody removes has not lost
// what they led to.
func TestCollectNeedsTheReferences(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	made := r.Grow(5)
	if err := os.RemoveAll(filepath.Join(r.Store.Dir, "refs")); err != nil {
		t.Fatal(err)
	}
	if freed, err := r.Store.Collect(context.Background(), nil); err == nil || freed.Objects != 0 {
		t.Errorf("freed %+v; %v", freed, err)
	}
	for _, sha := range made {
		if !r.Store.Has(sha) {
			t.Errorf("checkpoint %s is gone", sha)
		}
	}
}

func TestCollectFreesWhatNothingLeadsTo(t *testing.T) {
	t.Parallel()
	for _, merged := range []bool{false, true} {
		t.Run(fmt.Sprintf("merged %t", merged), func(t *testing.T) {
			t.Parallel()
			r := checkpointtest.NewRig(t)
			made := r.Grow(5)
			r.Abandon(6)
			made = append(made, r.Grow(2)...)
			if merged {
				r.Merge()
			}
			ctx := context.Background()
			if sum, err := r.Store.Unreachable(ctx, nil, nil); err != nil || sum.Objects != 0 {
				t.Errorf("with its branch: %+v %v", sum, err)
			}
			would, err := r.Store.Unreachable(ctx, []string{"refs/heads/abandoned"}, nil)
			if err != nil || would.Objects != 3*6-1 && would.Objects != 3*6 || would.Bytes == 0 {
				t.Errorf("without: %+v %v", would, err)
			}
			tip, err := r.Store.Ref("refs/heads/abandoned")
			if err != nil {
				t.Fatal(err)
			}
			if kept, err := r.Store.Unreachable(ctx, []string{"refs/heads/abandoned"}, []packdb.SHA{tip}); err != nil || kept.Objects != 0 {
				t.Errorf("kept by name: %+v %v", kept, err)
			}
			if err := r.Store.SetRef("refs/heads/abandoned", tip, ""); err != nil {
				t.Fatal(err)
			}
			before, _ := r.Store.Size()
			freed, err := r.Store.Collect(ctx, nil)
			if err != nil || freed != would {
				t.Errorf("freed %+v, was to be %+v; %v", freed, would, err)
			}
			if after, _ := r.Store.Size(); before-after < would.Bytes/2 {
				t.Errorf("the store had %d bytes and has %d", before, after)
			}
			if r.Store.Has(tip) {
				t.Error("the abandoned tip is still there")
			}
			r.CheckWhole()
			for _, sha := range made {
				if !r.Store.Has(sha) {
					t.Errorf("checkpoint %s is gone", sha)
				}
			}
			r.Grow(1) // from the cache in memory, if it vouches for what is gone
			r.CheckWhole()
			if again, err := r.Store.Collect(ctx, nil); err != nil || again.Objects != 0 {
				t.Errorf("again: %+v %v", again, err)
			}
		})
	}
}

// The workspace still has a file whose blob only the abandoned branch had.
func TestAfterCollectTheStatCacheVouchesForNothingThatIsGone(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Grow(2)
	r.Abandon(1) // "lost" stays in the workspace, and in the cache
	tip, err := r.Store.Ref("refs/heads/abandoned")
	if err == nil {
		err = r.Store.SetRef("refs/heads/abandoned", tip, "")
	}
	if err == nil {
		_, err = r.Store.Collect(context.Background(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Commit(r.Snapshot(match.Selection{All: true}))
	r.CheckWhole()
}

func TestACrashDuringCollectLosesNothing(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	w, err := worktree.OpenWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	checkpointtest.CrashStore(t, w, func(s *checkpoint.Store, write func(string)) {
		write("1")
		write("2")
		sha, err := s.Commit(context.Background(), packdb.CommitRequest{Tree: packdb.EmptyTree, Message: "abandoned"})
		if err != nil {
			t.Fatal(err)
		}
		write("3")
		if err := s.Merge(context.Background()); err != nil {
			t.Fatal(err)
		}
		if freed, err := s.Collect(context.Background(), nil); err != nil || freed.Objects == 0 || s.Has(sha) {
			t.Fatal(freed, err)
		}
		write("4")
	})
}
