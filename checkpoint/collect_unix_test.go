//go:build unix

package checkpoint

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// abandon makes commits on a branch of its own and forgets the branch.
func (r *rig) abandon(n int) (bytes int) {
	r.t.Helper()
	main := r.tip
	for i := range n {
		text := strings.Repeat(fmt.Sprint(i, r.tip), 100)
		bytes += len(text)
		r.write("lost", text)
		snap := r.snapshot(Selection{All: true})
		sha, err := r.store.Commit(context.Background(), CommitRequest{Tree: snap.Tree, Parents: []SHA{r.tip}, Message: fmt.Sprint(i)})
		if err != nil {
			r.t.Fatal(err)
		}
		r.tip = sha
	}
	if err := r.store.SetRef("refs/heads/abandoned", "", r.tip); err != nil {
		r.t.Fatal(err)
	}
	r.tip = main
	return bytes
}

func TestCollectFreesWhatNothingLeadsTo(t *testing.T) {
	t.Parallel()
	for _, merged := range []bool{false, true} {
		t.Run(fmt.Sprintf("merged %t", merged), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			made := r.grow(5)
			r.abandon(6)
			made = append(made, r.grow(2)...)
			if merged {
				r.merge()
			}
			ctx := context.Background()
			if sum, err := r.store.Unreachable(ctx, nil, nil); err != nil || sum.Objects != 0 {
				t.Errorf("with its branch: %+v %v", sum, err)
			}
			would, err := r.store.Unreachable(ctx, []string{"refs/heads/abandoned"}, nil)
			if err != nil || would.Objects != 3*6-1 && would.Objects != 3*6 || would.Bytes == 0 {
				t.Errorf("without: %+v %v", would, err)
			}
			tip, err := r.store.Ref("refs/heads/abandoned")
			if err != nil {
				t.Fatal(err)
			}
			if kept, err := r.store.Unreachable(ctx, []string{"refs/heads/abandoned"}, []SHA{tip}); err != nil || kept.Objects != 0 {
				t.Errorf("kept by name: %+v %v", kept, err)
			}
			if err := r.store.SetRef("refs/heads/abandoned", tip, ""); err != nil {
				t.Fatal(err)
			}
			before, _ := r.store.Size()
			freed, err := r.store.Collect(ctx, nil)
			if err != nil || freed != would {
				t.Errorf("freed %+v, was to be %+v; %v", freed, would, err)
			}
			if after, _ := r.store.Size(); before-after < would.Bytes/2 {
				t.Errorf("the store had %d bytes and has %d", before, after)
			}
			if r.store.Has(tip) {
				t.Error("the abandoned tip is still there")
			}
			r.checkWhole()
			for _, sha := range made {
				if !r.store.Has(sha) {
					t.Errorf("checkpoint %s is gone", sha)
				}
			}
			r.grow(1) // from the cache in memory, if it vouches for what is gone
			r.checkWhole()
			if again, err := r.store.Collect(ctx, nil); err != nil || again.Objects != 0 {
				t.Errorf("again: %+v %v", again, err)
			}
		})
	}
}

// The workspace still has a file whose blob only the abandoned branch had.
func TestAfterCollectTheStatCacheVouchesForNothingThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.grow(2)
	r.abandon(1) // "lost" stays in the workspace, and in the cache
	tip, err := r.store.Ref("refs/heads/abandoned")
	if err == nil {
		err = r.store.SetRef("refs/heads/abandoned", tip, "")
	}
	if err == nil {
		_, err = r.store.Collect(context.Background(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.commit(r.snapshot(Selection{All: true}))
	r.checkWhole()
}

func TestACrashDuringCollectLosesNothing(t *testing.T) {
	t.Parallel()
	w, err := OpenWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	crashStore(t, w, func(s *Store, write func(string)) {
		write("1")
		write("2")
		sha, err := s.Commit(context.Background(), CommitRequest{Tree: emptyTree, Message: "abandoned"})
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
