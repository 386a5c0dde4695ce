//go:build unix

package rig

import "syscall"

// nonblock keeps the opening of a FIFO, which may have taken a file's place,
// from waiting for a writer.
const nonblock = syscall.O_NONBLOCK
