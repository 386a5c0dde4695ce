//go:build unix

package restore

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// What the system refuses to remove or to write stays as it is, and the rest of
// a restore is done: a mount point, a directory of another user, an immutable file.
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
	there, directory := attributesAt(dirfd, name), attributesAt(dirfd, "")
	switch {
	case there.mounted:
		return "is a mount point"
	case there.immutable:
		return "is immutable"
	case there.appendOnly:
		return "is append-only"
	case directory.immutable:
		return "is in an immutable directory"
	case directory.appendOnly:
		return "is in an append-only directory"
	case errors.Is(err, unix.EBUSY):
		return "is a mount point, or in use by the system"
	case errors.Is(err, unix.EROFS):
		return "is on a read-only file system"
	case errors.Is(err, unix.EACCES):
		return "is in a directory that this user may not write to"
	}
	if errno := unix.Errno(0); errors.As(err, &errno) {
		err = errno
	}
	return fmt.Sprintf("cannot be changed by this user: %v", err)
}

// dirRefusal returns the error with which the system would refuse that names
// in the directory fd come and go; nil if it would not. What a restore can make
// writable does not count.
func dirRefusal(fd int) error {
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

// refusalIn returns the error with which the system would refuse to make something in a
// directory.
func refusalIn(w *worktree.Workspace, dir string) error {
	fd, err := worktree.OpenBeneath(w.Fd(), dir)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	return dirRefusal(fd)
}

// Writable returns why the root of the workspace does not take the files that
// a restore needs there; nil: it does.
func Writable(w *worktree.Workspace) error {
	err := failpoint.Refused(w.Path(), "")
	if err == nil {
		err = dirRefusal(w.Fd())
	}
	if err != nil {
		return &os.PathError{Op: "write to", Path: w.Path(), Err: err}
	}
	return nil
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

// allowed returns the refusal that a test asks for in the place of a system call
// that changes path.
func (a *applier) allowed(path string) error {
	return refusable("change", failpoint.Refused(a.req.Workspace.Path(), path))
}
