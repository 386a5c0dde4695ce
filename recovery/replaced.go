package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"hank/internal/flock"
	"hank/internal/shell"
	"hank/state"
)

// Folder is what tells one folder from another, and who may put a new one in its
// place.
type Folder struct {
	Path   string `json:"path"`  // without links
	Place  string `json:"place"` // the same but for its last name, which may be a link
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Owner  uint32 `json:"owner"`
}

// folderAt looks at the folder that a path leads to.
func folderAt(path string) (Folder, error) {
	fi, err := os.Stat(path)
	if err == nil && !fi.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return Folder{}, err
	}
	f := folderOf(fi)
	if f.Path, err = filepath.EvalSymlinks(path); err != nil {
		return Folder{}, err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	f.Place = filepath.Join(parent, filepath.Base(path))
	return f, err
}

// same reports whether it is one folder, whatever leads to it.
func (f Folder) same(g Folder) bool {
	return f.Device == g.Device && f.Inode == g.Inode && f.Owner == g.Owner
}

// succeeds returns what is at a path, and what a person must do where it cannot
// stand for the folder that was there when a codon began: nil where it is that
// folder, or a real one of the same owner on the same volume. Agents replace their
// workspace: rm -rf and mkdir, a clone into its place. A link could lead to what is
// not theirs.
func (f Folder) succeeds(path string) (Folder, *DecisionError) {
	blocked := func(what, command, effect string) (Folder, *DecisionError) {
		e := &DecisionError{What: fmt.Sprintf("the workspace %s %s", path, what), Options: []string{"put the folder back that was there, and then hank run"}}
		if command != "" {
			e.Command = command
			e.Options = slices.Insert(e.Options, 0, command+" "+effect)
		}
		return Folder{}, e
	}
	const (
		empty = "takes an empty folder for what the codon has left"
		mine  = "takes a copy of your own for what the codon has left"
	)
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return blocked("was deleted while the codon was running", fmt.Sprintf("mkdir %s && hank run --keep-tree", shell.Quote(path)), empty)
	}
	now, err := folderAt(path)
	switch {
	case fi != nil && fi.Mode()&fs.ModeSymlink != 0 && now.Path != f.Path:
		if err != nil {
			return blocked("was replaced by a link that leads to no folder", fmt.Sprintf("rm %s && mkdir %[1]s && hank run --keep-tree", shell.Quote(path)), empty)
		}
		linked := "was replaced by a link to " + now.Path + ", and hank follows none that was not there before"
		if !f.mayMoveIn(now) {
			return blocked(linked, fmt.Sprintf("rm %s && mkdir %[1]s && hank run --keep-tree", shell.Quote(path)), empty+", and "+now.Path+" stays as it is")
		}
		return blocked(linked, fmt.Sprintf("rm %s && mv %s %[1]s && hank run --keep-tree", shell.Quote(path), shell.Quote(now.Path)), "takes that folder for what the codon has left")
	case errors.Is(err, syscall.ENOTDIR):
		return blocked("was replaced by "+what(path, fi), fmt.Sprintf("mv %s %s && mkdir %[1]s && hank run --keep-tree", shell.Quote(path), shell.Quote(unused(path+".aside"))), empty)
	case err != nil:
		return blocked(fmt.Sprintf("cannot be looked at (%v)", err), "", "")
	case now.Path != f.Path && now.Path != f.Place:
		return blocked("is in another place now: "+now.Path, "", "")
	case now.Owner != f.Owner && now.Device == f.Device && now.Inode == f.Inode:
		return Folder{}, f.estranged(path, now, "hank run --keep-tree")
	case now.Owner != f.Owner:
		return blocked(fmt.Sprintf("was replaced by a folder of another user (%d, not %d)", now.Owner, f.Owner), takeOver(path), mine)
	case now.Device != f.Device:
		return blocked("was replaced by a folder on another volume (unmount it if it is a mount point)", takeOver(path), mine)
	}
	return now, nil
}

// mayMoveIn reports whether hank may name a command that moves the folder to which a
// codon has linked its workspace into its place: it is the folder that was there, or
// one of the execution's own folder, beside it. A link may lead to anything else:
// somebody's home, or all of /tmp.
func (f Folder) mayMoveIn(now Folder) bool {
	if now.Device == f.Device && now.Inode == f.Inode {
		return true
	}
	beside := Layout{Root: filepath.Dir(f.Place)}
	if _, err := os.Lstat(beside.Hankweave()); err != nil || filepath.Dir(now.Path) != beside.Root {
		return false
	}
	return now.Path != beside.Hankweave() && now.Path != beside.Archive() && now.Device == f.Device && now.Owner == f.Owner
}

