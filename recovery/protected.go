package recovery

import "strings"

// IsOwn tells whether a name is one that checkpoints never hold, at whatever
// depth: git's, or hank's own. Some systems ignore case.
func IsOwn(name string) bool {
	lower := strings.ToLower(name)
	return lower == ".git" || strings.HasPrefix(lower, Dir)
}

// Protected tells whether a path in the workspace is not the agents'.
func Protected(rel string) bool {
	first, _, _ := strings.Cut(rel, "/")
	if strings.EqualFold(first, DataName) || strings.EqualFold(first, ArchiveName) {
		return true
	}
	for step := range strings.SplitSeq(rel, "/") {
		if IsOwn(step) {
			return true
		}
	}
	return false
}
