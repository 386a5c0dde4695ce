package proc

import (
	"fmt"
	"os"
	"syscall"
)

// Kill sends sig to the process if, and only if, it is still the one that id
// names. It returns an error matching os.ErrProcessDone if that process is
// dead, and sends nothing if it cannot be told.
func (id Identity) Kill(sig syscall.Signal) error {
	err := id.kill(sig)
	if err != nil {
		return fmt.Errorf("send signal %d to process %d: %w", int(sig), id.PID, err)
	}
	return nil
}

// proven returns nil if id names a living process, os.ErrProcessDone if it
// names a dead one, and a reason if neither can be proven.
func (id Identity) proven() error {
	switch verdict, why := id.Check(); verdict {
	case Alive:
		return nil
	case Dead:
		return os.ErrProcessDone
	default:
		return fmt.Errorf("it is not certain which process that is: %s", why)
	}
}
