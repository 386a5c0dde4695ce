//go:build !unix

package scan

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
)

var errNoScan = errors.New("checkpoints of a workspace need Linux or macOS; use WSL on Windows")

type scan struct {
	read, added atomic.Int64
	skipped     []Skipped
	stamp       stamp
	nested      []string
	empty       []string
	private     []string

	mu     sync.Mutex
	count  func(path string, bytes int64)
	relist bool
}

func newScan(*Scanner, SnapshotRequest) *scan { return &scan{} }

func (*scan) run(context.Context, plumbing.Hash) (*CachedDir, error) { return nil, errNoScan }
