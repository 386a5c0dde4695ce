package runtime

import (
	"context"
	"fmt"
	"strings"

	"hank/checkpoint"
	"hank/internal/shell"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/state"
)

// start says how a run begins.
type start struct {
	conditions state.StartingConditions
	done       *outcome // there is nothing to run
}

// chooseStart decides where to go on and brings the tree there.
//
//   - A plan that is done stays done, except for a retry of one of its codons. If
//     a crash has come between its last codon and the end of its run, another run
//     does what is left: the archive, and the end.
//   - run redoes a codon that was cut off, on the tree from before it; a codon
//     that failed needs a person's retry.
//   - resume keeps the tree, and goes on in the agent's session.
//   - retry goes back to before the codon.
//
// Before any of this moves the tree, what a person has changed since the last
// checkpoint is found and asked about. So is it where the checkpoint to go back
// to is lost.
func (d *driver) chooseStart(ctx context.Context) (start, error) {
	s, mode := d.x.State(), d.request.Mode
	if s.Newest() == nil && s.Position == nil {
		if err := d.preflight(ctx, s); err != nil {
			return start{}, err
		}
		return start{conditions: state.StartingConditions{Type: state.StartFresh, InitialCheckpointSHA: s.InitialCheckpoint}}, nil
	}
	move, err := d.chooseMove(ctx, mode)
	if err == nil && move.done != nil && move.done.reason == "" {
		err = d.askAboutResults(ctx)
	}
	if err != nil || move.done != nil {
		return start{done: move.done}, err
	}
	there := *s
	if move.position != nil {
		there.Position = move.position
	}
	if err := d.checkCrashLoop(&there); err != nil {
		return start{}, err
	}
	if err := d.preflight(ctx, &there); err != nil { // before anything is moved
		return start{}, err
	}
	if mode == ModeResume && !d.answers.Restore {
		d.answers.KeepTree = true
	}
	lost, err := d.askAboutLoss(ctx, move)
	if err != nil {
		return start{}, err
	}
	if lost || mode == ModeRun && d.answers.KeepTree && move.to != "" { // asked for by name: the tree is not put back unasked
		lost = true
		d.keepLost(&move)
	}
	kept, err := d.askAboutEdits(ctx, move.to)
	if move.codon != nil && execution.IsClosed(err) {
		err = d.onClosed(ctx, mode, move, err)
	}
	if err != nil {
		return start{}, err
	}
	if move.to != "" && !kept || move.position != nil {
		asked := mode == ModeRetry && d.answers.KeepTree // also where nothing was edited, or a crash hides what was
		if err := d.accept(); err != nil {
			return start{}, err
		}
		err := d.goBack(ctx, move, kept || lost || asked)
		if move.codon != nil && execution.IsClosed(err) {
			err = d.onClosed(ctx, mode, move, err)
		}
		if err != nil {
			return start{}, err
		}
	}
	return start{conditions: d.continuation(mode)}, nil
}

// onClosed is for a codon that is to be done again on a workspace that takes no
// file, so that it cannot be put back: it is done on the workspace as it is where a
// person wants that, and asked about else.
func (d *driver) onClosed(ctx context.Context, mode Mode, m move, why error) error {
	if d.answers.KeepTree {
		d.keepLost(&m)
		return d.goBack(ctx, m, true)
	}
	command := "hank run"
	if mode == ModeRetry {
		if command = "hank retry " + shell.Quote(string(m.codon.CodonID)); d.request.FromRigSetup {
			command += " --from rig-setup"
		}
	}
	return recovery.NeedWritable(m.codon, m.to, command, why)
}

// move is where a start goes back to.
type move struct {
	done     *outcome
	to       state.SHA       // empty: the tree stays
	position *state.Position // nil: the position stays
	codon    *state.Codon    // if to is set: the record that is done again
}

// kind is retry where a person has asked for one, and restart where hank run does a
// codon again that has not ended.
func (m move) kind() string {
	if m.position != nil && m.position.Reason == state.ReasonContinue {
		return "restart"
	}
	return "retry"
}

// keepLost makes a move one that leaves the tree as it is, because the checkpoint
// to go back to is lost. What the codon's rig has done is in the tree.
func (d *driver) keepLost(m *move) {
	m.to, d.answers.KeepTree = "", true
	if m.codon.RigSetupCheckpoint != "" {
		d.RigDone = true
		m.position.RigDone = true
	}
}

