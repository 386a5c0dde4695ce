package runtime

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/keeper"
	"hank/state"
)

// killed notes what the agent, a rig or a check has left running.
func (a *attempt) killed(exit keeper.Exit) {
	for _, k := range exit.Killed {
		a.notes = append(a.notes, fmt.Sprintf("left running and killed: %d (%s)", k.PID, k.Command))
	}
	if more := exit.KilledTotal - len(exit.Killed); more > 0 {
		a.notes = append(a.notes, fmt.Sprintf("left running and killed: %d more", more))
	}
}

// copyOutputs runs the checks of a codon that has done its work and copies its
// results. It returns why the codon has failed after all.
func (a *attempt) copyOutputs(ctx context.Context) (*state.FailureReason, error) {
	if len(a.entry.Codon.OutputFiles) == 0 {
		return nil, nil
	}
	writable, err := a.writable()
	if err != nil {
		return nil, err
	}
	a.monitor.step("checking and copying the output files")
	listening, stop := a.listen(ctx)
	done, err := outputs{
		Workspace: a.layout.Workspace, Dir: a.output, Overwrite: a.overwrite, Codon: a.entry.Codon, CodonID: a.entry.CodonID,
		Environ: withEnv(a.commandEnviron(), a.entry.Codon.Env), Attempt: a.id, Writable: writable, Apart: a.layout.Apart(), Note: a.note, Killed: a.killed,
	}.run(listening)
	stop()
	for _, p := range done.Unmatched {
		a.notes = append(a.notes, fmt.Sprintf("no file fits the output pattern %q", p))
	}
	for _, p := range done.Skipped {
		a.notes = append(a.notes, fmt.Sprintf("not copied, as it is no plain file: %q", p))
	}
	if len(done.Files) > 0 {
		a.say("  %d results in %s", len(done.Files), a.output)
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
	if !d.archiveDue(index) {
		return nil
	}
	d.opts.Monitor.step("moving files to rigArchive")
	last, stored := d.settled, d.x.State().ExecutionPlan()[index].Entry
	own, ofLoop := stored.Codon.ArchiveOnSuccess, d.loopArchive(index, stored)
	if last.Status != state.Completed {
		own = nil
	}
	visible, err := d.x.Snapshot(ctx, checkpoint.Selection{All: true}, d.x.Head())
	if err != nil {
		return err
	}
	end, err := d.x.Tree(last.Checkpoint())
	if err != nil {
		return err
	}
	base, err := d.x.Tree(execution.SavedAt(d.x.Store, d.x.State().Base))
	if err != nil {
		return err
	}
	looked := execution.Taken(d.x.State(), d.x.Store, last.Checkpoint()).Matcher()
	takes := func(rel string) bool { // what a person has added since is not the codon's
		byHand := (looked(rel) || d.x.Store.HasFile(base, rel)) && !d.x.Store.HasFile(end, rel)
		return d.x.Store.HasFile(visible.Tree, rel) && !byHand
	}
	job := archiving{Visible: takes, Layout: d.x.Layout, CodonID: stored.CodonID, Loop: stored.LoopContext,
		Checkpoint: last.Checkpoint(), Now: d.x.Now().Time, Note: d.note}
	var done archived
	if len(own) > 0 {
		job.Patterns = own
		done = job.run()
	}
	if len(ofLoop) > 0 {
		job.Patterns, job.LoopEnds = ofLoop, true
		more := job.run()
		done.Paths, done.Failed = append(done.Paths, more.Paths...), append(done.Failed, more.Failed...)
	}
	d.x.Store.Abort()
	for _, f := range done.Failed {
		d.say("  not archived, and left in the workspace: %q: %s", f.Path, f.Error)
	}
	if len(done.Paths) == 0 && len(d.comparison().archivedAt(last.Checkpoint())) == 0 {
		return nil
	}
	snap, err := d.x.Snapshot(ctx, d.selection(index), d.x.Head())
	if err != nil {
		return err
	}
	_, err = d.x.Commit(ctx, execution.Commit{
		Title:    githistory.Title{Status: state.KindArchive, CodonID: stored.CodonID, RunID: d.run, Name: fmt.Sprintf("%d files archived", len(done.Paths))},
		Snapshot: snap, Parents: d.parents(), Branch: d.branch(),
		Transition: state.CheckpointCreated{Kind: state.KindArchive, RunID: d.run, CodonID: stored.CodonID, Branch: d.branch(), Base: true},
	})
	if err == nil {
		d.say("  %d files archived", len(done.Paths))
	}
	return err
}

// archiveDue tells whether nothing but a person's changes has come since the end
// of the entry at an index, and that entry, or the loop that it ends, archives.
func (d *driver) archiveDue(index int) bool {
	last, s := d.settled, d.x.State()
	if index < 0 || last == nil || last.Status == state.Failed || execution.EndedAt(d.x.Store, s.Base) != last.Checkpoint() {
		return false
	}
	stored := s.ExecutionPlan()[index].Entry
	own := len(stored.Codon.ArchiveOnSuccess) > 0 && last.Status == state.Completed
	return stored.CodonID == last.CodonID && (own || len(d.loopArchive(index, stored)) > 0)
}

// archivedAt lists what the archive has taken from the workspace as it was at a
// checkpoint. A manifest that cannot be read says nothing: the next archiving
// reports it.
func (c comparison) archivedAt(sha state.SHA) map[string]bool {
	taken := map[string]bool{}
	manifest, err := layout.ReadManifest(vfs.OS, c.layout.Manifest())
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
