package state

import "fmt"

// IllegalMoveError is a transition that the present state does not allow. The
// state is unchanged and nothing may be written.
type IllegalMoveError struct {
	Transition TransitionType
	Why        string
}

func (e *IllegalMoveError) Error() string {
	return fmt.Sprintf("%s is not possible now: %s", e.Transition, e.Why)
}

func illegal(t Transition, format string, args ...any) error {
	return &IllegalMoveError{t.Type(), fmt.Sprintf(format, args...)}
}
