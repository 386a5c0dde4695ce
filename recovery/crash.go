package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/internal/proc"
	"hank/plan"
	"hank/state"
)

// Attempt is the value of HANK_ATTEMPT for one attempt at a codon: whatever
// carries it in its environment was started for that attempt.
func Attempt(lineage string, run state.RunID, c *state.Codon) string {
	return fmt.Sprintf("%s/%s/%s/%d", lineage, run, c.CodonID, c.Attempt)
}

// liveness says whether the runtime of a run is alive, as far as its identity
// tells.
func liveness(r *state.Run) (proc.Liveness, string) {
	var id proc.Identity
	if len(r.Process) == 0 || json.Unmarshal(r.Process, &id) != nil {
		id = proc.Identity{PID: r.ServerPid}
	}
	return id.Check()
}

// isOver tells whether a run that says running is over for certain, given that
// nobody else holds the execution, and why. Where the file system keeps locks
// (trusted), a hank that held them before is gone unless it is seen alive. A
// run without an identity was made by a runtime that does not lock, so there
// the process alone decides.
func isOver(r *state.Run, trusted bool) (bool, string) {
	if len(r.Process) == 0 {
		alive, why := pidAlive(r.ServerPid, r.StartTime.Time)
		return !alive, why
	}
	verdict, why := liveness(r)
	switch {
	case verdict == proc.Dead:
		return true, why
	case verdict == proc.Alive && r.ServerPid == os.Getpid():
		return true, "it was this process's own, which has given it up"
	}
	return verdict == proc.Unknown && trusted, why
}

// markCrashes closes every run that says running, although its process is
// gone or has left it. Whatever its codon has left alive is ended first. A
// codon whose agent had ended, on a machine that has not been restarted since,
// gets the checkpoint that it was waiting for; any other counts as failed, and
// what it had done to the tree is its error checkpoint. Either has ended at its
// last sign of life.
//
// A run that its runtime has left open on purpose, see state.RunPaused, ends for
// the reason that was given then. As long as that reason holds, its error is
// that of the opening, and the run stays paused.
func (x *Execution) markCrashes(ctx context.Context) error {
	for _, r := range x.State().Runs {
		if r.Status != state.StatusRunning || r.Paused != nil && x.opts.KeepPaused {
			continue
		}
		if over, why := isOver(r, flockTrusted(x.lock.dirs[0])); !over && r.Paused == nil {
			return &HeldError{Path: x.Layout.Root, Why: fmt.Sprintf("run %s is running and its process %d is not proven gone: %s", r.RunID, r.ServerPid, why)}
		}
		if err := x.closeLeft(ctx, r); err != nil {
			return fmt.Errorf("closing the %s run %s: %w", lastWord(r), r.RunID, forAnyCommand(err))
		}
	}
	return nil
}

// lastWord says how a run that nobody drives any more stands.
func lastWord(r *state.Run) string {
	if r.Paused != nil {
		return "paused"
	}
	return "crashed"
}

func (x *Execution) closeLeft(ctx context.Context, r *state.Run) error {
	live := r.Live()
	if live == nil {
		x.Report.add(Mended, "run %s had %s between two codons; nothing was lost", r.RunID, lastWord(r))
		return x.Record(x.endOf(r))
	}
	ended, err := x.opts.Reap(Attempt(x.State().Lineage, r.RunID, live))
	if err == nil {
		err = x.sameWorkspace(x.sameBoot(r))
	}
	if err != nil {
		return err
	}
	at := x.Now()
	if len(ended) == 0 { // else it was alive until now
		at = x.lastSign(r, live)
	}
	final := live.Interrupt(at, state.InterruptedByCrash, "hank ended while the codon was "+string(live.Status))
	if p := r.Paused; p != nil {
		final = live.Interrupt(at, state.InterruptedByPause, fmt.Sprintf("hank could not go on while the codon was %s: %s", live.Status, p.Detail))
	}
	tracked, redo := checkpoint.Selection{All: true}, true
	if live.Settling != nil && x.sameBoot(r) {
		if final, tracked, redo, err = x.conclude(ctx, r, at); err != nil {
			return err
		}
	}
	if !redo {
		x.Report.add(Mended, "run %s had %s when codon %s had ended and had no checkpoint yet; it has one now", r.RunID, lastWord(r), live.CodonID)
	} else {
		x.Report.add(Mended, "run %s had %s while codon %s was %s; the codon counts as failed, its unfinished work is its error checkpoint", r.RunID, lastWord(r), live.CodonID, live.Status)
	}
	if len(ended) > 0 {
		final.Notes = append(final.Notes, "left alive and ended: "+strings.Join(ended, ", "))
	}
	if err := x.Finish(ctx, r.RunID, x.nameOf(live.CodonID), final, tracked); err != nil {
		return err
	}
	if err := x.Record(x.endOf(r)); err != nil || x.meta.Folder != nil && x.meta.Folder.same(x.lock.workspace()) {
		return err
	}
	return x.SetMeta(func(m *Meta) { m.rememberWorkspace(x.lock.workspace()) })
}

