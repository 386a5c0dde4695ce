package scan

import (
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint/match"
)

// look is the newest snapshot, for who needs another one in the same breath: see
// SnapshotRequest.Since. It holds as long as its objects are in the store.
type look struct {
	began   time.Time // by the monotonic clock
	of      SnapshotRequest
	rules   string // of the store's own excludes
	base    plumbing.Hash
	snap    Snapshot
	pending bool // some of its objects are in the pending pack only
}

// serve returns the snapshot, if a request that has the same rules can do with it: nil
// otherwise.
func (l *look) serve(req SnapshotRequest, base plumbing.Hash) *Snapshot {
	if l.began.Before(req.Since) || l.of.Workspace != req.Workspace || !sameSelection(l.of.Selection, req.Selection) {
		return nil
	}
	snap := l.snap
	snap.Empty, snap.Skipped, snap.Escaped, snap.Nested = slices.Clone(snap.Empty), slices.Clone(snap.Skipped), slices.Clone(snap.Escaped), slices.Clone(snap.Nested)
	switch tree := plumbing.NewHash(string(snap.Tree)); base {
	case l.base:
		snap.Private = slices.Clone(snap.Private)
	case tree: // what it took it takes again, and nothing else: see Base
		snap.Private = nil
	default:
		return nil
	}
	return &snap
}

// sameSelection reports whether two selections take the same. It may say no too often.
func sameSelection(a, b match.Selection) bool {
	same := func(a, b []string) bool {
		set := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
		return slices.Equal(set(a), set(b))
	}
	return a.All == b.All && same(a.Patterns, b.Patterns) && same(a.Never, b.Never)
}
