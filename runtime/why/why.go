// Package why explains a codon: why each of its attempts began, what its end meant for
// the plan, and whether it counts where the execution is now.
//
// A cause is why an attempt began; an effect is what came of its end; an attempt counts
// if it is on the current lineage path. All is concluded from the state, and from the moves
// that the journal tells of, where it is there. The package reads no file and decides
// nothing: what it says has happened.
package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hank/internal/shell"
	"hank/plan"
	"hank/runtime/gate"
	"hank/runtime/harness"
	"hank/runtime/retry"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// Cause is why an attempt began.
type Cause string

// The causes.
const (
	First    Cause = "first"           // the plan begins with it
	Next     Cause = "next"            // what comes before it in the plan was finished
	Retried  Cause = "automatic-retry" // the attempt before it failed, and the hank says to try again
	Retry    Cause = "retry"           // hank retry
	Restart  Cause = "restart"         // the attempt before it was interrupted, or no retry was left after it, and hank run began it again
	Resume   Cause = "resume"          // an interrupted attempt is continued
	Rollback Cause = "rollback"        // a rollback or an undo had gone back to before it
	Branch   Cause = "branch"          // hank run --from
	Refused  Cause = "gate"            // no attempt: the record that its gate was not passed
)

// Effect is what came of an attempt's end.
type Effect string

// The effects.
const (
	Working  Effect = "running"     // it has not ended
	Finished Effect = "finished"    // the plan continues after it
	Ignored  Effect = "ignored"     // it failed, and the plan continues
	Skipped  Effect = "skipped"     // the user skipped it, and the plan continues
	TriedOn  Effect = "tried again" // another attempt came in the same run
	EndedRun Effect = "ended the run"
	Cut      Effect = "interrupted"   // it was ended before its end, and the run ended, or continued it later
	Standing Effect = "not continued" // it failed, and the run is not over, or was interrupted, without another attempt
)

// Move is a change of the workspace that the journal tells of.
type Move struct {
	Time      state.Time
	Kind      string // rollback, undo, retry, restart, restore, branch
	To        state.SHA
	Safety    state.SHA
	Operation string // the ID that its command was given
}

// Attempt is one attempt, explained.
type Attempt struct {
	RunID   state.RunID `json:"runId"`
	Attempt int         `json:"attempt"`
	Began   state.Time  `json:"began"`
	Cause   Cause       `json:"cause"`
	Because string      `json:"because"`
	Effect  Effect      `json:"effect"`
	Then    string      `json:"then"`
	Counts  bool        `json:"counts"` // it is on the current lineage path
	Base    state.SHA   `json:"baseCheckpoint,omitempty"`

	// Left is whether the execution has gone back to before the attempt since. One that
	// does not count may only have been interrupted, and continued or begun again.
	Left bool `json:"-"`
}

// Explanation is what there is to say of a codon.
type Explanation struct {
	Schema   int           `json:"schema"`
	CodonID  state.CodonID `json:"codonId"`
	Standing string        `json:"standing"` // finished, next, waiting, failed, interrupted, running, abandoned, unplanned
	Summary  string        `json:"summary"`
	Attempts []Attempt     `json:"attempts"` // newest first
}

