package land

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hank/internal/shell"
	"hank/recovery/layout"
	"hank/runtime/usergit"
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
	for _, had := range slices.Backward(landings(at)) {
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
