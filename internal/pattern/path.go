package pattern

import (
	"path"
	"slices"
	"strings"
)

// BadTarget says why a path cannot be the target of a copy; empty if it can.
func BadTarget(to string) string {
	if why := BadPath(to); why != "" {
		return why
	}
	steps := strings.Split(path.Clean(to), "/")
	if steps[0] == "." {
		return "is the workspace itself"
	}
	switch strings.ToLower(steps[0]) {
	case "read_only_data_source", "rigarchive":
		return "is a protected name"
	}
	for _, step := range steps {
		if s := strings.ToLower(step); s == ".git" || strings.HasPrefix(s, ".hankweave") {
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

// Outside is what BadPath says of a path that climbs.
const Outside = "leads out of the directory"

// BadPath says why a path is not a plain relative path that stays where it is;
// empty if it is one.
func BadPath(p string) string {
	switch {
	case p == "":
		return "is empty"
	case strings.IndexByte(p, 0) >= 0:
		return "has a NUL character"
	case strings.IndexByte(p, '\\') >= 0:
		return "has a backslash: write paths with /"
	case p[0] == '/':
		return "is absolute"
	case len(p) > 1 && p[1] == ':' && ('a' <= p[0]|0x20 && p[0]|0x20 <= 'z'):
		return "names a drive"
	}
	depth := 0
	for _, step := range strings.Split(p, "/") {
		switch step {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return Outside
			}
		default:
			depth++
		}
	}
	return ""
}
