package state

import "slices"

// OperationAnswered keeps what an operation was answered. Of one that has neither
// begun a run nor made a move it is the only trace.
type OperationAnswered struct {
	Operation Operation `json:"operation"`
}

// Type returns the name under which the transition is in the journal.
func (OperationAnswered) Type() TransitionType { return "OperationAnswered" }

func (OperationAnswered) scope() (RunID, CodonID) { return "", "" }

func init() { register[OperationAnswered]() }

// mostOperations is how many operations are remembered beside those of the runs. Who
// repeats a command does so before that many others have been carried out.
const mostOperations = 256

// Operation returns what is known of the operation with an id, and the newest run that
// it has begun; nil: nothing, and none. One whose move is under way is in the intent.
func (s *State) Operation(id string) (*Operation, *Run) {
	if id == "" {
		return nil, nil
	}
	for _, r := range s.Runs {
		if r.Operation != nil && r.Operation.ID == id {
			return r.Operation, r
		}
	}
	for i := range s.Operations {
		if s.Operations[i].ID == id {
			return &s.Operations[i], nil
		}
	}
	if s.Intent != nil && s.Intent.Operation != nil && s.Intent.Operation.ID == id {
		return s.Intent.Operation, nil
	}
	return nil, nil
}

// admit refuses an id that belongs to another operation.
func (s *State) admit(t Transition, o *Operation) error {
	if o == nil {
		return nil
	}
	if o.ID == "" || o.Command == "" {
		return illegal(t, "an operation needs an id and a command")
	}
	if known, _ := s.Operation(o.ID); known != nil && !known.Same(o) {
		return illegal(t, "operation %q is another one", o.ID)
	}
	return nil
}

// apply keeps the answer with the run of the operation, or in the list.
func (t OperationAnswered) apply(s *State) error {
	o := t.Operation
	if err := s.admit(t, &o); err != nil {
		return err
	}
	if _, run := s.Operation(o.ID); run != nil {
		s.replaceRun(run.RunID, func(r *Run) { r.Operation = &o })
		return nil
	}
	s.remember(o)
	return nil
}

// remember puts an operation after all others, and drops the oldest.
func (s *State) remember(o Operation) {
	all := slices.DeleteFunc(slices.Clone(s.Operations), func(known Operation) bool { return known.ID == o.ID })
	all = append(all, o)
	s.Operations = all[max(0, len(all)-mostOperations):]
}
