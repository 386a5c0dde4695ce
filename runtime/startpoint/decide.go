package startpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/internal/shell"
	"hank/plan/model"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/runtime/edits"
	"hank/runtime/exitcode"
	"hank/runtime/fallback"
	"hank/runtime/gate"
	"hank/runtime/history"
	"hank/runtime/request"
	"hank/runtime/retry"
	"hank/runtime/usagelimit"
	"hank/runtime/verdict"
	"hank/state"
)

// Situation is what has been read before it is decided how a command starts.
type Situation struct {
	State      *state.State
	Replaced   state.Position  // its Program and HankHash are those that this command has replaced; zero: it has replaced none
	ArchiveDue bool            // of a completed plan: its last codon has files to archive
	VerdictDue bool            // of a completed plan: whether its last loop continues is not decided
	Lost       bool            // the target of the start cannot be restored
	From       *history.Target // where a branch is to begin; nil: none is
	Closed     error           // the workspace cannot be written to; nil: nothing has shown that
}

// Start is how a command starts. The zero value continues with the plan on the
// workspace as it is.
type Start struct {
	End *verdict.Outcome // nothing is to run; without a reason where the plan is completed

	Redo     *state.Codon    // the record whose codon is run again; nil: none
	Target   state.SHA       // the checkpoint that it is to start from; empty: none
	To       state.SHA       // where the workspace goes: target, or empty if it stays without a comparison
	Stay     bool            // the workspace stays as it is
	Position *state.Position // where the execution goes; nil: it stays
	Branch   bool            // a branch begins there: nothing of the present workspace is kept, but in a checkpoint
	RigDone  bool            // the workspace is the one after the rig of the next codon

	Resumed *state.Codon // the attempt that is continued; nil: none
	Session *state.Codon // the record whose agent's session is continued; nil: none

	Question *request.Question // the decision that is missing
}

// Decide computes how a command starts. It reads nothing but its arguments, and
// changes nothing. It is asked again when more was read, or a question was answered.
//
//   - A plan that is completed stays so, except for a retry of one of its codons. If
//     a crash has come between its last codon and the end of its run, another run
//     does what is left: the archive, and the end. A codon that has failed or was cut off
//     since, and that the program has no more, is decided on as one that is next.
//   - run runs an interrupted codon again, on the workspace from before it; a codon
//     that failed needs a retry by the user. One that its provider's limit or a limit of
//     its budget (onExceeded pause) has interrupted is continued, as by resume.
//   - A codon whose retries are used up, and for which its run was paused (onExhausted), run
//     tries again as a retry by the user does.
//   - resume keeps the workspace, and continues the agent's session.
//   - retry goes back to before the codon.
//   - run --from begins a branch at any checkpoint, as a rollback and a run do.
//   - Where the workspace cannot go back, or the user keeps it by --keep-tree, the codon
//     runs on the workspace as it is.
func Decide(at Situation, r request.Request, a request.Answers) (Start, error) {
	if at.State.Newest() == nil && at.State.Position == nil {
		if r.Mode != request.ModeRun {
			return Start{}, &exitcode.UsageError{Why: "nothing has run yet; start with: `hank run`"}
		}
		return Start{}, nil
	}
	if at.From != nil {
		return at.branch(), nil
	}
	st, err := choose(at, r)
	if err != nil || st.Target == "" {
		return st, err
	}
	st.Stay = a.KeepTree
	switch {
	case a.KeepTree && (r.Mode == request.ModeRun || at.Lost || at.Closed != nil):
		return st.inPlace(at.State), nil
	case at.Lost:
		st.Question = &request.Question{Open: LostStart(st.Target, st.Redo)}
		if !a.Restore {
			st.Question.Choices = []request.Choice{
				{Text: "run the codon on the workspace as it is, which may include partial work", With: func(a request.Answers) request.Answers { a.KeepTree = true; return a }},
				{Text: "leave it", With: nil},
			}
		}
	case at.Closed != nil:
		st.Question = &request.Question{Open: recovery.NeedWritable(st.Redo, st.Target, again(r, st.Redo), at.Closed)}
	}
	return st, nil
}

