package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/state"
)

// Difference is what differs between two checkpoints, or between one and the
// workspace as it is now. Nothing on disk is changed by it.
type Difference struct {
	From, To Target // To is the zero Target for the workspace
	Changes  []diff.Change
	LeftOut  int // differing paths that only one of the two looks at: they are no changes

	store *checkpoint.Store
}

// Compare compares two targets (see ResolveTarget). An empty b is the
// workspace, as far as the next codon's checkpoint looks at it; an empty a is
// the checkpoint that the next codon starts from.
func Compare(ctx context.Context, v *recovery.View, a, b string) (*Difference, error) {
	store, err := v.Store()
	if err != nil {
		return nil, err
	}
	d := &Difference{store: store}
	if err := d.compare(ctx, v, a, b); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Difference) compare(ctx context.Context, v *recovery.View, a, b string) error {
	var err error
	if d.From, err = fromTarget(v.State, d.store, a); err != nil {
		return err
	}
	if _, err = TreeOf(d.store, d.From.SHA); err != nil {
		return err
	}
	if b == "" {
		return d.withWorkspace(ctx, v)
	}
	if d.To, err = targetToRead(v.State, d.store, b); err != nil {
		return err
	}
	to, err := TreeOf(d.store, d.To.SHA)
	if err != nil {
		return err
	}
	takes := execution.Taken(v.State, d.store, d.To.SHA).Matcher()
	return d.since(v.State, to, func(path string) bool { return !takes(path) })
}

// since compares with a later tree what the first checkpoint has, and what codons have found
// since that were the first to look at it. What the later one does not look at has not been
// deleted, what neither the checkpoint nor those codons have looked at has not been added.
func (d *Difference) since(s *state.State, to checkpoint.SHA, unseen func(path string) bool) error {
	from, looked, err := execution.FoundSince(s, d.store, d.From.SHA, d.To.SHA)
	if err != nil {
		return err
	}
	all, err := diff.Diff(d.store, from, to)
	takes := looked.Matcher()
	d.Changes = slices.DeleteFunc(slices.Clone(all), func(c diff.Change) bool {
		return c.Kind == diff.Added && !takes(c.Path) || c.Kind == diff.Deleted && unseen(c.Path)
	})
	d.LeftOut = len(all) - len(d.Changes)
	return err
}

func fromTarget(s *state.State, store *checkpoint.Store, text string) (Target, error) {
	if text != "" {
		return targetToRead(s, store, text)
	}
	base := s.CurrentPosition().CheckpointSHA
	if base == "" {
		base = s.InitialCheckpoint
	}
	if base == "" {
		return Target{}, noneYet()
	}
	return TargetOf(s, store, base), nil
}

// TreeOf returns the tree of a checkpoint.
func TreeOf(store *checkpoint.Store, sha state.SHA) (checkpoint.SHA, error) {
	info, err := store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return "", fmt.Errorf("the checkpoint %.12s cannot be read; see: `hank doctor`: %w", sha, err)
	}
	return info.Tree, nil
}

// Changed reports whether the files of an execution are others than at its first
// checkpoint, as far as checkpoints look at them.
func Changed(s *state.State, store *checkpoint.Store) bool {
	changes, err := execution.Compared(s, store, s.InitialCheckpoint, s.CurrentPosition().CheckpointSHA)
	return err == nil && len(changes) > 0
}

// withWorkspace compares a tree with what is on disk. A checkpoint may hold
// more than codons track; what it has and what is still there has not been
// deleted.
func (d *Difference) withWorkspace(ctx context.Context, v *recovery.View) error {
	at, done, err := ForReader(v.Layout)
	if err != nil {
		return err
	}
	defer done()
	ws, err := at.OpenWorkspace()
	if err != nil {
		return fmt.Errorf("the workspace cannot be read: %w", err)
	}
	defer ws.Close()
	sel := execution.Tracked(v.State, nextOf(v.State))
	sel.Never = execution.Never
	snap, err := d.store.Snapshot(ctx, checkpoint.SnapshotRequest{Workspace: ws, Selection: sel, Base: checkpoint.SHA(d.From.SHA)})
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(at.Workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	return d.since(v.State, snap.Tree, func(path string) bool {
		_, err := root.Lstat(path)
		return err == nil
	})
}

// nextOf is the codon that comes next; the last one if there is none.
func nextOf(s *state.State) state.CodonID {
	if i := s.Next(); i < len(s.ExecutionPlan()) {
		return s.ExecutionPlan()[i].CodonID
	}
	return lastOfPlan(s)
}

// Stat counts lines, in the order of Changes.
func (d *Difference) Stat() ([]diff.FileStat, error) {
	return diff.Stat(d.store, d.Changes)
}

// Patch writes the difference in git's extended format.
func (d *Difference) Patch(w io.Writer) error { return diff.WritePatch(w, d.store, d.Changes) }

// Close forgets what was read of the workspace.
func (d *Difference) Close() error {
	d.store.Abort()
	return d.store.Close()
}
