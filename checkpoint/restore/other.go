//go:build !unix

package restore

import (
	"context"
	"errors"
	"runtime"

	"github.com/go-git/go-git/v5/plumbing/storer"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

var errNoRestore = errors.New("restoring a workspace needs openat with no-follow semantics, which " + runtime.GOOS + " does not have; use Linux, macOS or WSL")

// PlanRestore works out what Restore would do. It writes nothing.
func PlanRestore(RestoreRequest) (*Plan, error) { return nil, errNoRestore }

// Restore brings the workspace from one tree to another; not on this system.
func Restore(context.Context, RestoreRequest) (*RestoreReport, error) { return nil, errNoRestore }

// Sync does nothing here.
func Sync(w *worktree.Workspace) error { return nil }

// ClearUp ends what an interrupted restore has begun; there is none on this system.
func ClearUp(storer.EncodedObjectStorer, *worktree.Workspace) ([]string, []Refused, error) {
	return nil, nil, nil
}

// Writable returns nothing: restores are refused on this system anyway.
func Writable(w *worktree.Workspace) error { return nil }

// PlanDirs foresees nothing: restores are refused on this system anyway.
func PlanDirs(*worktree.Workspace, *Plan, []string, []string) []Refused { return nil }

// Conflicts returns the files that a restore would replace; not on this system.
func Conflicts(storer.EncodedObjectStorer, *worktree.Workspace, packdb.SHA, packdb.SHA) ([]string, error) {
	return nil, errNoRestore
}
