//go:build !linux

package system

import "errors"

// CanUnsync is whether hank can be measured without its syncs: Linux alone can
// filter the system calls of a program.
const CanUnsync = false

func RunUnsynced([]string) error {
	return errors.New("syncs cannot be left out on this system")
}
