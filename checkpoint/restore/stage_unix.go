//go:build unix

package restore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"hank/checkpoint/diff"
	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// maxSymlink bounds the targets of symlinks that are restored: no system has
// longer ones.
const maxSymlink = 64 << 10

// syncEvery is after how many staged files the disk is told to begin.
const syncEvery = 1000

// stageAll writes what is new under temporary names. The disk works beside it,
// so that the sync that follows waits for the last of them only.
func (a *applier) stageAll() error {
	var ahead errgroup.Group
	ahead.SetLimit(1)
	var staged atomic.Int64
	stageOf := func(s *step) string { return s.stage }
	err := inBatches(pointers(a.steps, (*step).writes, (*step).possible), stageOf, func(dir string, batch []*step) error {
		fd, err := worktree.OpenBeneath(a.root(), dir)
		if err != nil {
			return &os.PathError{Op: "open directory", Path: dir, Err: err}
		}
		defer unix.Close(fd)
		for _, s := range batch {
			if err := a.ctx.Err(); err != nil {
				return err
			}
			if err := a.refuse(fd, s, a.stage(fd, s)); err != nil {
				return fmt.Errorf("%q: %w", s.Path, err)
			}
			failpoint.Hit("restore.written")
			if staged.Add(1)%syncEvery == 0 {
				ahead.TryGo(a.syncVolumes)
			}
		}
		return nil
	})
	return errors.Join(err, ahead.Wait()) // the system names a failed write once only
}

// stage writes the new content of one path under its temporary name in fd.
func (a *applier) stage(fd int, s *step) error {
	r, size, err := diff.OpenBlob(a.req.Store, s.To.Blob)
	if err != nil {
		return err
	}
	defer r.Close()
	if s.To.Mode == filemode.Symlink {
		err = stageSymlink(fd, s, r, size)
	} else {
		err = stageFile(fd, s, r)
	}
	if err != nil {
		return err
	}
	a.bytes.Add(size)
	a.req.Progress.Add(size)
	return refuseFolded(fd, s)
}

func stageSymlink(fd int, s *step, r io.Reader, size int64) error {
	if size > maxSymlink {
		return fmt.Errorf("a symlink with a target of %d bytes: no system has such", size)
	}
	var target strings.Builder
	if _, err := io.Copy(&target, r); err != nil {
		return fmt.Errorf("read blob %s from the store: %w", s.To.Blob, err)
	}
	return refusable("symlinkat", unix.Symlinkat(target.String(), fd, s.temp))
}

func stageFile(fd int, s *step, r io.Reader) (err error) {
	perm := uint32(0o666)
	if s.To.Mode == filemode.Executable {
		perm = 0o777
	}
	keep := s.was.isFile()
	if keep {
		perm = keptPerm(s.was.mode, s.To.Mode == filemode.Executable)
	}
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	file, err := worktree.RetryInterrupted(func() (int, error) { return unix.Openat(fd, s.temp, flags, perm) })
	if err != nil {
		return refusable("openat", err)
	}
	failpoint.Hit("restore.written")
	defer func() { err = errors.Join(err, os.NewSyscallError("close", unix.Close(file))) }()
	if keep {
		if err := unix.Fchmod(file, perm); err != nil {
			return os.NewSyscallError("fchmod", err)
		}
	}
	to := &fileWriter{fd: file}
	buf := getBuffer()
	defer putBuffer(buf)
	if _, err := io.CopyBuffer(to, r, *buf); to.err != nil {
		return os.NewSyscallError("write", to.err)
	} else if err != nil {
		return fmt.Errorf("read blob %s from the store: %w", s.To.Blob, err)
	}
	return syncFile(file)
}

// keptPerm is the permissions of a file that replaces one with mode.
func keptPerm(mode uint32, exec bool) uint32 {
	perm := mode & 0o666
	if exec {
		perm |= perm&0o444>>2 | 0o100
	}
	return perm
}

// fileWriter writes to an open file, and remembers why it could not.
type fileWriter struct {
	fd  int
	err error
}

func (w *fileWriter) Write(b []byte) (int, error) {
	for done := 0; done < len(b); {
		n, err := worktree.RetryInterrupted(func() (int, error) { return unix.Write(w.fd, b[done:]) })
		if err != nil {
			w.err = err
			return done, err
		}
		done += n
	}
	return len(b), nil
}

// refuseFolded refuses a path that git takes for its own on a file system that
// ignores case: hank keeps such names where they are names like any other. The
// staged file tells: it answers to its name in upper case, or does not.
func refuseFolded(fd int, s *step) error {
	dangerous := false
	for name := range strings.SplitSeq(s.Path, "/") {
		dangerous = dangerous || worktree.IsDotGit(name)
	}
	if !dangerous {
		return nil
	}
	folded, err := lookAt(fd, strings.ToUpper(s.temp))
	if err != nil {
		return err
	}
	if folded.exists() || runtime.GOOS == "darwin" {
		return errors.New("git would take the name for its own directory on this file system; restore the other paths by name")
	}
	return nil
}

// dropStaged removes the staged files that were not renamed into place.
func (a *applier) dropStaged() error {
	var errs []error
	for i := range a.steps {
		s := &a.steps[i]
		if s.temp == "" {
			continue
		}
		err := unlinkBeneath(a.root(), s.stage, s.temp)
		switch left := strings.TrimPrefix(s.stage+"/"+s.temp, "/"); {
		case err == nil, isMissing(err):
			s.temp = ""
		case isRefusal(err) && !a.isThere(s.stage, s.temp):
		case isRefusal(err): // nor will it be removed the next time
			a.note(left, fmt.Sprintf("is what was to become %q, and cannot be removed: %v", s.Path, err))
		default:
			errs = append(errs, &os.PathError{Op: "remove", Path: left, Err: err})
		}
	}
	if len(errs) > 0 {
		a.left.Store(true)
	}
	return errors.Join(errs...)
}

func (a *applier) isThere(dir, name string) bool {
	fd, err := worktree.OpenBeneath(a.root(), dir)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	there, err := lookAt(fd, name)
	return err == nil && there.exists()
}

func unlinkBeneath(root int, dir, name string) error {
	fd, err := worktree.OpenBeneath(root, dir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Unlinkat(fd, name, 0)
}
