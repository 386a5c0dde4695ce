package proc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// kill takes hold of the process first and looks who it is afterwards: a
// descriptor never changes over to the next owner of the pid. If the pid
// changed hands between the two steps, the descriptor holds the dead one, and
// the signal goes nowhere.
func (id Identity) kill(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		// Linux before 5.3, a sandbox that forbids the call, no descriptor
		// left: look and signal in two steps.
		return id.killByNumber(sig)
	}
	defer unix.Close(fd)
	if err := id.proven(); err != nil {
		return err
	}
	err = unix.PidfdSendSignal(fd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
