//go:build unix

package checkpoint

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockAlone takes a lock on a folder without waiting, for as long as what it
// returns is open; nil: another hank has it, or there are no locks.
func lockAlone(dir string) *os.File {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		f.Close()
		return nil
	}
	return f
}
