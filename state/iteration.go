package state

import "hank/plan/loop"

type (
	// IterationJudged records the verdict on an iteration of a loop: after its last
	// codon has its checkpoint and its costs are known, and before the plan grows. RunID
	// is the run that has the record of that codon, which may be over.
	IterationJudged struct {
		RunID     RunID      `json:"runId"`
		Judgement *Judgement `json:"judgement"`
	}
)

// Type returns the name under which the transition is in the journal.
func (IterationJudged) Type() TransitionType { return "IterationJudged" }

func (t IterationJudged) scope() (RunID, CodonID) {
	if t.Judgement == nil {
		return t.RunID, ""
	}
	return t.RunID, t.Judgement.CodonID
}

func init() { register[IterationJudged]() }

func (t IterationJudged) incomplete() bool { return t.Judgement == nil }

// apply takes in the verdict. Nothing but the plan depends on it, so that
// it is legal at any time after the iteration, once.
func (t IterationJudged) apply(s *State) error {
	j, run := t.Judgement, s.Run(t.RunID)
	current := s.Current()
	switch {
	case run == nil:
		return illegal(t, "there is no run %s", t.RunID)
	case current == nil:
		return illegal(t, "no run is in progress")
	case current.live != nil:
		return illegal(t, "codon %s is %s", current.live.CodonID, current.live.Status)
	case j.Decision != loop.Stop && j.Decision != loop.Continue:
		return illegal(t, "%q is no verdict", j.Decision)
	}
	at := run.lastSettled(j.CodonID)
	if at < 0 || !run.Codon(at).Settled() {
		return illegal(t, "codon %s of run %s has not ended its iteration", j.CodonID, t.RunID)
	}
	if around := run.Codon(at).LoopContext; around == nil || around.LoopID != j.LoopID || around.Iteration != j.Iteration || run.Codon(at).Attempt != j.Attempt {
		return illegal(t, "attempt %d at codon %s is not of iteration %d of %s", j.Attempt, j.CodonID, j.Iteration, j.LoopID)
	}
	if run.Judgement(run.Codon(at)) != nil {
		return illegal(t, "iteration %d of %s has its verdict", j.Iteration, j.LoopID)
	}
	judged := *j
	judged.encoded = nil
	if err := judged.freeze(); err != nil {
		return illegal(t, "%v", err)
	}
	s.replaceRun(t.RunID, func(r *Run) { r.judged = r.judged.append(&judged) })
	return nil
}
