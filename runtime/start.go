package runtime

import (
	"context"
	"strings"
	"time"

	"hank/checkpoint"
	"hank/internal/failpoint"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/history"
	"hank/runtime/startpoint"
	"hank/runtime/verdict"
	"hank/state"
)

// start decides how the command starts, and brings the workspace and the position
// there. Before it moves anything, what the user has changed since the last checkpoint
// is found and asked about, and so is a checkpoint to go back to that is lost.
func (d *driver) start(ctx context.Context) (startpoint.Start, error) {
	s := d.x.State()
	d.still = time.Now()
	at := startpoint.Situation{State: s, From: d.from, Replaced: d.replaced, ArchiveDue: d.archiveMissing(), VerdictDue: history.AwaitsVerdict(s, d.program)}
	st, err := d.decided(at)
	if err != nil {
		return st, err
	}
	there := *s
	if st.Position != nil {
		there.Position = st.Position
		grown, err := githistory.WithPlan(&there, d.program) // a loop has other iterations there
		if err != nil {
			return st, err
		}
		there = *grown
		st.RigDone = st.RigDone || st.Position.RigDone && startpoint.RigDone(&there)
	}
	d.checkData(ctx, &there)
	if g := gate.At(s); st.End == nil && st.Target == "" && st.Resumed == nil && g != nil && !at.VerdictDue && g.Waiting() && !g.Expired(d.x.Now().Time) && !d.request.Wait {
		st.End = d.waiting(g)
	}
	if st.End != nil {
		return st, d.startAtEnd(ctx, st)
	}
	if st.Session != nil && recovery.SessionAbsent(d.x.Layout, d.x.HasCheckpoint, st.Session) {
		d.say("note: the agent's session of codon %s is not here, nor is its transcript: the codon starts over, on the workspace as it is", st.Session.CodonID)
		st.Session = nil
	}
	if st.Session != nil && st.Session.Replayed() && d.replay == nil && !d.noop {
		d.say("note: the agent's session of codon %s was only replayed: the codon starts over, on the workspace as it is", st.Session.CodonID)
		st.Session = nil
	}
	if d.replay == nil && !d.noop && st.Session == nil {
		if ask := startpoint.Played(&there, d.x.Meta().Replay != ""); ask != nil {
			return st, ask
		}
	}
	if at.VerdictDue && st.Position == nil { // the verdict decides which codon is next
	} else if over, err := d.bounds.Start(&there); err != nil || over != "" {
		st.End = &verdict.Outcome{Reason: state.EndUntil, Code: exitcode.Stopped, Detail: over}
		return st, err
	}
	if ask := verdict.CrashLoop(&there); d.request.Unattended && ask != nil {
		return st, ask
	}
	d.ui.Monitor.Wait("looking whether the agents are here")
	if err := d.preflight(ctx, &there, st); err != nil { // before anything is moved
		return st, err
	}
	if s.Newest() != nil || s.Position != nil {
		if st, err = d.reach(ctx, at, st); err != nil {
			return st, err
		}
	}
	d.rigDone, d.resumed, d.redo, d.session = st.RigDone, st.Resumed, st.Redo, st.Session
	if d.redo == nil {
		d.redo = st.Resumed
	}
	return st, nil
}

// decided is decide, with the questions that it leaves open put to the user.
func (d *driver) decided(at startpoint.Situation) (startpoint.Start, error) {
	for {
		st, err := startpoint.Decide(at, d.request, d.answers)
		if err != nil || st.Question == nil {
			return st, err
		}
		if d.answers, err = d.ui.Answer(st.Question, d.answers); err != nil {
			return st, err
		}
		d.still = time.Time{}
	}
}