// unused is a path at which there is nothing: a command that moves something aside is
// to replace nothing.
func unused(path string) string {
	at := path
	for n := 2; ; n++ {
		if _, err := os.Lstat(at); err != nil {
			return at
		}
		at = fmt.Sprintf("%s-%d", path, n)
	}
}

func takeOver(path string) string {
	return fmt.Sprintf("cp -R %[1]s %[2]s && mv %[1]s %[3]s && mv %[2]s %[1]s && hank run --keep-tree", shell.Quote(path), shell.Quote(unused(path+".mine")), shell.Quote(unused(path+".aside")))
}

// estranged says that the folder belongs to another user than before.
func (f Folder) estranged(path string, now Folder, then string) *DecisionError {
	chown := fmt.Sprintf("sudo chown -R %d %s && hank run", f.Owner, shell.Quote(path))
	return &DecisionError{What: fmt.Sprintf("the workspace %s belongs to another user now: %d, and not %d", path, now.Owner, f.Owner), Command: chown,
		Options: []string{chown + " goes on in it", fmt.Sprintf("cp -R %[1]s %[2]s && mv %[1]s %[3]s && mv %[2]s %[1]s && %[4]s goes on in a copy of your own", shell.Quote(path), shell.Quote(unused(path+".mine")), shell.Quote(unused(path+".aside")), then)}}
}

// replaced says what a person must do about what stands for the workspace, in the
// words of readers and openings alike; nil: nothing. A link is not followed where
// hank had a folder, or one that led to another folder. For what else stands there
// while a codon was running see succeeds, and sameWorkspace.
func (m Meta) replaced(l Layout, s *state.State, sameBoot func(*state.Run) bool) *DecisionError {
	fi, err := os.Lstat(l.Workspace)
	if err != nil || m.Folder == nil {
		return nil
	}
	now, err := folderAt(l.Workspace)
	if err != nil {
		return nil // see blockedWorkspace
	}
	was, r := *m.Folder, s.Newest()
	one := now.Device == was.Device && now.Inode == was.Inode
	running := r != nil && r.Live() != nil
	switch linked := fi.Mode()&fs.ModeSymlink != 0; {
	case linked && (was.Path == was.Place || m.Root == l.Root && now.Path != was.Path && !one):
		if running {
			_, blocked := was.succeeds(l.Workspace)
			return blocked
		}
		return linkedTo(l.Workspace, now.Path, one, was.mayMoveIn(now))
	case linked || m.Root != l.Root:
	case running && sameBoot(r):
		_, blocked := was.succeeds(l.Workspace)
		return blocked
	case !running && one && now.Owner != was.Owner && checkWorkspaceOwner(l) != nil:
		return was.estranged(l.Workspace, now, "hank run")
	}
	return nil
}

// supplanted says what a person must do about a file, or a link that leads nowhere,
// that stands for the workspace of a codon whose agent has ended: its work counts, and
// what blockedWorkspace names would have it done again. nil: nothing.
func (m Meta) supplanted(l Layout, s *state.State, sameBoot func(*state.Run) bool) *DecisionError {
	_, err := os.Lstat(l.Workspace)
	if fi, statErr := os.Stat(l.Workspace); err != nil || m.Folder == nil || statErr == nil && fi.IsDir() {
		return nil
	}
	if r := s.Newest(); r == nil || r.Live() == nil || r.Live().Settling == nil || !sameBoot(r) {
		return nil
	}
	_, blocked := m.Folder.succeeds(l.Workspace)
	return blocked
}

// linkedTo says that a link was put in the place of the workspace while no codon was
// running. one: it leads to the folder that was there; may: that may be moved in.
func linkedTo(path, to string, one, may bool) *DecisionError {
	back := fmt.Sprintf("rm %s && mv %s %[1]s && hank run", shell.Quote(path), shell.Quote(to))
	anew := fmt.Sprintf("rm %s && mkdir %[1]s && hank run --restore", shell.Quote(path))
	e := &DecisionError{What: fmt.Sprintf("the workspace %s is a link to %s, which was put there while no codon was running, and hank does not follow it", path, to), Command: anew,
		Options: []string{
			fmt.Sprintf("rm %s && mkdir %[1]s makes an empty folder, into which hank run --restore puts the last checkpoint, and hank rollback --to last-success --yes where the hank is done", shell.Quote(path))}}
	if may {
		e.Options = slices.Insert(e.Options, 0, back+" works in that folder, and asks where it differs from the last checkpoint")
	}
	if one {
		e.Command = back
	}
	return e
}

