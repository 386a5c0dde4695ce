package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/internal/failpoint"
	"hank/internal/proc"
	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/history"
	"hank/runtime/notices"
	"hank/runtime/question"
	"hank/runtime/result"
	"hank/runtime/startpoint"
	"hank/runtime/verdict"
	"hank/state"
)

// startRun opens a run.
func (d *driver) startRun(st startpoint.Start) error {
	self, err := proc.Self()
	if err != nil {
		return err
	}
	identity, err := json.Marshal(self)
	if err != nil {
		return err
	}
	now := d.x.Now()
	id := layout.NewRunID(now.Time)
	dir := d.x.Layout.RunDir(id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating the directory of the run: %w", err)
	}
	failpoint.Hit("run.foldered")
	d.run = id
	if err := d.x.Watch(); err != nil {
		return err
	}
	return d.x.Record(state.RunStarted{Run: &state.Run{
		RunID: id, RunFolder: dir, GitBranch: "run-" + string(id), StartingConditions: startpoint.Conditions(d.x.State(), st, d.request.Mode, d.x.Head()),
		Status: state.StatusRunning, StartTime: now, ServerPid: self.PID, Process: identity,
		StartedBy: startedBy(self.Host, d.request.Unattended), Note: d.request.Note, Labels: d.request.Labels, Operation: d.request.Operation,
	}})
}

