package scan

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint/packdb"
	"hank/internal/gitignore"
)

// Size is what a first checkpoint would hold.
type Size struct {
	Files   int
	Bytes   int64
	Largest []SizedDir // the ten largest directories, by bytes
	Private []string   // files for secrets (.env), sorted
}

// SizedDir is a directory with all below it.
type SizedDir struct {
	Path   string
	Files  int
	Bytes  int64
	Ignore string // the line for .gitignore that leaves it out
}

// largestShown is how many directories an estimate names.
const largestShown = 10

// File is a file or symbolic link of a workspace.
type File struct {
	Path  string
	Bytes int64
}

// Listing is what a checkpoint would hold, by name, and what none can hold.
type Listing struct {
	Files   []File // sorted
	Skipped []Skipped
}

// nowhere is a store without checkpoints.
func nowhere() *Scanner { return New(packdb.New(packdb.Options{Dir: os.DevNull})) }

// ListNew is List for a workspace that has no store yet.
func ListNew(ctx context.Context, req SnapshotRequest) (Listing, error) {
	return nowhere().List(ctx, req)
}

// List names what Snapshot would take, by the walk of Estimate.
func (s *Scanner) List(ctx context.Context, req SnapshotRequest) (l Listing, err error) {
	if err := req.Selection.Validate(); err != nil {
		return l, err
	}
	base, err := s.treeOfBase(req.Base)
	if err != nil {
		return l, err
	}
	c := newScan(s, req)
	c.relist = true // names that are remembered may not be those that are there
	c.count = func(path string, bytes int64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		l.Files = append(l.Files, File{path, bytes})
	}
	if _, err := c.run(ctx, base); err != nil {
		return Listing{}, err
	}
	l.Skipped = c.skipped
	slices.SortFunc(l.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return l, nil
}

// EstimateNew is Estimate for a workspace that has no store yet.
func EstimateNew(ctx context.Context, req SnapshotRequest) (Size, error) {
	return nowhere().Estimate(ctx, req)
}

// Estimate counts what Snapshot would take, by the same walk, without reading
// a file but those of the ignore rules, and without writing anything. Of the
// two upper levels of directories it names the largest.
func (s *Scanner) Estimate(ctx context.Context, req SnapshotRequest) (Size, error) {
	var size Size
	if err := req.Selection.Validate(); err != nil {
		return size, err
	}
	c := newScan(s, req)
	dirs := map[string]*SizedDir{}
	c.count = func(path string, bytes int64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		size.Files++
		size.Bytes += bytes
		for at, level := 0, 0; level < 2; level++ {
			slash := strings.IndexByte(path[at:], '/')
			if slash < 0 {
				break
			}
			name := path[:at+slash]
			f := dirs[name]
			if f == nil {
				f = &SizedDir{Path: name, Ignore: gitignore.Line(name) + "/"}
				dirs[name] = f
			}
			f.Files++
			f.Bytes += bytes
			at += slash + 1
		}
	}
	if _, err := c.run(ctx, plumbing.ZeroHash); err != nil {
		return Size{}, err
	}
	size.Private = c.private
	slices.Sort(size.Private)
	for _, f := range dirs {
		size.Largest = append(size.Largest, *f)
	}
	slices.SortFunc(size.Largest, func(a, b SizedDir) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path))
	})
	size.Largest = size.Largest[:min(largestShown, len(size.Largest))]
	return size, nil
}
