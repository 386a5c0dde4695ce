package runtime

import (
	"context"
	"time"

	"hank/checkpoint"
	"hank/internal/term"
	"hank/plan"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/runtime/rig"
	"hank/state"
)

// archive moves away what the last settled codon, and its loop if it was the
// last of it, is done with, and makes a checkpoint of the workspace after it.
// It is asked before the next codon starts, in a later run too, so that a crash
// in between repeats it; what is archived already stays so.
func (d *driver) archive(ctx context.Context, index int) error {
	if !d.archiveDue(d.settled, index) {
		return nil
	}
	d.ui.Monitor.Step("moving files to rigArchive")
	d.still = time.Time{}
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
	trees := checkpoint.NewFinder(d.x.Store.DB) // thousands of paths, perhaps, of one directory
	takes := func(rel string) bool {            // what the user has added since is not the codon's
		byHand := (looked(rel) || trees.HasFile(base, rel)) && !trees.HasFile(end, rel)
		return trees.HasFile(visible.Tree, rel) && !byHand
	}
	job := rig.Archiving{Visible: takes, Layout: d.x.Layout, CodonID: stored.CodonID, Loop: stored.LoopContext,
		Checkpoint: last.Checkpoint(), Now: d.x.Now().Time, Note: d.note}
	var done rig.Archived
	if len(own) > 0 {
		job.Patterns = own
		done = job.Run()
	}
	if len(ofLoop) > 0 {
		job.Patterns, job.LoopEnds = ofLoop, true
		more := job.Run()
		done.Paths, done.Failed = append(done.Paths, more.Paths...), append(done.Failed, more.Failed...)
	}
	d.x.Store.Abort()
	for _, f := range done.Failed {
		d.detail("not archived, and left in the workspace: %q: %s", f.Path, f.Error)
	}
	if len(done.Paths) == 0 && len(d.comparison().ArchivedAt(last.Checkpoint())) == 0 {
		return nil
	}
	snap, err := d.x.Snapshot(ctx, d.selection(index), d.x.Head())
	if err != nil {
		return err
	}
	_, err = d.x.Commit(ctx, execution.Commit{
		Title:    githistory.Title{Status: state.KindArchive, CodonID: stored.CodonID, RunID: d.run, Name: term.Count(len(done.Paths), "file") + " archived"},
		Snapshot: snap, Parents: d.parents(), Branch: d.branch(),
		Transition: state.CheckpointCreated{Kind: state.KindArchive, RunID: d.run, CodonID: stored.CodonID, Branch: d.branch(), Base: true},
	})
	if err == nil {
		d.detail("%s archived", term.Count(len(done.Paths), "file"))
	}
	return err
}

// archiveMissing reports whether the plan is completed but for the archive of its last
// codon.
func (d *driver) archiveMissing() bool {
	s := d.x.State()
	if s.Next() < len(s.ExecutionPlan()) {
		return false
	}
	last := s.LastSettled()
	return last != nil && d.archiveDue(last.Codon, len(s.ExecutionPlan())-1)
}

// archiveDue reports whether nothing but changes by the user has come since last, the
// end of the entry at an index, and that entry, or the loop that it ends, archives.
func (d *driver) archiveDue(last *state.Codon, index int) bool {
	s := d.x.State()
	if index < 0 || last == nil || last.Status == state.Failed || execution.EndedAt(d.x.Store, s.Base) != last.Checkpoint() {
		return false
	}
	stored := s.ExecutionPlan()[index].Entry
	own := len(stored.Codon.ArchiveOnSuccess) > 0 && last.Status == state.Completed
	return stored.CodonID == last.CodonID && (own || len(d.loopArchive(index, stored)) > 0)
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
