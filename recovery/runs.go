package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/internal/proc"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/recovery/lock"
	"hank/state"
)

// Attempt is the value of HANK_ATTEMPT for one attempt at a codon: whatever
// carries it in its environment was started for that attempt.
func Attempt(lineage string, run state.RunID, c *state.Codon) string {
	return fmt.Sprintf("%s/%s/%s/%d", lineage, run, c.CodonID, c.Attempt)
}

// liveness reports whether the runtime of a run is alive, as far as its identity
// tells.
func liveness(r *state.Run) (proc.Liveness, string) {
	var id proc.Identity
	if len(r.Process) == 0 || json.Unmarshal(r.Process, &id) != nil {
		id = proc.Identity{PID: r.ServerPid}
	}
	return id.Check()
}

// isOver reports whether a run that says running is over, given that nobody else holds the
// execution, and why: its process is proven dead, or is this one; or the file system keeps locks
// (trusted), and nothing is known of the process, or it is that of the original of a copy. A run without
// an identity was made by a runtime that does not lock, so there the process alone decides.
func isOver(r *state.Run, trusted, copied bool) (bool, string) {
	if len(r.Process) == 0 {
		alive, why := lock.PidAlive(r.ServerPid, r.StartTime.Time)
		return !alive, why
	}
	verdict, why := liveness(r)
	switch {
	case verdict == proc.Dead:
		return true, why
	case verdict == proc.Alive && r.ServerPid == os.Getpid():
		return true, fmt.Sprintf("process %d, which runs, has given it up", r.ServerPid)
	case verdict == proc.Unknown && trusted:
		return true, why + ", and its lock is free"
	case trusted && copied:
		return true, "it continues in the original alone"
	}
	return false, why
}

// planRuns plans how every run ends that says running, although it is over (isOver) or
// its process has paused it. Whatever its codon has left alive is ended first. A codon whose agent had
// ended, on a machine that has not been restarted since, gets the checkpoint that it was
// waiting for; any other counts as failed, and what it had done to the tree is its error
// checkpoint. Either has ended at its last sign of life.
//
// A run that its runtime has left open on purpose, see state.RunPaused, ends for the
// reason that was given then. As long as that reason holds, its error is that of the
// opening, and the run stays paused.
func planRuns(s *subject) ([]Repair, error) {
	var repairs []Repair
	for _, r := range s.state.Runs {
		if r.Status != state.StatusRunning || r.Paused != nil && s.answers.KeepPaused {
			continue
		}
		repairs = append(repairs, planRun(s, r))
	}
	return repairs, nil
}

func planRun(s *subject, r *state.Run) Repair {
	live := r.Live()
	ended := live != nil && live.Settling != nil && execution.IsOfBoot(r, s.boot)
	p := Repair{Severity: finding.Mended, run: r, do: closeRun}
	switch {
	case live == nil:
		p.Did = "nothing was lost"
	case ended:
		p.Did = checkpointMade
	default:
		p.Did = countsAsFailed
	}
	if r.Paused != nil {
		if r.Paused.Reason == state.EndDecision {
			p.Ahead = finding.Blocked
		}
		p.Found, p.Because = fmt.Sprintf("run %s is paused %s", r.RunID, pausedAt(live, ended)), r.Paused.Detail
		return p
	}
	over, why := isOver(r, s.trusted, s.copied)
	if !over {
		return Repair{Severity: finding.Note, run: r, Found: fmt.Sprintf("run %s is running as far as can be seen", r.RunID), Because: why,
			do: func(_ context.Context, x *execution.Execution, _ *Repair) error {
				return stillRunning(x.Layout, r, why)
			}}
	}
	when := "between two codons"
	p.Will = "`hank run` continues from there"
	if ended {
		when, p.Will = fmt.Sprintf("when codon %s had ended", live.CodonID), "the next command makes its checkpoint"
	} else if live != nil {
		when, p.Will = fmt.Sprintf("while codon %s was %s", live.CodonID, live.Status), "`hank run` continues from the state before it"
	}
	p.why = why
	p.Found = fmt.Sprintf("run %s has crashed %s (%s)", r.RunID, when, why)
	return p
}

// What an opening has done about a codon that a run has left open.
const (
	checkpointMade = "its checkpoint is made"
	countsAsFailed = "the codon counts as failed; its unfinished work is saved as its error checkpoint"
)

// stillRunning refuses an execution of which a run may be running.
func stillRunning(l layout.Layout, r *state.Run, why string) error {
	return &lock.HeldError{Path: l.Root, Why: fmt.Sprintf("run %s is running and its process %d is not proven gone: %s", r.RunID, r.ServerPid, why)}
}

