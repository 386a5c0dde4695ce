//go:build unix

package plan

import "syscall"

func makeFIFO(name string) error { return syscall.Mkfifo(name, 0o600) }
