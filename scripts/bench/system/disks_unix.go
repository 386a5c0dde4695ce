//go:build unix

package system

import "golang.org/x/sys/unix"

func SyncDisks() { unix.Sync() }