// Explain concludes what there is to say. moves are asked for, in the order of the journal, where
// an attempt began after one: they take all of it. nil: it is not there. crashed: the newest run is over without having said so. undecided: the loop
// of which it is decided first whether it continues; empty: none.
// Complexity: all records.
func Explain(s *state.State, id state.CodonID, moves func() []Move, undecided plan.CodonID, crashed bool, now time.Time) Explanation {
	e := Explanation{Schema: 1, CodonID: id, Attempts: []Attempt{}}
	counts, left := counted(s), LeftBehind(s)
	for _, run := range s.Runs { // newest first
		for i := run.Len() - 1; i >= 0; i-- {
			if c := run.Codon(i); c.CodonID == id {
				a := Attempt{RunID: run.RunID, Attempt: max(c.Attempt, 1), Began: c.StartTime, Counts: counts[c], Base: c.BaseCheckpoint, Left: left(run, c)}
				a.Cause, a.Because = cause(s, run, i, moves)
				var next *state.Codon
				if i+1 < run.Len() {
					next = run.Codon(i + 1)
				}
				a.Effect, a.Then = effect(c, next, run, crashed && run == s.Newest())
				e.Attempts = append(e.Attempts, a)
			}
		}
	}
	e.Standing, e.Summary = standing(s, id, e.Attempts, undecided, crashed, now)
	if asks, _ := gate.Ask(s, now); asks != "" && undecided == "" && s.PlanIndex(id) == s.Next() {
		e.Summary += fmt.Sprintf("; the gate %s asks first", asks)
	}
	if s.Hold != nil && s.PlanIndex(id) == s.Next() && e.Standing != "running" {
		e.Summary += "; the execution is held, and nothing runs before `hank release`"
	}
	return e
}

// counted are the records on the current lineage path.
func counted(s *state.State) map[*state.Codon]bool {
	counts := map[*state.Codon]bool{}
	for _, step := range s.LineagePath() {
		counts[step.Codon] = true
	}
	return counts
}

// LeftBehind tells of a record of a run whether the execution has gone back to before it since.
func LeftBehind(s *state.State) func(*state.Run, *state.Codon) bool {
	counts, kept := counted(s), continued(s)
	return func(run *state.Run, c *state.Codon) bool { return !counts[c] && !kept[run] }
}

// continued are the runs, of those that led to where the execution is, from whose end nobody
// has gone back. Of a run from whose middle the next one began, only the records on the lineage
// path were not left behind.
func continued(s *state.State) map[*state.Run]bool {
	runs := map[*state.Run]bool{}
	r, whole := retry.Last(s), true
	if p := s.Position; r == nil && p != nil && p.AfterCodon != nil {
		r, whole = s.Run(p.RunID), false
	}
	for seen := map[*state.Run]bool{}; r != nil && !seen[r]; {
		seen[r], runs[r] = true, whole
		if at := retry.Continued(s, slices.Index(s.Runs, r)); at < len(s.Runs) {
			r, whole = s.Runs[at], true
		} else if src := r.StartingConditions.Source; src != nil && src.AfterCodon != nil {
			r, whole = s.Run(src.RunID), false
		} else {
			break
		}
	}
	return runs
}

