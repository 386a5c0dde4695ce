//go:build !linux

package sandbox

import "runtime"

// Kernel says that this system has no Landlock.
func Kernel() Support {
	return Support{Why: "Landlock is a part of Linux, and this is " + runtime.GOOS}
}

// Confine returns an *UnsupportedError.
func Confine([]string) error { return &UnsupportedError{Kernel().Why} }
