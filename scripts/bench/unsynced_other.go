//go:build !linux

package main

import "errors"

// canUnsync is whether hank can be measured without its syncs: Linux alone can
// filter the system calls of a program.
const canUnsync = false

func runUnsynced([]string) error {
	return errors.New("syncs cannot be left out on this system")
}
