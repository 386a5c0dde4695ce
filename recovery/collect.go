package recovery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/packdb"
	"hank/internal/failpoint"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/state"
)

// Abandoned is a branch that nothing needs: of a run that is not on the lineage path,
// nor on the way back of a rollback; or one that keeps what a rollback or a
// crash would otherwise have lost.
type Abandoned struct {
	state.BranchRemove
	Run   state.RunID // empty for a recovery branch
	Since time.Time   // when its run ended, or the checkpoint was made
	// Gone: its removal is acknowledged already. It was interrupted, or the branch
	// was brought back.
	Gone bool
}

// FindAbandoned lists the branches that could go. What cannot be read stays.
func FindAbandoned(s *state.State, store *checkpoint.Store) ([]Abandoned, error) {
	refs, err := store.Refs(githistory.Heads)
	if err != nil {
		return nil, fmt.Errorf("listing the branches of the store: %w", err)
	}
	stay := maps.Clone(refs)
	needed, checkpoints := s.Needed(), append(s.NeededCheckpoints(), execution.Leading(s, store)...)
	for _, sha := range slices.Clone(checkpoints) {
		if left := execution.LeftBy(store, sha); left != "" {
			checkpoints = append(checkpoints, left)
		}
	}
	var found []Abandoned
	for _, r := range s.Runs {
		tip := state.SHA(refs[githistory.Heads+r.GitBranch])
		delete(refs, githistory.Heads+r.GitBranch)
		if tip == "" || needed[r.RunID] || slices.Contains(checkpoints, tip) {
			continue
		}
		since := r.StartTime
		if r.EndTime != nil {
			since = *r.EndTime
		}
		found = append(found, Abandoned{state.BranchRemove{Branch: r.GitBranch, Head: tip}, r.RunID, since.Time, r.Removed != nil})
	}
	for ref, tip := range refs {
		branch := strings.TrimPrefix(ref, githistory.Heads)
		if !strings.HasPrefix(branch, "recovery/") {
			continue
		}
		if since, spare := spareable(store, branch, state.SHA(tip), checkpoints); spare {
			found = append(found, Abandoned{state.BranchRemove{Branch: branch, Head: state.SHA(tip)}, "", since, s.RemovedAt(branch) != nil})
		}
	}
	found = soleWays(s, store, stay, found)
	slices.SortFunc(found, func(a, b Abandoned) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.Branch, b.Branch)
	})
	return found, nil
}

// soleWays takes those recovery branches off a list of abandoned branches that lead to
// a checkpoint that the state needs, where none that stays does: the branch of the run
// that made it has gone before.
func soleWays(s *state.State, store *checkpoint.Store, stay map[string]checkpoint.SHA, found []Abandoned) []Abandoned {
	gone := false
	for id := range s.Needed() {
		gone = gone || s.Run(id).Removed != nil
	}
	if !gone {
		return found
	}
	for _, b := range found {
		delete(stay, githistory.Heads+b.Branch)
	}
	for _, sha := range s.NeededCheckpoints() {
		way := &execution.Descent{Store: store, From: checkpoint.SHA(sha), Known: map[checkpoint.SHA]bool{}}
		leads := func(tip checkpoint.SHA) bool {
			info, err := store.CommitInfo(tip)
			return err == nil && way.Reaches(info)
		}
		if slices.ContainsFunc(slices.Collect(maps.Values(stay)), leads) {
			continue
		}
		found = slices.DeleteFunc(found, func(b Abandoned) bool {
			sole := b.Run == "" && leads(checkpoint.SHA(b.Head))
			if sole {
				stay[githistory.Heads+b.Branch] = checkpoint.SHA(b.Head)
			}
			return sole
		})
	}
	return found
}

