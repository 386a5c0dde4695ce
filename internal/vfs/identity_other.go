//go:build !linux && !darwin

package vfs

import "io/fs"

func identityOf(fs.FileInfo) (Identity, bool) { return Identity{}, false }
