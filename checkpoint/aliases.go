package checkpoint

import (
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/scan"
	"hank/checkpoint/worktree"
)

// What the packages below declare and callers of this one speak of.
type (
	CommitRequest    = packdb.CommitRequest
	DamagedError     = packdb.DamagedError
	Info             = packdb.Info
	LockedError      = packdb.LockedError
	NotCommitError   = packdb.NotCommitError
	Options          = packdb.Options
	Progress         = scan.Progress
	RefConflictError = packdb.RefConflictError
	RefNameError     = packdb.RefNameError
	SHA              = packdb.SHA
	Selection        = match.Selection
	Size             = scan.Size
	Snapshot         = scan.Snapshot
	SnapshotRequest  = scan.SnapshotRequest
	UnsafeTreeError  = packdb.UnsafeTreeError
	UnstableError    = scan.UnstableError
	Workspace        = worktree.Workspace
)

// Mode is what a tree says an entry is.
type Mode = filemode.FileMode

// The modes of entries that are not directories.
const (
	Regular    = filemode.Regular
	Executable = filemode.Executable
	Symlink    = filemode.Symlink
	Submodule  = filemode.Submodule // another repository's commit
)

// CannotRecord begins the text of an UnstableError, which names the path next.
const CannotRecord = scan.CannotRecord

var (
	ErrMissing = packdb.ErrMissing
	ErrNoRoom  = packdb.ErrNoRoom
)

// IsMissing reports whether an error means that an object of a store is missing or
// damaged, and not that the disk cannot be read at the moment.
func IsMissing(err error) bool { return packdb.IsMissing(err) }
