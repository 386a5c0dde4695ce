//go:build unix

package restore

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// PlanDirs adds to a plan which empty directories are made and removed after the restore.
// It returns those that the system is not going to let be, with those above that are empty
// then and not among create. It writes nothing; what cannot be looked at is not foreseen.
func PlanDirs(w *worktree.Workspace, plan *Plan, remove, create []string) (refused []Refused) {
	root, err := os.OpenRoot(w.Path())
	if err != nil {
		return nil
	}
	defer root.Close()
	after := emptying{root: root, gone: map[string]bool{}, within: map[string]bool{}, filled: map[string]bool{}}
	for _, c := range plan.Delete {
		after.remove(c.Path)
	}
	for _, c := range plan.Add {
		if dir, err := fs.ReadDir(root.FS(), c.Path); err == nil && len(dir) == 0 { // a file replaces it
			plan.RemoveDirs = append(plan.RemoveDirs, c.Path)
		}
		after.fill(c.Path)
	}
	for _, name := range remove {
		for at := name; at != "." && !slices.Contains(create, at) && after.isEmpty(at); at = path.Dir(at) {
			if err := after.refusal(w, at); err != nil {
				refused = append(refused, Refused{at, fmt.Sprintf(CannotRemoveDir, err)})
				break
			}
			after.remove(at)
			if at == name {
				plan.RemoveDirs = append(plan.RemoveDirs, name)
			}
		}
	}
	for _, name := range create {
		err, at := failpoint.Refused(w.Path(), name), name
		for err == nil && at != "." {
			if _, missing := root.Lstat(at); missing == nil {
				break
			}
			if at = path.Dir(at); at == "." {
				err = dirRefusal(w.Fd())
			} else if fi, missing := root.Lstat(at); missing == nil && fi.IsDir() {
				err = refusalIn(w, at)
			}
		}
		switch fi, missing := root.Lstat(at); {
		case err != nil:
			refused = append(refused, Refused{name, fmt.Sprintf(CannotMakeDir, err)})
		case at == name && missing == nil && fi.IsDir(): // it is there
		case missing == nil && !fi.IsDir() && !after.gone[at]: // what is there stays
		default:
			plan.MakeDirs = append(plan.MakeDirs, name)
		}
	}
	plan.RemoveDirs = slices.DeleteFunc(plan.RemoveDirs, func(dir string) bool { // and comes back
		return slices.ContainsFunc(plan.MakeDirs, func(name string) bool { return strings.HasPrefix(name, dir+"/") })
	})
	slices.Sort(plan.RemoveDirs)
	return refused
}

// emptying tells which directories are empty once some paths are gone and others are there.
type emptying struct {
	root   *os.Root
	gone   map[string]bool
	within map[string]bool // directories that something goes from
	filled map[string]bool // paths that files come to, and the directories above them
}

func (e *emptying) fill(name string) {
	for ; name != "." && !e.filled[name]; name = path.Dir(name) {
		e.filled[name] = true
	}
}

func (e *emptying) remove(name string) {
	e.gone[name] = true
	for dir := path.Dir(name); dir != "." && !e.within[dir]; dir = path.Dir(dir) {
		e.within[dir] = true
	}
}

// isEmpty reports whether what has the name is a directory that is there and empty then. A directory
// in it goes, if a restore has emptied it.
func (e *emptying) isEmpty(name string) bool {
	if e.gone[name] || e.filled[name] {
		return false
	}
	fi, err := e.root.Lstat(name)
	if err != nil || !fi.IsDir() {
		return false
	}
	dir, err := e.root.Open(name)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	return err == nil && !slices.ContainsFunc(names, func(entry string) bool {
		entry = name + "/" + entry
		return !e.gone[entry] && !(e.within[entry] && e.isEmpty(entry))
	})
}

// refusal returns the error with which the system would refuse to remove a directory.
func (e *emptying) refusal(w *worktree.Workspace, name string) error {
	if err := failpoint.Refused(w.Path(), name); err != nil {
		return err
	}
	fd, err := worktree.OpenBeneath(w.Fd(), worktree.Parent(name))
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if err := dirRefusal(fd); err != nil {
		return err
	}
	switch a := attributesAt(fd, path.Base(name)); {
	case a.mounted:
		return unix.EBUSY
	case a.immutable, a.appendOnly:
		return unix.EPERM
	}
	return nil
}
