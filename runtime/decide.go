package runtime

import (
	"fmt"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/internal/shell"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/runtime/edits"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/state"
)

// situation is what has been read before it is decided how a command starts.
type situation struct {
	state      *state.State
	replaced   state.Position // its Program and HankHash are those that this command has replaced; zero: it has replaced none
	archiveDue bool           // of a completed plan: its last codon has files to archive
	lost       bool           // the target of the start cannot be restored
	closed     error          // the workspace cannot be written to; nil: nothing has shown that
}

// start is how a command starts. The zero value continues with the plan on the
// workspace as it is.
type start struct {
	end *outcome // nothing is to run; without a reason where the plan is completed

	redo     *state.Codon    // the record whose codon is run again; nil: none
	target   state.SHA       // the checkpoint that it is to start from; empty: none
	to       state.SHA       // where the workspace goes: target, or empty if it stays without a comparison
	stay     bool            // the workspace stays as it is
	position *state.Position // where the execution goes; nil: it stays
	rigDone  bool            // the workspace is the one after the rig of the next codon

	resumed *state.Codon // the attempt that is continued; nil: none
	session *state.Codon // the record whose agent's session is continued; nil: none

	question *question // the decision that is missing
}

// decide computes how a command starts. It reads nothing but its arguments, and
// changes nothing. It is asked again when more was read, or a question was answered.
//
//   - A plan that is completed stays so, except for a retry of one of its codons. If
//     a crash has come between its last codon and the end of its run, another run
//     does what is left: the archive, and the end.
//   - run runs an interrupted codon again, on the workspace from before it; a codon
//     that failed needs a retry by the user.
//   - resume keeps the workspace, and continues the agent's session.
//   - retry goes back to before the codon.
//   - Where the workspace cannot go back, or the user keeps it by --keep-tree, the codon
//     runs on the workspace as it is.
func decide(at situation, r Request, a Answers) (start, error) {
	if at.state.Newest() == nil && at.state.Position == nil {
		if r.Mode != ModeRun {
			return start{}, &exitcode.UsageError{Why: "nothing has run yet; start with: `hank run`"}
		}
		return start{}, nil
	}
	st, err := choose(at, r)
	if err != nil || st.target == "" {
		return st, err
	}
	st.stay = a.KeepTree
	switch {
	case a.KeepTree && (r.Mode == ModeRun || at.lost || at.closed != nil):
		return st.inPlace(), nil
	case at.lost:
		st.question = &question{open: lostStart(st.target, st.redo)}
		if !a.Restore {
			st.question.choices = []choice{
				{"run the codon on the workspace as it is, which may include partial work", func(a Answers) Answers { a.KeepTree = true; return a }},
				{"leave it", nil},
			}
		}
	case at.closed != nil:
		st.question = &question{open: recovery.NeedWritable(st.redo, st.target, again(r, st.redo), at.closed)}
	}
	return st, nil
}

// choose finds the codon that is next, and the checkpoint that it starts from.
func choose(at situation, r Request) (start, error) {
	s := at.state
	last, run := history.LastRecord(s), s.RunAtPosition()
	if r.Mode == ModeRetry {
		return chooseRetry(at, r, last)
	}
	if s.Next() == len(s.ExecutionPlan()) {
		if run != nil && run.Status != state.StatusCompleted || run == nil && at.archiveDue {
			return start{}, nil
		}
		return start{end: &outcome{}}, nil
	}
	if moved := s.MovedTo(); moved != nil {
		return start{rigDone: moved.RigDone}, nil
	}
	if last == nil || last.Settled() {
		return start{}, nil
	}
	if r.Mode == ModeResume {
		return chooseResume(s, run, last), nil
	}
	// A record that has no end yet is one that the next opening closes as interrupted.
	if last.Status.Terminal() && last.Interrupted == "" && !(retryDue(s, last) && wasInterrupted(run)) {
		out := failedBy(last)
		out.detail = "failed in an earlier run: " + out.detail
		return start{end: &out}, nil
	}
	before, to := at.standpoint(), s.CurrentPosition()
	to.CheckpointSHA, to.Reason, to.Before = last.BaseCheckpoint, state.ReasonContinue, &before
	if s.Position != nil && run != s.Newest() { // an undo led back to it: the newer ones are no part of this attempt's chain
		to.Reason = state.ReasonRetry
	}
	return start{redo: last, target: last.BaseCheckpoint, to: last.BaseCheckpoint, position: &to}, nil
}

// chooseRetry goes back to the beginning of a codon.
func chooseRetry(at situation, r Request, last *state.Codon) (start, error) {
	s, from := at.state, state.LineageEntry{}
	switch {
	case r.Codon != "":
		found, err := history.FindOnLineagePath(s, r.Codon)
		if err != nil {
			return start{}, err
		}
		from = found
	case last != nil && !last.Settled():
		from = state.LineageEntry{Run: history.LastRun(s), Codon: last}
	default:
		return start{}, &exitcode.UsageError{Why: "no failed codon; specify one: `hank retry CODON`"}
	}
	st := start{redo: from.Codon, target: from.Codon.BaseCheckpoint, rigDone: r.FromRigSetup}
	if r.FromRigSetup {
		if st.target = from.Codon.RigSetupCheckpoint; st.target == "" {
			return start{}, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has no rig checkpoint to go back to", from.Codon.CodonID)}
		}
	}
	if st.target == "" {
		return start{}, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has no checkpoint of the state before it; see: `hank checkpoints`", from.Codon.CodonID)}
	}
	to, before := history.PositionBefore(s, from), at.standpoint()
	to.CheckpointSHA, to.Reason, to.RigDone, to.Before = st.target, state.ReasonRetry, st.rigDone, &before
	st.to, st.position = st.target, &to
	return st, nil
}

