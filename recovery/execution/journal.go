package execution

import (
	"hank/state"
	"hank/state/journal"
)

// BaseEvent returns the event that a journal begins with, and makes its state
// the present one.
func (x *Execution) BaseEvent(s *state.State, seq uint64, why string) (journal.Event, error) {
	rebased, err := s.Rebase(why)
	if err != nil {
		return journal.Event{}, err
	}
	data, err := state.Encode(rebased)
	if err != nil {
		return journal.Event{}, err
	}
	next, err := state.Apply(s, seq, rebased)
	if err != nil {
		return journal.Event{}, err
	}
	x.Current.Store(next)
	return x.event(seq, state.TransitionEvent, data), nil
}
