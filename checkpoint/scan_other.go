//go:build !unix

package checkpoint

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"
)

var errNoScan = errors.New("checkpoints of a workspace need Linux or macOS; use WSL on Windows")

type scan struct {
	snap  Snapshot
	fresh *statCache
}

func newScan(context.Context, *Store, SnapshotRequest) (*scan, error) { return nil, errNoScan }

func (*scan) run(*baseTree) (plumbing.Hash, error) { return plumbing.ZeroHash, errNoScan }
