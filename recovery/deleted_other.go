//go:build !unix

package recovery

import "io/fs"

// isDeleted cannot tell here.
func isDeleted(fs.FileInfo) bool { return false }