// cause is why the i-th record of a run began.
func cause(s *state.State, run *state.Run, i int, moves func() []Move) (Cause, string) {
	c := run.Codon(i)
	if c.FailedAtGate() {
		return Refused, fmt.Sprintf("its gate was not passed (%s), which is recorded by itself: no agent began", reason(c))
	}
	if i > 0 {
		before := run.Codon(i - 1)
		switch {
		case before.CodonID != c.CodonID:
		case before.Interrupted == state.InterruptedByFallback:
			return Retried, fmt.Sprintf("the provider did not let attempt %d work (%s), and %s was the next model of its fallback", max(before.Attempt, 1), reason(before), c.Model)
		case before.Interrupted == state.InterruptedByLimit:
			return Retried, fmt.Sprintf("attempt %d met a limit of its provider (%s), which was waited out", max(before.Attempt, 1), reason(before))
		default:
			return Retried, fmt.Sprintf("attempt %d failed (%s), and it was tried again as its onFailure says", max(before.Attempt, 1), reason(before))
		}
		return Next, fmt.Sprintf("codon %s, which comes before it, was %s", before.CodonID, ending(before))
	}
	src := run.StartingConditions.Source
	if src == nil {
		return First, "it is the first codon of the plan, and the run began the execution"
	}
	last := newestBefore(s, run, c.CodonID)
	if of := s.Resumed(run); of != nil {
		by := "hank resume"
		if last != nil && slices.Contains([]string{state.InterruptedByLimit, state.InterruptedByFallback, state.InterruptedByBudget}, last.Interrupted) {
			by = "the next run"
		}
		return Resume, fmt.Sprintf("%s continued the attempt that was interrupted in run %s", by, of.RunID)
	}
	move := moveTo(moves, run, src)
	switch run.StartingConditions.Reason {
	case state.ReasonRetry:
		if move == nil || move.Kind != "restart" {
			return Retry, "hank retry went back to before it" + when(move)
		}
		of := s.Run(src.Before.EndOf) // an undo may have led back to it
		if of == nil || of.Len() == 0 {
			break
		}
		if last = of.Codon(of.Len() - 1); retry.Exhausted(s, of, last) {
			return Restart, fmt.Sprintf("attempt %d in run %s failed (%s) and no retry was left, and hank run tried it again%s", max(last.Attempt, 1), of.RunID, reason(last), when(move))
		}
	case state.ReasonRollback:
		if src.Branch {
			return Branch, fmt.Sprintf("hank run --from began a branch at checkpoint %.12s%s", src.CheckpointSHA, when(move))
		}
		what := "a rollback"
		if move != nil && move.Kind == "undo" {
			what = "an undo"
		}
		return Rollback, fmt.Sprintf("%s had brought the execution to checkpoint %.12s%s, and a run continued from there", what, src.CheckpointSHA, when(move))
	}
	if last != nil && last.Interrupted != "" && last.BaseCheckpoint == c.BaseCheckpoint {
		return Restart, fmt.Sprintf("the attempt before it was interrupted by %s, and was begun again from the checkpoint before it", interruption(last))
	}
	if last != nil && last.Status == state.Failed && !last.Settled() && last.BaseCheckpoint == c.BaseCheckpoint {
		return Retried, fmt.Sprintf("attempt %d in the run before failed (%s), and its retry was still to come when that run was over", max(last.Attempt, 1), reason(last))
	}
	if src.AfterCodon != nil {
		return Next, fmt.Sprintf("codon %s, which comes before it, was finished in run %s, and another run continued the plan", *src.AfterCodon, src.RunID)
	}
	return First, "it is the first codon of the plan"
}

// newestBefore is the newest record of a codon before a run, in those that it continues.
func newestBefore(s *state.State, run *state.Run, id state.CodonID) *state.Codon {
	for at := retry.Continued(s, slices.Index(s.Runs, run)); at < len(s.Runs); at = retry.Continued(s, at) {
		r := s.Runs[at]
		for i := r.Len() - 1; i >= 0; i-- {
			if r.Codon(i).CodonID == id {
				return r.Codon(i)
			}
		}
	}
	return nil
}

// moveTo is the last move to the place of a run's start that came before it; nil for a run that
// no move came before.
func moveTo(moves func() []Move, run *state.Run, src *state.Position) *Move {
	if reason := run.StartingConditions.Reason; moves == nil || src.Before == nil || reason != state.ReasonRetry && reason != state.ReasonRollback {
		return nil
	}
	list := moves()
	for i := len(list) - 1; i >= 0; i-- {
		m := &list[i]
		if !m.Time.After(run.StartTime.Time) && m.Safety == src.Before.CheckpointSHA {
			return m
		}
	}
	return nil
}

func when(m *Move) string {
	if m == nil {
		return ""
	}
	text := " on " + m.Time.Local().Format("2006-01-02 15:04:05")
	if m.Operation != "" {
		text += " (operation " + m.Operation + ")"
	}
	return text
}

