//go:build unix && !linux

package scan

// isOpenForWriting needs leases, which only Linux has.
func isOpenForWriting(int) bool { return false }

// habits is about file systems of Linux; of others nothing is taken for granted.
func habits(int) (unseen, dated bool) { return false, false }
