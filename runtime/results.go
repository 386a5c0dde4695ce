package runtime

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery"
	"hank/runtime/keeper"
	"hank/state"
)

// kindArchive is the checkpoint after an archive has moved files away.
const kindArchive state.CheckpointKind = "archive"

// killed notes what a rig or a check has left running.
func (a *attempt) killed(left []keeper.Leftover) {
	for _, k := range left {
		a.notes = append(a.notes, fmt.Sprintf("left running and killed: %d (%s)", k.PID, k.Command))
	}
}

// copyOutputs runs the checks of a codon that has done its work and copies its
// results. It returns why the codon has failed after all.
func (a *attempt) copyOutputs(ctx context.Context) (*state.FailureReason, error) {
	if len(a.entry.Codon.OutputFiles) == 0 {
		return nil, nil
	}
	listening, stop := a.listen(ctx)
	done, err := outputs{
		Workspace: a.x.Layout.Workspace, Dir: a.x.Meta().Output, Overwrite: a.opts.Overwrite, Codon: a.entry.Codon, CodonID: a.entry.CodonID,
		Environ: withEnv(a.environFor(a.entry, a.id), a.entry.Codon.Env), Attempt: a.id, Note: a.note, Killed: a.killed,
	}.run(listening)
	stop()
	for _, p := range done.Unmatched {
		a.notes = append(a.notes, fmt.Sprintf("no file fits the output pattern %q", p))
	}
	for _, p := range done.Skipped {
		a.notes = append(a.notes, fmt.Sprintf("not copied, as it is no plain file: %q", p))
	}
	if len(done.Files) > 0 {
		a.say("  %d results in %s", len(done.Files), a.x.Meta().Output)
	}
	var check *rigFailure
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &check):
		return a.rigFailed(check, "outputs", "beforeCopy")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EIO):
		return nil, err
	}
	return &state.FailureReason{Type: state.FailUnknown, Retriable: true, Message: err.Error(), Class: "outputs", Rule: "copy"}, nil
}

// archive moves away what the last settled codon, and its loop if it was the
// last of it, is done with, and makes a checkpoint of the workspace after it.
// It is asked before the next codon starts, in a later run too, so that a crash
// in between repeats it; what is archived already stays so.
func (d *driver) archive(ctx context.Context, index int) error {
	last := d.settled
	s := d.x.State()
	if index < 0 || last == nil || (last.Status != state.Completed && last.Status != state.Skipped) || s.Base != last.Checkpoint() {
		return nil
	}
	stored := s.ExecutionPlan()[index].Entry
	if stored.CodonID != last.CodonID {
		return nil
	}
	job := archiving{Layout: d.x.Layout, CodonID: stored.CodonID, Loop: stored.LoopContext,
		Checkpoint: last.Checkpoint(), Now: d.x.Now().Time, Note: d.note}
	var done archived
	if patterns := stored.Codon.ArchiveOnSuccess; len(patterns) > 0 && last.Status == state.Completed {
		job.Patterns = patterns
		done = job.run()
	}
	if patterns := d.loopArchive(index, stored); len(patterns) > 0 {
		job.Patterns, job.LoopEnds = patterns, true
		more := job.run()
		done.Paths, done.Failed = append(done.Paths, more.Paths...), append(done.Failed, more.Failed...)
	}
	for _, f := range done.Failed {
		d.say("  not archived, and left in the workspace: %q: %s", f.Path, f.Error)
	}
	if len(done.Paths) == 0 && len(d.archivedAt(last.Checkpoint())) == 0 {
		return nil
	}
	snap, err := d.x.Snapshot(ctx, d.selection(index), d.x.Head())
	if err != nil {
		return err
	}
	_, err = d.x.Commit(ctx, recovery.Commit{
		Title:    recovery.Title{Status: kindArchive, CodonID: stored.CodonID, RunID: d.run, Name: fmt.Sprintf("%d files archived", len(done.Paths))},
		Snapshot: snap, Parents: d.parents(), Branch: d.branch(),
		Transition: state.CheckpointCreated{Kind: kindArchive, RunID: d.run, CodonID: stored.CodonID, Branch: d.branch(), Base: true},
	})
	if err == nil {
		d.say("  %d files archived", len(done.Paths))
	}
	return err
}

// archivedAt lists what the archive has taken from the workspace as it was at a
// checkpoint. A manifest that cannot be read says nothing: the next archiving
// reports it.
func (d *driver) archivedAt(sha state.SHA) map[string]bool {
	taken := map[string]bool{}
	manifest, err := readArchive(vfs.OS, d.x.Layout.Manifest())
	if err != nil {
		return taken
	}
	for _, e := range manifest.Entries {
		if e.CheckpointSHA == string(sha) {
			taken[e.SourcePath] = true
		}
	}
	return taken
}

// loopArchive is what the loop of an entry archives, if the entry is its last.
func (d *driver) loopArchive(index int, e plan.Entry) []string {
	if e.LoopContext == nil {
		return nil
	}
	entries := d.x.State().ExecutionPlan()
	if index+1 < len(entries) {
		if next := entries[index+1].LoopContext; next != nil && next.LoopID == e.LoopContext.LoopID {
			return nil
		}
	}
	if loop := d.program.Loop(e.LoopContext.LoopID); loop != nil {
		return loop.ArchiveOnSuccess
	}
	return nil
}
