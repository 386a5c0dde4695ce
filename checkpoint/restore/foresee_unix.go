//go:build unix

package restore

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"hank/checkpoint/diff"
	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// foresee finds what the system is going to refuse, as far as it has to be known
// before a restore begins; with names all of it, for people.
func (p *planner) foresee(names bool) error {
	if err := p.refuseDirs(names); err != nil || !names {
		return err
	}
	if err := Writable(p.req.Workspace); err != nil && len(p.steps) > 0 {
		p.block(".", err.Error())
	}
	p.refuseBelow()
	return p.foreseeDirs()
}

// refuseDirs gives up the steps in directories that the system keeps closed,
// before anything is staged there; with names also those whose names it keeps,
// which else show when they are tried.
func (p *planner) refuseDirs(names bool) error {
	var todo []*step
	for i := range p.steps {
		if p.steps[i].verb != nothing {
			todo = append(todo, &p.steps[i])
		}
	}
	return inBatches(todo, (*step).changes, func(dir string, batch []*step) error {
		fd, err := worktree.OpenBeneath(p.root(), dir)
		if err != nil {
			return &os.PathError{Op: "open directory", Path: dir, Err: err}
		}
		defer unix.Close(fd)
		var directory unix.Stat_t
		if err := unix.Fstat(fd, &directory); err != nil {
			return os.NewSyscallError("fstat", err)
		}
		closed := dirRefusal(fd)
		for _, s := range batch {
			err := closed
			if err == nil && names {
				err = p.nameRefusal(fd, &directory, s)
			}
			if err != nil {
				s.refused = true
				p.note(s.Path, whyRefused(fd, worktree.LastComponent(s.Path), err))
			}
		}
		return nil
	})
}

// nameRefusal returns the error with which the system would refuse a step in
// the directory fd, which is not closed.
func (p *planner) nameRefusal(fd int, directory *unix.Stat_t, s *step) error {
	if err := failpoint.Refused(p.req.Workspace.Path(), s.Path); err != nil || s.stage != s.dir || !s.was.exists() {
		return err
	}
	a := attributesAt(fd, s.name)
	switch {
	case a.mounted:
		return unix.EBUSY
	case a.immutable, a.appendOnly:
		return unix.EPERM
	}
	var st unix.Stat_t
	if uid := uint32(os.Geteuid()); directory.Mode&unix.S_ISVTX != 0 && uid != 0 && directory.Uid != uid && worktree.LstatAt(fd, s.name, &st) == nil && st.Uid != uid {
		return unix.EPERM
	}
	return nil
}

// refuseBelow gives up the steps whose place lies below something that stays.
func (p *planner) refuseBelow() {
	stays := map[string]bool{}
	for i := range p.steps {
		if s := &p.steps[i]; s.refused && s.was.exists() && !s.was.isDir() {
			stays[s.Path] = true
		}
	}
	if len(stays) == 0 {
		return
	}
	for i := range p.steps {
		s := &p.steps[i]
		for dir := s.dir; s.writes() && !s.refused && dir != ""; dir = worktree.Parent(dir) {
			if stays[dir] {
				s.refused = true
				p.note(s.Path, fmt.Sprintf("cannot be written: %q stays in its way", dir))
			}
		}
	}
}

// foreseeDirs notes which of the directories that a restore would empty the
// system would not let go.
func (p *planner) foreseeDirs() error {
	dirs, err := p.emptiedDirs()
	if err != nil {
		return err
	}
	goes, filled := map[string]bool{}, map[string]bool{}
	for i := range p.steps {
		switch s := &p.steps[i]; {
		case s.refused:
		case s.verb == remove:
			goes[s.Path] = true
		case s.writes():
			for dir := s.dir; dir != "" && !filled[dir]; dir = worktree.Parent(dir) {
				filled[dir] = true
			}
		}
	}
	for _, dir := range dirs { // what is in a directory comes before it
		fd, err := worktree.OpenBeneath(p.root(), worktree.Parent(dir))
		if err != nil {
			continue
		}
		name := worktree.LastComponent(dir)
		if !filled[dir] && p.wouldBeEmpty(fd, dir, goes) {
			err := p.dirStays(fd, dir)
			if err != nil {
				p.note(dir, whyRefused(fd, name, err)+"; the empty directory stays")
			}
			goes[dir] = err == nil
		}
		unix.Close(fd)
	}
	return nil
}

// dirStays returns the error with which the system would refuse to remove
// an empty directory in the directory fd.
func (p *planner) dirStays(fd int, dir string) error {
	if err := failpoint.Refused(p.req.Workspace.Path(), dir); err != nil {
		return err
	}
	if err := dirRefusal(fd); err != nil {
		return err
	}
	switch a := attributesAt(fd, worktree.LastComponent(dir)); {
	case a.mounted:
		return unix.EBUSY
	case a.immutable, a.appendOnly:
		return unix.EPERM
	}
	return nil
}

// wouldBeEmpty reports whether all that is in a directory goes. fd is the one
// above it.
func (p *planner) wouldBeEmpty(fd int, dir string, goes map[string]bool) bool {
	at, err := worktree.OpenDirAt(fd, worktree.LastComponent(dir))
	if err != nil {
		return false
	}
	defer unix.Close(at)
	names, err := readNames(at)
	return err == nil && !slices.ContainsFunc(names, func(name string) bool { return !goes[dir+"/"+name] })
}

// emptiedDirs returns the directories above deleted files, deepest first: if
// they are empty in the end, they held only what was deleted. Files that are
// gone already count too: an interrupted restore may have deleted them.
func (p *planner) emptiedDirs() ([]string, error) {
	set := map[string]bool{}
	note := func(dir string) {
		for ; dir != "" && !set[dir]; dir = worktree.Parent(dir) {
			set[dir] = true
		}
	}
	for i := range p.steps {
		if s := &p.steps[i]; s.Kind == diff.Deleted && (s.verb != nothing || !s.was.exists()) {
			note(s.dir)
		}
	}
	if p.req.Began != "" {
		began, err := newScope(p.req.Store, p.req.Began, p.req.To, p.req.Paths)
		if err != nil {
			return nil, err
		}
		for i := range began.changes {
			if c := &began.changes[i]; c.Kind == diff.Deleted {
				note(dir(c))
			}
		}
	}
	dirs := make([]string, 0, len(set))
	for dir := range set {
		if fd, err := worktree.OpenBeneath(p.root(), dir); err == nil {
			unix.Close(fd)
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	slices.Reverse(dirs) // a directory after what is in it
	return dirs, nil
}
