package checkpoint

import (
	"fmt"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// Overlay returns a tree, in the pending pack, that has all of base and, where
// base has nothing, the files of over that want takes by their paths in the
// workspace. Directories that are alike in both are not read.
func Overlay(s *packdb.DB, base, over SHA, want func(path string) bool) (SHA, error) {
	id, err := overlay(s, "", plumbing.NewHash(string(base)), plumbing.NewHash(string(over)), want)
	if err != nil {
		return "", fmt.Errorf("putting tree %.12s over %.12s: %w", over, base, err)
	}
	return SHA(id.String()), nil
}

// overlay does it for one directory; no directory at all is the zero hash.
func overlay(s *packdb.DB, dir string, base, over plumbing.Hash, want func(string) bool) (plumbing.Hash, error) {
	if base == over {
		return base, nil
	}
	var out packdb.TreeBuilder
	at := map[string]int{}
	if !base.IsZero() {
		tree, err := packdb.ReadTree(s, base)
		if err != nil {
			return base, err
		}
		for i, e := range tree {
			at[e.Name] = i
			out.Entries = append(out.Entries, e)
		}
	}
	tree, err := packdb.ReadTree(s, over)
	if err != nil {
		return base, err
	}
	changed := false
	for _, e := range tree {
		name := path.Join(dir, worktree.UnescapeName(e.Name))
		i, there := at[e.Name]
		if e.Mode != filemode.Dir {
			if !there && want(name) {
				out.Entries = append(out.Entries, e)
				changed = true
			}
			continue
		}
		var sub plumbing.Hash
		if there {
			if sub = out.Entries[i].Hash; out.Entries[i].Mode != filemode.Dir {
				continue
			}
		}
		merged, err := overlay(s, name, sub, e.Hash, want)
		switch {
		case err != nil:
			return base, err
		case merged == sub:
		case there:
			out.Entries[i].Hash, changed = merged, true
		default:
			out.Entries = append(out.Entries, gitobject.TreeEntry{Name: e.Name, Mode: filemode.Dir, Hash: merged})
			changed = true
		}
	}
	if !changed {
		return base, nil
	}
	id, _, err := s.PutObject(plumbing.TreeObject, out.Encode())
	return id, err
}
