//go:build !unix

package checkpoint

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
)

var errNoScan = errors.New("checkpoints of a workspace need Linux or macOS; use WSL on Windows")

type scan struct {
	read, added atomic.Int64
	skipped     []Skipped
	nested      []string
	empty       []string
}

func newScan(*Store, SnapshotRequest) (*scan, error) { return nil, errNoScan }

func (*scan) run(context.Context, plumbing.Hash) (*cachedDir, error) { return nil, errNoScan }
