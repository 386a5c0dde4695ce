//go:build unix

package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// Restore brings the workspace from the tree From to the tree To.
//
//  1. Clear up after a restore that was interrupted: what it had displaced
//     comes back, its temporary files go, directories get their permissions
//     back (the journal names them all).
//  2. Plan: the difference of the trees, then each of its paths on disk, read
//     (unless the scan for From has, and it is as it was) and compared with what
//     From and To have there. Refuse if something that
//     From does not hold is in the way. Nothing to do: return.
//  3. Write the journal, and make read-only directories writable.
//  4. Stage: write every new file and symlink under a temporary name, into
//     new inodes. Sync, and note in the journal that they are whole. A full
//     disk shows here, while nothing has changed: the staged files go again.
//     After the sync, each place holds at any moment, a power cut included,
//     what From has there, what To has, or nothing.
//  5. Delete what goes, then make directories, then rename the staged files
//     into place (displace and exchange say how); then remove directories that this has
//     emptied.
//  6. Put permissions of directories back, remove the journal, sync.
//
// A restore killed anywhere is finished by the same call, and undone by one
// the other way: what is on disk is compared with both trees again.
//
// A new file gets 0666 or 0777 without the umask's bits, as git gives it; one
// that replaces another keeps its permissions but for the exec bits, which
// are set where the file may be read. Owner, set-id bits and extended
// attributes are those of a new file.
func Restore(ctx context.Context, req RestoreRequest) (*RestoreReport, error) {
	return restoreBy(ctx, req, renames{unix.Renameat, renameNew, swapNames})
}

func restoreBy(ctx context.Context, req RestoreRequest, by renames) (*RestoreReport, error) {
	report := &RestoreReport{}
	var err error
	if report.Kept, report.Refused, err = ClearUp(req.Store, req.Workspace); err != nil {
		return report, err
	}
	p, err := newPlanner(&req)
	if err != nil {
		return report, err
	}
	for _, r := range report.Refused {
		p.note(r.Path, r.Why)
	}
	if err := p.foresee(false); err != nil {
		return report, err
	}
	report.Plan = p.plan()
	if len(report.Plan.Blocked) > 0 {
		return report, &BlockedError{report.Plan.Blocked}
	}
	a := &applier{ctx: ctx, req: &req, renames: by, holds: holdsIn(req.Store), planner: p, report: report}
	err = a.run()
	report.Refused = p.listRefused()
	if err != nil {
		return report, &IncompleteError{Workspace: req.Workspace.Path(), Touched: a.touched.Load(), Err: err}
	}
	return report, nil
}

func (a *applier) run() (err error) {
	emptied, err := a.emptiedDirs()
	if err != nil {
		return err
	}
	if a.report.Plan.Empty() && len(emptied) == 0 && !slices.ContainsFunc(a.steps, func(s step) bool { return s.displaceWhy != "" }) {
		if a.req.From == a.req.To {
			return nil
		}
		return a.sync() // who has brought it there may have been killed before
	}
	if err := Writable(a.req.Workspace); err != nil { // where the journal is
		return err
	}
	if err := a.begin(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.dropStaged())
			if a.touched.Load() && a.onSeveralVolumes() { // as at the end
				err = errors.Join(err, a.sync())
			}
			err = errors.Join(err, a.end())
		}
	}()
	failpoint.Hit("restore.started")
	for _, phase := range []func() error{a.stageAll, a.sync, a.noteStaged, a.deleteAll, a.placeAll} {
		if err := phase(); err != nil {
			return err
		}
	}
	if err := a.removeEmptied(emptied); err != nil {
		return err
	}
	if err := a.dropStaged(); err != nil { // what was not put in place
		return err
	}
	a.report.Bytes = a.bytes.Load()
	if a.onSeveralVolumes() { // the journal must not go before what it tells of
		if err := a.sync(); err != nil {
			return err
		}
	}
	if err := a.end(); err != nil {
		return err
	}
	return a.sync()
}

func (a *applier) onSeveralVolumes() bool {
	for _, there := range a.existing {
		if there.dev != a.existing[""].dev {
			return true
		}
	}
	return false
}

// deleteAll removes the files that go and the empty directories in the place
// of new files.
func (a *applier) deleteAll() error {
	err := a.eachDir(func(s *step) bool { return s.verb == remove }, func(fd int, s *step) error {
		if err := a.displace(fd, fd, s); err != nil {
			return a.refuse(fd, s, err)
		}
		failpoint.Hit("restore.deleted")
		return nil
	})
	if err != nil {
		return err
	}
	err = a.eachDir(func(s *step) bool { return s.displaceWhy != "" }, func(fd int, s *step) error {
		return a.refuse(fd, s, a.keepConflict(fd, s, s.displaceWhy))
	})
	if err != nil {
		return err
	}
	return a.eachDir(func(s *step) bool { return s.writes() && s.was.isDir() }, func(fd int, s *step) error {
		a.touched.Store(true)
		return a.refuse(fd, s, a.removeOrKeep(fd, s))
	})
}