// onWorkspace checks that the path of the workspace still leads to the folder that
// is locked, and not by a link that was put there.
func (k *lock) onWorkspace() error {
	k.folders.Lock()
	defer k.folders.Unlock()
	mine, err := k.dirs[1].Stat()
	if err != nil || k.leadsTo(1, k.layout.Workspace, mine) {
		return err
	}
	return &DecisionError{What: "the workspace " + k.layout.Workspace + " was moved, deleted or replaced while no codon was running",
		Options: []string{"put the folder back, and then hank run", "hank run compares what is there with the last checkpoint, and asks where it differs"}, Command: "hank run"}
}

// follow takes the folder that a codon has put in the place of its workspace: it
// is locked instead of the one that was there. moved reports whether there was one
// to take.
func (k *lock) follow() (moved bool, err error) {
	if k.onWorkspace() == nil {
		return false, nil
	}
	next := &lock{fsys: k.fsys, layout: k.layout}
	was := k.workspace()
	now, blocked := was.succeeds(k.layout.Workspace)
	if blocked != nil {
		return false, blocked
	}
	if err := next.take(k.layout.Workspace); err != nil {
		return false, err
	}
	opened, err := next.dirs[0].Stat()
	if err == nil && !folderOf(opened).same(now) {
		err = fmt.Errorf("%s was replaced while it was locked: %w", k.layout.Workspace, flock.ErrHeld)
	}
	if err != nil {
		return false, errors.Join(err, next.closeDirs())
	}
	k.folders.Lock()
	defer k.folders.Unlock()
	old := k.dirs[1]
	k.dirs[1], k.names[1], k.at = next.dirs[0], next.names[0], now
	return true, flock.Close(old)
}

// workspace is the locked folder that agents work in.
func (k *lock) workspace() Folder {
	k.folders.Lock()
	defer k.folders.Unlock()
	return k.at
}

// onWorkspace checks that agents work where the execution has its lock. Between a
// codon's start and its end another folder in that place is taken for the
// workspace: see Folder.succeeds.
func (x *Execution) onWorkspace() error {
	r := x.State().Newest()
	if r == nil || r.Live() == nil {
		return x.lock.onWorkspace()
	}
	moved, err := x.lock.follow()
	if err != nil || !moved {
		return err
	}
	ws, err := x.Layout.OpenWorkspace()
	if err != nil {
		return err
	}
	old := x.Workspace
	x.Workspace = ws
	x.noticeReplaced()
	return errors.Join(old.Close(), x.linkData(), x.SetMeta(func(m *Meta) { m.rememberWorkspace(x.lock.workspace()) }))
}

// CheckWorkspace is for the moment before a codon begins: what stands in the place
// of the workspace then was not put there by one.
func (x *Execution) CheckWorkspace() error { return x.lock.onWorkspace() }

// noticeReplaced keeps for the record that a codon has replaced its workspace.
func (x *Execution) noticeReplaced() {
	const what = "the workspace's folder was replaced while the codon was running; the one that is there now has its work"
	if x.guard == nil {
		return
	}
	x.guard.mu.Lock()
	defer x.guard.mu.Unlock()
	x.guard.found = append(x.guard.found, what)
}

func (m *Meta) rememberWorkspace(f Folder) { m.Folder = &f }

// sameWorkspace checks, before what a codon has left is taken, that it is in the
// folder that was its workspace, or in one that may stand for it. After a boot, or on
// another machine, volumes and users may have other numbers.
func (x *Execution) sameWorkspace(sameBoot bool) error {
	if x.meta.Folder == nil {
		return nil
	}
	was := *x.meta.Folder
	if now := x.lock.workspace(); !sameBoot {
		was.Device, was.Owner = now.Device, now.Owner
	}
	if _, blocked := was.succeeds(x.Layout.Workspace); blocked != nil {
		return blocked
	}
	return nil
}
