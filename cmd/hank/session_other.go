//go:build !unix

package main

import "syscall"

// ownSession: there are no sessions here.
func ownSession() *syscall.SysProcAttr { return nil }
