//go:build !unix

package system

func SyncDisks() {}
