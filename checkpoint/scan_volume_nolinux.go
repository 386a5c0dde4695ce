//go:build unix && !linux

package checkpoint

// isOpenForWriting needs leases, which only Linux has.
func isOpenForWriting(int) bool { return false }

// hidesMappedWrites is about file systems of Linux.
func hidesMappedWrites(int) bool { return false }
