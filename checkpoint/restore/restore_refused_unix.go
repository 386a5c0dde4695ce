//go:build unix

package restore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// What the system refuses to remove or to write stays as it is, and the rest of
// a restore is done: a mount point, a folder of another user, an immutable file.
// Trying again would not help, and half a tree would be worse than one whose
// exceptions are named.

// refusal is an error of the system that says of one path that it may not be
// changed, whatever becomes of the others.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }

func (r *refusal) Unwrap() error { return r.err }

// refusable returns the error of a system call that changes a path, as a refusal
// if it is one.
func refusable(op string, err error) error {
	named := os.NewSyscallError(op, err)
	if isRefusal(err) {
		return &refusal{named}
	}
	return named
}

func isRefusal(err error) bool {
	return slices.ContainsFunc([]error{unix.EBUSY, unix.EPERM, unix.EACCES, unix.EROFS}, func(e error) bool { return errors.Is(err, e) })
}

// attributes are what keeps a file or directory from being removed or written
// besides its permissions.
type attributes struct{ immutable, appendOnly, mounted bool }

// whyRefused says why the name in dirfd cannot be removed or written, as the
// system has answered with err.
func whyRefused(dirfd int, name string, err error) string {
	there, folder := attributesAt(dirfd, name), attributesAt(dirfd, "")
	switch {
	case there.mounted:
		return "is a mount point"
	case there.immutable:
		return "is immutable"
	case there.appendOnly:
		return "is append-only"
	case folder.immutable:
		return "is in an immutable folder"
	case folder.appendOnly:
		return "is in an append-only folder"
	case errors.Is(err, unix.EBUSY):
		return "is a mount point, or in use by the system"
	case errors.Is(err, unix.EROFS):
		return "is on a read-only file system"
	case errors.Is(err, unix.EACCES):
		return "is in a folder that this user may not write to"
	}
	if errno := unix.Errno(0); errors.As(err, &errno) {
		err = errno
	}
	return fmt.Sprintf("cannot be changed by this user: %v", err)
}

// folderRefusal returns the error with which the system would refuse that names
// in the directory fd come and go; nil if it would not. What a restore can make
// writable does not count.
func folderRefusal(fd int) error {
	if a := attributesAt(fd, ""); a.immutable || a.appendOnly {
		return unix.EPERM // in an append-only one a staged file could not even be removed
	}
	err := unix.Faccessat(fd, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	if !isRefusal(err) {
		return nil
	}
	var st unix.Stat_t
	if errors.Is(err, unix.EACCES) && (unix.Fstat(fd, &st) != nil || int(st.Uid) == os.Geteuid()) {
		return nil
	}
	return err
}

func (p *planner) root() int { return p.req.Workspace.Fd() }

// possible reports whether the system has not refused the step.
func (s *step) possible() bool { return !s.refused }

// foresee finds what the system is going to refuse, as far as it has to be known
// before a restore begins; with names all of it, for people.
func (p *planner) foresee(names bool) error {
	if err := p.refuseFolders(names); err != nil || !names {
		return err
	}
	if err := Writable(p.req.Workspace); err != nil && len(p.steps) > 0 {
		p.block(".", err.Error())
	}
	p.refuseBelow()
	return p.foreseeFolders()
}

// listRefused returns what was refused so far, by path.
func (p *planner) listRefused() []Refused {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Refused
	for _, path := range slices.Sorted(maps.Keys(p.refused)) {
		list = append(list, Refused{path, p.refused[path]})
	}
	return list
}

func (p *planner) anyRefused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.refused) > 0
}

// note adds what stays, or what has another name now.
func (p *planner) note(path, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, noted := p.refused[path]; !noted {
		p.refused[path] = why
	}
}

// refuse notes that a step cannot be carried out because of err, and returns
// nil; any error but a refusal it returns. fd is the directory of its path.
func (p *planner) refuse(fd int, s *step, err error) error {
	var refused *refusal
	if !errors.As(err, &refused) {
		return err
	}
	s.refused = true
	p.note(s.Path, whyRefused(fd, s.name, err))
	return nil
}

// refuseFolders gives up the steps in folders that the system keeps closed,
// before anything is staged there; with names also those whose names it keeps,
// which else show when they are tried.
func (p *planner) refuseFolders(names bool) error {
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
		var folder unix.Stat_t
		if err := unix.Fstat(fd, &folder); err != nil {
			return os.NewSyscallError("fstat", err)
		}
		closed := folderRefusal(fd)
		for _, s := range batch {
			err := closed
			if err == nil && names {
				err = p.nameRefusal(fd, &folder, s)
			}
			if err != nil {
				s.refused = true
				p.note(s.Path, whyRefused(fd, worktree.LastComponent(s.Path), err))
			}
		}
		return nil
	})
}

// changes is the directory in which a step begins.
func (s *step) changes() string {
	if s.writes() {
		return s.stage
	}
	return s.dir
}

// Writable returns why the root of the workspace does not take the files that
// a restore needs there; nil: it does.
func Writable(w *worktree.Workspace) error {
	err := failpoint.Refused(w.Path(), "")
	if err == nil {
		err = folderRefusal(w.Fd())
	}
	if err != nil {
		return &os.PathError{Op: "write to", Path: w.Path(), Err: err}
	}
	return nil
}