// effect is what came of the end of an attempt of a run. next: the record after it in the run, nil if
// there is none; crashed: the run is over without having said so.
func effect(c, next *state.Codon, run *state.Run, crashed bool) (Effect, string) {
	last, over := next == nil, run.EndTime != nil
	and := onward(c, next, run, crashed)
	switch {
	case !c.Status.Terminal() && crashed:
		return Cut, "it was interrupted by a crash"
	case !c.Status.Terminal():
		return Working, "it has not ended"
	case c.Status == state.Skipped && c.SkipReason != "":
		return Skipped, fmt.Sprintf("its skipIf held (%s), and %s", c.SkipReason, and)
	case c.Status == state.Skipped:
		return Skipped, "the user skipped it, and " + and
	case c.Status == state.Completed && c.BudgetExceeded != nil && !c.BudgetExceeded.Finished:
		return Finished, "a budget ended it, it counts as completed, and " + and
	case c.Status == state.Completed:
		return Finished, "it completed, and " + and
	case c.FailureIgnored:
		by := "onFailure"
		if b := c.BudgetExceeded; b != nil && b.OnExceeded == plan.Complete && c.FailureReason.Class == harness.ClassBudget {
			by = "onExceeded"
		}
		return Ignored, fmt.Sprintf("it failed (%s), which %s ignores, and %s", reason(c), by, and)
	case c.Interrupted == state.InterruptedByLimit && !last:
		return Cut, fmt.Sprintf("it was interrupted by %s (%s), and was continued after a wait", interruption(c), reason(c))
	case c.Interrupted == state.InterruptedByFallback && !last:
		return Cut, fmt.Sprintf("it was interrupted by %s (%s), and was tried with the next model of its fallback", interruption(c), reason(c))
	case c.Interrupted != "" && last && !over: // it waits, or was killed while it waited
		return Cut, fmt.Sprintf("it was interrupted by %s, and the run has not continued yet", interruption(c))
	case c.Interrupted != "":
		return Cut, fmt.Sprintf("it was interrupted by %s, and the run ended", interruption(c))
	case !last:
		return TriedOn, fmt.Sprintf("it failed (%s), and was tried again", reason(c))
	case !over:
		return Standing, fmt.Sprintf("it failed (%s), and the run has not continued yet", reason(c))
	}
	if run.EndReason == state.EndExhausted {
		return EndedRun, fmt.Sprintf("it failed (%s), no retry was left, and the run was paused", reason(c))
	}
	if retry.Interrupted(run) {
		return Standing, fmt.Sprintf("it failed (%s), and its run was over before it continued", reason(c))
	}
	return EndedRun, fmt.Sprintf("it failed (%s), and the run ended", reason(c))
}

// onward says how the plan went on after a record that counts as done. A gate, a hold or the end of the
// run may come before the next codon.
func onward(c, next *state.Codon, run *state.Run, crashed bool) string {
	switch {
	case next == nil && run.EndReason == state.EndGate:
		return "the run ended at a gate"
	case next == nil && crashed:
		return "the run crashed"
	case next == nil && run.EndTime != nil:
		return "the run ended"
	case next == nil:
		return "the run has not continued yet"
	case next.CodonID == c.CodonID && next.FailedAtGate():
		return "the gate after it was not passed"
	}
	return "the plan continued"
}

