// Package flock locks open files and directories among processes, as flock(2)
// does: the kernel gives a lock back when its holder ends, however it ends.
package flock

import "errors"

// ErrHeld is a lock that somebody else has.
var ErrHeld = errors.New("somebody else has the lock")
