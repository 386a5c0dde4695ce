package state

import (
	"cmp"
	"slices"
)

// Evidence is what one checkpoint tells: an event, and the header of the run
// that it happened in.
type Evidence struct {
	Seq        uint64
	Run        *Run // nil for what belongs to no run
	Program    SHA
	Limits     *Limits    // right before Transition; nil where the checkpoint does not say
	Whole      *State     // the state right before Transition, where the checkpoint carries it
	Transition Transition // its commit filled in
}

// Rebuild brings a state forward by evidence after it, when the events in
// between are lost. Checkpoints tell of every codon that ended, of every run
// that has a checkpoint, and of how runs ended; what else there was is gone.
// The plan stays as it is in base: the caller derives it again. base is not
// changed.
func Rebuild(base *State, evidence []Evidence) *State {
	s := *base
	evidence = slices.SortedFunc(slices.Values(evidence), func(a, b Evidence) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, e := range evidence {
		if e.Seq <= s.Seq {
			continue
		}
		if e.Whole != nil {
			lineage := s.Lineage
			s = *e.Whole
			s.Lineage = lineage
		}
		s.Seq = e.Seq
		if e.Program != "" {
			s.Program = e.Program
		}
		if e.Limits != nil {
			s.Limits = *e.Limits
		}
		// No run begins and no codon moves while a change of the workspace is
		// under way: one that was announced before has ended.
		if _, moved := e.Transition.(CodonTransitioned); moved || e.Run != nil && s.Run(e.Run.RunID) == nil {
			s.Intent = nil
		}
		if e.Run != nil {
			s.applyHeader(e.Run)
		}
		s.applyEvidence(e.Transition)
	}
	s.spent = spending{} // what was witnessed went past Apply
	return &s
}

// applyHeader puts a run's header into the state. A run that another came after
// has ended, though its end was not seen.
func (s *State) applyHeader(header *Run) {
	if s.Run(header.RunID) == nil {
		for _, r := range s.Runs {
			if r.Status == StatusRunning {
				s.replaceRun(r.RunID, func(r *Run) { r.Status, r.EndReason, r.live = StatusCrashed, EndCrash, nil })
			}
		}
		fresh := *header
		s.Runs = append([]*Run{&fresh}, s.Runs...)
	} else {
		s.replaceRun(header.RunID, func(r *Run) {
			done, live, judged := r.done, r.live, r.judged
			*r = *header
			r.done, r.live, r.judged = done, live, judged
		})
	}
	s.CurrentRunID = ""
	if header.Status == StatusRunning {
		s.CurrentRunID = header.RunID
	}
	s.Position = nil
}

func (s *State) applyEvidence(t Transition) {
	switch t := t.(type) {
	case InitialCheckpointSet:
		s.InitialCheckpoint, s.Base = t.SHA, t.SHA
	case CheckpointCreated:
		if s.noteCheckpoint(t) != nil {
			return // of a run that is not known; the commit stays on its branch
		}
	case BranchesRemoved:
		if s.removeBranches(t) != nil {
			return // what is needed after all is repaired or named as lost
		}
	case CodonTransitioned:
		record := *t.Record
		if record.Status.Terminal() && record.freeze() != nil {
			return
		}
		s.replaceRun(t.RunID, func(r *Run) {
			r.Head = record.Checkpoint()
			if r.live = &record; record.Status.Terminal() {
				r.done, r.live = r.done.append(&record), nil
			}
		})
		if record.Settled() {
			s.Base = record.Checkpoint()
		}
	}
}

// WithPlan returns the state with another plan.
func (s *State) WithPlan(entries []byte) (*State, error) {
	decoded, err := decodeEntries(entries)
	if err != nil {
		return nil, err
	}
	next := *s
	next.plan = newList(decoded)
	return &next, nil
}
