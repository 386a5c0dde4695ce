package state

// SentinelsUpdated carries what the sentinels of the live record have done so far.
type SentinelsUpdated struct {
	RunID     RunID      `json:"runId"`
	CodonID   CodonID    `json:"codonId"`
	Sentinels *Sentinels `json:"sentinels"`
}

// Type returns the name under which the transition is in the journal.
func (SentinelsUpdated) Type() TransitionType { return "SentinelsUpdated" }

func (t SentinelsUpdated) scope() (RunID, CodonID) { return t.RunID, t.CodonID }

func (t SentinelsUpdated) incomplete() bool { return t.Sentinels == nil }

func init() { register[SentinelsUpdated]() }

// apply makes it part of the live record, whatever its status: a call can be answered
// before the agent has a session.
func (t SentinelsUpdated) apply(s *State) error {
	run := s.Run(t.RunID)
	if run == nil || run.Paused != nil || run.live == nil || run.live.CodonID != t.CodonID {
		return illegal(t, "codon %s is not in progress in run %s", t.CodonID, t.RunID)
	}
	record := *run.live
	record.Sentinels = t.Sentinels
	s.spend(t.RunID, run.live, &record)
	s.replaceRun(t.RunID, func(r *Run) { r.live = &record })
	return nil
}
