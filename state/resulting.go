package state

// Resulting is what the event of a transition says of the state that it has led to, for
// those who read the journal and do not fold it. Nothing is derived from it.
type Resulting struct {
	CurrentRunID   *RunID `json:"currentRunId"` // null: no run is in progress
	RunCount       int    `json:"runCount"`
	TotalCost      USD    `json:"totalCost"`      // of all runs
	CurrentRunCost USD    `json:"currentRunCost"` // 0 if no run is in progress
}

// spending is the sum of the bills of all records and of those of the current run, carried
// from state to state: adding them up at each transition would cost the whole history.
type spending struct {
	known      bool
	total, run USD
}

// resulting is what events say of the state.
func (s *State) resulting() Resulting {
	spent := s.spent
	if !spent.known {
		spent = s.addUp()
	}
	r := Resulting{RunCount: len(s.Runs), TotalCost: spent.total}
	if id := s.CurrentRunID; id != "" {
		r.CurrentRunID, r.CurrentRunCost = &id, spent.run
	}
	return r
}

// addUp is the spending by all records. Complexity: the history.
func (s *State) addUp() spending {
	spent := spending{known: true, total: s.Bill().Cost}
	if run := s.Current(); run != nil {
		spent.run = run.Bill().Cost
	}
	return spent
}

// spend takes in that a record of a run has another form now; from is nil if it is new.
func (s *State) spend(run RunID, from, to *Codon) {
	more := to.Bill().Cost
	if from != nil {
		more -= from.Bill().Cost
	}
	s.spent.total += more
	if run == s.CurrentRunID {
		s.spent.run += more
	}
}
