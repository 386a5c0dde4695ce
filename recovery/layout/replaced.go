package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"hank/internal/advice"
	"hank/internal/shell"
	"hank/recovery/finding"
	"hank/state"
)

// Succeeds returns what is at a path, and what the user must do where it cannot
// stand for the directory that was there when a codon began: nil where it is that
// directory, or a real one of the same owner on the same volume. Agents replace their
// workspace: rm -rf and mkdir, a clone into its place. A link could lead to what is
// not theirs.
func (f DirID) Succeeds(path string) (DirID, *finding.DecisionError) {
	blocked := func(what, command, effect string) (DirID, *finding.DecisionError) {
		e := &finding.DecisionError{What: fmt.Sprintf("the workspace %s %s", path, what), Options: []string{"put the directory back that was there, and then `hank run`"}}
		if command != "" {
			e.Command = command
			e.Options = slices.Insert(e.Options, 0, advice.Quote(command)+" "+effect)
		}
		return DirID{}, e
	}
	const (
		empty = "takes an empty directory for what the codon has left"
		mine  = "takes a copy of your own for what the codon has left"
	)
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return blocked("was deleted while the codon was running", fmt.Sprintf("mkdir %s && hank run --keep-tree", shell.Quote(path)), empty)
	}
	now, err := DirAt(path)
	switch {
	case fi != nil && fi.Mode()&fs.ModeSymlink != 0 && now.Path != f.Path:
		if err != nil {
			return blocked("was replaced by a link that leads to no directory", fmt.Sprintf("rm %s && mkdir %[1]s && hank run --keep-tree", shell.Quote(path)), empty)
		}
		linked := "was replaced by a link to " + now.Path + ", and hank follows none that was not there before"
		if !f.mayMoveIn(now) {
			return blocked(linked, fmt.Sprintf("rm %s && mkdir %[1]s && hank run --keep-tree", shell.Quote(path)), empty+", and "+now.Path+" stays as it is")
		}
		return blocked(linked, fmt.Sprintf("rm %s && mv %s %[1]s && hank run --keep-tree", shell.Quote(path), shell.Quote(now.Path)), "takes that directory for what the codon has left")
	case errors.Is(err, syscall.ENOTDIR):
		return blocked("was replaced by "+What(path, fi), fmt.Sprintf("mv %s %s && mkdir %[1]s && hank run --keep-tree", shell.Quote(path), shell.Quote(Unused(path+".aside"))), empty)
	case err != nil:
		return blocked(fmt.Sprintf("cannot be looked at (%v)", err), "", "")
	case now.Path != f.Path && now.Path != f.Place:
		return blocked("is in another place now: "+now.Path, "", "")
	case now.Owner != f.Owner && now.Device == f.Device && now.Inode == f.Inode:
		return DirID{}, f.Estranged(path, now, "hank run --keep-tree")
	case now.Owner != f.Owner:
		return blocked(fmt.Sprintf("was replaced by a directory of another user (%d, not %d)", now.Owner, f.Owner), TakeOver(path), mine)
	case now.Device != f.Device:
		return blocked("was replaced by a directory on another volume (unmount it if it is a mount point)", TakeOver(path), mine)
	}
	return now, nil
}

// mayMoveIn reports whether hank may name a command that moves the directory to which a
// codon has linked its workspace into its place: it is the directory that was there, or
// one of the execution's own directory, beside it. A link may lead to anything else:
// somebody's home, or all of /tmp.
func (f DirID) mayMoveIn(now DirID) bool {
	if now.Device == f.Device && now.Inode == f.Inode {
		return true
	}
	beside := Layout{Root: filepath.Dir(f.Place)}
	if _, err := os.Lstat(beside.Hankweave()); err != nil || filepath.Dir(now.Path) != beside.Root {
		return false
	}
	return now.Path != beside.Hankweave() && now.Path != beside.Archive() && now.Device == f.Device && now.Owner == f.Owner
}

// Unused is a path at which there is nothing: a command that moves something aside is
// to replace nothing.
func Unused(path string) string {
	at := path
	for n := 2; ; n++ {
		if _, err := os.Lstat(at); err != nil {
			return at
		}
		at = fmt.Sprintf("%s-%d", path, n)
	}
}

// TakeOver returns the command that replaces a directory of another user by a copy of
// one's own.
func TakeOver(path string) string {
	return fmt.Sprintf("cp -R %[1]s %[2]s && mv %[1]s %[3]s && mv %[2]s %[1]s && hank run --keep-tree", shell.Quote(path), shell.Quote(Unused(path+".mine")), shell.Quote(Unused(path+".aside")))
}

