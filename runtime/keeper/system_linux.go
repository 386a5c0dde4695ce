package keeper

import (
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

const hasSubreapers = true

func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// keepForSelf lets the command inherit nothing but its standard streams.
func keepForSelf() {
	if unix.CloseRange(controlFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		unix.CloseOnExec(controlFD) // before Linux 5.11
		unix.CloseOnExec(reportFD)
	}
}

func commandAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitOptions include children that were made to end without SIGCHLD.
const waitOptions = unix.WALL
