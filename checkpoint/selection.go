package checkpoint

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Selection says which files a checkpoint takes. The zero value takes none.
type Selection struct {
	// All takes everything that is not ignored.
	All bool
	// Patterns are globs with ** and braces, relative to the root. One without
	// a slash fits in the root alone; one that names a folder stands for its
	// content; one that begins with ! takes out what the others take.
	Patterns []string
	// Never are paths relative to the root that are not taken, with all below.
	Never []string
}

// selector is a Selection made ready.
type selector struct {
	all          bool
	take, refuse []string
	never        map[string]bool
	include      []string        // sorted; taken whatever else holds
	above        map[string]bool // folders that lead to one of include
}

func newSelector(s Selection, include []string) *selector {
	x := &selector{all: s.All, never: map[string]bool{}, above: map[string]bool{}}
	for _, p := range s.Patterns {
		p, negative := strings.CutPrefix(p, "!")
		p = strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
		both := []string{p, p + "/**"}
		switch {
		case negative:
			x.refuse = append(x.refuse, both...)
		case p == "**" || p == "**/*":
			x.all = true
		default:
			x.take = append(x.take, both...)
		}
	}
	for _, n := range s.Never {
		x.never[strings.Trim(n, "/")] = true
	}
	x.include = slices.Clone(include)
	slices.Sort(x.include)
	for _, name := range x.include {
		for dir := parent(name); dir != "" && !x.above[dir]; dir = parent(dir) {
			x.above[dir] = true
		}
	}
	return x
}

// Matcher tells of a path whether the selection takes it, if it is not ignored.
func (s Selection) Matcher() func(path string) bool { return newSelector(s, nil).takes }

// takes tells whether a file is selected by its name.
func (x *selector) takes(path string) bool {
	fits := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return doublestar.MatchUnvalidated(p, path) })
	}
	return (x.all || fits(x.take)) && !fits(x.refuse)
}

// nothing tells that no file can be selected.
func (x *selector) nothing() bool { return !x.all && len(x.take) == 0 && len(x.include) == 0 }

// includes tells whether a path is one of those taken in any case, or below
// one of them.
func (x *selector) includes(path string) bool {
	if len(x.include) == 0 {
		return false
	}
	for at := path; at != ""; at = parent(at) {
		if _, found := slices.BinarySearch(x.include, at); found {
			return true
		}
	}
	return false
}