func (d *driver) chooseMove(ctx context.Context, mode Mode) (move, error) {
	s := d.x.State()
	last := history.LastRecord(s)
	if mode == ModeRetry {
		return d.chooseRetry(last)
	}
	if s.Next() == len(s.ExecutionPlan()) {
		if d.unfinished() {
			return move{}, nil
		}
		return move{done: &outcome{}}, d.missedExit(ctx)
	}
	if at := s.MovedTo(); at != nil {
		d.RigDone = at.RigDone
		return move{}, nil
	}
	run := s.Standing()
	if last == nil || last.Settled() {
		return move{}, nil
	}
	if mode == ModeResume {
		d.resume(run, last)
		return move{}, nil
	}
	if last.Interrupted == "" && !(retryDue(s, last) && cutOff(run)) {
		out := failedBy(last)
		out.detail = "failed in an earlier run: " + out.detail
		return move{done: &out}, nil
	}
	before, again := d.standpoint(s), s.Here()
	again.CheckpointSHA, again.Reason, again.Before = last.BaseCheckpoint, state.ReasonContinue, &before
	if s.Position != nil && run != s.Newest() { // an undo led back to it: the newer ones are no part of this attempt's chain
		again.Reason = state.ReasonRetry
	}
	return move{to: last.BaseCheckpoint, position: &again, codon: last}, nil
}

// resume makes the run go on with an attempt. One that was itself to resume another
// and was killed before anything came of it stands for that: its record knows of no
// rig and no session yet.
func (d *driver) resume(run *state.Run, last *state.Codon) {
	s := d.x.State()
	before := func() (*state.Run, *state.Codon) {
		of := s.Resumed(run)
		if of == nil || of.Len() == 0 || run.Codon(0) != last || of.Codon(of.Len()-1).CodonID != last.CodonID {
			return nil, nil
		}
		return of, of.Codon(of.Len() - 1)
	}
	for last.FailedDuring == state.Preparing {
		of, earlier := before()
		if earlier == nil {
			break
		}
		run, last = of, earlier
	}
	defer func() {
		if last != nil && d.ResumeSession != "" && recovery.SessionAbsent(d.x.Layout, last) {
			d.say("note: the agent's session of codon %s is not here, nor is its transcript: the codon begins again, on the workspace as it is", last.CodonID)
			d.ResumeSession = ""
		}
	}()
	d.Resumed, d.ResumeSession = last, last.ClaudeSessionID
	d.RigDone = last.RigSetupCheckpoint != "" || last.FailedDuring != state.Preparing
	for d.ResumeSession == "" {
		if run, last = before(); last == nil {
			return
		}
		d.ResumeSession = last.ClaudeSessionID
	}
}

// unfinished tells of a plan that is done whether its last run still has to be
// brought to its end: it did not come to it, or a rollback has gone back to
// before its archive.
func (d *driver) unfinished() bool {
	s := d.x.State()
	if run := s.Standing(); run != nil {
		return run.Status != state.StatusCompleted
	}
	if _, last := s.Settled(); last != nil {
		d.settled = last.Codon
	}
	return d.archiveDue(len(s.ExecutionPlan()) - 1)
}

// missedExit makes the exit checkpoint of the newest run if a crash has come
// between its end and that checkpoint. What a person has changed since then is
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
	return d.exitCheckpoint(ctx, outcome{})
}

// retryDue tells whether a codon that failed is to be tried again by its
// policy.
func retryDue(s *state.State, last *state.Codon) bool {
	i := s.PlanIndex(last.CodonID)
	if i < 0 || last.Status != state.Failed || last.FailureIgnored || last.Interrupted != "" || !last.FailureReason.Retriable {
		return false
	}
	most, _, _ := s.ExecutionPlan()[i].Codon.Retries()
	return last.Attempt <= most
}

// cutOff tells whether a run ended by a crash, on request or by trouble of
// hank's own, and not because of what its codons did.
func cutOff(r *state.Run) bool {
	switch r.EndReason {
	case state.EndSignal, state.EndStopped, state.EndDecision, state.EndError:
		return true
	}
	return r.Status == state.StatusCrashed
}

// chooseRetry finds the record to go back to the beginning of.
func (d *driver) chooseRetry(last *state.Codon) (move, error) {
	s := d.x.State()
	target := state.Step{}
	switch {
	case d.request.Codon != "":
		found, err := history.FindOnThread(s, d.request.Codon)
		if err != nil {
			return move{}, err
		}
		target = found
	case last != nil && !last.Settled():
		target = state.Step{Run: history.LastRun(s), Codon: last}
	default:
		return move{}, &exitcode.UsageError{Why: "no codon has failed; name the one to do again: hank retry CODON"}
	}
	record := target.Codon
	m := move{to: record.BaseCheckpoint, codon: record}
	if d.request.FromRigSetup {
		if record.RigSetupCheckpoint == "" {
			return move{}, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has no rig checkpoint to go back to", record.CodonID)}
		}
		m.to, d.RigDone = record.RigSetupCheckpoint, true
	}
	if m.to == "" {
		return move{}, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has no checkpoint from before it; see: hank checkpoints", record.CodonID)}
	}
	p := history.PositionBefore(s, target)
	p.CheckpointSHA, p.Reason, p.RigDone = m.to, state.ReasonRetry, d.RigDone
	before := d.standpoint(s)
	p.Before = &before
	m.position = &p
	return m, nil
}

