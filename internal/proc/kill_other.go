//go:build !unix

package proc

import (
	"errors"
	"os"
	"syscall"
)

// kill can only end a process here: there are no other signals.
func (id Identity) kill(sig syscall.Signal) error {
	if sig != syscall.SIGKILL {
		return errors.New("this system knows no signals but kill")
	}
	if err := id.proven(); err != nil {
		return err
	}
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return err
	}
	defer p.Release()
	return p.Kill()
}
