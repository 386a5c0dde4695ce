package checkpoint

import (
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/scan"
	"hank/checkpoint/worktree"
)

// What the packages below declare and callers of this one speak of.
type (
	CommitRequest    = packdb.CommitRequest
	DamagedError     = packdb.DamagedError
	Escaped          = scan.Escaped
	Info             = packdb.Info
	LockedError      = packdb.LockedError
	Options          = packdb.Options
	Progress         = scan.Progress
	RefConflictError = packdb.RefConflictError
	RefNameError     = packdb.RefNameError
	SHA              = packdb.SHA
	Selection        = match.Selection
	Size             = scan.Size
	Skipped          = scan.Skipped
	Snapshot         = scan.Snapshot
	SnapshotRequest  = scan.SnapshotRequest
	TreeFile         = packdb.TreeFile
	UnsafeTreeError  = packdb.UnsafeTreeError
	UnstableError    = scan.UnstableError
	Workspace        = worktree.Workspace
)

var (
	ErrNoRoom = packdb.ErrNoRoom
)
