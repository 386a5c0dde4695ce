package checkpoint

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// TreeFile is a file of a tree that is made of given contents.
type TreeFile struct {
	Path string // slash-separated
	Mode Mode
	// Open returns the content and its size.
	Open func() (io.ReadCloser, int64, error)
}

// AddTree puts files into a tree in the pending pack.
func (s *Store) AddTree(ctx context.Context, files []TreeFile) (SHA, error) {
	root := &builder{dirs: map[string]*builder{}}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		id, refused, err := s.putFile(f)
		if err != nil {
			return "", fmt.Errorf("storing %s: %w", f.Path, err)
		}
		if err := root.add(f.Path, f.Mode, id, refused); err != nil {
			return "", err
		}
	}
	id, err := root.write(s)
	return SHA(id.String()), err
}

// putFile stores the content of a file. refused reports that git's fsck would
// not let it into a tree under its special name.
func (s *Store) putFile(f TreeFile) (id plumbing.Hash, refused bool, err error) {
	r, size, err := f.Open()
	if err != nil {
		return id, false, err
	}
	defer r.Close()
	name := worktree.LastComponent(f.Path)
	if size > packdb.InMemory {
		id, _, err = s.PutStream(plumbing.BlobObject, size, &packdb.ExactReader{R: r, Left: size})
		return id, worktree.IsSpecial(name), err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return id, false, err
	}
	id, _, err = s.PutObject(plumbing.BlobObject, data)
	return id, worktree.IsSpecial(name) && (f.Mode == filemode.Symlink || !worktree.SpecialAllowed(name, data)), err
}

// builder collects files into trees.
type builder struct {
	tree packdb.TreeBuilder
	dirs map[string]*builder
}

func (b *builder) add(name string, mode Mode, id plumbing.Hash, refused bool) error {
	first, rest, below := strings.Cut(name, "/")
	if err := worktree.IsPathComponent(first); err != nil {
		return fmt.Errorf("%q cannot be stored: %w", name, err)
	}
	if worktree.NeedsEscape(first) || worktree.IsSpecial(first) && (below || refused) {
		first = worktree.EscapeName(first)
	}
	if !below {
		b.tree.Add(first, mode, id)
		return nil
	}
	sub := b.dirs[first]
	if sub == nil {
		sub = &builder{dirs: map[string]*builder{}}
		b.dirs[first] = sub
	}
	return sub.add(rest, mode, id, refused)
}

func (b *builder) write(s *Store) (plumbing.Hash, error) {
	for name, sub := range b.dirs {
		id, err := sub.write(s)
		if err != nil {
			return id, err
		}
		b.tree.Add(name, filemode.Dir, id)
	}
	id, _, err := s.PutObject(plumbing.TreeObject, b.tree.Encode())
	return id, err
}
