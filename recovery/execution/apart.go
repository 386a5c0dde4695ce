package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hank/checkpoint"
	"hank/internal/failpoint"
	"hank/state"
)

// CommitApart makes a commit of files, and moves a reference to it that is no branch. It
// acknowledges nothing and is in no history: the parent is what the reference led to. If
// one of known, or that one, has these files already, there is nothing to do, and it is
// returned. Where there is no room: *DecisionError.
//
//  1. The files are put into a pack, with their tree and the commit, which is synced.
//  2. The reference is moved by compare-and-swap, synced. A crash before it leaves objects
//     that nothing leads to.
func (x *Execution) CommitApart(ctx context.Context, ref, message string, files []checkpoint.TreeFile, known ...state.SHA) (sha state.SHA, err error) {
	if err := errors.Join(x.Held(), x.Inspect()); err != nil {
		return "", err
	}
	defer func() {
		if err != nil || sha != "" && slices.Contains(known, sha) {
			x.Store.Abort()
		}
	}()
	left, full := x.room()
	defer x.Store.LimitPending(max(left, 1))()
	tip, err := x.Store.Ref(ref)
	if err != nil {
		return "", err
	}
	tree, err := x.Store.AddTree(ctx, files)
	if errors.Is(err, checkpoint.ErrNoRoom) {
		return "", full
	}
	if err != nil {
		return "", err
	}
	r := checkpoint.CommitRequest{Tree: tree, Message: message, When: x.Opts.Now()}
	if known = append(known, state.SHA(tip)); tip != "" {
		r.Parents = []checkpoint.SHA{tip}
	}
	for _, same := range known {
		if have, err := x.Tree(same); err == nil && have == tree {
			return same, nil
		}
	}
	made, err := x.Store.Commit(ctx, r)
	if err != nil {
		return "", fmt.Errorf("%s: %w", ref, err)
	}
	failpoint.Hit("apart.packed")
	return state.SHA(made), x.setRef(ref, tip, made)
}

// HasCheckpoint reports whether the store has a commit.
func (x *Execution) HasCheckpoint(sha state.SHA) bool { return x.Store.Has(checkpoint.SHA(sha)) }
