//go:build unix

package restore

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// No system call looks at a file and removes it at once, so that somebody may
// write another one to its place in between. What a restore removes or replaces
// is therefore displaced first, by a call that destroys nothing, and looked at
// there:
//
//  1. Refuse if another file is at the place than was compared.
//  2. Rename it to a name of its own, which the journal has with its blob.
//  3. Nobody else finds it there. Refuse if it is not what was compared.
//  4. Rename the staged file, if there is one, to the place, where nothing is;
//     then delete what is displaced.
//  5. Bring it back if any of this fails. Where another file is there meanwhile,
//     both stay: what is displaced becomes a file that people and checkpoints see.
//
// If it is killed in between, the next restore does 5 first. Who still has the
// file open and writes to it after 3 writes to a file that is gone, as after
// any rm.
//
// Where a file is replaced, an exchange of names does 2 and half of 4 in one step,
// for less: see exchange.

// displace carries out a step whose place has a file. The staged one is in the
// directory from, the place in fd.
func (a *applier) displace(from, fd int, s *step) error {
	if err := errors.Join(a.unchanged(fd, s), a.allowed(s.Path)); err != nil {
		return err
	}
	a.touched.Store(true)
	switch err := a.renames.away(fd, s.name, fd, s.displaced); {
	case errors.Is(err, unix.ENOENT): // somebody has removed it
		return a.fill(from, fd, s)
	case hasNotHappened(err):
		return s.overwrite(from, fd)
	case err != nil: // nobody knows which name it has
		a.left.Store(true)
		return os.NewSyscallError("rename", err)
	}
	failpoint.Hit("restore.aside")
	err := s.asCompared(fd, s.displaced)
	if err == nil {
		err = a.fill(from, fd, s)
	}
	if err == nil {
		failpoint.Hit("restore.filled")
		err = os.NewSyscallError("unlinkat", unix.Unlinkat(fd, s.displaced, 0))
	}
	if err == nil {
		return nil
	}
	return a.revert(fd, journaledFile{temp: s.displaced, content: s.content, name: s.name}, restoreDisplaced, err)
}

// exchange is displace for a file that is replaced:
//
//  1. Refuse if another file is at the place than was compared.
//  2. Let it and the staged file change places. What was at the place has the
//     staged file's name now, at which nobody else finds it.
//  3. If it is what was compared, delete it: done.
//  4. Else take away what is at the place by a rename: mostly the staged file,
//     which goes; or what somebody has written since, which comes back.
//  5. Bring back what 2 has taken.
//
// No second exchange undoes the first: what somebody has written since would
// get the staged file's name. If it is killed in between, the next restore finds
// at the two names of this step the staged file, which it deletes, or what 4 and 5
// bring back; the journal says that all staged files are whole by then. Where
// names cannot be exchanged, displace does it.
func (a *applier) exchange(from, fd int, s *step) error {
	if s.stage != s.dir {
		return a.displace(from, fd, s)
	}
	if err := errors.Join(a.unchanged(fd, s), a.allowed(s.Path)); err != nil {
		return err
	}
	a.touched.Store(true)
	switch err := a.renames.swap(from, s.temp, fd, s.name); {
	case err == nil:
	case hasNotHappened(err):
		return a.displace(from, fd, s)
	default: // nobody knows which file has the staged one's name
		s.temp = ""
		a.left.Store(true)
		return os.NewSyscallError("rename", err)
	}
	was := journaledFile{temp: s.temp, content: s.content, name: s.name}
	s.temp = "" // nothing to be cleared away: it is no staged file any more
	failpoint.Hit("restore.aside")
	err := s.asCompared(from, was.temp)
	if err == nil {
		err = os.NewSyscallError("unlinkat", unix.Unlinkat(from, was.temp, 0))
	}
	if err == nil {
		return nil
	}
	if now, gone := lookAt(from, was.temp); gone == nil && !now.exists() {
		return nil // somebody has removed it; the place has its file
	}
	if away := a.renames.away(fd, s.name, fd, s.displaced); away != nil && !errors.Is(away, unix.ENOENT) {
		a.left.Store(true)
		return errors.Join(err, os.NewSyscallError("rename", away))
	}
	failpoint.Hit("restore.refused")
	staged := journaledFile{temp: s.displaced, content: s.To.Blob, name: s.name}
	return errors.Join(a.revert(fd, staged, dropIfHeld, err), a.revert(fd, was, restoreDisplaced, nil))
}

// hasNotHappened tells of a renaming that failed that it has changed nothing. Of
// an interrupted one on a network nobody knows.
func hasNotHappened(err error) bool {
	return slices.ContainsFunc([]error{unix.EINVAL, unix.ENOSYS, unix.ENOTSUP, unix.ENOENT, unix.EXDEV, unix.EPERM, unix.EACCES, unix.EBUSY, unix.ENOSPC, unix.EDQUOT, unix.EROFS},
		func(e error) bool { return errors.Is(err, e) })
}

// revert ends an exchange or a displacement that is refused because of err, and
// joins to it what was kept and what went wrong.
func (a *applier) revert(fd int, f journaledFile, how func(int, journaledFile, func(packdb.SHA) bool) (string, error), err error) error {
	kept, back := how(fd, f, a.holds)
	if back != nil {
		a.left.Store(true)
	}
	if kept != "" {
		err = errors.Join(err, fmt.Errorf("a third file took its place, so it is now beside it, as %q", kept))
	}
	return errors.Join(err, back)
}

// fill renames the staged file of a step, if it has one, to its place, where
// nothing is.
func (a *applier) fill(from, fd int, s *step) error {
	if !s.writes() {
		return nil
	}
	err := a.renames.in(from, s.temp, fd, s.name)
	if errors.Is(err, unix.EEXIST) {
		return ErrMeanwhile
	}
	return refusable("rename", err)
}

// overwrite does in one call what displace does in two, for what may be removed
// and not renamed: a file of another project quota, or one in a directory that
// is full. The moment after the look stays.
func (s *step) overwrite(from, fd int) error {
	if s.writes() {
		return refusable("rename", unix.Renameat(from, s.temp, fd, s.name))
	}
	return refusable("unlinkat", unix.Unlinkat(fd, s.name, 0))
}

// unchanged refuses to continue if another file is at s than was compared.
func (a *applier) unchanged(fd int, s *step) error {
	now, err := lookAt(fd, s.name)
	if err != nil {
		return err
	}
	if now.exists() && now != s.was {
		return ErrMeanwhile
	}
	return nil
}

// asCompared refuses to continue if what was displaced is not what was compared.
// Some file systems make another inode of what they rename: its content decides.
func (s *step) asCompared(fd int, displaced string) error {
	now, err := lookAt(fd, displaced)
	if err != nil || now == s.was {
		return err
	}
	if now.mode != s.was.mode {
		return ErrMeanwhile
	}
	same, err := holdsContent(fd, displaced, now, s.content)
	if err == nil && !same {
		err = ErrMeanwhile
	}
	return err
}

// removeOrKeep makes the place of a new file free of a directory. One that
// holds what stays gets another name.
func (a *applier) removeOrKeep(fd int, s *step) error {
	err := a.removeEmptyTree(fd, s.Path, s.name)
	var refused *refusal
	if err == nil || !errors.As(err, &refused) && !a.req.KeepConflicts && !a.anyRefused() {
		return err
	}
	return a.keepConflict(fd, s, "is a directory that could not be removed")
}

// keepConflict gives what is in the way of a step a name that people and
// checkpoints see.
func (a *applier) keepConflict(fd int, s *step, why string) error {
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