// RefusedFolders foresees which empty directories the system is not going to let be
// removed or made after a restore, with those above that are empty then and not among
// create. It writes nothing; what cannot be looked at is not foreseen.
func RefusedFolders(w *worktree.Workspace, plan *Plan, remove, create []string) (refused []Refused) {
	root, err := os.OpenRoot(w.Path())
	if err != nil {
		return nil
	}
	defer root.Close()
	after := emptying{root: root, gone: map[string]bool{}, within: map[string]bool{}, filled: map[string]bool{}}
	for _, c := range plan.Delete {
		after.remove(c.Path)
	}
	for _, c := range plan.Add {
		after.fill(c.Path)
	}
	for _, name := range remove {
		for ; name != "." && !slices.Contains(create, name) && after.isEmpty(name); name = path.Dir(name) {
			if err := after.refusal(w, name); err != nil {
				refused = append(refused, Refused{name, fmt.Sprintf(CannotRemoveFolder, err)})
				break
			}
			after.remove(name)
		}
	}
	for _, name := range create {
		err := failpoint.Refused(w.Path(), name)
		for at := name; err == nil && at != "."; {
			if _, missing := root.Lstat(at); missing == nil {
				break
			}
			if at = path.Dir(at); at == "." {
				err = folderRefusal(w.Fd())
			} else if fi, missing := root.Lstat(at); missing == nil && fi.IsDir() {
				err = refusalIn(w, at)
			}
		}
		if err != nil {
			refused = append(refused, Refused{name, fmt.Sprintf(CannotMakeFolder, err)})
		}
	}
	return refused
}

// emptying tells which directories are empty once some paths are gone and others are there.
type emptying struct {
	root   *os.Root
	gone   map[string]bool
	within map[string]bool // directories that something goes from
	filled map[string]bool // paths that files come to, and the directories above them
}

func (e *emptying) fill(name string) {
	for ; name != "." && !e.filled[name]; name = path.Dir(name) {
		e.filled[name] = true
	}
}

func (e *emptying) remove(name string) {
	e.gone[name] = true
	for dir := path.Dir(name); dir != "." && !e.within[dir]; dir = path.Dir(dir) {
		e.within[dir] = true
	}
}

// isEmpty reports whether what has the name is a directory that is there and empty then. A directory
// in it goes, if a restore has emptied it.
func (e *emptying) isEmpty(name string) bool {
	if e.gone[name] || e.filled[name] {
		return false
	}
	fi, err := e.root.Lstat(name)
	if err != nil || !fi.IsDir() {
		return false
	}
	dir, err := e.root.Open(name)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	return err == nil && !slices.ContainsFunc(names, func(entry string) bool {
		entry = name + "/" + entry
		return !e.gone[entry] && !(e.within[entry] && e.isEmpty(entry))
	})
}

// refusal returns the error with which the system would refuse to remove a directory.
func (e *emptying) refusal(w *worktree.Workspace, name string) error {
	if err := failpoint.Refused(w.Path(), name); err != nil {
		return err
	}
	fd, err := worktree.OpenBeneath(w.Fd(), worktree.Parent(name))
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if err := folderRefusal(fd); err != nil {
		return err
	}
	switch a := attributesAt(fd, path.Base(name)); {
	case a.mounted:
		return unix.EBUSY
	case a.immutable, a.appendOnly:
		return unix.EPERM
	}
	return nil
}

// refusalIn returns the error with which the system would refuse to make something in a
// directory.
func refusalIn(w *worktree.Workspace, dir string) error {
	fd, err := worktree.OpenBeneath(w.Fd(), dir)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	return folderRefusal(fd)
}

// nameRefusal returns the error with which the system would refuse a step in
// the directory fd, which is not closed.
func (p *planner) nameRefusal(fd int, folder *unix.Stat_t, s *step) error {
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
	if uid := uint32(os.Geteuid()); folder.Mode&unix.S_ISVTX != 0 && uid != 0 && folder.Uid != uid && worktree.LstatAt(fd, s.name, &st) == nil && st.Uid != uid {
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

// foreseeFolders notes which of the directories that a restore would empty the
// system would not let go.
func (p *planner) foreseeFolders() error {
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
			err := p.folderStays(fd, dir)
			if err != nil {
				p.note(dir, whyRefused(fd, name, err)+"; the empty folder stays")
			}
			goes[dir] = err == nil
		}
		unix.Close(fd)
	}
	return nil
}

// folderStays returns the error with which the system would refuse to remove
// an empty directory in the directory fd.
func (p *planner) folderStays(fd int, dir string) error {
	if err := failpoint.Refused(p.req.Workspace.Path(), dir); err != nil {
		return err
	}
	if err := folderRefusal(fd); err != nil {
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

// allowed returns the refusal that a test asks for in the place of a system call
// that changes path.
func (a *applier) allowed(path string) error {
	return refusable("change", failpoint.Refused(a.req.Workspace.Path(), path))
}

// moveAside gives what is in the way of a step a name that people and
// checkpoints see.
func (a *applier) moveAside(fd int, s *step, why string) error {
	if err := a.allowed(s.Path); err != nil {
		return err
	}
	kept, err := keepAs(fd, s.name, s.name, strings.TrimPrefix(s.temp, worktree.TempPrefix))
	if err != nil {
		return refusable("rename", err)
	}
	a.touched.Store(true)
	a.note(strings.TrimPrefix(s.dir+"/"+kept, "/"), fmt.Sprintf("was %q, which the target needs, and %s", s.Path, why))
	return nil
}
