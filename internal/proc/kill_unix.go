//go:build unix

package proc

import (
	"errors"
	"os"
	"syscall"
)

// killByNumber looks and signals in two steps, with a moment between them in
// which the pid could change hands.
func (id Identity) killByNumber(sig syscall.Signal) error {
	if err := id.proven(); err != nil {
		return err
	}
	err := syscall.Kill(id.PID, sig)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
