//go:build unix

package restore

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sys/unix"

	"hank/checkpoint/diff"
	"hank/checkpoint/packdb"
	"hank/checkpoint/scan"
	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// PlanRestore works out what Restore would do. It writes nothing.
func PlanRestore(req RestoreRequest) (*Plan, error) {
	p, err := newPlanner(&req)
	if err != nil {
		return nil, err
	}
	if err := p.foresee(true); err != nil {
		return nil, err
	}
	return p.plan(), nil
}

func newPlanner(req *RestoreRequest) (*planner, error) {
	if err := req.Workspace.StillThere(); err != nil {
		return nil, err
	}
	scope, err := newScope(req.Store, req.From, req.To, req.Paths)
	if err != nil {
		return nil, err
	}
	p := &planner{req: req, scope: scope, saved: map[string]bool{}, blocked: map[string]string{}, refused: map[string]string{}, existing: map[string]seen{}, leftOut: map[string]bool{}}
	for _, path := range req.LeftOut {
		p.leftOut[path] = true
	}
	for _, c := range scope.changes {
		if c.From.Mode.IsFile() {
			p.saved[c.Path] = true
		}
	}
	journal, err := lookAt(req.Workspace.Fd(), worktree.JournalName)
	if err != nil {
		return nil, &os.PathError{Op: "look at", Path: worktree.JournalName, Err: err}
	}
	p.interrupted = journal.exists()
	if err := p.lookEverywhere(); err != nil {
		return nil, fmt.Errorf("plan restore of %s: %w", req.Workspace.Path(), err)
	}
	p.findRenamesByCase()
	p.keepBesideLeftOut()
	slices.SortFunc(p.steps, func(a, b step) int { return strings.Compare(a.Path, b.Path) })
	return p, nil
}

