//go:build unix

package restore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"hank/checkpoint/diff"
	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// The journal of a restore is a file in the workspace's root that is there from
// before the first temporary file until after the last. Its records end with a
// NUL byte:
//
//	755 DIR           a directory that gets temporary files or is made writable,
//	                  with its permissions in octal
//	@TEMP BLOB NAME   a file in it that may be displaced to TEMP: while it is
//	                  there, it belongs to NAME
//	=STAGED TEMP NEW BLOB NAME
//	                  the same, of a file that may change places with the staged
//	                  one, of the blob NEW: either may have either name
//	!                 all staged files are whole; before, none has changed places
//
// With it an interrupted restore is cleared up without looking through the whole
// workspace. It is synced before it counts, so a torn one means that nothing was
// begun.

// begin writes the journal and makes read-only directories writable.
func (a *applier) begin() error {
	a.tempNames()
	displaced := map[string][]*step{}
	for _, s := range pointers(a.steps, (*step).displaces) {
		displaced[s.dir] = append(displaced[s.dir], s)
	}
	var text bytes.Buffer
	var closed []string
	dirs, err := a.changingDirs()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		perm := a.existing[dir].mode & 0o7777
		fmt.Fprintf(&text, "%o %s\x00", perm, dir)
		for _, s := range displaced[dir] {
			if s.verb == replace {
				fmt.Fprintf(&text, "=%s %s %s %s %s\x00", s.temp, s.displaced, s.To.Blob, s.content, s.name)
			} else {
				fmt.Fprintf(&text, "@%s %s %s\x00", s.displaced, s.content, s.name)
			}
		}
		if perm&0o300 != 0o300 {
			closed = append(closed, dir)
		}
	}
	root := a.existing[""]
	if root.mode&0o300 != 0o300 { // the journal itself needs this
		if err := unix.Fchmod(a.root(), root.mode&0o7777|0o300); err != nil {
			return &os.PathError{Op: "make writable", Path: ".", Err: err}
		}
		a.opened = append(a.opened, "")
	}
	if err := writeJournal(a.root(), text.Bytes()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", worktree.JournalName, err), a.end())
	}
	for _, dir := range closed {
		if dir == "" {
			continue
		}
		err := chmodBeneath(a.root(), dir, a.existing[dir].mode&0o7777|0o300)
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) {
			continue // another's directory: its group's or others' rights decide
		}
		if err != nil {
			return errors.Join(&os.PathError{Op: "make writable", Path: dir, Err: err}, a.end())
		}
		a.opened = append(a.opened, dir)
	}
	return nil
}

// noteStaged writes to the journal that all that is staged is whole, synced.
func (a *applier) noteStaged() error {
	err := appendJournal(a.root(), "!\x00")
	if err != nil {
		return fmt.Errorf("write %s: %w", worktree.JournalName, err)
	}
	failpoint.Hit("restore.staged")
	return nil
}

// changingDirs returns the existing directories in which something is staged,
// deleted, made or renamed, and those above deleted files, which may be
// removed when they are empty. The root, which has the journal, is first.
func (a *applier) changingDirs() ([]string, error) {
	set := map[string]bool{"": true}
	for i := range a.steps {
		s := &a.steps[i]
		if s.writes() {
			set[s.stage] = true
		}
		if s.Kind != diff.Deleted {
			continue
		}
		for dir := s.dir; dir != "" && !set[dir]; dir = worktree.Parent(dir) {
			set[dir] = true
		}
	}
	dirs := make([]string, 0, len(set))
	for dir := range set {
		fd, err := worktree.OpenBeneath(a.root(), dir)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open directory", Path: dir, Err: err}
		}
		err = a.noteDir(fd, dir)
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs, nil
}

// end puts the directories' permissions back and removes the journal, unless a
// temporary file could not be removed: the next restore tries again.
func (a *applier) end() error {
	var errs []error
	for _, dir := range slices.Backward(a.opened) {
		if dir != "" {
			errs = append(errs, a.closeDir(dir))
		}
	}
	if a.left.Load() {
		errs = append(errs, fmt.Errorf("temporary files are left; the next restore clears them up, %s names them", worktree.JournalName))
	} else if err := unix.Unlinkat(a.root(), worktree.JournalName, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		errs = append(errs, &os.PathError{Op: "remove", Path: worktree.JournalName, Err: err})
	}
	if slices.Contains(a.opened, "") {
		errs = append(errs, a.closeDir(""))
	}
	a.opened = nil
	return errors.Join(errs...)
}

func (a *applier) closeDir(dir string) error {
	err := chmodBeneath(a.root(), dir, a.existing[dir].mode&0o7777)
	if err == nil || isMissing(err) {
		return nil
	}
	return &os.PathError{Op: "put permissions back", Path: dir, Err: err}
}

func chmodBeneath(root int, dir string, perm uint32) error {
	fd, err := worktree.OpenBeneath(root, dir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fchmod(fd, perm)
}

func writeJournal(root int, text []byte) error {
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := worktree.RetryInterrupted(func() (int, error) { return unix.Openat(root, worktree.JournalName, flags, 0o600) })
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), worktree.JournalName)
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	return errors.Join(err, unix.Fsync(root))
}

func appendJournal(root int, text string) error {
	flags := unix.O_WRONLY | unix.O_APPEND | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := worktree.RetryInterrupted(func() (int, error) { return unix.Openat(root, worktree.JournalName, flags, 0) })
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), worktree.JournalName)
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
