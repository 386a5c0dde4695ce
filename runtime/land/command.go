package land

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hank/internal/shell"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/usergit"
	"hank/state"
)

// Command is the command that lands the work of an execution where its workspace is
// the user's checkout; empty if it is none.
func Command(ctx context.Context, at layout.Layout) string {
	if _, err := os.Lstat(filepath.Join(at.Workspace, ".git")); err != nil {
		return ""
	}
	repo, err := usergit.Open(ctx, at.Workspace)
	if err != nil || repo.Prefix != "" {
		return ""
	}
	head, err := repo.Commit(ctx, "HEAD")
	if err != nil {
		return ""
	}
	last := lastCheckpoint(at)
	for _, had := range slices.Backward(landings(at)) {
		if had.To.SHA == last && last != "" && head != "" && repo.Has(ctx, head, had.Tip) { // all of it is there
			return ""
		}
		if head != "" && !repo.Has(ctx, had.Tip, head) { // HEAD is on commits that the branch has not
			continue
		}
		if tip, err := repo.Commit(ctx, "refs/heads/"+had.Branch); err == nil && tip == had.Tip {
			return "hank land --branch " + shell.Quote(had.Branch) + " --update --switch"
		}
	}
	for n := 1; n < 100; n++ {
		name := "hank-work"
		if n > 1 {
			name = fmt.Sprintf("hank-work-%d", n)
		}
		if why, err := repo.CheckBranch(ctx, name); err != nil || why == "" {
			return "hank land --branch " + name + " --switch"
		}
	}
	return ""
}

// lastCheckpoint is where the last codon of an execution has ended; empty if that is not
// where it is.
func lastCheckpoint(at layout.Layout) state.SHA {
	v, err := recovery.ReadSummary(at.Root)
	if err != nil || v.State.Position != nil {
		return ""
	}
	run := v.State.Newest()
	if run == nil || run.Len() == 0 {
		return ""
	}
	return run.Codon(run.Len() - 1).Checkpoint()
}
