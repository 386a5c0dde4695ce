//go:build unix && !linux

package proc

import "syscall"

func (id Identity) kill(sig syscall.Signal) error { return id.killByNumber(sig) }
