package execution

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hank/checkpoint"
	"hank/internal/failpoint"
	"hank/recovery/emptydirs"
	"hank/recovery/githistory"
	"hank/state"
)

// Commit is a checkpoint that is about to be acknowledged.
type Commit struct {
	Title      githistory.Title
	Snapshot   *checkpoint.Snapshot
	Parents    []state.SHA
	Branch     string
	Transition state.Transition // the place of its commit left empty
	Whole      bool             // its record carries the whole state from before it
}

// Commit makes a checkpoint and the transition that acknowledges it:
//
//  1. What somebody else has changed of hank's files is rewritten (Inspect). The
//     transition is checked. Illegal: an error, nothing of the checkpoint written. What
//     the journal still owes is synced, so that its next number is certain.
//  2. The commit carries the transition and the journal's next number; it
//     joins the pack of its objects, which is synced.
//  3. The branch is moved by compare-and-swap, synced, from the tip that the
//     state has for it; what somebody else has moved it to is kept (moveBranch).
//     A crash from here on is rolled forward: the next opening finds a tip with
//     exactly the journal's next number.
//  4. The transition, completed by the commit's id, is recorded.
func (x *Execution) Commit(ctx context.Context, c Commit) (state.SHA, error) {
	defer x.Store.Abort() // nothing of what is refused stays pending
	if x.Broken != nil {
		return "", x.Broken
	}
	if err := errors.Join(x.Inspect(), x.allow()); err != nil {
		return "", err
	}
	c.Transition, c.Title.Name = state.Redact(c.Transition, x.Opts.Mask), x.Opts.Mask(c.Title.Name)
	trial, err := githistory.WithCheckpoint(c.Transition, "0000000000000000000000000000000000000000")
	if err != nil {
		return "", err
	}
	s := x.State()
	if _, err := state.Apply(s, s.Seq+1, trial); err != nil {
		return "", err
	}
	if err := errors.Join(x.Held(), x.Sync()); err != nil {
		return "", err
	}
	sha, err := x.CommitObject(ctx, c)
	if err != nil {
		return "", fmt.Errorf("checkpoint %s:%s: %w", c.Title.Status, c.Title.CodonID, err)
	}
	failpoint.Hit("checkpoint.packed")
	if err := x.moveBranch(c.Branch, sha); err != nil {
		return "", err
	}
	failpoint.Hit("checkpoint.referenced")
	done, err := githistory.WithCheckpoint(c.Transition, sha)
	if err != nil {
		return "", err
	}
	if err = x.Record(done); err == nil {
		x.warnOfPrivate(c.Snapshot)
		x.Merger.ask(x.Held)
	}
	return sha, err
}

// CommitObject writes the commit of a checkpoint, with its record, and syncs its pack. No
// branch leads to it yet.
func (x *Execution) CommitObject(ctx context.Context, c Commit) (state.SHA, error) {
	data, err := state.Encode(c.Transition)
	if err != nil {
		return "", err
	}
	s, now := x.State(), x.Opts.Now()
	record := githistory.Record{Schema: state.SchemaVersion, Lineage: s.Lineage, Seq: x.Journal.Last() + 1, Program: s.Program, HankHash: s.HankHash, Limits: s.Limits, Event: data}
	if c.Whole {
		whole, err := s.Rebase("")
		if err != nil {
			return "", err
		}
		record.State = whole.State
	}
	if run := s.Run(c.Title.RunID); run != nil {
		record.Run = run
	}
	if _, first := c.Transition.(state.InitialCheckpointSet); first {
		record.LeftOut = x.leftOut()
	}
	text, err := githistory.Message(c.Title, state.At(now), record)
	if err != nil {
		return "", err
	}
	text += emptydirs.Line(c.Snapshot.Empty)
	parents := make([]checkpoint.SHA, 0, len(c.Parents))
	for _, p := range c.Parents {
		if p != "" && x.Store.Has(checkpoint.SHA(p)) { // one that was lost and parted from is led to no more
			parents = append(parents, checkpoint.SHA(p))
		}
	}
	_, end := x.Opts.Work.Begin("making the checkpoint durable")
	defer end()
	sha, err := x.Store.Commit(ctx, checkpoint.CommitRequest{Tree: c.Snapshot.Tree, Parents: parents, Message: text, When: now})
	return state.SHA(sha), err
}

// moveBranch moves a branch to a new checkpoint, from the tip that the state has for it.
// A tip that somebody else has moved it to is kept on a recovery branch, as an opening
// keeps it, unless the new checkpoint leads to it anyway. One that cannot be read is not
// overwritten: the error names it.
func (x *Execution) moveBranch(branch string, to state.SHA) error {
	ref := githistory.Heads + branch
	err := x.setRef(ref, checkpoint.SHA(githistory.KnownHeads(x.State())[branch]), checkpoint.SHA(to))
	var moved *checkpoint.RefConflictError
	if !errors.As(err, &moved) {
		return err
	}
	kept, err := x.keepTip(moved.Have, checkpoint.SHA(to))
	if err != nil {
		return fmt.Errorf("branch %s leads to %s, where hank has not moved it, and that cannot be kept: %w", branch, moved.Have, err)
	}
	if kept != "" {
		x.Opts.Warn(fmt.Sprintf("warning: something else has moved branch %s to commit %.12s; that is kept on the branch %s", branch, moved.Have, kept))
	}
	return x.setRef(ref, moved.Have, checkpoint.SHA(to))
}

// keepTip sees to it that a branch leads to a commit that somebody else has moved another
// one to, and returns its name: one that does already, or a new recovery branch. Where
// there is no commit, or what the branch leads to next leads to it too, it is none.
func (x *Execution) keepTip(tip, to checkpoint.SHA) (branch string, err error) {
	if tip == "" {
		return "", nil
	}
	if follows, err := LeadsTo(x.Store, state.SHA(to), state.SHA(tip)); err != nil || follows {
		return "", err
	}
	if _, err := x.Store.CommitInfo(tip); err != nil {
		return "", err
	}
	refs, _, err := x.Store.ReadableRefs(githistory.Heads + "recovery/")
	if err != nil {
		return "", err
	}
	for ref, at := range refs {
		if at == tip {
			return strings.TrimPrefix(ref, githistory.Heads), nil
		}
	}
	branch = x.RecoveryBranch()
	return branch, x.setRef(githistory.Heads+branch, "", tip)
}

// setRef moves a reference, and has the Monitor know.
func (x *Execution) setRef(ref string, from, to checkpoint.SHA) error {
	err := x.Store.SetRef(ref, from, to)
	if err == nil {
		x.Monitor.RefMoved(ref, to)
	}
	return err
}
