package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/runtime/agents"
	"hank/state"
)

// Concluded is the state in which the next opening leaves a codon that had ended before its
// checkpoint was made. The checkpoint before it stands for that one, which nobody knows yet.
func Concluded(s *state.State) (*state.State, error) {
	run := s.Newest()
	if !recovery.Concludes(run) {
		return s, nil
	}
	final := run.Live().Conclude(*cmp.Or(run.Live().Settling.At, &run.Live().StartTime))
	if final.Status == state.Completed {
		final.CompletionCheckpoint = execution.Head(s)
	}
	return state.Apply(s, s.Seq+1, state.CodonTransitioned{RunID: run.RunID, Record: final})
}

// Ahead is the state that the plan of the next run is to be read from: a codon that had ended before its
// checkpoint was made is concluded, and what follows from that is laid out. Whether the loop
// undecided continues is decided first, and no codon is next before that.
func Ahead(v *recovery.View) (ahead *state.State, undecided state.CodonID) {
	if v.Unrecorded() == nil {
		return v.State, v.AwaitsVerdict()
	}
	store, err := v.Store()
	if err != nil {
		return v.State, ""
	}
	defer store.Close()
	program, err := githistory.LoadProgram(store, v.State.Program)
	if err != nil {
		return v.State, ""
	}
	s, err := Concluded(v.State)
	if err == nil {
		s, err = githistory.WithPlan(s, program)
	}
	if err != nil {
		return v.State, ""
	}
	if _, _, final := Awaited(s, program); final != nil {
		undecided = final.LoopContext.LoopID
	}
	return s, undecided
}

// Awaited is the record on whose iteration the plan waits for a verdict, the run that has
// it, and where in the plan it is; nil if it waits for none.
func Awaited(s *state.State, p *plan.Program) (index int, held *state.Run, final *state.Codon) {
	done, entries := s.Finished(), s.ExecutionPlan()
	if index = len(done) - 1; index < 0 || done[index].LoopContext == nil {
		return 0, nil, nil
	}
	var rest []plan.Entry
	for _, e := range entries[index+1 : min(index+2, len(entries))] {
		rest = append(rest, e.Entry)
	}
	if o, _ := githistory.Outcomes(p.Hank.Items, s)(done[index].CodonID); p.AwaitsVerdict(entries[index].Entry, rest, o) {
		for step := range s.Backward() {
			if step.Codon == done[index] {
				return index, step.Run, step.Codon
			}
		}
	}
	return 0, nil, nil
}

// AwaitsVerdict reports whether it is to be decided first whether the loop that an execution
// is at the end of continues: no codon is next before that.
func AwaitsVerdict(s *state.State, p *plan.Program) bool {
	_, _, final := Awaited(s, p)
	return final != nil
}

// Closed is the state in which the next opening leaves the newest run, if it is over without having
// said so: its attempt counts as interrupted, and has used what its transcript says.
func Closed(v *recovery.View, s *state.State) (*state.State, error) {
	run := s.Newest()
	if v.Live || run == nil || run.Paused == nil && !v.Crashed(run) {
		return s, nil
	}
	at, how := run.StartTime, state.InterruptedByCrash
	var steps []state.Transition
	if live := run.Live(); live != nil {
		next := s
		for _, t := range agents.Unrecorded(v.Layout, s, run.RunID) {
			var err error
			if next, err = state.Apply(next, next.Seq+1, t); err != nil {
				return nil, err
			}
			steps = append(steps, t)
		}
		live = next.Run(run.RunID).Live()
		if at = v.LastSign(); run.Paused != nil {
			how = state.InterruptedByPause
		}
		steps = append(steps, state.CodonTransitioned{RunID: run.RunID, Record: live.Interrupt(at, how, "hank ended while the codon was "+string(live.Status))})
	}
	var end state.Transition = state.RunCrashed{RunID: run.RunID, EndTime: at}
	if p := run.Paused; p != nil {
		end = state.RunFailed{RunID: run.RunID, EndTime: at, Reason: p.Reason, Detail: p.Detail}
	}
	for _, t := range append(steps, end) {
		var err error
		if s, err = state.Apply(s, s.Seq+1, t); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Opened is the state in which the next opening leaves the newest run.
func Opened(v *recovery.View, s *state.State) (*state.State, error) {
	s, err := Concluded(s)
	if err != nil {
		return nil, err
	}
	return Closed(v, s)
}

// due is dueAt of the target.
func (o *RollbackOptions) due(v *recovery.View) *finding.DecisionError {
	if o.Undo {
		return nil
	}
	return dueAt(v, o.target())
}

// BranchDue is dueAt of where a branch is to begin; see BranchTarget.
func BranchDue(v *recovery.View, text string) *finding.DecisionError {
	name, target, named := strings.Cut(text, "@")
	run, err := runNamed(v.State, name)
	if err != nil || run != v.State.Newest() {
		return nil
	}
	if !named {
		if !recovery.Concludes(run) || !run.Live().Conclude(run.StartTime).Settled() {
			return nil
		}
		target = atPresent
	} else if strings.HasPrefix(target, "~") {
		target = "last-success" + target
	}
	return dueAt(v, target)
}

// dueAt says why a target cannot be previewed: it means a checkpoint, or is counted from one,
// that the next command which writes makes first, because a crash or a pause has left its codon
// without. It is nil where that is not so.
func dueAt(v *recovery.View, target string) *finding.DecisionError {
	run := v.State.Newest()
	if run == nil || run.Live() == nil || v.Live || run.Paused == nil && !v.Crashed(run) {
		return nil
	}
	id, kind := string(run.Live().CodonID), state.KindError
	why := fmt.Sprintf("codon %s was interrupted by a crash", id)
	if recovery.Concludes(run) {
		why = fmt.Sprintf("hank crashed after codon %s had ended", id)
		if status := run.Live().Settling.Status; status != state.Failed {
			kind = state.CheckpointKind(status)
		}
	}
	means := []string{atPresent, "run:" + string(run.RunID), id, id + ":" + string(kind)}
	if kind == state.KindCompleted {
		means = append(means, "last-success")
	}
	for base, more := strings.TrimPrefix(target, "codon:"), true; more; base, _, more = relative(base) {
		if slices.Contains(means, base) {
			ask := &finding.DecisionError{Options: []string{"`hank doctor --fix` makes it, and the preview shows it"}, Command: "hank doctor --fix"}
			if run.Paused != nil {
				why = fmt.Sprintf("the run is paused at codon %s", id)
				ask = &finding.DecisionError{Options: []string{"`hank doctor` says what the run is paused for; once that is settled, `hank doctor --fix` makes the checkpoint, and the preview shows it"}, Command: "hank doctor"}
			}
			ask.What = fmt.Sprintf("%s, and its checkpoint is not made yet: the next command that writes makes it, and what %s means depends on it", why, target)
			return ask
		}
	}
	return nil
}
