package execution

import (
	"hank/state"
	"hank/state/journal"
)

// BaseEvent returns the event that a journal begins with, and the state that it leads
// to. The caller makes that the present one when the event is durable, not before.
func (x *Execution) BaseEvent(s *state.State, seq uint64, why string) (journal.Event, *state.State, error) {
	rebased, err := s.Rebase(why)
	if err != nil {
		return journal.Event{}, nil, err
	}
	next, err := state.Apply(s, seq, rebased)
	if err != nil {
		return journal.Event{}, nil, err
	}
	data, err := next.Event(rebased)
	if err != nil {
		return journal.Event{}, nil, err
	}
	return x.event(seq, state.TransitionEvent, data), next, nil
}
