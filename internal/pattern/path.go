package pattern

import "strings"

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
