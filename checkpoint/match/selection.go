package match

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"hank/checkpoint/worktree"
	"hank/internal/pattern"
)

// Selection says which files a checkpoint takes. The zero value takes none.
type Selection struct {
	// All takes everything that is not ignored.
	All bool
	// Patterns are globs with ** and braces, relative to the root. One without
	// a slash fits in the root alone; a plain name stands for a file, or for a
	// directory's content; one that begins with ! takes out what the others take.
	// Components that are empty or . count for nothing, as in a path: . is the root.
	Patterns []string
	// Never are paths relative to the root that are not taken, with all below.
	Never []string
}

// Selector is a Selection made ready.
type Selector struct {
	all          bool
	take, refuse []string
	Never        map[string]bool
	Include      []string        // sorted; taken whatever else holds
	Above        map[string]bool // directories that lead to one of include
}

// NewSelector compiles a selection. What include names is taken whatever else holds.
func NewSelector(s Selection, include []string) *Selector {
	x := &Selector{all: s.All, Never: map[string]bool{}, Above: map[string]bool{}}
	for _, p := range s.Patterns {
		p, negative := strings.CutPrefix(p, "!")
		globs := globsOf(p)
		switch {
		case negative:
			x.refuse = append(x.refuse, globs...)
		case slices.Contains(globs, "**") || slices.Contains(globs, "**/*"):
			x.all = true
		default:
			x.take = append(x.take, globs...)
		}
	}
	for _, n := range s.Never {
		x.Never[strings.Trim(n, "/")] = true
	}
	x.Include = slices.Clone(include)
	slices.Sort(x.Include)
	for _, name := range x.Include {
		for dir := worktree.Parent(name); dir != "" && !x.Above[dir]; dir = worktree.Parent(dir) {
			x.Above[dir] = true
		}
	}
	return x
}

// globsOf are the globs that a pattern without ! stands for: itself as a clean path, and as
// it is written, since a class may hold what is cleaned away.
func globsOf(p string) []string {
	clean := path.Clean(p)
	if clean == "." && p != "" {
		return []string{"**"}
	}
	written, content := strings.CutSuffix(strings.TrimPrefix(p, "./"), "/")
	globs := []string{written}
	if clean != written {
		globs = append(globs, clean)
	}
	if content || strings.HasSuffix(p, "/.") || !strings.ContainsAny(p, `*?[\`) {
		for _, g := range globs {
			globs = append(globs, g+"/**") // a name: of a file, or of a directory
		}
	}
	return globs
}

// Validate refuses patterns that doublestar cannot read: they would take
// nothing, and nobody would know.
func (s Selection) Validate() error {
	for _, p := range s.Patterns {
		if !pattern.Valid(strings.TrimPrefix(p, "!")) {
			return fmt.Errorf("%q is no pattern for files: %s", p, pattern.Hint)
		}
	}
	return nil
}

// Matcher tells of a path whether the selection takes it, if it is not ignored.
func (s Selection) Matcher() func(path string) bool { return NewSelector(s, nil).Takes }

// Everything reports that every file is selected.
func (x *Selector) Everything() bool { return x.all && len(x.refuse) == 0 }

// Takes reports whether a file is selected by its name.
func (x *Selector) Takes(path string) bool {
	fits := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return doublestar.MatchUnvalidated(p, path) })
	}
	return (x.all || fits(x.take)) && !fits(x.refuse)
}

// MayHold reports whether a file below a directory can be taken, so that the scan
// has to look into it. It may say yes too often.
func (x *Selector) MayHold(dir string) bool {
	if x.Everything() {
		return true
	}
	whole := func(p string) bool { return strings.HasSuffix(p, "/**") && doublestar.MatchUnvalidated(p, dir) }
	if slices.ContainsFunc(x.refuse, whole) {
		return false
	}
	return x.all || slices.ContainsFunc(x.take, func(p string) bool { return leadsInto(p, dir) })
}

// leadsInto compares a pattern with a directory's path, component by component.
func leadsInto(pattern, dir string) bool {
	if strings.ContainsAny(pattern, "{[\\") {
		return true // a brace or a class may hold a slash
	}
	for name := range strings.SplitSeq(dir, "/") {
		first, rest, more := strings.Cut(pattern, "/")
		if first == "**" {
			return true
		}
		if !more || !doublestar.MatchUnvalidated(first, name) {
			return false
		}
		pattern = rest
	}
	return true
}

// Includes reports whether a path is one of those taken in any case, or below
// one of them.
func (x *Selector) Includes(path string) bool {
	if len(x.Include) == 0 {
		return false
	}
	for at := path; at != ""; at = worktree.Parent(at) {
		if _, found := slices.BinarySearch(x.Include, at); found {
			return true
		}
	}
	return false
}