// startedBy says who began the run. Arguments may hold secrets, so only the
// program and the command are kept.
func startedBy(host string, unattended bool) *state.StartedBy {
	name := os.Getenv("USER")
	if name == "" { // in a container, or of cron
		name = strconv.Itoa(os.Getuid())
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	argv := os.Args[:min(2, len(os.Args))]
	return &state.StartedBy{User: name, Host: host, Argv: append([]string{filepath.Base(argv[0])}, argv[1:]...), Unattended: unattended}
}

// endRun closes the run, and makes its exit checkpoint. The plan's end is a
// fact; the checkpoint of it is a copy.
//
// What agents wrote they have not synced, and a run that has ended is not looked
// at again: without a sync before that is said, a power cut would leave files of
// zeros in the place of results. why is the error that ends the run, if one does.
func (d *driver) endRun(ctx context.Context, out verdict.Outcome, why error) error {
	d.notify(d.files.Take(true)...)
	d.summarize()
	d.ui.Monitor.Wait("syncing the workspace to the disk")
	if err := vfs.SyncVolume(d.x.Layout.Workspace); err != nil && out.Reason == "" {
		return fmt.Errorf("syncing the workspace to the disk: %w", err)
	} else if err != nil {
		d.say("the workspace could not be synced to the disk, so a power cut may undo what agents have written: %v", err)
	}
	now := d.x.Now()
	var end state.Transition = state.RunCompleted{RunID: d.run, EndTime: now}
	if out.Reason != "" {
		end = state.RunFailed{RunID: d.run, EndTime: now, Reason: out.Reason, Detail: out.Detail, Waits: out.Code == exitcode.Budget}
	}
	answered, err := d.answered(end, out, why)
	if err != nil {
		return err
	}
	if err := d.x.Record(append([]state.Transition{end}, answered...)...); err != nil {
		return err
	}
	failpoint.Hit("run.ended")
	return d.exitCheckpoint(ctx, out)
}

// exitCheckpoint makes the checkpoint of a run's end. It is a copy, mostly of what the end
// of the last codon has found: what the user changes after that is theirs. A workspace that
// cannot be captured now is only said.
func (d *driver) exitCheckpoint(ctx context.Context, out verdict.Outcome) error {
	d.ui.Monitor.Wait("making the checkpoint of the run's end")
	sel := d.selection(min(d.x.State().Next(), len(d.x.State().ExecutionPlan())-1))
	snap, err := d.x.SnapshotSince(ctx, d.still, sel, d.x.Head())
	if err != nil {
		d.say("the run has no exit checkpoint: %v", err)
		return nil
	}
	_, err = d.x.Commit(ctx, execution.Commit{
		Title:    githistory.Title{Status: state.KindExit, CodonID: out.Codon, RunID: d.run, Name: string(out.Reason)},
		Snapshot: snap, Parents: d.parents(), Branch: d.branch(),
		Transition: state.CheckpointCreated{Kind: state.KindExit, RunID: d.run, CodonID: out.Codon, Branch: d.branch()},
	})
	return err
}

// abort ends a run that hank itself cannot continue with, and says why. Where a
// codon is running the run stays open, paused, until the next opening has made
// the codon's checkpoint. If not even that can be written, the next opening will
// call it a crash. A write that has failed is not tried again.
func (d *driver) abort(ctx context.Context, err error) (verdict.Outcome, error) {
	out := verdict.Outcome{Reason: leftFor(err), Code: verdict.CodeOf(err), Detail: verdict.Sentence(err)}
	live := d.x.State().Run(d.run).Live()
	d.notify(notices.OfError(err, out.Reason))
	if live == nil {
		if endErr := d.endRun(context.WithoutCancel(ctx), out, err); endErr != nil && !errors.Is(err, endErr) {
			err = errors.Join(err, endErr)
		}
		return out, err
	}
	out.Codon = live.CodonID
	var paused state.Transition = state.RunPaused{RunID: d.run, Time: d.x.Now(), Reason: out.Reason, Detail: out.Detail, Changing: changing(err)}
	answered, pauseErr := d.answered(paused, out, err)
	if pauseErr == nil {
		pauseErr = d.x.Record(append([]state.Transition{paused}, answered...)...)
	}
	switch {
	case pauseErr != nil && !errors.Is(err, pauseErr):
		err = errors.Join(err, pauseErr)
	case pauseErr == nil && live.Settling != nil && live.Settling.Status == state.Failed:
		err = fmt.Errorf("the run is paused: codon %s has failed, and what it has done has no checkpoint yet: %w", live.CodonID, err)
	case pauseErr == nil && live.Settling != nil:
		err = fmt.Errorf("the run is paused: codon %s has completed its work, which is kept and not repeated, but has no checkpoint yet: %w", live.CodonID, err)
	case pauseErr == nil:
		err = fmt.Errorf("the run is paused, and `hank run` runs codon %s again: %w", live.CodonID, err)
	}
	return out, err
}

// changing is the file that kept changing while it was to be recorded, if that
// is what an error says. One that cannot be read is none.
func changing(err error) string {
	var unstable *checkpoint.UnstableError
	if !errors.As(err, &unstable) || errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return strings.ToValidUTF8(unstable.Path, "\uFFFD")
}

// leftFor is the reason for which an error of hank itself ends a run.
func leftFor(err error) state.EndReason {
	switch verdict.CodeOf(err) {
	case exitcode.Decision:
		return state.EndDecision
	case exitcode.Interrupted:
		return state.EndSignal
	}
	return state.EndError
}

// result describes where the execution is now.
func (d *driver) result(out verdict.Outcome, err error) *Result {
	return d.resultAt(d.x.State(), out, err)
}

// resultAt is result for a state that the execution is about to have.
func (d *driver) resultAt(s *state.State, out verdict.Outcome, err error) *Result {
	res := &Result{Schema: result.Schema, Code: out.Code, RunID: d.run, EndReason: out.Reason, Codon: out.Codon,
		Done: s.Next(), Planned: len(s.ExecutionPlan()), Bill: s.Bill(), Limits: s.Limits,
		Execution: d.x.Layout.Root, Workspace: d.x.Layout.Workspace, Output: d.x.Meta().Output, Sandbox: d.confinement, Caveats: s.Caveats(), Changed: history.Changed(s, d.x.Store)}
	if run := s.Run(d.run); run != nil {
		if res.Status = run.Status; run.Paused != nil {
			res.Status = state.StatusFailed // which is what it will be closed as
		}
		res.Verdict = verdict.On(run, false, false)
	}
	if res.Verdict == "" && err == nil { // there was nothing to run
		res.Verdict = verdict.On(verdict.EndedAs(out.Reason), false, false)
	}
	switch {
	case err != nil:
		res.Code, res.Message = verdict.CodeOf(err), verdict.Sentence(err)
	case out.Reason == "":
		if res.Message = "the hank is completed"; !res.Caveats.Empty() {
			res.Message += ", with " + verdict.CaveatText(res.Caveats)
		}
	default:
		res.Message = out.Detail
		if out.Codon != "" {
			res.Message = verdict.About(out)
		}
	}
	d.timed(s, res)
	if d.program != nil {
		next := s.Next()
		if history.AwaitsVerdict(s, d.program) { // the loop may continue
			next--
		}
		d.lookAhead(next)
		res.Extent = d.extent
	} else {
		res.Extent = d.frozenExtent(s)
	}
	res.Expected = res.Extent.String()
	var used string // of a budget that has not ended the run
	res.Next, used = question.Next(s, d.program, out, d.replay != nil || d.noop)
	switch res.Hold = s.Hold; out.Reason {
	case state.EndGate, state.EndStopped, state.EndSignal:
		if g := gate.At(s); g != nil && g.Waiting() {
			res.Gate, res.Next = gate.ViewOf(g.Request, d.x.Layout.Workspace), ""
		}
	}
	res.Finish, res.FinishFirst = verdict.Finish(s, "", func() *plan.Program { return d.program })
	if d.answers.Frozen { // or the commands would ask what this one was told
		res.Next, res.Finish = keepsFrozen(res.Next), keepsFrozen(res.Finish)
	}
	if first := verdict.RaiseFirst(res.Next, cmp.Or(used, res.Message)); first != "" && (used != "" || verdict.NeedsBudget(out.Reason)) {
		if res.NextFirst, res.Message = first, res.Message+"; "+first+" first"; used != "" {
			res.NextFirst, res.Message = first+" ("+used+")", res.Message+" ("+used+")"
		}
	}
	return res
}

// frozenExtent is what the plan of a state comes to by the frozen program, for a command that
// has ended before it took up a program. A reader of the execution says the same.
func (d *driver) frozenExtent(s *state.State) plan.Extent {
	entries, done := s.ExecutionPlan(), s.Next()
	if p, err := githistory.LoadProgram(d.x.Store, s.Program); err == nil && history.AwaitsVerdict(s, p) { // the loop may continue
		done--
	}
	var next *plan.Entry
	if done < len(entries) {
		next = &entries[done].Entry
	}
	return githistory.ProgramOutline(d.x.Store, s.Program).Extent(len(entries), done, next)
}

// keepsFrozen is a command that runs codons, with the option to follow the frozen program.
func keepsFrozen(command string) string {
	if command == "" || command == "hank release" || strings.Contains(command, verdict.AdoptOption) {
		return command
	}
	return command + " --frozen"
}

// timed adds how long this run, and all runs, took.
func (d *driver) timed(s *state.State, res *Result) {
	res.Runs = len(s.Runs)
	for _, r := range s.Runs {
		for _, c := range r.Codons() {
			if c.EndTime != nil {
				res.All += max(0, c.EndTime.Sub(c.StartTime.Time))
			}
		}
	}
	if s.Run(d.run) != nil {
		res.Took = time.Since(d.began)
	}
}