// choose finds the codon that is next, and the checkpoint that it starts from.
func choose(at Situation, r request.Request) (Start, error) {
	s := at.State
	last, run := history.LastRecord(s), s.RunAtPosition()
	if r.Mode == request.ModeRetry {
		return chooseRetry(at, r, last)
	}
	moved := s.MovedTo()
	if s.Next() == len(s.ExecutionPlan()) && (moved != nil || last == nil || last.Settled()) {
		if run != nil && run.Status != state.StatusCompleted || run == nil && (at.ArchiveDue || gate.At(s) != nil) || at.VerdictDue {
			return Start{}, nil
		}
		return Start{End: &verdict.Outcome{}}, nil
	}
	if moved != nil {
		return Start{RigDone: rigDone(s, *moved)}, nil
	}
	if last == nil || last.Settled() {
		return Start{}, nil
	}
	continued := waited(s, run, last)
	if isNext(s, last.CodonID) && (r.Mode == request.ModeResume || continued != nil) {
		if st := chooseResume(s, cmp.Or(continued, last)); !st.asksAgain(s) {
			return st, nil
		}
	}
	// A record that has no end yet is one that the next opening closes as interrupted.
	then := retry.Of(s, run, last)
	exhausted := retry.Exhausted(s, run, last)
	if r.Mode != request.ModeResume && last.Status.Terminal() && last.Interrupted == "" && !(then.Again && retry.Interrupted(run)) && (!exhausted || r.Unattended) {
		out := verdict.FailedBy(last)
		if exhausted {
			out = verdict.ExhaustedBy(last)
		}
		out.Detail = "failed in an earlier run: " + out.Detail
		return Start{End: &out}, nil
	}
	before, to := at.Standpoint(), s.CurrentPosition()
	to.CheckpointSHA, to.Reason, to.Before = last.BaseCheckpoint, state.ReasonContinue, &before
	if exhausted { // its retries begin again, as after hank retry
		to.Reason = state.ReasonRetry
	}
	st := Start{Redo: last, Target: last.BaseCheckpoint, To: last.BaseCheckpoint, Position: &to}
	st.afterRig(s)
	return st, nil
}

// RigInBase reports whether the checkpoint that an attempt at a codon has begun from, or is to begin
// from, has the work of the codon's rig: the user has kept the workspace when the gate after it was not passed.
func RigInBase(s *state.State, c *state.Codon) bool {
	found, atGate := false, false // the record before c in the path that was looked at
	for step := range s.Backward() {
		k := step.Codon
		switch found = found || k == c; {
		case !found:
			continue
		case k.CodonID != c.CodonID:
			return false
		case k.BaseCheckpoint != c.BaseCheckpoint: // what was judged began elsewhere
			return atGate && k.Settled() && k.RigSetupCheckpoint != ""
		case k.RigSetupCheckpoint != "":
			return k.RigSetupCheckpoint == k.BaseCheckpoint // and no rig has run
		}
		atGate = k.FailedAtGate()
	}
	return false
}

// afterRig has a start not run the rig again whose work is in the checkpoint that it goes to.
func (st *Start) afterRig(s *state.State) {
	if RigInBase(s, st.Redo) {
		st.Position.RestartAt, st.Position.RigDone = st.Redo.CodonID, true
		st.RigDone = rigDone(s, *st.Position)
	}
}

// branch goes to the checkpoint where a branch begins.
func (at Situation) branch() Start {
	before, to := at.Standpoint(), at.From.Position
	to.CheckpointSHA, to.Reason, to.Branch, to.Before = at.From.SHA, state.ReasonRollback, true, &before
	return Start{Target: at.From.SHA, To: at.From.SHA, Position: &to, RigDone: rigDone(at.State, to), Branch: true}
}