// standing is where a codon is in the plan now.
func standing(s *state.State, id state.CodonID, attempts []Attempt, undecided plan.CodonID, crashed bool, now time.Time) (string, string) {
	finished := s.Finished()
	at, next := s.PlanIndex(id), len(finished)
	entries := s.ExecutionPlan()
	refused := gate.At(s)
	if refused != nil && !refused.Refused(now) {
		refused = nil
	}
	var newest *state.Codon
	if run := s.RunAtPosition(); run != nil && run.Len() > 0 && run.Codon(run.Len()-1).CodonID == id {
		newest = run.Codon(run.Len() - 1)
	}
	switch {
	case refused != nil && refused.Codon.CodonID == id:
		return "failed", fmt.Sprintf("its gate %s was not passed (%s): the next run has it fail, and its onFailure applies", refused.Name, refused.Why(now))
	case at >= 0 && at < next:
		return "finished", fmt.Sprintf("it is finished (%s), and does not run again unless you go back to before it: `hank retry %s`", ending(finished[at]), shell.Quote(string(id)))
	case at >= 0 && undecided != "" && len(attempts) > 0:
		return "waiting", fmt.Sprintf("it is not finished; whether loop %s continues is decided first", undecided)
	case at >= 0 && undecided != "":
		return "waiting", fmt.Sprintf("it has not run yet; whether loop %s continues is decided first", undecided)
	case newest != nil && !newest.Status.Terminal() && crashed:
		return "interrupted", "it was interrupted by a crash, and `hank run` continues or repeats it"
	case newest != nil && !newest.Status.Terminal():
		return "running", "it is running"
	case at >= 0 && at == next && newest != nil && newest.Interrupted == state.InterruptedByLimit:
		return "interrupted", fmt.Sprintf("it was interrupted by %s, and is continued after a wait; without a run, `hank run` continues it", interruption(newest))
	case at >= 0 && at == next && newest != nil && newest.Interrupted == state.InterruptedByBudget:
		return "interrupted", fmt.Sprintf("it was interrupted by %s (%s), and is continued once the limit is raised", interruption(newest), reason(newest))
	case at >= 0 && at == next && newest != nil && newest.Interrupted != "":
		return "interrupted", fmt.Sprintf("it was interrupted by %s, and `hank run` begins it again", interruption(newest))
	case at >= 0 && at == next && newest != nil && newest.Status == state.Failed && retry.Interrupted(s.RunAtPosition()) && retry.Of(s, s.RunAtPosition(), newest).Again:
		return "failed", fmt.Sprintf("it failed (%s), and is tried again: by its run while that is in progress, and else by `hank run`", reason(newest))
	case at >= 0 && at == next && newest != nil && newest.Status == state.Failed && retry.Exhausted(s, s.RunAtPosition(), newest):
		return "failed", fmt.Sprintf("it failed (%s), no retry is left, and its run is paused; `hank run` tries it again, with all its retries", reason(newest))
	case at >= 0 && at == next && newest != nil && newest.Status == state.Failed:
		return "failed", fmt.Sprintf("it failed (%s); `hank retry` runs it again", reason(newest))
	case at > 0 && at == next && wasFinished(s, id):
		return "next", fmt.Sprintf("it is next: it was finished before codon %s, which comes before it in the plan, and runs again", entries[at-1].CodonID)
	case at > next && wasFinished(s, id):
		return "waiting", fmt.Sprintf("it was finished, and runs again after codon %s, which comes before it in the plan", entries[next].CodonID)
	case at >= 0 && at == next && len(attempts) > 0 && slices.Contains([]Effect{EndedRun, Cut, Standing}, attempts[0].Effect) && s.RunAtPosition() != nil && s.RunAtPosition().Len() == 0:
		return "next", "it is next: it did not finish, and the run after that began nothing"
	case at >= 0 && at == next && len(attempts) > 0 && !attempts[0].Left:
		return "next", "it is next: what it did before was not finished"
	case at >= 0 && at == next && len(attempts) > 0:
		return "next", "it is next: what it did before was left behind when the execution went back"
	case at >= 0 && at == next && refused != nil:
		return "waiting", fmt.Sprintf("it has not run yet: codon %s fails first, because its gate %s was not passed (%s)", refused.Codon.CodonID, refused.Name, refused.Why(now))
	case at >= 0 && at == next:
		return "next", "it has not run yet and is next"
	case at > next && newest != nil && newest.Interrupted != "":
		return "interrupted", fmt.Sprintf("it was interrupted by %s, and runs again after codon %s, which comes before it in the plan", interruption(newest), entries[next].CodonID)
	case at > next && newest != nil && newest.Status == state.Failed:
		return "failed", fmt.Sprintf("it failed (%s), and runs again after codon %s, which comes before it in the plan", reason(newest), entries[next].CodonID)
	case at >= 0 && len(attempts) > 0 && !attempts[0].Left:
		return "waiting", fmt.Sprintf("what it did before was not finished; codon %s comes before it", entries[next].CodonID)
	case at >= 0 && len(attempts) > 0:
		return "waiting", fmt.Sprintf("what it did before was left behind when the execution went back; codon %s comes before it", entries[next].CodonID)
	case at >= 0:
		return "waiting", fmt.Sprintf("it has not run yet: codon %s comes before it", entries[next].CodonID)
	case len(attempts) > 0:
		return "abandoned", "it ran, but is not in the plan any more: the execution went back, its loop ended earlier, or the hank was changed"
	}
	return "unplanned", unplanned(s, id, undecided)
}

