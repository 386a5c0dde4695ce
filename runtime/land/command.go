package land

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hank/checkpoint"
	"hank/internal/shell"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/history"
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
	if list := landings(at); len(list) > 0 {
		v, err := recovery.Read(at.Root)
		if err != nil {
			return ""
		}
		if command, decided := after(ctx, repo, head, v, list); decided {
			return command
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

// after is the command where there were landings: none if HEAD has all of it, or an
// update of a branch that HEAD can follow. decided: no new branch is needed.
func after(ctx context.Context, repo *usergit.Repository, head string, v *recovery.View, list []*Landing) (command string, decided bool) {
	store, err := v.Store()
	if err != nil {
		return "", true // as the landing would
	}
	defer store.Close()
	to, err := landTo(v.State, store)
	if err != nil {
		return "", true
	}
	_, points := way(v.State, store, to)
	newest := true // of those that HEAD has
	for _, had := range slices.Backward(list) {
		if head != "" && repo.Has(ctx, head, had.Tip) {
			if had.To.SHA == to.SHA || newest && sameTree(store, had.To.SHA, to.SHA) {
				return "", true
			}
			newest = false
		}
		if head != "" && !repo.Has(ctx, had.Tip, head) || !slices.ContainsFunc(points, func(p point) bool { return p.sha == had.To.SHA }) {
			continue // HEAD is on commits that the branch has not, or a rollback or a retry has left what it ends with
		}
		if tip, err := repo.Commit(ctx, "refs/heads/"+had.Branch); err == nil && tip == had.Tip {
			return "hank land --branch " + shell.Quote(had.Branch) + " --update --switch", true
		}
	}
	return "", false
}

// sameTree reports whether two checkpoints have the same files.
func sameTree(store *checkpoint.Store, a, b state.SHA) bool {
	one, err := history.TreeOf(store, a)
	other, errOther := history.TreeOf(store, b)
	return err == nil && errOther == nil && one == other
}