// isNext reports whether a codon is next. One that was cut off is not where a program that
// was adopted since has another one before it.
func isNext(s *state.State, id state.CodonID) bool {
	i, entries := s.Next(), s.ExecutionPlan()
	return i < len(entries) && entries[i].CodonID == id
}

// RigDone reports whether a state, whose plan is laid out as far as its position is, has the
// workspace after the rig of its next codon.
func RigDone(s *state.State) bool { return s.Position != nil && rigDone(s, *s.Position) }

// rigDone reports whether a position has the workspace after the rig of the codon that is
// next there.
func rigDone(s *state.State, at state.Position) bool {
	there := *s
	there.Position = &at
	return at.RigDone && isNext(&there, at.RestartAt)
}

// waited is the attempt that the next run continues, because its provider had not answered,
// or because it was paused at a limit; nil: none. One that was to continue it and was killed
// before anything came of it changes nothing.
func waited(s *state.State, run *state.Run, last *state.Codon) *state.Codon {
	i := s.PlanIndex(last.CodonID)
	if run == nil || i < 0 {
		return nil
	}
	series := retry.Series(s, run, last.CodonID)
	for killedAtOnce(last) {
		earlier := before(s, last)
		if earlier == nil {
			return nil
		}
		last = earlier
	}
	if last.Interrupted == state.InterruptedByBudget && last.ClaudeSessionID != "" && s.ExecutionPlan()[i].Codon.Model.Kind().HasSessions {
		return last
	}
	return limited(s, series[:slices.Index(series, last)+1])
}

// limited is the attempt of a series that the next one continues, because a limit has interrupted
// it, or because its codon falls back to another model; nil: none.
func limited(s *state.State, series []*state.Codon) *state.Codon {
	if len(series) == 0 {
		return nil
	}
	i := s.PlanIndex(series[0].CodonID)
	if i < 0 {
		return nil
	}
	c := s.ExecutionPlan()[i].Codon
	return usagelimit.Continued(fallback.Choose(c, series, func(model.Ref) bool { return true }), series)
}

// killedAtOnce reports whether nothing came of an attempt before hank was killed.
func killedAtOnce(c *state.Codon) bool {
	return c.FailedDuring == state.Preparing && c.Interrupted == state.InterruptedByCrash
}

// before is the attempt that another one was begun to continue; nil: none.
func before(s *state.State, c *state.Codon) *state.Codon {
	run := runOf(s, c)
	if run == nil {
		return nil
	}
	if run.Codon(0) == c {
		if of := s.Resumed(run); of != nil && of.Len() > 0 && of.Codon(of.Len()-1).CodonID == c.CodonID {
			return of.Codon(of.Len() - 1)
		}
		return nil
	}
	series := retry.Series(s, run, c.CodonID)
	return limited(s, series[:max(0, slices.Index(series, c))])
}

// runOf is the run that has a record.
func runOf(s *state.State, c *state.Codon) *state.Run {
	for _, r := range s.Runs {
		for i := r.Len() - 1; i >= 0; i-- {
			if r.Codon(i) == c {
				return r
			}
		}
	}
	return nil
}

