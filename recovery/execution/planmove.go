package execution

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/match"
	"hank/checkpoint/restore"
	"hank/recovery/emptydirs"
	"hank/recovery/layout"
	"hank/state"
)

// Move is a change of the workspace from what it holds to a checkpoint.
type Move struct {
	Kind string // rollback, undo, retry, restart (of a codon that has not ended), restore
	To   state.SHA
	// Tracked is what codon checkpoints take at the moment; only files that it
	// takes, or has taken, may be deleted.
	Tracked checkpoint.Selection
	Paths   []string // empty is the whole tree
	// KeepAdded leaves the files and directories that the checkpoint has not.
	KeepAdded bool
	// Leave are files and empty directories that are not deleted: the move before
	// this one has left the files, and the user has made the directories; nobody
	// was asked about them.
	Leave []string
	// Position takes effect with the move; nil leaves it as it is. The safety
	// checkpoint is filled into its Before.
	Position *state.Position
	// Stay leaves the workspace as it is: only the position moves.
	Stay bool
	// Since is from when on nothing that is known of can have changed the workspace: see
	// Execution.SnapshotSince.
	Since time.Time
	// Operation is the command whose move this is, if it has an id.
	Operation *state.Operation
}

// Sources are what a move is planned from. A reader has them without a lock.
type Sources struct {
	Layout    layout.Layout
	State     *state.State
	Store     *checkpoint.Store
	Workspace *checkpoint.Workspace
	Progress  *checkpoint.Progress // of the scans; may be nil
	snapshot  snapshotFunc         // nil: a reader's
}

type snapshotFunc func(ctx context.Context, since time.Time, sel checkpoint.Selection, parent state.SHA, include ...string) (*checkpoint.Snapshot, error)

// scan is Execution.Snapshot for a reader.
func (s *Sources) scan(ctx context.Context, since time.Time, sel checkpoint.Selection, parent state.SHA, include ...string) (*checkpoint.Snapshot, error) {
	if s.snapshot != nil {
		return s.snapshot(ctx, since, sel, parent, include...)
	}
	if parent != "" && !s.Store.Has(checkpoint.SHA(parent)) {
		parent = ""
	}
	sel.Never = Never
	return s.Store.Snapshot(ctx, checkpoint.SnapshotRequest{Workspace: s.Workspace, Selection: sel, Base: checkpoint.SHA(parent), MustInclude: include, Progress: s.Progress, Since: since})
}

// MovePlan is a move worked out. It is computed in one place for everybody: Preview
// tells what the move is going to do, and PerformMove does it.
type MovePlan struct {
	Move
	Target *RestoreTarget
	// Saved is everything that the move may change, for the safety checkpoint; owned is
	// what checkpoints track of it, of which alone something is deleted. The trees may be
	// in the store's pending pack only.
	Saved, owned *checkpoint.Snapshot
	// remove are empty directories that go if they are empty still, create those that
	// come.
	remove, create []string
	request        restore.RestoreRequest
	exact          bool // see Moved.Exact; known when the plan was carried out
}

// PlanMove works out what a move does to the workspace as it is. It changes nothing on
// disk but the store's pending pack, which Safeguard commits and Store.Abort forgets.
func PlanMove(ctx context.Context, src Sources, m Move) (*MovePlan, error) {
	target, err := NewRestoreTarget(ctx, src.Layout, src.State, src.Store, m.To, m.Position)
	if err != nil {
		return nil, err
	}
	p := &MovePlan{Move: m, Target: target}
	if err := p.scan(ctx, &src); err != nil {
		return nil, forMove(m.Kind, err)
	}
	if p.owned.Tree, err = without(ctx, src.Store, p.owned.Tree, m.Leave); err != nil {
		return nil, err
	}
	p.owned.Empty = slices.DeleteFunc(slices.Clone(p.owned.Empty), func(name string) bool { return slices.Contains(m.Leave, name) })
	made, err := p.complete(&src, p.owned.Tree, emptydirs.Recorded(p.owned.Empty), p.Saved.Tree)
	if err != nil {
		return nil, err
	}
	inWay, err := conflictingDirs(src.Layout, src.Store, p.Saved.Tree, target.Tree, p.create, made)
	if err != nil {
		return nil, err
	}
	p.Saved.Empty = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(p.Saved.Empty), inWay...))))
	return p, nil
}

// scan takes the two snapshots. Where checkpoints track everything and nothing that is
// hidden is in the way, one scan is both.
func (p *MovePlan) scan(ctx context.Context, src *Sources) (err error) {
	head := Head(src.State)
	base := SavedAt(src.Store, head) // what only a safety checkpoint has recorded is not tracked when it is ignored
	if p.owned, err = src.scan(ctx, p.Since, p.Tracked, base); err != nil {
		return err
	}
	inWay, err := p.Target.conflicts(src.Workspace, p.owned.Tree, undoes(p.Kind, p.Paths))
	if err != nil {
		return err
	}
	everything := checkpoint.Selection{All: true}
	if base == head && Covers(p.Tracked, everything) && !slices.ContainsFunc(inWay, func(path string) bool { return !src.Store.HasFile(p.owned.Tree, path) }) {
		all := *p.owned
		p.Saved = &all
		return nil
	}
	if p.Saved, err = src.scan(ctx, p.Since, everything, head, inWay...); err != nil {
		return err
	}
	changes, err := diff.Diff(src.Store, p.Saved.Tree, p.owned.Tree)
	if err != nil {
		return err
	}
	before := len(inWay)
	for _, c := range changes { // tracked, but ignored by now and not recorded by the last checkpoint
		if c.Kind == diff.Added {
			inWay = append(inWay, c.Path)
		}
	}
	if len(inWay) > before {
		p.Saved, err = src.scan(ctx, p.Since, everything, head, inWay...)
	}
	return err
}