// reach brings the workspace and the position to where the start begins. A workspace
// that cannot be written to is a question of its own.
func (d *driver) reach(ctx context.Context, at startpoint.Situation, st startpoint.Start) (startpoint.Start, error) {
	if st.Branch { // as in a rollback, what is there is in the safety checkpoint, and nobody is asked about it
		if err := d.accept(); err != nil {
			return st, err
		}
		d.ui.Monitor.Wait("restoring the workspace")
		return st, d.goBack(ctx, st, false)
	}
	if st.Target != "" {
		left, err := recovery.IsLeft(ctx, d.x, st.Target)
		if err != nil {
			return st, err
		}
		if at.Lost = !left; at.Lost {
			if st, err = d.decided(at); err != nil {
				return st, err
			}
		}
	}
	d.ui.Monitor.Wait("comparing the workspace with its checkpoint")
	kept, err := d.askAboutEdits(ctx, st)
	if st.Redo != nil && execution.IsClosed(err) {
		at.Closed = err
		st, err = d.decided(at)
	}
	if err != nil || st.Position == nil {
		return st, err
	}
	if err := d.accept(); err != nil {
		return st, err
	}
	d.ui.Monitor.Wait("restoring the workspace")
	err = d.goBack(ctx, st, kept || st.Stay)
	if execution.IsClosed(err) {
		at.Closed = err
		if st, err = d.decided(at); err == nil {
			err = d.goBack(ctx, st, true)
		}
	}
	return st, err
}

// startAtEnd is a start where nothing is to run. Of a completed plan, a workspace that
// is gone, or has something else than codons or the user have left, is not the result:
// it is asked about, too.
func (d *driver) startAtEnd(ctx context.Context, st startpoint.Start) error {
	if st.End.Reason != "" {
		return nil
	}
	if err := d.missedExit(ctx); err != nil {
		return err
	}
	kept, err := d.askAboutEdits(ctx, st)
	if err != nil || !kept || d.x.State().Position == nil {
		return err
	}
	sha := d.x.State().Base
	_, err = d.x.MoveTree(ctx, execution.Move{Kind: "restore", To: sha, Tracked: execution.Tracked(d.x.State(), d.nextID()), Position: d.standAt(sha), Stay: true})
	return err
}

// goBack moves the workspace, and the position with it; or the position alone, if the
// workspace is to stay.
func (d *driver) goBack(ctx context.Context, st startpoint.Start, stay bool) error {
	position := *st.Position
	position.CheckpointSHA = st.To
	if stay {
		position.CheckpointSHA = d.x.Head()
	}
	moved, err := d.x.MoveTree(ctx, execution.Move{Kind: st.Kind(d.request.Mode), To: position.CheckpointSHA, Tracked: d.comparison().TrackedBefore(position), Position: &position, Stay: stay, Leave: d.unasked, Since: d.still, Operation: d.moveOperation(st)})
	if !stay {
		d.still = time.Time{}
	}
	if err != nil {
		return err
	}
	if r := moved.Report.Plan; len(r.Add)+len(r.Change)+len(r.Delete) > 0 {
		d.say("the workspace is restored to checkpoint %.12s (previous contents saved as checkpoint %.12s)", position.CheckpointSHA, moved.Safety)
	}
	failpoint.Hit("operation.moved")
	d.sayRefused(moved)
	d.moved, d.replaced = !moved.Exact, state.Position{} // what was adopted belongs to the move
	return d.replan()
}

// missedExit makes the exit checkpoint of the newest run if a crash has come
// between its end and that checkpoint. What the user has changed since then is
// not part of the run's end, so that it then stays without.
func (d *driver) missedExit(ctx context.Context) error {
	run := d.x.State().Newest()
	if d.x.State().Position != nil {
		return nil
	}
	head, err := d.x.Store.CommitInfo(checkpoint.SHA(d.x.Head()))
	kind, _, _ := strings.Cut(head.Message, ":")
	if err != nil || state.CheckpointKind(kind) == state.KindExit || state.CheckpointKind(kind) == state.KindManual {
		return nil // one that cannot be read is for hank doctor
	}
	snap, err := d.snapshot(ctx, d.x.Head())
	if err != nil {
		return nil
	}
	changes, err := d.comparison().Since(d.x.Head(), snap)
	d.x.Store.Abort()
	if err != nil || len(changes) > 0 {
		return nil
	}
	d.run = run.RunID
	return d.exitCheckpoint(ctx, verdict.Outcome{})
}
