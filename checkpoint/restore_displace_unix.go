//go:build unix

package checkpoint

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"hank/internal/failpoint"
)

// No system call looks at a file and removes it at once, so that somebody may
// write another one to its place in between. What a restore removes is therefore
// taken aside first, by a call that destroys nothing, and looked at there:
//
//  1. Refuse if another file stands at the place than was compared.
//  2. remove: rename it to a temporary name. replace: let it and the staged file
//     change places.
//  3. Under its temporary name nobody else finds it. If it is what was compared,
//     delete it; else put it back, and refuse.
//
// A restore that is killed between 2 and 3 leaves it under its temporary name, as
// it leaves staged files. Who still has the file open and writes to it after 3
// writes to a file that is gone, as behind any rm.

// remove deletes the file of a step.
func (a *applier) remove(fd int, s *step) error {
	if err := a.unchanged(fd, s); err != nil {
		return err
	}
	a.touched.Store(true)
	err := renameNew(fd, s.name, fd, s.temp)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("rename", err)
	}
	failpoint.Hit("restore.aside")
	return s.discard(fd, func() error { return renameNew(fd, s.temp, fd, s.name) })
}

// replace puts the staged file in the place of another one.
func (a *applier) replace(from, to int, s *step) error {
	if err := a.unchanged(to, s); err != nil {
		return err
	}
	swap := func() error { return swapNames(from, s.temp, to, s.name) }
	switch err := swap(); {
	case errors.Is(err, unix.ENOENT): // somebody has removed it
		return os.NewSyscallError("rename", renameNew(from, s.temp, to, s.name))
	case errors.Is(err, errors.ErrUnsupported): // the moment between 1 and 2 stays
		return os.NewSyscallError("rename", unix.Renameat(from, s.temp, to, s.name))
	case err != nil:
		return os.NewSyscallError("rename", err)
	}
	failpoint.Hit("restore.aside")
	return s.discard(from, swap)
}

// discard deletes what was taken aside, or puts it back.
func (s *step) discard(fd int, putBack func() error) error {
	was, err := lookAt(fd, s.temp)
	if err == nil && was == s.was {
		return os.NewSyscallError("unlinkat", unix.Unlinkat(fd, s.temp, 0))
	}
	if back := putBack(); back != nil {
		aside := s.temp
		s.temp = "" // not to be cleared away
		return fmt.Errorf("%w; it stands now beside its place, as %s: %w", errMeanwhile, aside, errors.Join(err, back))
	}
	return errors.Join(errMeanwhile, err)
}

var errMeanwhile = errors.New("it was changed while the restore ran; nothing else may write to the workspace meanwhile")

// unchanged refuses to go on if another file stands at s than was compared.
func (a *applier) unchanged(fd int, s *step) error {
	now, err := lookAt(fd, s.name)
	if err != nil {
		return err
	}
	if now.exists() && now != s.was {
		return errMeanwhile
	}
	return nil
}

// renameIfAbsent is renameNew for systems that cannot do it in one step.
func renameIfAbsent(fromFd int, from string, toFd int, to string) error {
	there, err := lookAt(toFd, to)
	if err != nil {
		return err
	}
	if there.exists() {
		return unix.EEXIST
	}
	return unix.Renameat(fromFd, from, toFd, to)
}
