//go:build !unix

package checkpoint

import (
	"context"
	"errors"
	"runtime"

	"github.com/go-git/go-git/v5/plumbing/storer"
)

var errNoRestore = errors.New("restoring a workspace needs openat with no-follow semantics, which " + runtime.GOOS + " does not have; use Linux, macOS or WSL")

// PlanRestore works out what Restore would do. It writes nothing.
func PlanRestore(RestoreRequest) (*Plan, error) { return nil, errNoRestore }

// Restore brings the workspace from one tree to another; not on this system.
func Restore(context.Context, RestoreRequest) (*RestoreReport, error) { return nil, errNoRestore }

// PathsInTheWay returns the files that a restore would replace; not on this system.
func PathsInTheWay(storer.EncodedObjectStorer, *Workspace, SHA, SHA) ([]string, error) {
	return nil, errNoRestore
}
