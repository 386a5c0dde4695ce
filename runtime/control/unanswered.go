package control

import "fmt"

// UnansweredError says that a live run did not answer a request.
type UnansweredError struct {
	Execution string
	Err       error // says what became of the request
}

func (e *UnansweredError) Error() string { return fmt.Sprintf("%s: %v", e.Execution, e.Err) }

func (e *UnansweredError) Unwrap() error { return e.Err }
