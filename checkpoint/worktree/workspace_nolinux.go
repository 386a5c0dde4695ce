//go:build unix && !linux

package worktree

// openResolved is for systems that resolve a whole path without symlinks in
// one call; this one does not.
func openResolved(int, string) (fd int, err error, ok bool) { return -1, nil, false }