// spareable reports whether nothing needs the checkpoints that a recovery branch
// was made for, and when the last of them was made. One that carries a whole
// state is the beginning of an execution's history.
func spareable(store *checkpoint.Store, branch string, tip state.SHA, needed []state.SHA) (since time.Time, spare bool) {
	spare = true
	err := store.Log(checkpoint.SHA(tip), func(info checkpoint.Info) (bool, error) {
		if state.SHA(info.SHA) == tip {
			since = info.When
		}
		record, found, err := githistory.ReadRecord(info)
		if err != nil {
			return false, err
		}
		own := found && ownBranch(record) == branch
		if (own || state.SHA(info.SHA) == tip) && (slices.Contains(needed, state.SHA(info.SHA)) || len(record.State) > 0) {
			spare = false
		}
		return own && spare, nil
	})
	return since, spare && err == nil
}

// ownBranch is the branch that a checkpoint beside those of records was made
// for.
func ownBranch(r githistory.Record) string {
	t, err := state.Decode(r.Event)
	if c, ok := t.(state.CheckpointCreated); err == nil && ok {
		return c.Branch
	}
	return ""
}

// RemoveBranches removes branches, so that Collect can free what only they
// lead to:
//
//  1. Their removal is acknowledged, as a checkpoint without files that carries
//     the whole state: what the runs did and cost is known to git as well. From
//     here on nobody puts the branches back.
//  2. The references are removed, if they are where they were seen; those of the sessions
//     of a run before its branch.
//
// A crash in between leaves references to be removed by the next call: see
// Abandoned.Gone.
func RemoveBranches(ctx context.Context, x *execution.Execution, branches []Abandoned) error {
	var fresh []state.BranchRemove
	for _, b := range branches {
		if !b.Gone {
			fresh = append(fresh, b.BranchRemove)
		}
	}
	if len(fresh) > 0 {
		if err := acknowledgeRemoval(ctx, x, fresh); err != nil {
			return err
		}
	}
	failpoint.Hit("gc.acknowledged")
	for _, b := range branches {
		if err := removeSessions(x, b.Run); err != nil {
			return err
		}
		if err := x.Store.SetRef(githistory.Heads+b.Branch, checkpoint.SHA(b.Head), ""); err != nil {
			return fmt.Errorf("removing branch %s: %w", b.Branch, err)
		}
		failpoint.Hit("gc.unreferenced")
	}
	return nil
}

// removeSessions removes the reference to the sessions of a run, if it is there.
func removeSessions(x *execution.Execution, run state.RunID) error {
	if run == "" {
		return nil
	}
	ref := githistory.Sessions(run)
	tip, err := x.Store.Ref(ref)
	if err == nil && tip != "" {
		err = x.Store.SetRef(ref, tip, "")
	}
	return err
}

func acknowledgeRemoval(ctx context.Context, x *execution.Execution, branches []state.BranchRemove) error {
	var parents []state.SHA
	if removal := x.State().Removal; isWhole(x, removal) {
		parents = append(parents, removal)
	}
	tree, err := x.Store.AddTree(ctx, nil)
	if err != nil {
		x.Store.Abort()
		return err
	}
	_, err = x.Commit(ctx, execution.Commit{
		Title:      githistory.Title{Status: state.KindRemoved, Name: fmt.Sprintf("%d branches, by hank gc", len(branches))},
		Snapshot:   &checkpoint.Snapshot{Tree: tree},
		Parents:    parents,
		Branch:     state.RemovedBranch,
		Transition: state.BranchesRemoved{Time: x.Now(), Branches: branches},
		Whole:      true,
	})
	return err
}

// Collect frees what no branch leads to and the state does not need, and merges
// what is due. The error of a store that cannot be read whole is a
// *checkpoint.DamagedError; nothing is deleted then.
func Collect(ctx context.Context, x *execution.Execution) (packdb.Collection, error) {
	freed, err := x.Store.Collect(ctx, githistory.Keep(x.State(), x.Store))
	if err != nil {
		return freed, fmt.Errorf("freeing what no checkpoint needs: %w", err)
	}
	failpoint.Hit("gc.collected")
	return freed, x.Store.Merge(ctx)
}
