//go:build !unix

package keeper

import (
	"errors"
	"fmt"
	"os"

	"hank/internal/proc"
)

// errNoProgram is the cause of Start's error if the program is not on the PATH.
var errNoProgram = errors.New("not found on the PATH")

// Process is a command that runs under a keeper.
type Process struct{}

// Start returns ErrUnsupported.
func Start(spec Spec, _ Streams) (*Process, error) {
	if _, err := spec.check(); err != nil {
		return nil, fmt.Errorf("start the command: %w", err)
	}
	return nil, ErrUnsupported
}

// PID returns 0.
func (*Process) PID() int { return 0 }

// keeperPID returns 0.
func (*Process) keeperPID() int { return 0 }

// Identity returns no identity.
func (*Process) Identity() proc.Identity { return proc.Identity{} }

// Stop does nothing.
func (*Process) Stop() {}

// Kill does nothing.
func (*Process) Kill() {}

// Wait returns ErrUnsupported.
func (*Process) Wait() (Exit, error) { return Exit{}, ErrUnsupported }

// Main explains that there is no keeper here and returns 70.
func Main() int {
	fmt.Fprintln(os.Stderr, ErrUnsupported)
	return 70
}

// Reap returns ErrUnsupported.
func Reap(string) ([]Leftover, error) { return nil, ErrUnsupported }

// BecomeSubreaper returns ErrUnsupported.
func BecomeSubreaper() error { return ErrUnsupported }
