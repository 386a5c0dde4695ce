package state

import (
	"cmp"
	"iter"
	"slices"

	"hank/plan"
)

// LineageEntry is a record on the lineage path with the run that holds it.
type LineageEntry struct {
	Run   *Run
	Codon *Codon
}

// LineagePath returns the records that led to where the execution is, oldest
// first: those of the newest run, before them those of the run that it
// continues up to the codon after which it began, and so on. What a rollback
// left behind is not on the lineage path. Complexity: records on the lineage path.
func (s *State) LineagePath() []LineageEntry {
	if run := s.RunAtPosition(); run != nil {
		return s.lineagePathTo(run, run.Len()-1)
	}
	p := s.Position
	if p == nil || p.AfterCodon == nil {
		return nil
	}
	run := s.Run(p.RunID)
	if run == nil {
		return nil
	}
	return s.lineagePathTo(run, run.lastSettled(*p.AfterCodon))
}

// RunAtPosition is the run after whose end the execution is, so that its
// verdict holds: the newest one, the one that an undo has gone back to, or the one
// that a resume has continued which did not come to its codon. It is nil if nothing
// has run yet, and after a move that brings no verdict back.
func (s *State) RunAtPosition() *Run {
	if s.Position != nil {
		return s.Run(s.Position.EndOf)
	}
	r := s.Newest()
	if r != nil && r.Len() == 0 {
		if of := s.Resumed(r); of != nil {
			return of
		}
	}
	return r
}

// Resumed is the run whose last attempt a run was begun to resume; nil: none.
func (s *State) Resumed(r *Run) *Run {
	if src := r.StartingConditions.Source; src != nil {
		return s.Run(src.EndOf)
	}
	return nil
}

// LineagePathTo returns the lineage path that ends with a record of a run, that record
// included.
func (s *State) LineagePathTo(run *Run, record *Codon) []LineageEntry {
	for i := range run.Len() {
		if run.Codon(i) == record {
			return s.lineagePathTo(run, i)
		}
	}
	return nil
}

func (s *State) lineagePathTo(run *Run, last int) []LineageEntry {
	steps := slices.Collect(s.backwardFrom(run, last))
	slices.Reverse(steps)
	return steps
}

// Backward yields the lineage path from its end, and costs what is taken of it.
func (s *State) Backward() iter.Seq[LineageEntry] {
	if run := s.RunAtPosition(); run != nil {
		return s.backwardFrom(run, run.Len()-1)
	}
	if p := s.Position; p != nil && p.AfterCodon != nil {
		if run := s.Run(p.RunID); run != nil {
			return s.backwardFrom(run, run.lastSettled(*p.AfterCodon))
		}
	}
	return func(func(LineageEntry) bool) {}
}

func (s *State) backwardFrom(run *Run, last int) iter.Seq[LineageEntry] {
	return func(yield func(LineageEntry) bool) {
		run, last := run, last
		for seen := map[RunID]bool{}; run != nil && !seen[run.RunID]; {
			seen[run.RunID] = true
			for i := last; i >= 0; i-- {
				if !yield(LineageEntry{run, run.Codon(i)}) {
					return
				}
			}
			src := run.StartingConditions.Source
			if src == nil || src.AfterCodon == nil {
				return
			}
			if run = s.Run(src.RunID); run != nil {
				last = run.lastSettled(*src.AfterCodon)
			}
		}
	}
}

// lastOf returns the index of the newest record of a codon, or -1.
func (r *Run) lastOf(id CodonID) int {
	for i := r.Len() - 1; i >= 0; i-- {
		if r.Codon(i).CodonID == id {
			return i
		}
	}
	return -1
}

// lastSettled is lastOf, of those that are settled if there is one: the work that a
// position keeps. A failure at its gate may have come after it.
func (r *Run) lastSettled(id CodonID) int {
	for i := r.Len() - 1; i >= 0; i-- {
		if c := r.Codon(i); c.CodonID == id && c.Settled() {
			return i
		}
	}
	return r.lastOf(id)
}

// LastSettled is the newest settled record on the lineage path, and nil if there is none. One
// that has failed at its gate since is not settled any more. Complexity: the records after it.
func (s *State) LastSettled() *LineageEntry {
	failed := map[CodonID]bool{} // at their gates
	for step := range s.Backward() {
		switch c := step.Codon; {
		case c.Settled() && !failed[c.CodonID]:
			return &step
		case c.FailedAtGate():
			failed[c.CodonID] = true
		}
	}
	return nil
}

// Finished returns the records of the entries that the plan begins with and that are
// finished, in its order: the newest record of each is settled, and comes on the lineage path
// after that of the entry before it. It is of the same loop. What an adopted program has put a new codon before runs
// again, and is not finished by an older record if it fails then. Complexity: records on the
// lineage path, and the plan.
func (s *State) Finished() []*Codon {
	return s.FinishedOf(s.plan.len(), func(i int) *plan.Entry { return &s.plan.items[i].Entry })
}

// FinishedOf is Finished for another plan of these codons, of n entries.
func (s *State) FinishedOf(n int, entry func(int) *plan.Entry) (records []*Codon) {
	path, at := s.LineagePath(), map[CodonID]int{}
	for i, step := range path {
		if delete(at, step.Codon.CodonID); step.Codon.Settled() {
			at[step.Codon.CodonID] = i
		}
	}
	before := -1
	for k := range n {
		i, settled := at[entry(k).CodonID]
		if !settled || i < before || !path[i].Codon.ofLoop(entry(k).LoopContext) {
			break
		}
		before, records = i, append(records, path[i].Codon)
	}
	return records
}

