//go:build unix

package restore

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/storer"

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/worktree"
)

// site is a workspace on disk with a store and the tree of what is in it.
type site struct {
	t    *testing.T
	root string
	st   storer.EncodedObjectStorer
	ws   *worktree.Workspace
}

func newSite(t *testing.T, st storer.EncodedObjectStorer, l layouttest.Layout) *site {
	t.Helper()
	root := t.TempDir()
	layouttest.LayDown(t, root, l)
	ws := layouttest.OpenWS(t, root)
	t.Cleanup(func() {
		ws.Close()
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o755) // so that TempDir can remove it
			}
			return err
		})
	})
	return &site{t, root, st, ws}
}

// request is a restore between two layouts that may delete anything.
func (s *site) request(from, to layouttest.Layout) RestoreRequest {
	s.t.Helper()
	return RestoreRequest{Store: s.st, Workspace: s.ws, From: layouttest.PutTree(s.t, s.st, from), To: layouttest.PutTree(s.t, s.st, to), Removable: testkit.Anything}
}

func (s *site) restore(from, to layouttest.Layout) (*RestoreReport, error) {
	s.t.Helper()
	return Restore(s.t.Context(), s.request(from, to))
}

func (s *site) path(name string) string { return filepath.Join(s.root, name) }
