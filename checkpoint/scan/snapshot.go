package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
)

// Snapshot scans the workspace and puts what is new into the pending pack. A
// file that cannot be read, or that changes during each of three attempts, is
// an *UnstableError: nothing is recorded then. The caller commits the tree or
// calls Abort.
//
// Cost: one lstat for each file, one read for each that is not known to be
// unchanged, one tree for each directory that has changed.
func (s *Scanner) Snapshot(ctx context.Context, req SnapshotRequest) (*Snapshot, error) {
	if err := req.Selection.Validate(); err != nil {
		return nil, err
	}
	base, err := s.treeOfBase(req.Base)
	if err != nil {
		return nil, err
	}
	if err := req.Workspace.StillThere(); err != nil {
		return nil, err
	}
	if snap := s.lookedSince(req, base); snap != nil {
		return snap, nil
	}
	at := time.Now()
	began, err := s.stampFor()
	if err != nil {
		return nil, err
	}
	defer s.db.LimitPending(req.Room)()
	c := newScan(s, req)
	c.stamp = began
	root, err := c.run(ctx, base)
	if errors.Is(err, errOtherNames) {
		c = newScan(s, req)
		c.stamp, c.relist = began, true
		root, err = c.run(ctx, base)
	}
	if err != nil {
		return nil, err
	}
	tree := root.Tree
	if root.files == 0 {
		if tree, _, err = s.db.PutObject(plumbing.TreeObject, nil); err != nil {
			return nil, err
		}
	}
	s.adoptCache(&statCache{Root: root}, int(c.read.Load()))
	snap := &Snapshot{Tree: packdb.SHA(tree.String()), Files: root.files, Bytes: root.bytes, Changed: int(c.added.Load()), Skipped: c.skipped, Nested: c.nested, Empty: c.empty, Private: c.private}
	root.eachEscaped("", func(path, as string) { snap.Escaped = append(snap.Escaped, Escaped{path, as}) })
	slices.SortFunc(snap.Skipped, func(a, b Skipped) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(snap.Escaped, func(a, b Escaped) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(snap.Nested)
	slices.Sort(snap.Empty)
	slices.Sort(snap.Private)
	s.keepLook(req, base, snap, at)
	return snap, nil
}

// treeOfBase is the tree of a checkpoint; zero for none.
func (s *Scanner) treeOfBase(sha packdb.SHA) (plumbing.Hash, error) {
	if sha == "" {
		return plumbing.ZeroHash, nil
	}
	info, err := s.db.CommitInfo(sha)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("the checkpoint before: %w", err)
	}
	if !s.db.Has(info.Tree) {
		return plumbing.ZeroHash, fmt.Errorf("the tree of the checkpoint before, %s: %w", info.Tree, plumbing.ErrObjectNotFound)
	}
	return plumbing.NewHash(string(info.Tree)), nil
}

// keepLook remembers a snapshot that was begun at an instant. One of paths that had to
// be included is for a purpose of its own.
func (s *Scanner) keepLook(req SnapshotRequest, base plumbing.Hash, snap *Snapshot, began time.Time) {
	var l *look
	if len(req.MustInclude) == 0 {
		rules, _ := match.Excludes(s.db)
		l = &look{began: began, of: req, rules: rules, base: base, snap: *snap, pending: s.db.IsPending()}
	}
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	s.newest = l
}

// lookedSince returns the newest snapshot, if a request can do with it: nil otherwise.
func (s *Scanner) lookedSince(req SnapshotRequest, base plumbing.Hash) *Snapshot {
	if req.Since.IsZero() || len(req.MustInclude) > 0 {
		return nil
	}
	rules, _ := match.Excludes(s.db)
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if s.newest == nil || s.newest.rules != rules {
		return nil
	}
	return s.newest.serve(req, base)
}

// errOtherNames says that a directory has not the names that are known of it, though
// nothing shows that it was changed.
var errOtherNames = errors.New("a directory has other names than it had, and does not show it")

// unstable says that a path of the workspace could not be recorded.
func unstable(path, why string, err error) error {
	remedy := "make it readable, and `hank run` takes the checkpoint again and continues; or put it into .gitignore, and `hank run --keep-tree` does"
	if errors.Is(err, packdb.ErrChanging) {
		remedy = "stop what is writing to it, and `hank run` takes the checkpoint again and continues; or put it into .gitignore, and `hank run --keep-tree` does"
	}
	return &UnstableError{Path: path, Why: why, Remedy: remedy, Err: err}
}
