//go:build unix

package restore

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// journaledFile is a file that may be displaced.
type journaledFile struct {
	temp    string     // its name there
	content packdb.SHA // the blob that it was compared with
	name    string     // its place
	staged  packdb.SHA // the blob of a staged file that temp may be the name of, or ""
}

func holdsContent(fd int, name string, now seen, content packdb.SHA) (bool, error) {
	sha, err := contentAt(fd, name, now)
	return sha != "" && sha == content, err
}

// restore brings a file back, unless the temporary name is that of the staged one.
func (f journaledFile) restore(fd int, holds func(packdb.SHA) bool) (kept string, err error) {
	if f.staged == "" {
		return restoreDisplaced(fd, f, holds)
	}
	now, err := lookAt(fd, f.temp)
	if err != nil || !now.exists() {
		return "", err
	}
	if same, err := holdsContent(fd, f.temp, now, f.staged); err == nil && same && holds(f.staged) {
		return "", nil // sweep removes it
	}
	return restoreDisplaced(fd, f, holds)
}

// restoreDisplaced renames what is displaced to its place. If another file is there, it
// deletes what is displaced if that has the content, and the store holds it, and
// otherwise gives it a name that is no temporary one, and returns that.
func restoreDisplaced(fd int, f journaledFile, holds func(packdb.SHA) bool) (kept string, err error) {
	err = renameNew(fd, f.temp, fd, f.name)
	if err == nil || errors.Is(err, unix.ENOENT) { // restored; or was never displaced
		return "", nil
	}
	if !errors.Is(err, unix.EEXIST) {
		return "", os.NewSyscallError("rename", err)
	}
	now, err := lookAt(fd, f.temp)
	if err != nil {
		return "", err
	}
	same, err := holdsContent(fd, f.temp, now, f.content)
	if err == nil && same && holds(f.content) { // what cannot be read is not known to be held
		return "", os.NewSyscallError("unlinkat", unix.Unlinkat(fd, f.temp, 0))
	}
	return keepDisplaced(fd, f)
}

// dropIfHeld deletes what is displaced if it has the content, and the store holds it;
// anything else it brings back.
func dropIfHeld(fd int, f journaledFile, holds func(packdb.SHA) bool) (kept string, err error) {
	now, err := lookAt(fd, f.temp)
	if err != nil || !now.exists() {
		return "", err
	}
	if same, err := holdsContent(fd, f.temp, now, f.content); err == nil && same && holds(f.content) {
		return "", os.NewSyscallError("unlinkat", unix.Unlinkat(fd, f.temp, 0))
	}
	return restoreDisplaced(fd, f, holds)
}

// keepDisplaced gives what is displaced a name that people and checkpoints see.
func keepDisplaced(fd int, f journaledFile) (kept string, err error) {
	return keepAs(fd, f.temp, f.name, f.temp[len(worktree.TempPrefix):])
}

// keepAs renames from to a name that tells that it was name.
func keepAs(fd int, from, name, id string) (kept string, err error) {
	for i := 0; ; i++ {
		kept = fmt.Sprintf("%s%s%s", name, worktree.KeptInfix, id)
		if i > 0 { // it is too long, or taken
			kept = fmt.Sprintf("%s%s-%d", worktree.KeptInfix[1:], id, i)
		}
		err = renameNew(fd, from, fd, kept)
		if err == nil {
			return kept, nil
		}
		if i == 9 || !errors.Is(err, unix.ENAMETOOLONG) && !errors.Is(err, unix.EEXIST) {
			return "", fmt.Errorf("rename %s to %s: %w", from, kept, err)
		}
	}
}
