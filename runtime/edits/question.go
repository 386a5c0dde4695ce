package edits

import (
	"context"
	"fmt"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/runtime/gate"
	"hank/runtime/history"
	"hank/state"
)

// Question is the question about what the user has changed, and what it is on
// a terminal to keep it.
func Question(changes []diff.Change, done bool) (ask *finding.DecisionError, keep string) {
	question, keep := fmt.Sprintf("the workspace was changed since the last checkpoint (%s)", Summary(changes)), "continue with the workspace as it is"
	keepOption := "--keep-tree continues with it as it is"
	if done {
		question, keep = "the hank is completed, and "+question, "leave the workspace as it is, in a checkpoint of its own"
		keepOption = "--keep-tree leaves it as it is, in a checkpoint of its own"
	}
	return &finding.DecisionError{What: question,
		Options: []string{keepOption, "--restore restores the checkpoint and saves the changes in a checkpoint of their own"}, Answers: []string{"--keep-tree", "--restore"}}, keep
}

// Summary names the first three changes, and how many more there are.
func Summary(changes []diff.Change) string {
	names := make([]string, 0, 3)
	for _, c := range changes[:min(3, len(changes))] {
		names = append(names, fmt.Sprintf("%s %q", c.Kind, c.Path))
	}
	if more := len(changes) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// Changed is the question that askAboutEdits asks where the next run moves
// the workspace to a checkpoint, or leaves it (to is empty); nil if it asks none. s is the state
// with the plan that the run follows.
func Changed(ctx context.Context, v *recovery.View, s *state.State, store *checkpoint.Store, to state.SHA) (*finding.DecisionError, error) {
	run := v.State.Newest()
	switch {
	case run != nil && run.Live() != nil: // nothing to compare with yet: the next opening makes its checkpoint
		return v.LateQuestion(ctx, store)
	case run == nil && s.Position == nil:
		return nil, nil
	}
	at, done, err := history.ForReader(v.Layout)
	if err != nil {
		return nil, err
	}
	defer done()
	workspace, err := at.OpenWorkspace()
	if err != nil {
		return nil, err
	}
	defer workspace.Close()
	defer store.Abort() // what the scan has found is not kept
	c := Comparison{s, store, at, workspace}
	head, next := c.LeftAt(to != ""), state.CodonID("")
	if i := s.Next(); i < len(s.ExecutionPlan()) {
		next = s.ExecutionPlan()[i].CodonID
	}
	selection := execution.Tracked(s, next)
	selection.Never = execution.Never
	base := checkpoint.SHA(head)
	if !store.Has(base) { // lost, and parted from
		base = ""
	}
	snap, err := store.Snapshot(ctx, checkpoint.SnapshotRequest{Workspace: workspace, Selection: selection, Base: base})
	if err != nil {
		return nil, err
	}
	changes, err := c.list(head, to, snap)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	ask, _ := Question(changes, to == "" && IsCompleted(s))
	return ask, nil
}

// IsCompleted reports whether no codon and no gate is left.
func IsCompleted(s *state.State) bool {
	return s.Next() == len(s.ExecutionPlan()) && gate.At(s) == nil
}
