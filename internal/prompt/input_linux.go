package prompt

import "golang.org/x/sys/unix"

const (
	getMode           = unix.TCGETS
	setMode           = unix.TCSETSW
	setModeAndDiscard = unix.TCSETSF
)