// endOf is how a run ends whose runtime cannot say so any more.
func (x *Execution) endOf(r *state.Run) state.Transition {
	if p := r.Paused; p != nil {
		return state.RunFailed{RunID: r.RunID, EndTime: x.Now(), Reason: p.Reason, Detail: p.Detail}
	}
	return state.RunCrashed{RunID: r.RunID, EndTime: x.Now(), Detail: fmt.Sprintf("its process %d is gone", r.ServerPid)}
}

// sameBoot tells whether the machine has been up since a run: after a power
// cut what an agent wrote last may not be on the disk.
func (x *Execution) sameBoot(r *state.Run) bool {
	return isOfBoot(r, x.lock.info.Process.BootID)
}

// isOfBoot reports whether a run began in a boot.
func isOfBoot(r *state.Run, boot string) bool {
	var id proc.Identity
	return json.Unmarshal(r.Process, &id) == nil && id.BootID != "" && id.BootID == boot
}

func (x *Execution) nameOf(id state.CodonID) string {
	s := x.State()
	if i := s.PlanIndex(id); i >= 0 {
		return s.ExecutionPlan()[i].Codon.Name
	}
	return ""
}

// Finish makes the checkpoint of a codon's end and with it its final record.
// What the checkpoint could not hold is named in the record. A completed codon
// is nothing without its checkpoint: an *checkpoint.UnstableError then leaves
// the record settling. A codon that failed or was skipped is closed without.
func (x *Execution) Finish(ctx context.Context, run state.RunID, name string, final *state.Codon, sel checkpoint.Selection) error {
	if err := x.inspect(); err != nil {
		return err
	}
	final.Notes = append(final.Notes, x.noticed()...)
	r := x.State().Run(run)
	snap, err := x.Snapshot(ctx, sel, x.Head())
	final.Notes = append(final.Notes, x.noticed()...)
	var unstable *checkpoint.UnstableError
	if errors.As(err, &unstable) && final.Status != state.Completed {
		final.Notes = append(final.Notes, "it has no checkpoint: "+err.Error())
		return x.Record(state.CodonTransitioned{RunID: run, Record: final})
	}
	if err != nil {
		return err
	}
	final.Notes = append(final.Notes, shortcomings(snap)...)
	kind := map[state.CodonStatus]state.CheckpointKind{state.Completed: state.KindCompleted, state.Failed: state.KindError, state.Skipped: state.KindSkipped}[final.Status]
	_, err = x.Commit(ctx, Commit{
		Title:    Title{Status: kind, CodonID: final.CodonID, RunID: run, Name: name},
		Snapshot: snap, Parents: []state.SHA{x.Head()}, Branch: r.GitBranch,
		Transition: state.CodonTransitioned{RunID: run, Record: final},
	})
	return err
}

// maxNotes bounds what a record names one by one.
const maxNotes = 20

// shortcomings names what a checkpoint could not hold as it is on disk.
func shortcomings(snap *checkpoint.Snapshot) []string {
	var notes []string
	each := func(n int, more string, note func(i int) string) {
		for i := range min(n, maxNotes) {
			notes = append(notes, note(i))
		}
		if n > maxNotes {
			notes = append(notes, fmt.Sprintf("and %d more %s", n-maxNotes, more))
		}
	}
	each(len(snap.Skipped), "are not in the checkpoint", func(i int) string {
		return fmt.Sprintf("not in the checkpoint: %q (%s)", snap.Skipped[i].Path, snap.Skipped[i].Why)
	})
	each(len(snap.Escaped), "are kept under escaped names", func(i int) string {
		return fmt.Sprintf("kept in the checkpoint as %q: %q", snap.Escaped[i].As, snap.Escaped[i].Path)
	})
	each(len(snap.Nested), "repositories are kept without their .git", func(i int) string {
		return fmt.Sprintf("not in the checkpoint: %q (the history of a repository of its own; its files are)", snap.Nested[i]+"/.git")
	})
	if n := len(snap.Empty) - len(KeptFolders(snap.Empty)); n > 0 {
		notes = append(notes, fmt.Sprintf("not in the checkpoint: %d empty folders", n))
	}
	return notes
}

// Tracked is what the checkpoint of a codon takes: the union of the patterns
// of the plan up to it. A codon that says nothing tracks everything.
func Tracked(s *state.State, upto state.CodonID) checkpoint.Selection {
	var sel checkpoint.Selection
	for _, e := range s.ExecutionPlan() {
		Track(&sel, e.Codon, s.Adopted)
		if sel.All || e.CodonID == upto {
			break
		}
	}
	return sel
}

// Track adds what one more codon tracks. One that says nothing tracks
// everything, but in an execution that Hankweave began nothing, as there.
func Track(sel *checkpoint.Selection, c *plan.Codon, adopted bool) {
	if c.CheckpointedFiles == nil && !adopted {
		sel.All = true
	}
	for _, p := range c.CheckpointedFiles {
		if !slices.Contains(sel.Patterns, p) {
			sel.Patterns = append(sel.Patterns, p)
		}
	}
}
