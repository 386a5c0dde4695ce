package restore

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/storer"

	"hank/checkpoint/diff"
	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// scope is the pure half of a restore's plan: what differs between the two
// trees within the paths asked for, and what is in the target's way.
type scope struct {
	changes []diff.Change
	leaves  map[string]bool // paths where the target needs a file or symlink
	dirs    map[string]bool // paths where the target needs a directory
}

// newScope compares from and to within paths. Every name in a subtree that
// differs is checked, so that an unsafe tree is refused before anything is
// touched; subtrees that are equal are not touched either.
func newScope(st storer.EncodedObjectStorer, from, to packdb.SHA, paths []string) (*scope, error) {
	wanted, err := cleanPaths(paths)
	if err != nil {
		return nil, err
	}
	var changes []diff.Change
	if len(wanted) == 0 {
		changes, err = Comparing(st, from, to)
	} else {
		d := diff.Differ{St: st, Check: worktree.Restorable, Within: func(dir string) bool { return wanted.touches(strings.TrimSuffix(dir, "/")) }}
		changes, err = d.Run(from, to)
	}
	if err != nil {
		return nil, err
	}
	s := &scope{leaves: map[string]bool{}, dirs: map[string]bool{}}
	for _, c := range changes {
		if c.To.Mode.IsFile() && wanted.include(c.Path) {
			s.need(c.Path)
		}
	}
	for _, c := range changes {
		if wanted.include(c.Path) || c.Kind == diff.Deleted && s.inTheWay(c.Path) {
			s.changes = append(s.changes, c)
		}
	}
	return s, nil
}

// need records that the target has a file at name, and directories above it.
func (s *scope) need(name string) {
	s.leaves[name] = true
	for dir := worktree.Parent(name); dir != "" && !s.dirs[dir]; dir = worktree.Parent(dir) {
		s.dirs[dir] = true
	}
}

// inTheWay reports whether the target cannot have its files while name is a file.
func (s *scope) inTheWay(name string) bool {
	if s.dirs[name] {
		return true
	}
	for dir := worktree.Parent(name); dir != ""; dir = worktree.Parent(dir) {
		if s.leaves[dir] {
			return true
		}
	}
	return false
}

// pathSet is a sorted list of paths; the empty set stands for every path.
type pathSet []string

func cleanPaths(paths []string) (pathSet, error) {
	var set pathSet
	for _, p := range paths {
		clean := path.Clean(p)
		if p == "" || path.IsAbs(p) || clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains(p, "\x00") {
			return nil, fmt.Errorf("restore %q: not a path below the workspace; name files relative to its root", p)
		}
		if clean == "." {
			return nil, nil
		}
		set = append(set, clean)
	}
	slices.Sort(set)
	return slices.Compact(set), nil
}

// include reports whether name is in the set or below a member.
func (s pathSet) include(name string) bool {
	return len(s) == 0 || slices.ContainsFunc(s, func(p string) bool { return name == p || isBelow(name, p) })
}

// touches reports whether the directory dir is a member, below or above one.
func (s pathSet) touches(dir string) bool {
	return dir == "" || slices.ContainsFunc(s, func(p string) bool { return dir == p || isBelow(dir, p) || isBelow(p, dir) })
}

// isBelow reports whether name is somewhere below dir.
func isBelow(name, dir string) bool {
	return len(name) > len(dir) && name[len(dir)] == '/' && name[:len(dir)] == dir
}
