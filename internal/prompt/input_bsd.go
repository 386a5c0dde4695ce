//go:build unix && !linux

package prompt

import "golang.org/x/sys/unix"

const (
	getMode           = unix.TIOCGETA
	setMode           = unix.TIOCSETAW
	setModeAndDiscard = unix.TIOCSETAF
)