// plan is the planner's result for people and callers.
func (p *planner) plan() *Plan {
	out := &Plan{Keep: slices.Sorted(slices.Values(p.keep)), Refused: p.listRefused()}
	for _, s := range p.steps {
		if s.refused {
			continue
		}
		switch s.verb {
		case create:
			out.Add = append(out.Add, s.Change)
		case replace:
			out.Change = append(out.Change, s.Change)
		case remove:
			out.Delete = append(out.Delete, s.Change)
		}
	}
	for path, why := range p.blocked {
		out.Blocked = append(out.Blocked, Blocked{path, why})
	}
	slices.SortFunc(out.Blocked, func(a, b Blocked) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// dir returns the directory of the change's path.
func dir(c *diff.Change) string { return worktree.Parent(c.Path) }

func (p *planner) lookEverywhere() error {
	return inBatches(pointers(p.scope.changes), dir, p.lookInto)
}

// lookInto decides about changes in one directory.
func (p *planner) lookInto(dir string, changes []*diff.Change) error {
	fd, nearest, obstacle, err := p.enter(dir)
	if err != nil {
		return err
	}
	if fd >= 0 {
		defer unix.Close(fd)
	}
	known := p.req.Known.In(dir)
	for _, c := range changes {
		s := step{Change: *c, dir: dir, name: worktree.LastComponent(c.Path), stage: nearest}
		if p.req.Workspace.Within(c.Path) {
			p.keepApart(s)
			continue
		}
		if fd < 0 {
			p.lookAtAbsent(s, obstacle)
			continue
		}
		if err := p.look(fd, known, s); err != nil {
			return fmt.Errorf("look at %q: %w", c.Path, err)
		}
	}
	return nil
}

// enter opens dir. If it is not there, fd is negative, nearest is the nearest
// directory above that is, and obstacle is what is there instead of a
// directory, "" if nothing does.
func (p *planner) enter(dir string) (fd int, nearest, obstacle string, err error) {
	root := p.req.Workspace.Fd()
	if fd, err = worktree.OpenBeneath(root, dir); err == nil {
		return fd, dir, "", p.noteDir(fd, dir)
	}
	if !isMissing(err) {
		return -1, "", "", &os.PathError{Op: "open directory", Path: dir, Err: err}
	}
	for at := worktree.Parent(dir); ; at, dir = worktree.Parent(at), at {
		if fd, err = worktree.OpenBeneath(root, at); err == nil {
			break
		}
		if !isMissing(err) {
			return -1, "", "", &os.PathError{Op: "open directory", Path: at, Err: err}
		}
		if at == "" {
			return -1, "", "", &os.PathError{Op: "open directory", Path: ".", Err: err}
		}
	}
	defer unix.Close(fd)
	nearest = worktree.Parent(dir)
	there, err := lookAt(fd, worktree.LastComponent(dir))
	if err != nil {
		return -1, "", "", err
	}
	if there.exists() {
		obstacle = dir
	}
	return -1, nearest, obstacle, p.noteDir(fd, nearest)
}

// isMissing reports whether a directory could not be opened because it, or
// one above it, does not exist or is no directory.
func isMissing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

func (p *planner) noteDir(fd int, dir string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.existing[dir]; ok {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	p.existing[dir] = newSeen(&st)
	return nil
}

// lookAtAbsent decides about a path whose directory is not there.
func (p *planner) lookAtAbsent(s step, obstacle string) {
	switch {
	case s.To.Mode == filemode.Submodule:
		p.keepAs(s)
	case s.Kind == diff.Deleted: // gone already
		p.mark(s, nothing)
	case obstacle != "" && p.isLeftOut(obstacle):
		p.leave(s, obstacle)
	default:
		if obstacle != "" && !p.saved[obstacle] {
			p.obstruct(obstacle)
		}
		p.mark(s, create)
	}
}

// look decides about a path in the directory fd, of which known is known.
func (p *planner) look(fd int, known *scan.CachedDir, s step) (err error) {
	if s.To.Mode == filemode.Submodule || s.Kind == diff.Deleted && s.From.Mode == filemode.Submodule {
		p.keepAs(s)
		return nil
	}
	var st unix.Stat_t
	if s.was, err = lookInto(fd, s.name, &st); err != nil {
		return err
	}
	switch {
	case !s.was.exists():
		if s.Kind == diff.Deleted {
			p.mark(s, nothing)
		} else {
			p.mark(s, create)
		}
		return nil
	case s.was.isDir():
		if s.Kind == diff.Deleted { // what From held is gone, the directory is another matter
			p.mark(s, nothing)
			return nil
		}
		if file, err := p.leftOutBelow(fd, s.name, s.Path); err != nil {
			return err
		} else if file != "" {
			p.leave(s, file)
			return nil
		}
		p.mark(s, create)
		if p.req.KeepConflicts { // removing it shows what else is in it
			return nil
		}
		return p.lookThrough(fd, s.name, s.Path)
	}
	if p.isLeftOut(s.Path) {
		return p.lookAtLeftOut(fd, s)
	}
	if s.Kind == diff.Deleted && !p.scope.inTheWay(s.Path) && !p.removable(s.Path) {
		p.keepAs(s)
		return nil
	}
	if sha := known.Content(s.name, &st); sha != "" {
		p.decide(s, sha)
		return nil
	}
	return p.compare(fd, s)
}

// keepApart leaves alone what would be in a directory of the execution itself.
func (p *planner) keepApart(s step) {
	if s.Kind == diff.Deleted {
		p.keepAs(s)
	} else {
		p.block(s.Path, "would be in a directory of the execution itself, which no restore touches")
	}
}

func (p *planner) removable(path string) bool {
	return p.req.Removable != nil && p.req.Removable(path)
}

// compare reads a file or symlink that is there, and decides.
func (p *planner) compare(fd int, s step) error {
	failpoint.Hit("restore.read")
	sha, err := contentAt(fd, s.name, s.was)
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		p.unsafe(s, "cannot be read, so it is not known to be saved")
		return nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ELOOP):
		sha = "" // swapped meanwhile
	case err != nil:
		return err
	}
	p.decide(s, sha)
	return nil
}

// decide decides about a file or symlink whose content is sha.
func (p *planner) decide(s step, sha packdb.SHA) {
	s.content = sha
	switch {
	case s.Kind != diff.Deleted && s.was.holds(s.To, sha):
		if s.To.Mode == filemode.Symlink || s.was.isExec() == (s.To.Mode == filemode.Executable) {
			p.mark(s, nothing)
		} else {
			p.mark(s, replace)
		}
	case s.was.holds(s.From, sha):
		if s.Kind == diff.Deleted {
			p.mark(s, remove)
		} else {
			p.mark(s, replace)
		}
	case s.From.Mode.IsFile():
		p.unsafe(s, "was changed after it was saved")
	default:
		p.unsafe(s, "is in the way and was not saved")
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.req.KeepConflicts {
			p.unsaved = append(p.unsaved, s)
		}
	}
}

// unsafe decides about what is at the place of a step and that From does not
// hold: it blocks the restore, or gets another name where the target needs its
// own, and stays otherwise.
func (p *planner) unsafe(s step, why string) {
	switch {
	case !p.req.KeepConflicts:
		p.block(s.Path, why)
	case s.Kind == diff.Deleted && !p.scope.inTheWay(s.Path):
		p.note(s.Path, why+", so it stays")
	case s.Kind == diff.Deleted:
		s.displaceWhy = why
		p.mark(s, nothing)
	default:
		s.displaceWhy = why
		p.mark(s, create)
	}
}

// obstruct is unsafe for what is in the place of a directory.
func (p *planner) obstruct(path string) {
	const why = "is where the target has a directory, and was not saved"
	if !p.req.KeepConflicts {
		p.block(path, why)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(p.steps, func(s step) bool { return s.Path == path }) {
		p.steps = append(p.steps, step{Change: diff.Change{Path: path, Kind: diff.Deleted}, dir: worktree.Parent(path), name: worktree.LastComponent(path), stage: worktree.Parent(path), displaceWhy: why})
	}
}

// lookThrough blocks what is in the directory name, at path, that From does
// not hold: the target needs a file in the directory's place.
func (p *planner) lookThrough(parentFd int, name, path string) error {
	return walkFiles(parentFd, name, path, func(file string, _ seen) {
		switch {
		case p.saved[file]:
		case p.interrupted && strings.HasPrefix(worktree.LastComponent(file), worktree.TempPrefix):
		case slices.ContainsFunc(strings.Split(file, "/"), worktree.IsDotGit):
			p.block(file, "belongs to a git repository, which checkpoints leave out, where the target has a file")
		default:
			p.block(file, "is in a directory where the target has a file, and was not saved")
		}
	})
}

// walkFiles calls f with the path of everything below the directory name, at
// path, that is no directory.
func walkFiles(parentFd int, name, path string, f func(path string, there seen)) error {
	fd, err := worktree.OpenDirAt(parentFd, name)
	if err != nil {
		return &os.PathError{Op: "open directory", Path: path, Err: err}
	}
	defer unix.Close(fd)
	names, err := readNames(fd)
	if err != nil {
		return &os.PathError{Op: "list directory", Path: path, Err: err}
	}
	for _, name := range names {
		there, err := lookAt(fd, name)
		if err != nil {
			return err
		}
		if !there.isDir() {
			f(path+"/"+name, there)
		} else if err := walkFiles(fd, name, path+"/"+name, f); err != nil {
			return err
		}
	}
	return nil
}

// findRenamesByCase puts back to work each add that the disk seems to have
// already only because a file that is to be deleted answers to its name: on a
// file system that ignores case, README and readme are one file. So does an add
// that is blocked by such a file, which is saved under its own name. (Two names
// of one inode, as hard links are, get a new file each: as right, and rare.)
func (p *planner) findRenamesByCase() {
	type file struct {
		dev, ino uint64
		content  packdb.SHA
	}
	fileOf := func(s *step) file { return file{s.was.dev, s.was.ino, s.content} }
	going := map[file]bool{}
	for i := range p.steps {
		if s := &p.steps[i]; s.verb == remove {
			going[fileOf(s)] = true
		}
	}
	for _, s := range slices.Concat(p.done, p.unsaved) {
		if going[fileOf(&s)] {
			delete(p.blocked, s.Path)
			s.verb = replace
			p.steps = append(p.steps, s)
		}
	}
	p.done, p.unsaved = nil, nil
}