// standpoint is where the execution stood before this command: with the program
// of then, which its move can bring back.
func (d *driver) standpoint(s *state.State) state.Position {
	here := s.Standpoint()
	if d.replaced.Program != "" {
		here.Program, here.HankHash = d.replaced.Program, d.replaced.HankHash
	}
	return here
}

// goBack moves the tree, and the position with it; or the position alone, if the
// tree is to stay.
func (d *driver) goBack(ctx context.Context, m move, stay bool) error {
	to := m.to
	if stay {
		to = d.x.Head()
	}
	if m.position != nil {
		m.position.CheckpointSHA = to
	}
	tracked := execution.Tracked(d.x.State(), d.nextID())
	if m.position != nil {
		tracked = d.trackedBefore(*m.position)
	}
	moved, err := d.x.MoveTree(ctx, execution.Move{Kind: m.kind(), To: to, Tracked: tracked, Position: m.position, Stay: stay, Leave: d.unasked})
	if err != nil {
		return err
	}
	if r := moved.Report.Plan; len(r.Add)+len(r.Change)+len(r.Delete) > 0 {
		d.say("the tree is back at checkpoint %.12s (what was there is in %.12s)", to, moved.Safety)
	}
	d.sayRefused(moved)
	d.moved, d.replaced = true, state.Position{} // what was adopted belongs to the move
	return d.replan()
}

// trackedBefore is what codon checkpoints take up to where the execution stands, and
// what a person is asked about there, before it goes back to a position. What only a
// codon to come would track is not deleted.
func (d *driver) trackedBefore(to state.Position) checkpoint.Selection {
	s := d.x.State()
	sel := history.TrackedAround(s, d.x.Store, to)
	if sha := d.comparison().LeftAt(true); sha != s.InitialCheckpoint {
		asked := execution.Taken(s, d.x.Store, sha)
		sel.All, sel.Patterns = sel.All || asked.All, append(sel.Patterns, asked.Patterns...)
	}
	return sel
}

// sayRefused names what a move could not change.
func (d *driver) sayRefused(moved *execution.Moved) {
	refused := moved.Report.Refused
	for i, r := range refused {
		if i == mostRefused {
			d.say("and %d more could not be changed", len(refused)-i)
			return
		}
		d.say("not as in the checkpoint: %q %s", r.Path, r.Why)
	}
}

// mostRefused is how many paths a run names that a move could not change.
const mostRefused = 20

func (d *driver) nextID() state.CodonID { return history.NextID(d.x.State()) }

// continuation is how the run that is about to start says where it begins.
func (d *driver) continuation(mode Mode) state.StartingConditions {
	s := d.x.State()
	here := s.Here()
	if at := s.LastMove(); at != nil {
		// So that the rollback can still be taken back, and no rig is done twice,
		// also if this run is cut off before its first codon.
		here.Before, here.RigDone, here.Kept = at.Before, at.RigDone, at.Kept
	}
	if d.Resumed != nil { // the tree has a part of its work, which is in no base
		here.CheckpointSHA, here.EndOf = d.x.Head(), history.LastRun(s).RunID
	}
	reason := here.Reason
	if reason == "" {
		if reason = state.ReasonContinue; mode == ModeRetry {
			reason = state.ReasonRetry
		}
	}
	return state.StartingConditions{Type: state.StartContinuation, Source: &here, Reason: reason}
}

// maxCrashes is how often in a row a codon may take the runtime down without
// a person looking at it.
const maxCrashes = 3

func (d *driver) checkCrashLoop(s *state.State) error {
	if ask := CrashLoop(s); d.request.Unattended && ask != nil {
		return ask
	}
	return nil
}

// CrashLoop is why an unattended start is refused; nil if it is not. A person's
// begins the count anew.
func CrashLoop(s *state.State) *finding.DecisionError {
	next := history.NextID(s)
	if n := s.Crashes(next); n >= maxCrashes {
		return &finding.DecisionError{What: fmt.Sprintf("codon %s has crashed hank %d times in a row", next, n),
			Options: []string{"look at it: hank doctor, hank log " + string(next), "go on by hand: hank run"}}
	}
	return nil
}
