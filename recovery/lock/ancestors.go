package lock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hank/internal/flock"
	"hank/internal/proc"
	"hank/internal/registry"
	"hank/internal/vfs"
	"hank/recovery/layout"
)

// lockAncestors takes a shared lock on every directory that the workspace is in, up
// to the root. Two workspaces of which one is in the other cannot both have a run
// then, whoever comes first: the outer one's own lock is exclusive.
//
// Directories that may not be read are passed over, and so are those that everybody
// may write to and nobody owns, such as /tmp: they are no workspaces, and the
// programs that clean them up lock them too. A hank that a codon runs in its own
// workspace is a part of the codon's work, and ends with it: what is around that
// workspace is the codon's run's to lock.
func (k *Lock) lockAncestors() error {
	inner, err := filepath.EvalSymlinks(k.layout.Workspace)
	if err != nil {
		return err
	}
	codons := proc.Workspaces(os.Getpid())
	for at := filepath.Dir(inner); !slices.Contains(codons, at); at = filepath.Dir(at) {
		if err := k.share(at); err != nil {
			return err
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return nil
}

func (k *Lock) share(path string) error {
	dir, err := flock.OpenDir(path)
	if err != nil {
		return nil // see lockAncestors
	}
	fi, err := dir.Stat()
	if err != nil || fi.Mode()&fs.ModeSticky != 0 && fi.Mode().Perm()&0o002 != 0 {
		return errors.Join(err, dir.Close())
	}
	err = retryFor(patience, flock.Shared, dir)
	if errors.Is(err, flock.ErrHeld) {
		held := &HeldError{Path: path, Why: "the workspace " + k.layout.Workspace + " is inside it"}
		held.Execution, held.Holder = holderOf(path, k.layout.Root)
		return errors.Join(held, dir.Close())
	}
	k.around = append(k.around, dir) // without a lock where the file system has none
	return nil
}

// holderOf looks in this machine's list of executions for the one running in
// a directory, in one that it is in, or in one in it. It only explains.
func holderOf(directory, own string) (root string, holder *LockInfo) {
	entries, _ := registry.List() // without it nobody is known
	for _, e := range entries {
		l := layout.LayoutOf(e.Root)
		if e.Root == own || !within(l.Workspace, directory) && !within(directory, l.Workspace) {
			continue
		}
		if IsHeld(l) {
			holder, _ := ReadLock(vfs.OS, l.Lock())
			return e.Root, holder
		}
	}
	return "", nil
}

// within reports whether a directory is another or is in it.
func within(inner, outer string) bool {
	for _, p := range []*string{&inner, &outer} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	rel, err := filepath.Rel(outer, inner)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// IsHeld reports whether somebody holds the execution now: the lock is free if a
// shared one can be had for a moment. Readers do not get in each other's way.
func IsHeld(l layout.Layout) bool {
	dir, err := flock.OpenDir(l.Hankweave())
	if err != nil {
		return false
	}
	defer flock.Close(dir)
	if h, err := ReadLock(vfs.OS, l.Lock()); err == nil {
		if verdict, _ := h.Process.Check(); verdict != proc.Dead {
			return flock.Shared(dir) != nil
		}
	}
	// Nobody who lives says to hold it: what a dead one was starting may, for
	// the moment until it executes its program.
	return retryFor(patience, flock.Shared, dir) != nil
}

// IsTrusted is FlockTrusted of the directory of an execution.
func IsTrusted(l layout.Layout) bool {
	dir, err := flock.OpenDir(l.Hankweave())
	if err != nil {
		return false
	}
	defer flock.Close(dir)
	return FlockTrusted(dir)
}
