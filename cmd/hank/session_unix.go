//go:build unix

package main

import "syscall"

// ownSession makes a process independent of the terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
