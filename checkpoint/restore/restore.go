package restore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/storer"

	"hank/checkpoint/diff"
	"hank/checkpoint/packdb"
	"hank/checkpoint/scan"
	"hank/checkpoint/worktree"
)

// RestoreRequest says what a restore does to a workspace.
type RestoreRequest struct {
	// Store holds both trees and their blobs; it is read by several
	// goroutines at once.
	Store storer.EncodedObjectStorer
	// Workspace is what is changed. Nothing else may write to it meanwhile;
	// what does so nevertheless is noticed, not overwritten, wherever the
	// system can tell.
	Workspace *worktree.Workspace
	// From is the tree of the safety checkpoint: it describes what is on disk
	// now, as far as the difference between From and To goes.
	From packdb.SHA
	// To is the tree that the workspace is brought to.
	To packdb.SHA
	// Began is the tree that an interrupted restore to To came from, where From
	// was made since: directories that it has emptied go, too. "" if there is none.
	Began packdb.SHA
	// Known is what the scan for From has found; nil: every file that is in
	// the way is read.
	Known *scan.Cache
	// Removable reports whether the file at path, which From has and To has
	// not, may be deleted; nil deletes none of them. It is not asked about
	// files that stand where To needs something else: From has saved them.
	Removable func(path string) bool
	// LeftOut are files that no checkpoint takes: see Store.LeaveOut. They, and what
	// is below such a path, stay as they are; what To has in their place is not
	// written, and is among what was refused.
	LeftOut []string
	// KeepConflicts: what From does not hold and that is in the way gets a name
	// beside its own, and the restore is done. Else it is refused.
	KeepConflicts bool
	// Paths restricts the restore to these files and directories (with all
	// below), slash-separated and relative to the root; none is everything.
	Paths    []string
	Progress *scan.Progress // may be nil
}

// Plan is what a restore would do to the workspace as it is. Lists are sorted
// by path; what is on disk already as To has it is in none of them.
type Plan struct {
	Add    []diff.Change // written where nothing is
	Change []diff.Change // a new file in place of the one that is there
	Delete []diff.Change // removed
	// Keep is left alone: files that From has and To has not and that are not
	// removable, and submodules, whose content no checkpoint holds.
	Keep []string
	// Blocked is what From did not save and what is in the way. If there
	// is any, the restore refuses to begin.
	Blocked []Blocked
	// Refused is what the system does not let be removed or written, as far as
	// it shows before it is tried, and what a file that is left out of every
	// checkpoint is in the way of. It stays as it is, and the rest is done.
	Refused []Refused
	// MakeDirs and RemoveDirs are empty directories that come and go: see [PlanDirs].
	MakeDirs, RemoveDirs []string
}

// Blocked is something on disk that a restore would have to destroy although
// the tree From does not hold it.
type Blocked struct{ Path, Why string }

// Refused is a path that is not as the target has it after a restore, because
// the system did not let it be removed or written: a mount point, what is in
// another user's directory, an immutable file; or because a file that is left out of
// every checkpoint is in its place. What a restore could only move out of the way
// is here by its new name.
type Refused struct{ Path, Why string }

// HasPath reports whether a tree has a file or directory at a path.
func HasPath(s *packdb.DB, tree packdb.SHA, path string) bool {
	_, err := s.Find(tree, path)
	return err == nil
}

// Empty reports whether the workspace is already as the target has it.
func (p *Plan) Empty() bool {
	return len(p.Add)+len(p.Change)+len(p.Delete)+len(p.Blocked)+len(p.Refused) == 0
}

// RestoreReport is what a restore did. A restore that was finished after an
// interruption reports the part that was left; one that failed, what it kept.
type RestoreReport struct {
	Plan        *Plan
	Bytes       int64 // written, of file content
	RemovedDirs int   // directories that were empty after their files' deletion
	// Kept are the files, by their new names, that ClearUp could not bring back.
	Kept []string
	// Refused is what is not as the target has it.
	Refused []Refused
}

// What is said of an empty directory that the system does not let be removed or made.
const (
	CannotRemoveDir = "is an empty directory that cannot be removed: %v"
	CannotMakeDir   = "is an empty directory that cannot be made: %v"
)

// BlockedError refuses a restore because something that was not saved is
// in the way. Nothing was touched.
type BlockedError struct{ Blocked []Blocked }

func (e *BlockedError) Error() string {
	const show = 3
	var b strings.Builder
	for i, blocked := range e.Blocked {
		if i == show {
			fmt.Fprintf(&b, "; and %d more", len(e.Blocked)-show)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%q %s", blocked.Path, blocked.Why)
	}
	return fmt.Sprintf("the restore would destroy what no checkpoint holds, so nothing was touched: %s; move it away or take a checkpoint of it, then restore again", b.String())
}

// ErrMeanwhile says that somebody wrote to a file while a restore ran: what they
// wrote is there.
var ErrMeanwhile = errors.New("it was changed while the restore ran; nothing else may write to the workspace meanwhile")

// IncompleteError says that a restore stopped before its end. Every file is
// either as it was or as the target has it, and no temporary file is left (or
// Err says so, and the next restore removes it).
// The same restore, called again, finishes it; one to the tree that it came
// from undoes it.
type IncompleteError struct {
	Workspace string
	Touched   bool // false: the workspace is as it was
	Err       error
}

func (e *IncompleteError) Error() string {
	if !e.Touched {
		return fmt.Sprintf("restore of %s did not begin, the workspace is as it was: %v; remove the cause, then run the same command again", e.Workspace, e.Err)
	}
	return fmt.Sprintf("restore of %s is incomplete: %v; remove the cause and restore again: it continues where it stopped", e.Workspace, e.Err)
}

// Unwrap returns the cause.
func (e *IncompleteError) Unwrap() error { return e.Err }