// chooseRetry goes back to the beginning of a codon.
func chooseRetry(at Situation, r request.Request, last *state.Codon) (Start, error) {
	s, from := at.State, state.LineageEntry{}
	switch {
	case r.Codon != "":
		found, err := history.FindOnLineagePath(s, r.Codon)
		if err != nil {
			return Start{}, err
		}
		from = found
	case last != nil && !last.Settled():
		from = state.LineageEntry{Run: history.LastRun(s), Codon: last}
	default:
		return Start{}, &exitcode.UsageError{Why: "no failed codon; specify one: `hank retry CODON`"}
	}
	st := Start{Redo: from.Codon, Target: from.Codon.BaseCheckpoint}
	if r.FromRigSetup {
		if st.Target = from.Codon.RigSetupCheckpoint; st.Target == "" {
			return Start{}, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has no rig checkpoint to go back to", from.Codon.CodonID)}
		}
	}
	if st.Target == "" {
		return Start{}, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has no checkpoint of the state before it; see: `hank checkpoints`", from.Codon.CodonID)}
	}
	to, before := history.PositionBefore(s, from), at.Standpoint()
	to.CheckpointSHA, to.Reason, to.RigDone, to.Before = st.Target, state.ReasonRetry, r.FromRigSetup, &before
	if st.To, st.Position, st.RigDone = st.Target, &to, rigDone(s, to); !r.FromRigSetup {
		st.afterRig(s)
	}
	return st, nil
}

// chooseResume continues an attempt. One that was itself to resume another and was
// killed before anything came of it counts as that one: its record knows of no rig and
// no session yet.
func chooseResume(s *state.State, last *state.Codon) Start {
	for last.FailedDuring == state.Preparing {
		earlier := before(s, last)
		if earlier == nil {
			break
		}
		last = earlier
	}
	st := Start{Resumed: last, RigDone: last.RigSetupCheckpoint != "" || last.FailedDuring != state.Preparing || RigInBase(s, last)}
	for last != nil && last.ClaudeSessionID == "" {
		last = before(s, last)
	}
	st.Session = last
	return st
}

// asksAgain reports whether a codon that is to be resumed was interrupted before it was
// known whether its skipIf holds, or while its rig ran: it has no session yet, and what its
// rig has left must not answer for the workspace from before it.
func (st Start) asksAgain(s *state.State) bool {
	c := st.Resumed
	if c == nil || c.FailedDuring != state.Preparing || c.BaseCheckpoint == "" {
		return false
	}
	i := s.PlanIndex(c.CodonID)
	return i >= 0 && s.ExecutionPlan()[i].Codon.SkipIf != nil
}

// inPlace is a start on the workspace as it is, which has what the codon's rig has
// done.
func (st Start) inPlace(s *state.State) Start {
	st.To, st.Stay = "", true
	if st.Redo.RigSetupCheckpoint != "" || st.RigDone {
		position := *st.Position
		position.RestartAt, position.RigDone = st.Redo.CodonID, true
		st.RigDone, st.Position = rigDone(s, position), &position
	}
	return st
}

// Kind is rollback where a branch begins, retry where the user has asked for one, and restart where hank run runs a
// codon again that was interrupted, or that has no retry left.
func (st Start) Kind(mode request.Mode) string {
	switch {
	case st.Branch:
		return "rollback"
	case mode == request.ModeRetry:
		return "retry"
	}
	return "restart"
}

// Standpoint is where the execution was before this command: with the program of
// then, which its move can bring back.
func (at Situation) Standpoint() state.Position {
	here := history.Standpoint(at.State)
	if at.Replaced.Program != "" {
		here.Program, here.HankHash = at.Replaced.Program, at.Replaced.HankHash
	}
	return here
}

// again is the command that does a codon again.
func again(r request.Request, c *state.Codon) string {
	if r.Mode != request.ModeRetry {
		return "hank run"
	}
	command := "hank retry " + shell.Quote(string(c.CodonID))
	if r.FromRigSetup {
		command += " --from rig-setup"
	}
	return command
}

// DecideEdits computes what becomes of the user's changes in the workspace: they stay
// in it, or the checkpoint is put back. Either way they are kept in a checkpoint.
func DecideEdits(st Start, changes []diff.Change, completed bool, mode request.Mode, a request.Answers) (keep bool, missing *request.Question) {
	switch {
	case len(changes) == 0:
		return false, nil
	case a.KeepTree, st.End == nil && a.KeepsTree(mode):
		return true, nil
	case a.Restore:
		return false, nil
	}
	open, keepText := edits.Question(changes, st.To == "" && completed)
	return false, &request.Question{Open: open, Choices: []request.Choice{
		{Text: keepText, With: func(a request.Answers) request.Answers { a.KeepTree = true; return a }},
		{Text: "restore the checkpoint (your changes are saved in a checkpoint)", With: func(a request.Answers) request.Answers { a.Restore = true; return a }},
	}}
}

