package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"hank/checkpoint"
	"hank/recovery/emptydirs"
	"hank/recovery/layout"
	"hank/state"
)

// Never lists what no checkpoint holds, relative to the workspace; the execution's
// own directories are told by what they are: see Layout.OpenWorkspace.
var Never = []string{layout.DataName}

// MaxNotes bounds what a record names one by one.
const MaxNotes = 20

// Head is the checkpoint that the workspace was last at: the newest on the
// branch of the newest run, or where the next run starts.
func Head(s *state.State) state.SHA {
	if s.Position != nil {
		return s.Position.CheckpointSHA
	}
	switch r := s.Newest(); {
	case r == nil:
	case r.Head != "":
		return r.Head
	case r.FailedAtGate() && r.StartingConditions.Source != nil: // it has made none, and the workspace has the work that was judged
		return r.StartingConditions.Source.CheckpointSHA
	}
	return cmp.Or(s.Base, s.InitialCheckpoint)
}

// Head is the checkpoint that the workspace was last at: see [Head].
func (x *Execution) Head() state.SHA { return Head(x.State()) }

// Snapshot scans the workspace and puts what a selection takes into the
// store's pending pack. parent is the checkpoint whose files stay recorded
// while they match. Where there is no room for what is new: *DecisionError.
func (x *Execution) Snapshot(ctx context.Context, sel checkpoint.Selection, parent state.SHA, include ...string) (*checkpoint.Snapshot, error) {
	return x.SnapshotSince(ctx, time.Time{}, sel, parent, include...)
}

// SnapshotSince is Snapshot for who knows of nothing that can have changed the
// workspace since an instant: a look that was begun after that is as good as a new one.
func (x *Execution) SnapshotSince(ctx context.Context, since time.Time, sel checkpoint.Selection, parent state.SHA, include ...string) (*checkpoint.Snapshot, error) {
	if err := x.Held(); err != nil {
		return nil, err
	}
	if err := x.followWorkspace(); err != nil {
		return nil, err
	}
	if x.Monitor.WasDeleted() { // else what is stored now would go to a store that is deleted
		if err := x.Inspect(); err != nil {
			return nil, err
		}
	}
	left, full := x.room()
	sel.Never = Never
	if parent != "" && !x.Store.Has(checkpoint.SHA(parent)) { // lost, and parted from
		parent = ""
	}
	progress, end := x.Opts.Work.Begin("reading the workspace for a checkpoint")
	defer end()
	snap, err := x.Store.Snapshot(ctx, checkpoint.SnapshotRequest{
		Workspace: x.Workspace, Selection: sel, Base: checkpoint.SHA(parent), MustInclude: include, Room: max(left, 1), Progress: progress, Since: since,
	})
	if err != nil {
		x.Store.Abort()
	}
	if errors.Is(err, checkpoint.ErrNoRoom) {
		return nil, full
	}
	return snap, err
}

// Tree returns the tree of a commit.
func (x *Execution) Tree(sha state.SHA) (checkpoint.SHA, error) {
	if sha == "" {
		return "", errors.New("no checkpoint is named")
	}
	info, err := x.Store.CommitInfo(checkpoint.SHA(sha))
	return info.Tree, err
}

// Shortcomings names what a checkpoint could not hold as it is on disk.
func Shortcomings(snap *checkpoint.Snapshot) []string {
	var notes []string
	each := func(n int, more string, note func(i int) string) {
		for i := range min(n, MaxNotes) {
			notes = append(notes, note(i))
		}
		if n > MaxNotes {
			notes = append(notes, fmt.Sprintf("and %d more %s", n-MaxNotes, more))
		}
	}
	each(len(snap.Skipped), "are not in the checkpoint", func(i int) string {
		return fmt.Sprintf("not in the checkpoint: %q (%s)", snap.Skipped[i].Path, snap.Skipped[i].Why)
	})
	each(len(snap.Escaped), "are kept under escaped names", func(i int) string {
		return fmt.Sprintf("kept in the checkpoint as %q: %q", snap.Escaped[i].As, snap.Escaped[i].Path)
	})
	each(len(snap.Nested), "repositories are kept without their .git", func(i int) string {
		return fmt.Sprintf("not in the checkpoint: %q (the history of a repository of its own; its files are)", snap.Nested[i]+"/.git")
	})
	left := emptydirs.Left(snap.Empty)
	each(len(left), "empty directories are not in the checkpoint", func(i int) string { return fmt.Sprintf("not in the checkpoint: %q (an empty directory)", left[i]) })
	return notes
}

// Replace is a tree that has at some paths what another one has there, and nothing
// where that has nothing.
func (x *Execution) Replace(ctx context.Context, tree, by checkpoint.SHA, at func(path string) bool) (checkpoint.SHA, error) {
	empty, err := x.Store.AddTree(ctx, nil)
	if err != nil {
		return "", err
	}
	rest, err := checkpoint.Overlay(x.Store.DB, empty, tree, func(path string) bool { return !at(path) })
	if err != nil {
		return "", err
	}
	return checkpoint.Overlay(x.Store.DB, rest, by, at)
}