// Estranged says that the directory belongs to another user than before.
func (f DirID) Estranged(path string, now DirID, then string) *finding.DecisionError {
	chown := fmt.Sprintf("sudo chown -R %d %s && hank run", f.Owner, shell.Quote(path))
	return &finding.DecisionError{What: fmt.Sprintf("the workspace %s belongs to another user now: %d, and not %d", path, now.Owner, f.Owner), Command: chown,
		Options: []string{advice.Quote(chown) + " continues in it", fmt.Sprintf("cp -R %[1]s %[2]s && mv %[1]s %[3]s && mv %[2]s %[1]s && `%[4]s` continues in a copy of your own", shell.Quote(path), shell.Quote(Unused(path+".mine")), shell.Quote(Unused(path+".aside")), then)}}
}

// Replaced says what the user must do about what stands for the workspace, in the
// words of readers and openings alike; nil: nothing. A link is not followed where
// hank had a directory, or one that led to another directory. For what else is there
// while a codon was running see Succeeds, and sameWorkspace of recovery/execution.
func (m Meta) Replaced(l Layout, s *state.State, sameBoot func(*state.Run) bool) *finding.DecisionError {
	fi, err := os.Lstat(l.Workspace)
	if err != nil || m.WorkspaceDir == nil {
		return nil
	}
	now, err := DirAt(l.Workspace)
	if err != nil {
		return nil // see recovery.blockedWorkspace
	}
	was, r := *m.WorkspaceDir, s.Newest()
	one := now.Device == was.Device && now.Inode == was.Inode
	running := r != nil && r.Live() != nil
	switch linked := fi.Mode()&fs.ModeSymlink != 0; {
	case linked && (was.Path == was.Place || m.Root == l.Root && now.Path != was.Path && !one):
		if running {
			_, blocked := was.Succeeds(l.Workspace)
			return blocked
		}
		return linkedTo(l.Workspace, now.Path, one, was.mayMoveIn(now))
	case linked || m.Root != l.Root:
	case running && sameBoot(r):
		_, blocked := was.Succeeds(l.Workspace)
		return blocked
	case !running:
		return m.OtherOwner(l)
	}
	return nil
}

// OtherOwner asks about a workspace that belongs to another user than before, if this one cannot work
// in it; nil: it can be, or it is another directory.
func (m Meta) OtherOwner(l Layout) *finding.DecisionError {
	now, err := DirAt(l.Workspace)
	if was := m.WorkspaceDir; err == nil && was != nil && now.Device == was.Device && now.Inode == was.Inode && now.Owner != was.Owner && checkWorkspaceOwner(l) != nil {
		return was.Estranged(l.Workspace, now, "hank run")
	}
	return nil
}

// Supplanted says what the user must do about a file, or a link that leads nowhere,
// that stands for the workspace of a codon whose agent has ended: its work counts, and
// what recovery.blockedWorkspace names would have it done again. nil: nothing.
func (m Meta) Supplanted(l Layout, s *state.State, sameBoot func(*state.Run) bool) *finding.DecisionError {
	_, err := os.Lstat(l.Workspace)
	if fi, statErr := os.Stat(l.Workspace); err != nil || m.WorkspaceDir == nil || statErr == nil && fi.IsDir() {
		return nil
	}
	if r := s.Newest(); r == nil || r.Live() == nil || r.Live().Settling == nil || !sameBoot(r) {
		return nil
	}
	_, blocked := m.WorkspaceDir.Succeeds(l.Workspace)
	return blocked
}

// linkedTo says that a link was put in the place of the workspace while no codon was
// running. one: it leads to the directory that was there; may: that may be moved in.
func linkedTo(path, to string, one, may bool) *finding.DecisionError {
	back := fmt.Sprintf("rm %s && mv %s %[1]s && hank run", shell.Quote(path), shell.Quote(to))
	anew := fmt.Sprintf("rm %s && mkdir %[1]s && hank run --restore", shell.Quote(path))
	e := &finding.DecisionError{What: fmt.Sprintf("the workspace %s is a link to %s, which was put there while no codon was running, and hank does not follow it", path, to), Command: anew,
		Options: []string{
			fmt.Sprintf("rm %s && mkdir %[1]s makes an empty directory, into which `hank run --restore` puts the last checkpoint, after a failed codon `hank retry --restore`, and `hank rollback --to last-success --yes` where the hank is completed", shell.Quote(path))}}
	if may {
		e.Options = slices.Insert(e.Options, 0, advice.Quote(back)+" works in that directory, and asks where it differs from the last checkpoint")
	}
	if one {
		e.Command = back
	}
	return e
}