// chooseResume continues an attempt. One that was itself to resume another and was
// killed before anything came of it counts as that one: its record knows of no rig and
// no session yet.
func chooseResume(s *state.State, run *state.Run, last *state.Codon) start {
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
	st := start{resumed: last, rigDone: last.RigSetupCheckpoint != "" || last.FailedDuring != state.Preparing}
	for last != nil && last.ClaudeSessionID == "" {
		run, last = before()
	}
	st.session = last
	return st
}

// inPlace is a start on the workspace as it is, which has what the codon's rig has
// done.
func (st start) inPlace() start {
	st.to, st.stay = "", true
	if st.redo.RigSetupCheckpoint != "" {
		position := *st.position
		position.RigDone = true
		st.rigDone, st.position = true, &position
	}
	return st
}

// kind is retry where the user has asked for one, and restart where hank run runs an
// interrupted codon again.
func (st start) kind() string {
	if st.position != nil && st.position.Reason == state.ReasonContinue {
		return "restart"
	}
	return "retry"
}

// standpoint is where the execution was before this command: with the program of
// then, which its move can bring back.
func (at situation) standpoint() state.Position {
	here := at.state.UndoPosition()
	if at.replaced.Program != "" {
		here.Program, here.HankHash = at.replaced.Program, at.replaced.HankHash
	}
	return here
}

// again is the command that does a codon again.
func again(r Request, c *state.Codon) string {
	if r.Mode != ModeRetry {
		return "hank run"
	}
	command := "hank retry " + shell.Quote(string(c.CodonID))
	if r.FromRigSetup {
		command += " --from rig-setup"
	}
	return command
}

// decideEdits computes what becomes of the user's changes in the workspace: they stay
// in it, or the checkpoint is put back. Either way they are kept in a checkpoint.
func decideEdits(st start, changes []diff.Change, completed bool, mode Mode, a Answers) (keep bool, missing *question) {
	switch {
	case len(changes) == 0:
		return false, nil
	case a.KeepTree, st.end == nil && a.keepsTree(mode):
		return true, nil
	case a.Restore:
		return false, nil
	}
	open, keepText := edits.Question(changes, st.to == "" && completed)
	return false, &question{open: open, choices: []choice{
		{keepText, func(a Answers) Answers { a.KeepTree = true; return a }},
		{"restore the checkpoint (your changes are saved in a checkpoint)", func(a Answers) Answers { a.Restore = true; return a }},
	}}
}

// retryDue reports whether a codon that failed is to be tried again by its policy.
func retryDue(s *state.State, last *state.Codon) bool {
	i := s.PlanIndex(last.CodonID)
	if i < 0 || last.Status != state.Failed || last.FailureIgnored || last.Interrupted != "" || !last.FailureReason.Retriable {
		return false
	}
	most, _, _ := s.ExecutionPlan()[i].Codon.Retries()
	return last.Attempt <= most
}

// wasInterrupted reports whether a run ended by a crash, on request or by an error of
// hank itself, and not because of what its codons did.
func wasInterrupted(r *state.Run) bool {
	switch r.EndReason {
	case state.EndSignal, state.EndStopped, state.EndDecision, state.EndError:
		return true
	}
	return r.Status == state.StatusCrashed
}

// conditions are the starting conditions of the run that begins where the start has
// led; head is the checkpoint that the workspace was left at.
func conditions(s *state.State, st start, mode Mode, head state.SHA) state.StartingConditions {
	if s.Newest() == nil && s.Position == nil {
		return state.StartingConditions{Type: state.StartFresh, InitialCheckpointSHA: s.InitialCheckpoint}
	}
	here := s.CurrentPosition()
	if moved := s.LastMove(); moved != nil {
		// So that the rollback can still be undone, and no rig is run twice, also if
		// this run is interrupted before its first codon.
		here.Before, here.RigDone, here.Kept = moved.Before, moved.RigDone, moved.Kept
	}
	if st.resumed != nil { // the workspace has a part of its work, which is in no base
		here.CheckpointSHA, here.EndOf = head, history.LastRun(s).RunID
	}
	reason := here.Reason
	if reason == "" {
		if reason = state.ReasonContinue; mode == ModeRetry {
			reason = state.ReasonRetry
		}
	}
	return state.StartingConditions{Type: state.StartContinuation, Source: &here, Reason: reason}
}

// lostStart is the question about a lost checkpoint from which a codon was to be
// done again.
func lostStart(sha state.SHA, c *state.Codon) *finding.DecisionError {
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

// StartLost returns the question that the next hank run asks because the
// checkpoint from before the codon that it does again is not in the store; nil if
// it asks none. Files that are lost the workspace may still have; a commit it has
// not.
func StartLost(s *state.State, store *checkpoint.Store) *finding.DecisionError {
	c := recovery.Redone(s)
	if c == nil || s.Next() == len(s.ExecutionPlan()) || store.Has(checkpoint.SHA(c.BaseCheckpoint)) {
		return nil
	}
	return lostStart(c.BaseCheckpoint, c)
}
