package scan

import (
	"time"

	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// SnapshotRequest says what is to be scanned.
type SnapshotRequest struct {
	Workspace *worktree.Workspace
	Selection match.Selection
	// Base is the commit before: a file that it records stays recorded while
	// it is selected, even when it is ignored by now. "" is none.
	Base packdb.SHA
	// MustInclude are paths that are taken whatever is ignored or selected, but for
	// what Store.LeaveOut was called with.
	MustInclude []string
	// Room is how many bytes the pending pack may come to, with its index: a scan
	// that needs more ends with ErrNoRoom. One that finds nothing new needs none.
	// 0 is any number.
	Room     int64
	Progress *Progress // may be nil
	// Since is from when on nothing can have changed the workspace that the caller
	// knows of: a look that was begun then or later is as good as another one, and the
	// newest snapshot is returned again if it is such a look, with this selection and
	// base. Zero: the workspace is looked at.
	Since time.Time
}

// Snapshot is what a scan found. Its objects are in the store's pending pack.
type Snapshot struct {
	Tree    packdb.SHA
	Files   int   // recorded
	Bytes   int64 // their sizes
	Changed int   // blobs that were new to the store
	Skipped []Skipped
	Escaped []Escaped
	Nested  []string // directories that are repositories of their own; their files are recorded
	Private []string // files for secrets (.env) that the checkpoint before has not, sorted
	Empty   []string // directories with nothing in them, sorted: git holds none, the caller may
}

// Skipped is something that no checkpoint can hold.
type Skipped struct{ Path, Why string }

// Escaped is a file or directory that is stored under another name.
type Escaped struct{ Path, As string }
