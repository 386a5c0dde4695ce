//go:build unix && !linux

package keeper

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func selfPath() (string, error) { return os.Executable() }

const hasSubreapers = false

// becomeSubreaper does nothing: there are no subreapers here. Orphans are
// found by their group and environment.
func becomeSubreaper() error { return nil }

// keepForSelf keeps the pipes from the command.
func keepForSelf() {
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(reportFD)
}

func commandAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

const waitOptions = 0
