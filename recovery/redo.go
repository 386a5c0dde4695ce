package recovery

import (
	"context"
	"fmt"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/internal/advice"
	"hank/internal/shell"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/state"
)

// Redone is the record of the codon that the next hank run does again on the
// workspace from before it, because it was interrupted, or because its retries are used up
// and the run was paused for that; nil if there is none.
func Redone(s *state.State) *state.Codon {
	run := s.Newest()
	if run == nil || s.MovedTo() != nil {
		return nil
	}
	c, exhausted := run.Live(), false
	if at := s.RunAtPosition(); c == nil && at != nil && at.Len() > 0 {
		c, exhausted = at.Codon(at.Len()-1), at.EndReason == state.EndExhausted
	}
	if c == nil || c.Settled() || c.Settling != nil || c.Status.Terminal() && c.Interrupted == "" && !exhausted || c.BaseCheckpoint == "" {
		return nil
	}
	return c
}

// retried is the record of the codon that a hank retry without a name does again;
// nil if there is none.
func retried(s *state.State) *state.Codon {
	run := s.RunAtPosition()
	if run == nil || run.Len() == 0 || s.MovedTo() != nil || Redone(s) != nil {
		return nil
	}
	c := run.Codon(run.Len() - 1)
	if c.Settled() || c.Status != state.Failed || c.BaseCheckpoint == "" {
		return nil
	}
	return c
}

// blockedRedo says what the user must do about a workspace that the next hank run,
// or the retry of the codon that failed, must put back and cannot; nil: it can, or
// nothing shows that it cannot.
func (v *View) blockedRedo() *finding.DecisionError {
	c, command := Redone(v.State), "hank run"
	if c == nil {
		if c = retried(v.State); c != nil {
			command = "hank retry " + shell.Quote(string(c.CodonID))
		}
	}
	if c == nil || v.Live || v.Head.Done == v.Head.Planned {
		return nil
	}
	ws, err := v.Layout.OpenWorkspace()
	if err != nil {
		return nil
	}
	defer ws.Close()
	closed := restore.Writable(ws)
	if closed == nil {
		return nil
	}
	store, err := v.Store()
	if err != nil {
		return nil // who needs checkpoints says so
	}
	defer store.Close()
	defer store.Abort()
	base := checkpoint.SHA(c.BaseCheckpoint)
	info, err := store.CommitInfo(base)
	if err != nil {
		return nil
	}
	tracked := execution.Tracked(v.State, c.CodonID)
	tracked.Never = execution.Never
	snap, err := store.Snapshot(context.Background(), checkpoint.SnapshotRequest{Workspace: ws, Selection: tracked, Base: base})
	if err != nil || snap.Tree == info.Tree {
		return nil
	}
	return NeedWritable(c, c.BaseCheckpoint, command, closed)
}

// NeedWritable asks what is to become of a codon that a command is to do again on
// a workspace that cannot be put back to the checkpoint to.
func NeedWritable(c *state.Codon, to state.SHA, command string, why error) *finding.DecisionError {
	why = execution.CauseOf(why)
	return &finding.DecisionError{
		What: fmt.Sprintf("the workspace cannot be put back to checkpoint %.12s, from before codon %s: %v; it is as it was", to, c.CodonID, why),
		Options: []string{
			"make it writable again, then " + advice.Quote(command) + " puts it back and does the codon again",
			advice.Quote(command+" --keep-tree") + " does the codon on the workspace as it is, which may have a part of its work",
		},
		Command: command + " --keep-tree",
		Closed:  why,
	}
}

// pausedAt is where a run was paused.
func pausedAt(live *state.Codon, ended bool) string {
	switch {
	case live == nil:
		return "between two codons"
	case ended && live.Settling.Status == state.Failed:
		return fmt.Sprintf("at codon %s, which has failed", live.CodonID)
	case ended:
		return fmt.Sprintf("at codon %s, which has completed its work and is not run again", live.CodonID)
	}
	return fmt.Sprintf("at codon %s (%s), which `hank run` does again", live.CodonID, live.Status)
}