// placeAll renames the staged files into place.
func (a *applier) placeAll() error {
	a.refuseBelow()
	if err := a.makeDirs(); err != nil {
		return err
	}
	return a.eachDir((*step).writes, func(fd int, s *step) error {
		from := fd
		if s.stage != s.dir {
			var err error
			if from, err = worktree.OpenBeneath(a.root(), s.stage); err != nil {
				return &os.PathError{Op: "open directory", Path: s.stage, Err: err}
			}
			defer unix.Close(from)
		}
		a.touched.Store(true)
		if err := a.place(from, fd, s); err != nil {
			return a.refuse(fd, s, err)
		}
		s.temp = ""
		failpoint.Hit("restore.renamed")
		return nil
	})
}

// place puts one staged file where it belongs. Where nothing was, nothing is
// overwritten.
func (a *applier) place(from, to int, s *step) error {
	if s.verb == create {
		if err := a.allowed(s.Path); err != nil {
			return err
		}
		return a.fill(from, to, s)
	}
	return a.exchange(from, to, s)
}

// eachDir calls f for the steps that pick picks, directory by directory in
// parallel, with the open directory, until the context is done.
func (a *applier) eachDir(pick func(*step) bool, f func(fd int, s *step) error) error {
	dirOf := func(s *step) string { return s.dir }
	return inBatches(pointers(a.steps, pick, (*step).possible), dirOf, func(dir string, batch []*step) error {
		fd, err := worktree.OpenBeneath(a.root(), dir)
		if err != nil {
			return &os.PathError{Op: "open directory", Path: dir, Err: err}
		}
		defer unix.Close(fd)
		for _, s := range batch {
			if err := a.ctx.Err(); err != nil {
				return err
			}
			if err := f(fd, s); err != nil {
				return fmt.Errorf("%q: %w", s.Path, err)
			}
		}
		return nil
	})
}

// makeDirs makes the directories of new files, following no symlink.
func (a *applier) makeDirs() error {
	made := map[string]bool{}
	for i := range a.steps {
		s := &a.steps[i]
		if !s.writes() || s.refused || s.stage == s.dir || made[s.dir] {
			continue
		}
		if err := a.ctx.Err(); err != nil {
			return err
		}
		a.touched.Store(true)
		if err := a.makeDir(s.stage, s.dir); err != nil {
			if err := a.refuse(-1, s, err); err != nil {
				return &os.PathError{Op: "make directory", Path: s.dir, Err: err}
			}
			continue
		}
		made[s.dir] = true
	}
	return nil
}

// makeDir makes dir and the directories between it and above.
func (a *applier) makeDir(above, dir string) error {
	at, err := worktree.OpenBeneath(a.root(), above)
	if err != nil {
		return err
	}
	defer func() { unix.Close(at) }()
	rest := strings.TrimPrefix(dir[len(above):], "/")
	for name := range strings.SplitSeq(rest, "/") {
		if err := unix.Mkdirat(at, name, 0o777); err != nil && !errors.Is(err, unix.EEXIST) {
			return refusable("mkdirat", err)
		}
		next, err := worktree.OpenDirAt(at, name)
		if err != nil {
			return refusable("openat", err)
		}
		unix.Close(at)
		at = next
	}
	return nil
}

// removeEmptyTree removes the directory name and the directories in it. It
// fails if there is anything else: the plan found none.
func (a *applier) removeEmptyTree(parentFd int, path, name string) error {
	if err := a.allowed(path); err != nil {
		return err
	}
	fd, err := worktree.OpenDirAt(parentFd, name)
	if err != nil {
		return refusable("openat", err)
	}
	defer unix.Close(fd)
	names, err := readNames(fd)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		if err := unix.Fchmod(fd, 0o700); err != nil {
			return refusable("fchmod", err)
		}
	}
	for _, sub := range names {
		if err := a.removeEmptyTree(fd, path+"/"+sub, sub); err != nil {
			return err
		}
	}
	return refusable("unlinkat", unix.Unlinkat(parentFd, name, unix.AT_REMOVEDIR))
}

// removeEmptied removes those of dirs that are empty.
func (a *applier) removeEmptied(dirs []string) error {
	for _, dir := range dirs {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		fd, err := worktree.OpenBeneath(a.root(), worktree.Parent(dir))
		if err != nil {
			continue // gone, or replaced by a file of the target
		}
		err = a.removeIfEmpty(fd, dir)
		unix.Close(fd)
		if err != nil {
			return &os.PathError{Op: "remove directory", Path: dir, Err: err}
		}
	}
	return nil
}

// removeIfEmpty removes a directory from fd, the one above it. One that the
// system does not let go stays, and is noted.
func (a *applier) removeIfEmpty(fd int, dir string) error {
	name := worktree.LastComponent(dir)
	err := a.allowed(dir)
	if err == nil {
		err = unix.Unlinkat(fd, name, unix.AT_REMOVEDIR)
	}
	switch {
	case err == nil:
		a.touched.Store(true)
		a.report.RemovedDirs++
	case isRefusal(err):
		if a.wouldBeEmpty(fd, dir, nil) {
			a.note(dir, whyRefused(fd, name, err)+"; the empty directory stays")
		}
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
	default:
		return err
	}
	return nil
}
