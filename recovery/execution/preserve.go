package execution

import (
	"context"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/recovery/emptydirs"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
)

// Preserve makes a recovery checkpoint of a snapshot.
func (x *Execution) Preserve(ctx context.Context, snap *checkpoint.Snapshot, branch string, parent state.SHA, note string) (state.SHA, error) {
	return x.Commit(ctx, Commit{
		Title:      githistory.Title{Status: state.KindRecovery, Name: note},
		Snapshot:   snap,
		Parents:    []state.SHA{parent},
		Branch:     branch,
		Transition: state.CheckpointCreated{Kind: state.KindRecovery, Branch: branch, Note: note},
	})
}

// preserveOnce is Preserve, but for a recovery branch that has the same checkpoint at
// its end, or right before that, already.
func (x *Execution) preserveOnce(ctx context.Context, snap *checkpoint.Snapshot, branch string, parent state.SHA, note string) (state.SHA, error) {
	refs, err := x.Store.Refs(githistory.Heads + "recovery/")
	if err != nil {
		return "", err
	}
	same := func(info checkpoint.Info) bool {
		title, _, _ := strings.Cut(info.Message, "\n")
		return info.Tree == snap.Tree && slices.Equal(info.Parents, []checkpoint.SHA{checkpoint.SHA(parent)}) &&
			strings.HasSuffix(title, " "+note) && slices.Equal(emptydirs.Of(info), emptydirs.Recorded(snap.Empty))
	}
	for _, tip := range refs {
		for range 2 {
			info, err := x.Store.CommitInfo(tip)
			if err != nil {
				break // lost, or there is none before it
			}
			if same(info) {
				return state.SHA(info.SHA), nil
			}
			if len(info.Parents) == 0 {
				break
			}
			tip = info.Parents[0]
		}
	}
	return x.Preserve(ctx, snap, branch, parent, note)
}

// RecoveryBranch returns a new name for a branch that keeps what would
// otherwise be lost.
func (x *Execution) RecoveryBranch() string {
	return "recovery/" + x.Opts.Now().UTC().Format("20060102T150405Z") + "-" + layout.NewID(3)
}
