package edits

import (
	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/recovery/execution"
	"hank/runtime/history"
	"hank/state"
)

// Found is what the user has changed in a workspace.
type Found struct {
	Head    state.SHA            // the checkpoint that it was left at
	Snap    *checkpoint.Snapshot // of the workspace, pending in the store
	Changes []diff.Change
	Unasked []string // files and empty directories that nobody is asked about; they stay
	Dirs    bool     // some of these are directories
}

// Find looks what the user has changed since the last checkpoint, where the next run moves
// the workspace to another one, or leaves it (to is empty). look takes a snapshot of the
// workspace, which was left at a checkpoint.
func (c Comparison) Find(to state.SHA, look func(head state.SHA) (*checkpoint.Snapshot, error)) (e Found, err error) {
	e.Head = c.LeftAt(to != "")
	if e.Snap, err = look(e.Head); err == nil {
		e.Changes, err = c.list(e.Head, to, e.Snap)
	}
	if err == nil {
		e.Unasked, err = c.emptyDirsSince(c.beforeIdleRuns(e.Head), e.Snap)
		e.Dirs = len(e.Unasked) > 0
	}
	if err == nil && to != "" {
		var files []string
		files, err = c.uncovered(e.Head, e.Snap)
		e.Unasked = append(e.Unasked, files...)
	}
	return e, err
}

// TrackedBefore is what codon checkpoints take up to where the execution is, and
// what the user is asked about there, before it goes back to a position. What only a
// codon to come would track is not deleted.
func (c Comparison) TrackedBefore(to state.Position) checkpoint.Selection {
	sel := history.TrackedAround(c.State, c.Store, to)
	if sha := c.LeftAt(true); sha != c.State.InitialCheckpoint {
		asked := execution.Taken(c.State, c.Store, sha)
		sel.All, sel.Patterns = sel.All || asked.All, append(sel.Patterns, asked.Patterns...)
	}
	return sel
}

// beforeIdleRuns returns the checkpoint that the runs have begun at which ended at a
// checkpoint without any work of a codon: they failed at a gate. Without such a run it is
// the checkpoint itself, as where the one before is lost. What the checkpoint of their end
// names is not the work of codons, but for that of an answer: it has what the user agreed to.
func (c Comparison) beforeIdleRuns(sha state.SHA) state.SHA {
	for run := c.State.RunAtPosition(); run != nil && run.Head == sha && !execution.IsManual(c.Store, sha); {
		source := run.StartingConditions.Source
		if source == nil || run.Len() > 1 || run.Len() == 1 && !run.FailedAtGate() || !c.Store.Has(checkpoint.SHA(source.CheckpointSHA)) {
			break
		}
		sha, run = source.CheckpointSHA, c.State.Run(source.RunID)
	}
	return sha
}
