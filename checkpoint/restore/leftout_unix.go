//go:build unix

package restore

import (
	"fmt"

	"hank/checkpoint/diff"
	"hank/checkpoint/worktree"
)

// A file that is left out of every checkpoint has no copy anywhere: a restore
// neither moves nor replaces it. What the target has in its place, or in the place
// of a directory above it, is not written and is named, as what the system refuses.

// isLeftOut reports whether a path is left out of every checkpoint, or below one
// that is.
func (p *planner) isLeftOut(path string) bool {
	for at := path; at != "" && len(p.leftOut) > 0; at = worktree.Parent(at) {
		if p.leftOut[at] {
			return true
		}
	}
	return false
}

// leftOutBelow returns a file that is left out, and is there, below the directory
// name, at path; empty if there is none.
func (p *planner) leftOutBelow(parentFd int, name, path string) (found string, err error) {
	if len(p.leftOut) == 0 {
		return "", nil
	}
	err = walkFiles(parentFd, name, path, func(file string, _ seen) {
		if p.isLeftOut(file) && (found == "" || file < found) {
			found = file
		}
	})
	return found, err
}

// lookAtLeftOut decides about a file that is left out, and is there.
func (p *planner) lookAtLeftOut(fd int, s step) error {
	if s.Kind == diff.Deleted {
		p.keepAs(s)
		return nil
	}
	if sha, err := contentAt(fd, s.name, s.was); err == nil && s.was.holds(s.To, sha) {
		p.mark(s, nothing)
		return nil
	}
	p.leave(s, s.Path)
	return nil
}

// leave gives a step up because of a file that is left out.
func (p *planner) leave(s step, file string) {
	s.refused = true
	p.mark(s, create)
	if file == s.Path {
		p.note(s.Path, "is left out of every checkpoint, so it stays as it is")
	} else {
		p.note(s.Path, fmt.Sprintf("cannot be written: %q is left out of every checkpoint, and stays in its way", file))
	}
}

// keepBesideLeftOut leaves alone what was to go only to make place for what is not
// written.
func (p *planner) keepBesideLeftOut() {
	given := map[string]bool{}
	for i := range p.steps {
		if s := &p.steps[i]; s.refused {
			given[s.Path] = true
		}
	}
	if len(given) == 0 {
		return
	}
	for i := range p.steps {
		s := &p.steps[i]
		for dir := s.dir; s.verb == remove && dir != ""; dir = worktree.Parent(dir) {
			if given[dir] && !p.removable(s.Path) {
				s.verb = nothing
				p.keepAs(*s)
			}
		}
	}
}
