package runtime

import (
	"context"
	"slices"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/checkpoint/worktree"
	"hank/recovery/emptydirs"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/state"
)

// capture makes a checkpoint before a codon that is the first to look at some
// files or empty directories, if there are any: so that they can be brought back to
// what it found. The first codon after a move is the first to look at what the
// move has left and nobody had recorded, such as files that were ignored before; that
// of a run, to look at the empty directories that the user has made since the last.
// Where a checkpoint that has looked at more than the codon will is the base, the codon's own
// looks at as much: what you have changed there since is no work of an attempt. What the move
// could not bring back stays in the base: see asMovedTo.
func (d *driver) capture(ctx context.Context, index int) error {
	base, sel := d.x.State().Base, d.selection(index)
	taken, moved := execution.Taken(d.x.State(), d.x.Store, base), d.moved
	d.moved = false
	covered := execution.Covers(taken, sel)
	if covered && !moved {
		return nil
	}
	before, err := d.x.Store.CommitInfo(checkpoint.SHA(base))
	if err != nil {
		return err
	}
	if covered { // nothing that the codon looks at is missing: a move has made the workspace
		sel = taken
	}
	snap, err := d.x.SnapshotSince(ctx, d.still, sel, d.x.Head())
	if err != nil {
		return err
	}
	if err := d.asMovedTo(ctx, snap); err != nil {
		d.x.Store.Abort()
		return err
	}
	if dirs := emptydirs.Of(before); snap.Tree == before.Tree && !slices.ContainsFunc(snap.Empty, func(name string) bool { return !slices.Contains(dirs, name) }) {
		d.x.Store.Abort()
		return nil
	}
	id := d.x.State().ExecutionPlan()[index].CodonID
	_, err = d.x.Commit(ctx, execution.Commit{
		Title:    githistory.Title{Status: state.KindTracked, CodonID: id, RunID: d.run, Name: "before it"},
		Snapshot: snap, Parents: d.parents(), Branch: d.branch(),
		Transition: state.CheckpointCreated{Kind: state.KindTracked, RunID: d.run, CodonID: id, Branch: d.branch(), Base: true},
	})
	return err
}

// asMovedTo gives a snapshot, at the paths that the move before the first codon of
// this run could not change, what the move was to bring there. What is on disk
// there is mostly the work of the attempt that is done again: no other attempt is to
// start from it, once it can be taken away.
func (d *driver) asMovedTo(ctx context.Context, snap *checkpoint.Snapshot) error {
	s, at := d.x.State(), d.x.State().LastMove()
	if at == nil || at.Before == nil || len(at.Kept) == 0 {
		return nil
	}
	cmp := d.comparison()
	kept, found := cmp.KeptAt(s.Base, snap), cmp.UncoveredAt(s.Base, snap)
	there := *s
	there.Position = at.Before
	back, err := execution.NewRestoreTarget(ctx, d.x.Layout, &there, d.x.Store, s.Base, at)
	if err != nil {
		return err
	}
	was := snap.Tree
	snap.Tree, err = d.x.Replace(ctx, snap.Tree, back.Tree, func(path string) bool {
		return kept(path) && !worktree.IsKeptAside(path) && (d.x.Store.HasFile(back.Tree, path) || !found(path))
	})
	if err != nil {
		return err
	}
	snap.Empty = slices.DeleteFunc(slices.Clone(snap.Empty), func(name string) bool { return kept(name) && !slices.Contains(back.Empty, name) })
	for _, name := range back.Empty {
		if kept(name) || restore.HasPath(d.x.Store.DB, was, name) && !restore.HasPath(d.x.Store.DB, snap.Tree, name) {
			snap.Empty = append(snap.Empty, name)
		}
	}
	snap.Empty = slices.Compact(slices.Sorted(slices.Values(snap.Empty)))
	return nil
}