// complete works out what is to be restored, from the tree from, and which empty
// directories come and go; made are those that the move that is undone has made.
func (p *MovePlan) complete(src *Sources, owned checkpoint.SHA, ownedEmpty []string, from checkpoint.SHA) (made []string, err error) {
	removable, err := p.Target.removable(src.State, src.Workspace, owned, p.To)
	if err != nil {
		return nil, err
	}
	p.request = p.Target.request(src.Workspace, from, removable, p.Paths)
	if p.KeepAdded {
		p.request.Removable = nil
	}
	info, err := src.Store.CommitInfo(checkpoint.SHA(p.To))
	if err != nil {
		return nil, err
	}
	made = p.dirsMade(src.Layout)
	p.create = dirsOf(src.Layout, p.Target.Empty, p.Paths)
	if p.KeepAdded {
		return made, nil
	}
	ignored := match.Ignored(src.Store.DB, info.Tree, src.Workspace)
	p.remove = slices.DeleteFunc(dirsOf(src.Layout, ownedEmpty, p.Paths), func(name string) bool { // as such files stay
		return ignored(name) || ignored(name+"/"+anyFile)
	})
	p.remove = slices.DeleteFunc(append(p.remove, made...), func(name string) bool { return slices.Contains(p.create, name) })
	return made, nil
}

// Preview tells what PerformMove is going to do, without doing it: Refused are the files and
// the empty directories that the system is not going to let be changed.
func (p *MovePlan) Preview() (*restore.Plan, error) {
	plan, err := restore.PlanRestore(p.request)
	if err != nil {
		return nil, err
	}
	plan.Refused = withDirs(plan.Refused, restore.PlanDirs(p.request.Workspace, plan, p.remove, p.create))
	return plan, nil
}

// leavesNothing reports whether a restore has left nothing in the workspace that a
// checkpoint would take and that the target has not. Saved is all that was visible before
// it; as long as the ignore rules are the same, nothing else has become visible.
func (p *MovePlan) leavesNothing(store *checkpoint.Store, done *restore.RestoreReport) bool {
	if p.Saved == nil || len(p.Paths)+len(p.Leave) > 0 || p.KeepAdded {
		return false
	}
	if len(done.Plan.Keep)+len(done.Plan.Blocked)+len(done.Plan.Refused)+len(done.Refused)+len(done.Kept) > 0 {
		return false
	}
	left := func(dir string) bool { return !slices.Contains(p.remove, dir) && !slices.Contains(p.create, dir) }
	if slices.ContainsFunc(p.Saved.Empty, left) {
		return false
	}
	changes, err := diff.Diff(store, p.Saved.Tree, p.Target.Tree)
	return err == nil && !slices.ContainsFunc(changes, func(c diff.Change) bool { return path.Base(c.Path) == ".gitignore" })
}

// withDirs adds what is said of empty directories to what a restore could not change,
// each path once.
func withDirs(refused, dirs []restore.Refused) []restore.Refused {
	byPath := func(a, b restore.Refused) int { return strings.Compare(a.Path, b.Path) }
	all := slices.Concat(refused, dirs)
	slices.SortStableFunc(all, byPath)
	return slices.CompactFunc(all, func(a, b restore.Refused) bool { return a.Path == b.Path })
}

// sources are those of the write path.
func (x *Execution) sources() Sources {
	return Sources{Layout: x.Layout, State: x.State(), Store: x.Store, Workspace: x.Workspace, snapshot: x.SnapshotSince}
}

// PlanMove is [PlanMove] for the execution that is held.
func (x *Execution) PlanMove(ctx context.Context, m Move) (*MovePlan, error) {
	p, err := PlanMove(ctx, x.sources(), m)
	if err != nil {
		x.Store.Abort()
	}
	return p, err
}

// planIntent is the plan of a move that is recorded, to a workspace that is saved in the
// checkpoint from.
func (x *Execution) planIntent(ctx context.Context, i *state.Intent, from state.SHA) (*MovePlan, error) {
	src := x.sources()
	p := &MovePlan{Move: Move{Kind: i.Kind, To: i.To, Paths: i.Paths, KeepAdded: i.KeepAdded, Position: i.Position}}
	saved, err := x.Tree(from)
	if err != nil {
		return nil, err
	}
	if p.Target, err = NewRestoreTarget(ctx, src.Layout, src.State, src.Store, i.To, i.Position); err != nil {
		return nil, err
	}
	owned, err := src.Store.CommitInfo(checkpoint.SHA(i.Owned))
	if err != nil {
		return nil, err
	}
	if _, err = p.complete(&src, owned.Tree, emptydirs.Of(owned), saved); err == nil && from != i.Safety {
		p.request.Began, err = x.Tree(i.Safety)
	}
	return p, err
}

// without is a tree without some files.
func without(ctx context.Context, store *checkpoint.Store, tree checkpoint.SHA, files []string) (checkpoint.SHA, error) {
	if len(files) == 0 {
		return tree, nil
	}
	empty, err := store.AddTree(ctx, nil)
	if err != nil {
		return "", err
	}
	return checkpoint.Overlay(store.DB, empty, tree, func(path string) bool { return !slices.Contains(files, path) })
}
