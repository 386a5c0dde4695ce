package steps

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hank/internal/pattern"
)

// BadTarget says why a path cannot be the target of a copy; empty if it can.
func BadTarget(to string) string {
	if why := pattern.BadPath(to); why != "" {
		return why
	}
	names := strings.Split(path.Clean(to), "/")
	if names[0] == "." {
		return "is the workspace itself"
	}
	switch strings.ToLower(names[0]) {
	case "read_only_data_source", "rigarchive":
		return "is a protected name"
	}
	for _, name := range names {
		if s := strings.ToLower(name); s == ".git" || strings.HasPrefix(s, ".hankweave") {
			return "touches a protected name"
		}
	}
	return ""
}

// IsTemporary reports whether a name is one of those that hank gives its own temporary files in a
// workspace, and that no checkpoint has.
func IsTemporary(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasPrefix(lower, ".hankweave-restore-") || strings.HasPrefix(lower, ".hankweave-rig-")
}

// The longest name of a file and the longest path in bytes; a path has a NUL at its end besides.
const (
	longestName = 255
	longestPath = 4095
)

// TooLong says why a path is longer than any file system takes; empty: it is not.
func TooLong(p string) string {
	if slices.ContainsFunc(strings.Split(p, "/"), func(step string) bool { return len(step) > longestName }) {
		return fmt.Sprintf("it has a name of more than %d bytes, which no file system takes", longestName)
	}
	if n := len(path.Clean(p)); n > longestPath {
		return fmt.Sprintf("it has %d bytes, and no path can have more than %d", n, longestPath)
	}
	return ""
}

// NoName says why a pattern gives no file: a name in it is longer than that of any file; empty: it
// may give one.
func NoName(pattern string) string {
	if strings.ContainsAny(pattern, `{}\`) { // some of its names may not count, or be shorter
		return ""
	}
	names := slices.DeleteFunc(strings.Split(pattern, "/"), func(step string) bool { return strings.ContainsAny(step, "*?[]") })
	return TooLong(path.Join(names...))
}