// wasFinished reports whether the newest record of a codon on the lineage path is settled.
func wasFinished(s *state.State, id state.CodonID) bool {
	for step := range s.Backward() {
		if step.Codon.CodonID == id {
			return step.Codon.Settled()
		}
	}
	return false
}

// unplanned says why an iteration of a loop is not in the plan.
func unplanned(s *state.State, id state.CodonID, undecided plan.CodonID) string {
	name, _, _ := strings.Cut(string(id), "#")
	for _, step := range slices.Backward(s.LineagePath()) {
		c := step.Codon
		if c.LoopContext == nil || !c.Settled() {
			continue
		}
		i := slices.IndexFunc(s.ExecutionPlan(), func(e *state.PlanEntry) bool {
			return string(e.Codon.ID) == name && e.LoopContext != nil && e.LoopContext.LoopID == c.LoopContext.LoopID
		})
		next := s.Next()
		if i < 0 || next < len(s.ExecutionPlan()) && sameLoop(s.ExecutionPlan()[next].LoopContext, c.LoopContext) {
			continue
		}
		if c.LoopContext.LoopID == undecided {
			return fmt.Sprintf("it is not in the plan yet: whether loop %s continues is decided first", undecided)
		}
		text := fmt.Sprintf("it does not come: the loop %s ended with iteration %d", c.LoopContext.LoopID, c.LoopContext.Iteration)
		if j := step.Run.Judgement(c); j != nil && j.Reason != "" {
			text += " (" + j.Reason + ")"
		}
		return text
	}
	return "it is not in the plan: an iteration of a loop is added when the one before it has ended"
}

func sameLoop(a, b *plan.LoopContext) bool { return a != nil && b != nil && a.LoopID == b.LoopID }

// ending is the end of a record in words.
func ending(c *state.Codon) string {
	switch {
	case c.Status == state.Failed && c.FailureIgnored:
		return "finished by an ignored failure"
	case c.Status == state.Skipped:
		return "skipped"
	case c.Status == state.Completed:
		return "completed"
	}
	return string(c.Status)
}

func reason(c *state.Codon) string {
	if c.FailureReason == nil {
		return "no reason is recorded"
	}
	return verdict.FailureLine(c.FailureReason)
}

// interruption is what interrupted a record, in words.
func interruption(c *state.Codon) string {
	words := map[string]string{state.InterruptedByCrash: "a crash", state.InterruptedBySignal: "a signal", state.InterruptedByStop: "hank stop",
		state.InterruptedByPause: "an error of hank itself", state.InterruptedByRefusal: "its provider, which refused the key or the model", state.InterruptedByLimit: "its provider, which did not answer for now",
		state.InterruptedByFallback: "its provider, which did not let it work", state.InterruptedByBudget: "a budget, at which it pauses"}
	if word := words[c.Interrupted]; word != "" {
		return word
	}
	return c.Interrupted
}

// MayMove reports whether an event, by its quoted type and its data, may be one that MoveOf finds
// a move in. It may say yes too often.
func MayMove(quotedType, data []byte) bool {
	of, known := state.TypeIn(data)
	return string(quotedType) == `"`+state.TransitionEvent+`"` && (!known || of == state.IntentOpened{}.Type())
}

// MoveOf is the move that an event tells of, if it does.
func MoveOf(e journal.Event) (m Move, moved bool) {
	t, err := state.Decode(e.Data)
	if opened, ok := t.(state.IntentOpened); err == nil && ok {
		m = Move{Time: state.At(e.Timestamp), Kind: opened.Intent.Kind, To: opened.Intent.To, Safety: opened.Intent.Safety}
		if o := opened.Intent.Operation; o != nil {
			m.Operation = o.ID
		}
		return m, true
	}
	return m, false
}
