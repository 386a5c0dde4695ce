//go:build unix

package replay

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// dieBy ends the process by a signal, so that the parent sees the death that
// was recorded. Signals that Go's runtime turns into a crash report become
// SIGKILL.
func dieBy(name string) int {
	number := unix.SignalNum(name)
	switch number {
	case unix.SIGTERM, unix.SIGINT, unix.SIGHUP:
	default:
		number = unix.SIGKILL
	}
	signal.Reset(number)
	if unix.Kill(os.Getpid(), number) == nil {
		time.Sleep(10 * time.Second) // delivery may take a moment
	}
	return 128 + int(number)
}
