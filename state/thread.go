package state

import "slices"

// Step is a record on the thread with the run that holds it.
type Step struct {
	Run   *Run
	Codon *Codon
}

// Thread returns the records that led to where the execution stands, oldest
// first: those of the newest run, before them those of the run that it
// continues up to the codon behind which it began, and so on. What a rollback
// left behind is not on the thread. Complexity: records on the thread.
func (s *State) Thread() []Step {
	var steps []Step
	run, upto := s.Newest(), (*CodonID)(nil)
	whole := true
	if p := s.Position; p != nil {
		run, upto, whole = s.Run(p.RunID), p.AfterCodon, false
	}
	for seen := map[RunID]bool{}; run != nil && !seen[run.RunID]; {
		seen[run.RunID] = true
		last := run.Len() - 1
		if !whole {
			last = run.lastOf(upto)
		}
		for i := last; i >= 0; i-- {
			steps = append(steps, Step{run, run.Codon(i)})
		}
		src := run.StartingConditions.Source
		if src == nil || !whole && last < 0 && upto == nil {
			break
		}
		run, upto, whole = s.Run(src.RunID), src.AfterCodon, false
	}
	slices.Reverse(steps)
	return steps
}

// lastOf returns the index of the newest record of a codon, or -1.
func (r *Run) lastOf(id *CodonID) int {
	if id == nil {
		return -1
	}
	for i := r.Len() - 1; i >= 0; i-- {
		if r.Codon(i).CodonID == *id {
			return i
		}
	}
	return -1
}

// Settled returns the newest settled record of each codon on the thread, and
// the last of them in the order of the thread.
func (s *State) Settled() (map[CodonID]*Codon, *Step) {
	settled, last := map[CodonID]*Codon{}, (*Step)(nil)
	for _, step := range s.Thread() {
		if step.Codon.Settled() {
			settled[step.Codon.CodonID], last = step.Codon, &step
		}
	}
	return settled, last
}

// Next returns the index of the first entry of the plan that is not settled on
// the thread; the length of the plan if all are.
func (s *State) Next() int {
	settled, _ := s.Settled()
	for i, e := range s.plan.items {
		if settled[e.CodonID] == nil {
			return i
		}
	}
	return s.plan.len()
}

// PreviousSession returns the session that the codon at a plan index may
// continue: that of the entry right before it, from its newest record on the
// thread that is completed, or skipped after the agent had spoken.
func (s *State) PreviousSession(index int) string {
	if index <= 0 || index > s.plan.len() {
		return ""
	}
	want, session := s.plan.items[index-1].CodonID, ""
	for _, step := range s.Thread() {
		c := step.Codon
		spoke := c.AssistantMessageCount != nil && *c.AssistantMessageCount > 0
		if c.CodonID == want && (c.Status == Completed || c.Status == Skipped && spoke) {
			session = c.ClaudeSessionID
		}
	}
	return session
}

// Crashes counts how often in a row the newest runs died at the same codon
// without a person having begun them: the cap on unattended restarts.
func (s *State) Crashes(id CodonID) int {
	n := 0
	for _, r := range s.Runs {
		if r.Status == StatusRunning {
			continue
		}
		last := r.Len() - 1
		if r.Status != StatusCrashed || last < 0 || r.Codon(last).CodonID != id || r.Codon(last).Interrupted != InterruptedByCrash {
			break
		}
		if r.Len() > 1 && r.Codon(last-1).Settled() {
			n++ // it got somewhere before it died here
			break
		}
		n++
		if r.StartedBy == nil || !r.StartedBy.Unattended {
			break // a person's start resets the count
		}
	}
	return n
}

// TotalCost is what all runs cost, abandoned timelines included: money spent
// stays spent.
func (s *State) TotalCost() USD {
	var sum USD
	for _, r := range s.Runs {
		sum += r.Cost()
	}
	return sum
}