// ofLoop reports whether a record is of a loop; of nil: of none.
func (c *Codon) ofLoop(l *plan.LoopContext) bool {
	return (c.LoopContext == nil) == (l == nil) && (l == nil || c.LoopContext.LoopID == l.LoopID)
}

// CurrentPosition is where the execution is, as a place to continue from. Its checkpoint
// is the base of the next codon.
func (s *State) CurrentPosition() Position {
	if s.Position != nil {
		here := *s.Position
		here.Before, here.EndOf, here.Program, here.HankHash = nil, "", "", ""
		return here
	}
	here := Position{CheckpointSHA: s.Base}
	if run := s.Newest(); run != nil {
		here.RunID = run.RunID
	}
	if last := s.LastSettled(); last != nil {
		here.RunID, here.AfterCodon = last.Run.RunID, &last.Codon.CodonID
	}
	if i := s.Next(); i < s.plan.len() {
		here.RestartAt = s.plan.items[i].CodonID
	}
	return here
}

// UndoPosition is where the execution is, as the place that an undo of the
// next move comes back to: with its verdict and its program. One step back is
// kept, not the whole way.
func (s *State) UndoPosition() Position {
	here := s.CurrentPosition()
	here.Program, here.HankHash = s.Program, s.HankHash
	if run := s.RunAtPosition(); run != nil {
		here.EndOf = run.RunID
	}
	if at := s.MovedTo(); at != nil {
		here.AtRigOf(at)
	}
	return here
}

// AtRigOf takes over from another position whose rig the workspace is after.
func (p *Position) AtRigOf(other *Position) {
	if p.RigDone = other.RigDone; p.RigDone {
		p.RestartAt = other.RestartAt
	}
}

// LastMove is the position that a move has brought the execution to, as long as
// no codon has begun there; nil if one has. A run that was interrupted before its
// first codon has done nothing to it.
func (s *State) LastMove() *Position {
	if s.Position != nil {
		return s.Position
	}
	if r := s.Newest(); r != nil && r.Len() == 0 {
		return r.StartingConditions.Source
	}
	return nil
}

// MovedTo is the position that the next codon begins at because a move has led
// there, and not because a record has ended there.
func (s *State) MovedTo() *Position {
	switch run := s.RunAtPosition(); {
	case run == nil:
		return s.Position
	case run.Len() == 0:
		return run.StartingConditions.Source
	}
	return nil
}

// Next returns the index of the first entry of the plan that is not finished; the length
// of the plan if all are.
func (s *State) Next() int { return len(s.Finished()) }

// Session is an agent's session as a codon has left it.
type Session struct {
	ID         string // empty: there is none
	Checkpoint SHA    // of its files; empty: they are in none
	Cost       USD    // what it has cost so far
}

// PreviousSession returns the session that the codon at a plan index may
// continue: that of the entry right before it, from its newest record on the
// lineage path that is completed, or skipped after the agent had spoken, also in an
// attempt that the skipped one continued. It looks at the records of the newest run first.
func (s *State) PreviousSession(index int) Session {
	if index <= 0 || index > s.plan.len() {
		return Session{}
	}
	want := s.plan.items[index-1].CodonID
	if r := s.RunAtPosition(); r != nil {
		if session := sessionIn(r.done.items, want); session.ID != "" {
			return session
		}
	}
	var records []*Codon
	for _, step := range s.LineagePath() {
		records = append(records, step.Codon)
	}
	if session := sessionIn(records, want); session.ID != "" {
		return session
	}
	if finished := s.Finished(); index <= len(finished) && finished[index-1].Status == Skipped {
		return s.continuedBy(finished[index-1])
	}
	return Session{}
}

// continuedBy is the session that a skipped attempt continued, if the agent has spoken in it
// before: in an attempt at the same codon that was interrupted.
func (s *State) continuedBy(c *Codon) Session {
	session := Session{ID: cmp.Or(c.ClaudeSessionID, c.PreviousSessionID), Checkpoint: c.SessionCheckpoint, Cost: c.Cost()}
	for _, run := range s.Runs { // newest first
		for _, before := range slices.Backward(run.done.items) {
			if before.CodonID != c.CodonID || before.Interrupted == "" || before.BaseCheckpoint != c.BaseCheckpoint || before.ClaudeSessionID != session.ID {
				continue
			}
			session.Cost += before.Cost()
			session.Checkpoint = cmp.Or(session.Checkpoint, before.SessionCheckpoint)
			if before.spoke() {
				return session
			}
		}
	}
	return Session{}
}

// spoke reports whether the agent of an attempt has said anything.
func (c *Codon) spoke() bool { return c.AssistantMessageCount != nil && *c.AssistantMessageCount > 0 }

// sessionIn finds the newest session of a codon and adds up what the records
// that worked in it, one after the other, have cost.
func sessionIn(records []*Codon, want CodonID) (session Session) {
	for _, c := range slices.Backward(records) {
		good := c.Status == Completed || c.Status == Skipped && c.spoke()
		if session.ID == "" && c.CodonID == want && good {
			session.ID, session.Checkpoint = c.ClaudeSessionID, c.SessionCheckpoint
		}
		if session.ID == "" {
			continue
		}
		if c.ClaudeSessionID != session.ID {
			break
		}
		session.Cost += c.Cost()
	}
	return session
}

// TotalCost is Bill without the distinction of what was only replayed.
func (s *State) TotalCost() USD { return s.Bill().Cost }