// Conditions are the starting conditions of the run that begins where the start has
// led; head is the checkpoint that the workspace was left at.
func Conditions(s *state.State, st Start, mode request.Mode, head state.SHA) state.StartingConditions {
	if s.Newest() == nil && s.Position == nil {
		return state.StartingConditions{Type: state.StartFresh, InitialCheckpointSHA: s.InitialCheckpoint}
	}
	here := s.CurrentPosition()
	if moved := s.LastMove(); moved != nil {
		// So that the rollback can still be undone, and no rig is run twice, also if
		// this run is interrupted before its first codon.
		here.Before, here.Kept = moved.Before, moved.Kept
		here.AtRigOf(moved)
	}
	if st.Resumed != nil { // the workspace has a part of its work, which is in no base
		here.CheckpointSHA, here.EndOf = head, history.LastRun(s).RunID
	}
	reason := here.Reason
	if reason == "" {
		if reason = state.ReasonContinue; mode == request.ModeRetry {
			reason = state.ReasonRetry
		}
	}
	return state.StartingConditions{Type: state.StartContinuation, Source: &here, Reason: reason}
}

// Before is the run whose attempts those of the run that begins there count together with; nil: none.
func Before(s *state.State, st Start, mode request.Mode) *state.Run {
	if at := retry.ContinuedFrom(s, Conditions(s, st, mode, ""), 0); at < len(s.Runs) {
		return s.Runs[at]
	}
	return nil
}

// LostStart is the question about a lost checkpoint from which a codon was to be
// done again.
func LostStart(sha state.SHA, c *state.Codon) *finding.DecisionError {
	where := "before"
	if sha == c.RigSetupCheckpoint {
		where = "after the rig of"
	}
	return &finding.DecisionError{
		What: fmt.Sprintf("checkpoint %.12s, from %s codon %s, is lost, so the workspace cannot be restored to it", sha, where, c.CodonID),
		Options: []string{
			"--keep-tree runs the codon on the workspace as it is, which may include partial work",
			"`hank rollback --to TARGET` goes back to a checkpoint that still exists (`hank checkpoints` lists them)",
		},
		Command: "hank run --keep-tree",
	}
}

// StartLost returns the question that a command, hank run or hank retry, asks because
// the checkpoint from before the codon that it does again is not in the store; nil if
// it asks none. Files that are lost the workspace may still have; a commit it has
// not.
func StartLost(s *state.State, store *checkpoint.Store, command string) *finding.DecisionError {
	c := doneAgain(s, command)
	if c == nil || store.Has(checkpoint.SHA(c.BaseCheckpoint)) {
		return nil
	}
	ask := LostStart(c.BaseCheckpoint, c)
	if isRetry(command) {
		ask.Command = "hank retry --keep-tree"
	}
	return ask
}

// Redoes reports whether a command goes back to the checkpoint from before a codon.
func Redoes(s *state.State, command string) bool { return doneAgain(s, command) != nil }

func isRetry(command string) bool { return strings.HasPrefix(command, "hank retry") }

// doneAgain is the record of the codon that a command does again on the workspace from
// before it; nil if there is none.
func doneAgain(s *state.State, command string) *state.Codon {
	c := recovery.Redone(s)
	if isRetry(command) {
		c = history.LastRecord(s)
	}
	if c == nil || c.Settled() || c.BaseCheckpoint == "" || s.Next() == len(s.ExecutionPlan()) {
		return nil
	}
	return c
}
