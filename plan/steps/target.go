package steps

import (
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

// LongestName is the longest name of a file in bytes.
const LongestName = 255

// LongName reports whether a path has a name that no file can have.
func LongName(p string) bool {
	return slices.ContainsFunc(strings.Split(p, "/"), func(step string) bool { return len(step) > LongestName })
}
