package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hank/checkpoint"
	"hank/internal/failpoint"
	"hank/state"
)

// Never lists what no checkpoint holds, relative to the workspace.
var Never = []string{DataName, ArchiveName}

// Snapshot scans the workspace and puts what a selection takes into the
// store's pending pack. parent is the checkpoint whose files stay recorded
// while they match.
func (x *Execution) Snapshot(ctx context.Context, sel checkpoint.Selection, parent state.SHA, include ...string) (*checkpoint.Snapshot, error) {
	if err := x.Held(); err != nil {
		return nil, err
	}
	sel.Never = Never
	snap, err := x.Store.Snapshot(ctx, checkpoint.SnapshotRequest{
		Workspace: x.Workspace, Selection: sel, Base: checkpoint.SHA(parent), MustInclude: include,
	})
	if err != nil {
		x.Store.Abort()
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

// Move is a change of the workspace from what it holds to a checkpoint.
type Move struct {
	Kind string // rollback, undo, retry, restore
	To   state.SHA
	// Tracked is what codon checkpoints take at the moment; only files that it
	// takes, or has taken, may be deleted.
	Tracked checkpoint.Selection
	Paths   []string // empty is the whole tree
	// Position takes effect with the move; nil leaves it as it is. The safety
	// checkpoint is filled into its Before.
	Position *state.Position
}

// Moved is what a move did.
type Moved struct {
	Safety state.SHA // the checkpoint of what was there before
	Report *checkpoint.RestoreReport
}

// MoveTree brings the workspace to a checkpoint so that it can be undone and
// that a crash at any moment leaves it finished or untouched:
//
//  1. A safety checkpoint of everything visible and of whatever else stands in
//     the way, on a recovery branch.
//  2. The intent is recorded, durably, with what it will mean.
//  3. The difference is applied. A crash here is finished by the next opening.
//  4. The intent is closed, durably, and its position takes effect.
func (x *Execution) MoveTree(ctx context.Context, m Move) (*Moved, error) {
	target, err := x.Tree(m.To)
	if err != nil {
		return nil, fmt.Errorf("the checkpoint %.12s cannot be read: %w", m.To, err)
	}
	intent, err := x.safeguard(ctx, m, target)
	if err != nil {
		return nil, err
	}
	failpoint.Hit("move.safe")
	if err := x.Record(state.IntentOpened{Intent: *intent}); err != nil {
		return nil, err
	}
	failpoint.Hit("move.intended")
	report, err := x.carryOut(ctx, intent)
	if err != nil {
		var blocked *checkpoint.BlockedError
		if errors.As(err, &blocked) { // nothing was touched: take the intent back
			cancelled := state.IntentClosed{ID: intent.ID, Cancelled: true}
			return nil, errors.Join(err, x.Record(cancelled))
		}
		return nil, err
	}
	return &Moved{Safety: intent.Safety, Report: report}, nil
}

// carryOut applies an intent that is recorded, and closes it.
func (x *Execution) carryOut(ctx context.Context, intent *state.Intent) (*checkpoint.RestoreReport, error) {
	req, err := x.restoreRequest(intent)
	if err != nil {
		return nil, err
	}
	report, err := checkpoint.Restore(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := x.restoreFolders(intent); err != nil {
		return nil, err
	}
	failpoint.Hit("move.applied")
	return report, x.Record(state.IntentClosed{ID: intent.ID})
}

func (x *Execution) restoreRequest(intent *state.Intent) (checkpoint.RestoreRequest, error) {
	from, err := x.Tree(intent.Safety)
	if err != nil {
		return checkpoint.RestoreRequest{}, err
	}
	to, err := x.Tree(intent.To)
	if err != nil {
		return checkpoint.RestoreRequest{}, err
	}
	owned, err := x.Tree(intent.Owned)
	if err != nil {
		return checkpoint.RestoreRequest{}, err
	}
	removable, err := Removable(x.State(), x.Store, owned, intent.To)
	return checkpoint.RestoreRequest{
		Store: x.Store, Workspace: x.Workspace, From: from, To: to, Paths: intent.Paths, Removable: removable,
	}, err
}

// Removable tells which files, of those that a checkpoint has not, going back
// to it may delete: those that checkpoints track, which is what the tree owned
// holds. One that was there before the first codon, and that the checkpoint
// did not look at, was very likely there too, and stays.
func Removable(s *state.State, store *checkpoint.Store, owned checkpoint.SHA, to state.SHA) (func(path string) bool, error) {
	takes := Taken(s, store, to).Matcher()
	first := func(string) bool { return false }
	if s.InitialCheckpoint != "" {
		initial, err := store.CommitInfo(checkpoint.SHA(s.InitialCheckpoint))
		switch {
		case gone(err): // with the store of before: any file may have been there first
			first = func(string) bool { return true }
		case err != nil:
			return nil, fmt.Errorf("the initial checkpoint cannot be read: %w", err)
		default:
			first = func(path string) bool { return store.HasFile(initial.Tree, path) }
		}
	}
	return func(path string) bool { return store.HasFile(owned, path) && (takes(path) || !first(path)) }, nil
}

// Taken is what the checkpoint of a commit was asked to take.
func Taken(s *state.State, store *checkpoint.Store, sha state.SHA) checkpoint.Selection {
	info, err := store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return checkpoint.Selection{All: true}
	}
	title, _, _ := strings.Cut(info.Message, " ")
	kind, codon, _ := strings.Cut(strings.TrimSpace(title), ":")
	switch state.CheckpointKind(kind) {
	case state.KindRigSetup, state.KindCompleted, state.KindError, state.KindSkipped, "archive":
		return Tracked(s, state.CodonID(codon))
	case state.KindExit, state.KindManual: // these look ahead to the next codon
		if i := s.Next(); i < len(s.ExecutionPlan()) {
			return Tracked(s, s.ExecutionPlan()[i].CodonID)
		}
		return Tracked(s, "")
	}
	return checkpoint.Selection{All: true}
}

// safeguard makes the checkpoints that a move needs, and its intent. One is
// enough where what checkpoints track is all that there is.
func (x *Execution) safeguard(ctx context.Context, m Move, target checkpoint.SHA) (*state.Intent, error) {
	parent := x.Head()
	base, err := x.Tree(parent)
	if err != nil {
		return nil, err
	}
	inWay, err := checkpoint.PathsInTheWay(x.Store, x.Workspace, base, target)
	if err != nil {
		return nil, err
	}
	branch := x.RecoveryBranch()
	note := "before " + m.Kind + " to " + string(m.To)
	tracked, err := x.Snapshot(ctx, m.Tracked, parent)
	if err != nil {
		return nil, err
	}
	owned, err := x.Preserve(ctx, tracked, branch, parent, note+": tracked files")
	if err != nil {
		return nil, err
	}
	all, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, parent, inWay...)
	if err != nil {
		return nil, err
	}
	safety := owned
	if all.Tree != tracked.Tree {
		if safety, err = x.Preserve(ctx, all, branch, owned, note); err != nil {
			return nil, err
		}
	}
	intent := &state.Intent{ID: newID(8), Kind: m.Kind, Safety: safety, Owned: owned, To: m.To, Paths: m.Paths}
	if m.Position != nil {
		p := *m.Position
		if p.Before != nil {
			before := *p.Before
			before.CheckpointSHA = safety
			p.Before = &before
		}
		intent.Position = &p
	}
	return intent, nil
}

// Head is the checkpoint that the workspace was last at: see [Head].
func (x *Execution) Head() state.SHA { return Head(x.State()) }

// Head is the checkpoint that the workspace was last at: the newest on the
// branch of the newest run, or where the next run starts.
func Head(s *state.State) state.SHA {
	if s.Position != nil {
		return s.Position.CheckpointSHA
	}
	if r := s.Newest(); r != nil && r.Head != "" {
		return r.Head
	}
	return cmp.Or(s.Base, s.InitialCheckpoint)
}

// RecoveryBranch returns a new name for a branch that keeps what would
// otherwise be lost.
func (x *Execution) RecoveryBranch() string {
	return "recovery/" + x.opts.Now().UTC().Format("20060102T150405Z") + "-" + newID(3)
}

// Preserve makes a recovery checkpoint of a snapshot.
func (x *Execution) Preserve(ctx context.Context, snap *checkpoint.Snapshot, branch string, parent state.SHA, note string) (state.SHA, error) {
	return x.Commit(ctx, Commit{
		Title:      Title{Status: state.KindRecovery, Name: note},
		Snapshot:   snap,
		Parents:    []state.SHA{parent},
		Branch:     branch,
		Transition: state.CheckpointCreated{Kind: state.KindRecovery, Branch: branch, Note: note},
	})
}

// now is the present time in the state's precision.
func (x *Execution) Now() state.Time { return state.At(x.opts.Now().Round(time.Millisecond)) }
