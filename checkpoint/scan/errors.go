package scan

import "fmt"

// CannotRecord begins the text of an UnstableError, which names the path next.
const CannotRecord = "cannot record "

// UnstableError says that a file or directory of the workspace could not be
// recorded as it is: it is unreadable, or changed during every attempt. No
// checkpoint was made.
type UnstableError struct {
	Path   string // slash-separated, relative to the workspace's root
	Why    string
	Remedy string
	Err    error // the cause, or nil
}

func (e *UnstableError) Error() string {
	return fmt.Sprintf(CannotRecord+"%q: %s; %s", e.Path, e.Why, e.Remedy)
}

// Unwrap returns the cause.
func (e *UnstableError) Unwrap() error { return e.Err }
