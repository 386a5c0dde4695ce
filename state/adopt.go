package state

import "cmp"

// Adopt returns a state that another runtime wrote as hank continues from it.
// What hank keeps in a state and the other one left to git is filled in:
// initial is the commit that its history begins with, and tips leads its
// branches to their commits. Nothing that is there is changed, but for a
// currentRunId that names a run which has ended, and for what the order of the
// records says about failures and places (see adopt of Run, and placeOf). Other
// fields stay, known or not.
func (s *State) Adopt(initial SHA, tips map[string]SHA) (*State, error) {
	next := *s
	next.Adopted = true
	next.InitialCheckpoint = cmp.Or(s.InitialCheckpoint, initial)
	if r := s.Current(); r == nil || r.Status != StatusRunning {
		next.CurrentRunID = ""
	}
	next.Runs = make([]*Run, len(s.Runs))
	base := next.InitialCheckpoint
	for i := len(s.Runs) - 1; i >= 0; i-- {
		run := *s.Runs[i]
		if src := run.StartingConditions.Source; src != nil {
			run.StartingConditions.Source = s.placeOf(src, &run, s.Runs[i+1:])
			base = cmp.Or(src.CheckpointSHA, base) // a codon that is done again starts from the tree as it was
		} else {
			base = next.InitialCheckpoint
		}
		var err error
		if base, err = run.adopt(s, base); err != nil {
			return nil, err
		}
		run.Head = cmp.Or(run.Head, tips[run.GitBranch])
		next.Runs[i] = &run
	}
	next.Base = cmp.Or(s.Base, base)
	return &next, nil
}

// placeOf is where a run began whose source names no codon, although it was not
// the beginning: Hankweave forgets the place when a codon is done again and when
// it goes back to a rig's checkpoint. It is after the entry of the plan before
// that codon, in the newest of the older runs that has it.
func (s *State) placeOf(src *Position, run *Run, older []*Run) *Position {
	if src.AfterCodon != nil {
		return src
	}
	var first CodonID
	if run.Len() > 0 {
		first = run.Codon(0).CodonID
	} else if src.CheckpointSHA != "" {
		for _, r := range older {
			for _, c := range r.Codons() {
				if c.RigSetupCheckpoint == src.CheckpointSHA {
					first = c.CodonID
				}
			}
		}
	}
	i := s.PlanIndex(first)
	if i <= 0 {
		return src
	}
	before := s.plan.items[i-1].CodonID
	for _, r := range older {
		if r.lastOf(before) >= 0 {
			place := *src
			place.RunID, place.AfterCodon, place.RestartAt = r.RunID, &before, first
			return &place
		}
	}
	return src
}

// adopt fills in what each record began from and which attempt it was, and
// returns what the record after the last one begins from. A failure after
// which the run continued with another codon did not stop the plan: it was
// ignored, or passed by the user. A run that crashed failed its last codon.
func (r *Run) adopt(s *State, base SHA) (SHA, error) {
	records := r.Codons()
	for i, c := range records {
		record := *c
		record.BaseCheckpoint = cmp.Or(c.BaseCheckpoint, base)
		if record.Attempt == 0 {
			record.Attempt = 1
			if i > 0 && records[i-1].CodonID == c.CodonID {
				record.Attempt = records[i-1].Attempt + 1
			}
		}
		if c.Status == Failed && i+1 < len(records) && s.PlanIndex(records[i+1].CodonID) > s.PlanIndex(c.CodonID) {
			record.FailureIgnored = true
		}
		if c.Status == Failed && i == len(records)-1 && r.Status == StatusCrashed && c.Interrupted == "" {
			record.Interrupted = InterruptedByCrash
		}
		if record.encoded = nil; record.Status.Terminal() || i < len(records)-1 {
			if err := record.freeze(); err != nil {
				return "", err
			}
		}
		if record.Settled() {
			base = cmp.Or(record.Checkpoint(), base)
		}
		records[i] = &record
	}
	return base, r.load(records)
}
