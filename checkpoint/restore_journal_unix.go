//go:build unix

package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The journal of a restore is a file in the workspace's root that stands from
// before the first temporary file until after the last: for each directory
// that gets temporary files or is made writable, its permissions in octal, a
// space, its path, and a NUL byte. With it an interrupted restore is cleared
// up without looking through the whole workspace. It is synced before it
// counts, so a torn one means that nothing was begun.

// begin writes the journal and makes read-only directories writable.
func (a *applier) begin() error {
	a.tempNames()
	var text bytes.Buffer
	var closed []string
	for _, dir := range a.changingDirs() {
		perm := a.existing[dir].mode & 0o7777
		fmt.Fprintf(&text, "%o %s\x00", perm, dir)
		if perm&0o300 != 0o300 {
			closed = append(closed, dir)
		}
	}
	root := a.existing[""]
	if root.mode&0o300 != 0o300 { // the journal itself needs this
		if err := unix.Fchmod(a.root, root.mode&0o7777|0o300); err != nil {
			return &os.PathError{Op: "make writable", Path: ".", Err: err}
		}
		a.opened = append(a.opened, "")
	}
	if err := writeJournal(a.root, text.Bytes()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", journalName, err), a.end())
	}
	for _, dir := range closed {
		if dir == "" {
			continue
		}
		err := chmodBeneath(a.root, dir, a.existing[dir].mode&0o7777|0o300)
		if errors.Is(err, unix.EPERM) {
			continue // another's directory: its group's or others' rights decide
		}
		if err != nil {
			return errors.Join(&os.PathError{Op: "make writable", Path: dir, Err: err}, a.end())
		}
		a.opened = append(a.opened, dir)
	}
	return nil
}

// changingDirs returns the existing directories in which something is staged,
// deleted, made or renamed, and those above deleted files, which may be
// removed when they are empty. The root, which has the journal, is first.
func (a *applier) changingDirs() []string {
	set := map[string]bool{"": true}
	for i := range a.steps {
		s := &a.steps[i]
		if s.writes() {
			set[s.stage] = true
		}
		if s.Kind != Deleted {
			continue
		}
		for dir := s.dir; dir != "" && !set[dir]; dir = parent(dir) {
			set[dir] = true
		}
	}
	dirs := make([]string, 0, len(set))
	for dir := range set {
		fd, err := openBeneath(a.root, dir)
		if err != nil {
			continue // not there
		}
		if a.noteDir(fd, dir) == nil {
			dirs = append(dirs, dir)
		}
		unix.Close(fd)
	}
	slices.Sort(dirs)
	return dirs
}

// end puts the directories' permissions back and removes the journal.
func (a *applier) end() error {
	var errs []error
	for _, dir := range slices.Backward(a.opened) {
		if dir != "" {
			errs = append(errs, a.closeDir(dir))
		}
	}
	if err := unix.Unlinkat(a.root, journalName, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		errs = append(errs, &os.PathError{Op: "remove", Path: journalName, Err: err})
	}
	if slices.Contains(a.opened, "") {
		errs = append(errs, a.closeDir(""))
	}
	a.opened = nil
	return errors.Join(errs...)
}

func (a *applier) closeDir(dir string) error {
	err := chmodBeneath(a.root, dir, a.existing[dir].mode&0o7777)
	if err == nil || isMissing(err) {
		return nil
	}
	return &os.PathError{Op: "put permissions back", Path: dir, Err: err}
}

func chmodBeneath(root int, dir string, perm uint32) error {
	fd, err := openBeneath(root, dir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fchmod(fd, perm)
}

func writeJournal(root int, text []byte) error {
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retryInterrupted(func() (int, error) { return unix.Openat(root, journalName, flags, 0o600) })
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), journalName)
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	return errors.Join(err, unix.Fsync(root))
}

// clearUp removes what an interrupted restore has left.
func clearUp(root int) error {
	text, err := readJournal(root)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "read", Path: journalName, Err: err}
	}
	for record := range strings.SplitSeq(text, "\x00") {
		octal, dir, ok := strings.Cut(record, " ")
		perm, err := strconv.ParseUint(octal, 8, 12)
		if !ok || err != nil {
			continue // the torn end of a journal that was never begun on
		}
		if err := clearUpDir(root, dir, uint32(perm)); err != nil {
			return &os.PathError{Op: "clear up", Path: dir, Err: err}
		}
	}
	return unix.Unlinkat(root, journalName, 0)
}

func clearUpDir(root int, dir string, perm uint32) error {
	fd, err := openBeneath(root, dir)
	if isMissing(err) || errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EINVAL) {
		return nil // removed since; or a path that no restore has written
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	names, err := readNames(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, tempPrefix) && name != journalName {
			if err := unix.Unlinkat(fd, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
				return err
			}
		}
	}
	if perm&0o300 == 0o300 {
		return nil // was never changed
	}
	return unix.Fchmod(fd, perm)
}

func readJournal(root int) (string, error) {
	fd, err := openFileAt(root, journalName)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), journalName)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a file; remove it")
	}
	text, err := io.ReadAll(f)
	return string(text), err
}