// closeRun ends a run that planRuns has named.
func closeRun(ctx context.Context, x *execution.Execution, p *Repair) error {
	r := p.run
	if err := closeLeft(ctx, x, r, p); err != nil {
		how := "crashed"
		if r.Paused != nil {
			how = "paused"
		}
		return fmt.Errorf("closing the %s run %s: %w", how, r.RunID, execution.ForAnyCommand(err))
	}
	return nil
}

func closeLeft(ctx context.Context, x *execution.Execution, r *state.Run, p *Repair) error {
	live := r.Live()
	if live == nil {
		return x.Record(endOf(x, r, p.why))
	}
	ended, err := x.Opts.Reap(Attempt(x.State().Lineage, r.RunID, live))
	if err == nil {
		live, err = x.RecordUsed(r.RunID, sameBoot(x, r))
	}
	if err != nil {
		return err
	}
	at := x.Now()
	if len(ended) == 0 { // else it was alive until now
		at = load.LastSign(x.FS, x.Layout, x.Journal.Last(), at.Time, r, x.Lock.Left)
	}
	final := live.Interrupt(at, state.InterruptedByCrash, "hank ended while the codon was "+string(live.Status))
	if r.Paused != nil {
		final = live.Interrupt(at, state.InterruptedByPause, fmt.Sprintf("hank could not continue while the codon was %s: %s", live.Status, r.Paused.Detail))
	}
	tracked, redo := checkpoint.Selection{All: true}, true
	if live.Settling != nil && sameBoot(x, r) {
		if final, tracked, redo, err = x.Conclude(ctx, r, at); err != nil {
			return err
		}
	}
	if redo {
		p.Did = countsAsFailed
	}
	if len(ended) > 0 {
		final.Notes = append(final.Notes, "left alive and ended: "+strings.Join(ended, ", "))
	}
	if err := Finish(ctx, x, r.RunID, nameOf(x, live.CodonID), final, tracked); err != nil {
		return err
	}
	if err := x.Record(endOf(x, r, p.why)); err != nil || x.Metadata.WorkspaceDir != nil && x.Metadata.WorkspaceDir.Same(x.Lock.Workspace()) {
		return err
	}
	return x.SetMeta(func(m *layout.Meta) { m.RememberWorkspace(x.Lock.Workspace()) })
}

// endOf is how a run ends whose runtime cannot say so any more; why is that of isOver.
func endOf(x *execution.Execution, r *state.Run, why string) state.Transition {
	if p := r.Paused; p != nil {
		return state.RunFailed{RunID: r.RunID, EndTime: x.Now(), Reason: p.Reason, Detail: p.Detail}
	}
	return state.RunCrashed{RunID: r.RunID, EndTime: x.Now(), Detail: why}
}

// sameBoot reports whether the machine has been up since a run, so that all that was written is there.
func sameBoot(x *execution.Execution, r *state.Run) bool {
	return execution.IsOfBoot(r, x.Lock.Info.Process.BootID)
}

func nameOf(x *execution.Execution, id state.CodonID) string {
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
func Finish(ctx context.Context, x *execution.Execution, run state.RunID, name string, final *state.Codon, sel checkpoint.Selection) error {
	if err := x.Inspect(); err != nil {
		return err
	}
	final.Notes = append(final.Notes, x.Noticed()...)
	r := x.State().Run(run)
	snap, err := x.Snapshot(ctx, sel, x.Head())
	final.Notes = append(final.Notes, x.Noticed()...)
	var unstable *checkpoint.UnstableError
	if errors.As(err, &unstable) && final.Status != state.Completed {
		final.Notes = append(final.Notes, "it has no checkpoint: "+err.Error())
		return x.Record(state.CodonTransitioned{RunID: run, Record: final})
	}
	if err != nil {
		return err
	}
	final.Notes = append(final.Notes, execution.Shortcomings(snap)...)
	kind := map[state.CodonStatus]state.CheckpointKind{state.Completed: state.KindCompleted, state.Failed: state.KindError, state.Skipped: state.KindSkipped}[final.Status]
	_, err = x.Commit(ctx, execution.Commit{
		Title:    githistory.Title{Status: kind, CodonID: final.CodonID, RunID: run, Name: name},
		Snapshot: snap, Parents: []state.SHA{x.Head()}, Branch: r.GitBranch,
		Transition: state.CodonTransitioned{RunID: run, Record: final},
	})
	return err
}
