package edits

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/internal/shell"
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
		Options: []string{keepOption, "--restore restores the checkpoint and saves the changes in a checkpoint of their own"}, Answers: []string{keepTree, restoreTree}}, keep
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
// with the plan that the run follows. The answer is the option that takes back nothing of the
// user's.
func Changed(ctx context.Context, v *recovery.View, s *state.State, store *checkpoint.Store, to state.SHA) (ask *finding.DecisionError, answer string, err error) {
	run := v.State.Newest()
	switch {
	case run != nil && run.Live() != nil: // nothing to compare with yet: the next opening makes its checkpoint
		ask, err = v.LateQuestion(ctx, store)
		return ask, keepTree, err
	case run == nil && s.Position == nil:
		return nil, "", nil
	}
	at, done, err := history.ForReader(v.Layout)
	if err != nil {
		return nil, "", err
	}
	defer done()
	workspace, err := at.OpenWorkspace()
	if err != nil {
		return nil, "", err
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
		return nil, "", err
	}
	changes, err := c.list(head, to, snap)
	if err != nil || len(changes) == 0 {
		return nil, "", err
	}
	completed := to == "" && IsCompleted(s)
	if ask, _ = Question(changes, completed); completed && snap.Files == 0 { // the results are gone, and nothing has come
		return ask, restoreTree, nil
	}
	return ask, keepTree, nil
}

// The options that answer the question.
const keepTree, restoreTree = "--keep-tree", "--restore"

// mostNamed is how many paths the way back names at most.
const mostNamed = 20

// WayBack says which command brings changes back that were taken back, from the checkpoint
// that has them.
func WayBack(sha state.SHA, changes []diff.Change) string {
	names, what, deletes := []string{}, "them", ""
	for _, c := range changes {
		if names = append(names, shell.Path(c.Path)); c.Kind == diff.Deleted {
			deletes = " --delete"
		}
	}
	if len(names) > mostNamed || slices.ContainsFunc(changes, func(c diff.Change) bool { return !utf8.ValidString(c.Path) || strings.ContainsAny(c.Path, "\r\n") }) {
		names, what = []string{"."}, "the whole workspace"
	}
	return fmt.Sprintf("`hank restore %s --from %.12s%s --yes` brings %s back", strings.Join(names, " "), sha, deletes, what)
}

// IsCompleted reports whether no codon and no gate is left.
func IsCompleted(s *state.State) bool {
	return s.Next() == len(s.ExecutionPlan()) && gate.At(s) == nil
}
