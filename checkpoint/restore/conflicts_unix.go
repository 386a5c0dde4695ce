//go:build unix

package restore

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/storer"
	"golang.org/x/sys/unix"

	"hank/checkpoint/diff"
	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// Conflicts returns the files on disk, sorted, that a restore to the tree
// to would replace or have to remove, ignored or not: those at a path where
// the target has a file, in a directory at such a path, or at a path where the
// target has a directory. The caller takes them into the safety checkpoint.
//
// from is the tree of any checkpoint whose files the safety checkpoint holds
// anyway, as the last one's are: what from and to have in common is not looked
// at. With "" every path of the target is. What no checkpoint can hold (a FIFO,
// a repository's .git) is not among them: PlanRestore names it as blocking.
func Conflicts(st storer.EncodedObjectStorer, ws *worktree.Workspace, from, to packdb.SHA) ([]string, error) {
	scope, err := newScope(st, from, to, nil)
	if err != nil {
		return nil, err
	}
	p := &planner{req: &RestoreRequest{Store: st, Workspace: ws}, existing: map[string]seen{}}
	var found []string
	note := func(path string, there seen) {
		if !there.isFile() && !there.isSymlink() || slices.ContainsFunc(strings.Split(path, "/"), worktree.NeverRecorded) {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		found = append(found, path)
	}
	err = inBatches(pointers(scope.changes, needed), dir, func(dir string, changes []*diff.Change) error {
		return p.findInTheWay(dir, changes, note)
	})
	if err != nil {
		return nil, fmt.Errorf("look for what is in the way in %s: %w", ws.Path(), err)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// needed reports whether the target has a file or symlink at the path.
func needed(c *diff.Change) bool { return c.To.Mode.IsFile() }

func (p *planner) findInTheWay(dir string, changes []*diff.Change, note func(path string, there seen)) error {
	fd, nearest, obstacle, err := p.enter(dir)
	if err != nil {
		return err
	}
	if fd < 0 {
		return p.noteObstacle(nearest, obstacle, note)
	}
	defer unix.Close(fd)
	for _, c := range changes {
		name := worktree.LastComponent(c.Path)
		there, err := lookAt(fd, name)
		switch {
		case err != nil:
			return err
		case !there.exists():
		case !there.isDir():
			note(c.Path, there)
		default:
			if err := walkFiles(fd, name, c.Path, note); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteObstacle notes the file or symlink that is in the directory nearest
// instead of a directory, if there is one.
func (p *planner) noteObstacle(nearest, obstacle string, note func(path string, there seen)) error {
	if obstacle == "" {
		return nil
	}
	fd, err := worktree.OpenBeneath(p.req.Workspace.Fd(), nearest)
	if err != nil {
		return &os.PathError{Op: "open directory", Path: nearest, Err: err}
	}
	defer unix.Close(fd)
	there, err := lookAt(fd, worktree.LastComponent(obstacle))
	if err == nil {
		note(obstacle, there)
	}
	return err
}
