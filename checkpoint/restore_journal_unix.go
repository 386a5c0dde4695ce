//go:build unix

package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The journal of a restore is a file in the workspace's root that stands from
// before the first temporary file until after the last. Its records end with a
// NUL byte:
//
//	755 DIR           a directory that gets temporary files or is made writable,
//	                  with its permissions in octal
//	@TEMP BLOB NAME   a file in it that may be taken aside to TEMP: while it is
//	                  there, it belongs to NAME
//
// With it an interrupted restore is cleared up without looking through the whole
// workspace. It is synced before it counts, so a torn one means that nothing was
// begun.

// begin writes the journal and makes read-only directories writable.
func (a *applier) begin() error {
	a.tempNames()
	aside := map[string][]*step{}
	for _, s := range pointers(a.steps, (*step).displaces) {
		aside[s.dir] = append(aside[s.dir], s)
	}
	var text bytes.Buffer
	var closed []string
	for _, dir := range a.changingDirs() {
		perm := a.existing[dir].mode & 0o7777
		fmt.Fprintf(&text, "%o %s\x00", perm, dir)
		for _, s := range aside[dir] {
			fmt.Fprintf(&text, "@%s %s %s\x00", s.aside, s.content, s.name)
		}
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
		errs = append(errs, fmt.Errorf("temporary files are left; the next restore clears them up, %s names them", journalName))
	} else if err := unix.Unlinkat(a.root, journalName, 0); err != nil && !errors.Is(err, unix.ENOENT) {
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

// clearUp ends what an interrupted restore has begun. It returns the paths of
// files that somebody wrote meanwhile and that have a new name now.
func clearUp(root int) (kept []string, err error) {
	text, err := readJournal(root)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: journalName, Err: err}
	}
	for _, d := range parseJournal(text) {
		names, err := d.clearUp(root)
		for _, name := range names {
			kept = append(kept, path.Join(d.path, name))
		}
		if err != nil {
			return kept, &os.PathError{Op: "clear up", Path: d.path, Err: err}
		}
	}
	return kept, unix.Unlinkat(root, journalName, 0)
}

// journaledDir is what the journal says of a directory.
type journaledDir struct {
	path  string
	perm  uint32
	aside []journaledFile
}

type journaledFile struct{ temp, content, name string }

// parseJournal reads a journal. What is no record is left out: the torn end of a
// journal that was never begun on, or what no restore has written.
func parseJournal(text string) (dirs []journaledDir) {
	for record := range strings.SplitSeq(text, "\x00") {
		head, rest, _ := strings.Cut(record, " ")
		if temp, ok := strings.CutPrefix(head, "@"); ok {
			content, name, _ := strings.Cut(rest, " ")
			if len(dirs) > 0 && strings.HasPrefix(temp, tempPrefix) && isPathComponent(temp) == nil && isPathComponent(name) == nil {
				last := &dirs[len(dirs)-1]
				last.aside = append(last.aside, journaledFile{temp, content, name})
			}
			continue
		}
		if perm, err := strconv.ParseUint(head, 8, 12); err == nil && len(record) > len(head) {
			dirs = append(dirs, journaledDir{path: rest, perm: uint32(perm)})
		}
	}
	return dirs
}

// clearUp brings back what was taken aside in a directory, removes the other
// temporary files, and gives it its permissions back.
func (d *journaledDir) clearUp(root int) (kept []string, err error) {
	fd, err := openBeneath(root, d.path)
	if isMissing(err) || errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EINVAL) {
		return nil, nil // removed since; or a path that no restore has written
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if d.perm&0o300 != 0o300 { // was made writable, and may have its permissions back
		switch err := unix.Fchmod(fd, d.perm|0o300); {
		case err == nil:
			defer func() { err = errors.Join(err, unix.Fchmod(fd, d.perm)) }()
		case !errors.Is(err, unix.EPERM): // another's directory was not changed
			return nil, err
		}
	}
	for _, f := range d.aside {
		name, err := bringBack(fd, f.temp, f.name, SHA(f.content))
		if err != nil {
			return kept, err
		}
		if name != "" {
			kept = append(kept, name)
		}
	}
	names, err := readNames(fd)
	if err != nil {
		return kept, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, tempPrefix) && name != journalName {
			if err := unix.Unlinkat(fd, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
				return kept, fmt.Errorf("remove %s: %w", name, err)
			}
		}
	}
	return kept, nil
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
