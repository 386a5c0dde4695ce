//go:build !unix

package layout

import "io/fs"

// IsDeleted cannot tell here.
func IsDeleted(fs.FileInfo) bool { return false }
