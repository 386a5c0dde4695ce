package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// ChangeKind says how one path differs between two trees.
type ChangeKind uint8

// The kinds of change. A path that is a file in one tree and a directory in
// the other is one change for the file and one for each file in the directory.
const (
	Added       ChangeKind = iota + 1 // only in the second tree
	Deleted                           // only in the first tree
	Modified                          // other content, other exec bit, or both
	TypeChanged                       // another of: file, symlink, submodule
)

// String returns the word for k in lower case.
func (k ChangeKind) String() string {
	switch k {
	case Added:
		return "added"
	case Deleted:
		return "deleted"
	case Modified:
		return "modified"
	case TypeChanged:
		return "type changed"
	}
	return "unknown"
}

// Entry is what a tree holds at a path: a blob (a file's content, or a
// symlink's target) or, with mode Submodule, another repository's commit. The
// zero Entry is nothing.
type Entry struct {
	Mode filemode.FileMode
	Blob SHA
}

// Change is one path that differs between two trees. From is zero if Kind is
// Added, To if it is Deleted. Path is slash-separated and names the file as
// it is in the workspace: names that the store escapes are unescaped.
type Change struct {
	Path     string
	Kind     ChangeKind
	From, To Entry
}

// Diff compares two trees and returns what differs, sorted by path. The SHA ""
// is the empty tree. Subtrees that are equal are not read, so the cost follows
// the difference. It works on any object storage.
func Diff(st storer.EncodedObjectStorer, from, to SHA) ([]Change, error) {
	d := differ{st: st}
	return d.run(from, to)
}

// emptyTree is git's id of the tree without entries; a store need not hold it.
const emptyTree SHA = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// differ walks two trees at once.
type differ struct {
	st      storer.EncodedObjectStorer
	within  func(dir string) bool   // nil: look into every directory
	check   func(name string) error // nil: only what isPathComponent says
	changes []Change
}

// node is an entry of a tree under its name in the workspace.
type node struct {
	name  string
	entry Entry
}

func (d *differ) run(from, to SHA) ([]Change, error) {
	if from != to {
		if err := d.trees("", from, to); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(d.changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return d.changes, nil
}

// trees compares the trees from and to, found at dir ("" or ending in "/").
func (d *differ) trees(dir string, from, to SHA) error {
	if d.within != nil && !d.within(dir) {
		return nil
	}
	a, err := d.read(dir, from)
	if err != nil {
		return err
	}
	b, err := d.read(dir, to)
	if err != nil {
		return err
	}
	for len(a) > 0 || len(b) > 0 {
		var x, y node
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].name < b[0].name:
			x, a = a[0], a[1:]
		case len(a) == 0 || b[0].name < a[0].name:
			y, b = b[0], b[1:]
		default:
			x, y, a, b = a[0], b[0], a[1:], b[1:]
		}
		if x.entry == y.entry {
			continue
		}
		if err := d.pair(dir+max(x.name, y.name), x.entry, y.entry); err != nil {
			return err
		}
	}
	return nil
}

// pair compares what the two trees hold at path, which is not the same.
func (d *differ) pair(path string, from, to Entry) error {
	var fromTree, toTree SHA
	if from.Mode == filemode.Dir {
		fromTree, from = from.Blob, Entry{}
	}
	if to.Mode == filemode.Dir {
		toTree, to = to.Blob, Entry{}
	}
	if fromTree != toTree {
		if err := d.trees(path+"/", fromTree, toTree); err != nil {
			return err
		}
	}
	if from == to {
		return nil
	}
	c := Change{Path: path, From: from, To: to, Kind: Modified}
	switch {
	case from == Entry{}:
		c.Kind = Added
	case to == Entry{}:
		c.Kind = Deleted
	case from.Mode.IsFile() != to.Mode.IsFile(), (from.Mode == filemode.Symlink) != (to.Mode == filemode.Symlink):
		c.Kind = TypeChanged
	}
	d.changes = append(d.changes, c)
	return nil
}

// read returns the entries of a tree sorted by their name in the workspace,
// and refuses a tree whose names could not stand side by side in a directory.
func (d *differ) read(dir string, sha SHA) ([]node, error) {
	if sha == "" || sha == emptyTree {
		return nil, nil
	}
	tree, err := gitobject.GetTree(d.st, plumbing.NewHash(string(sha)))
	if err != nil {
		return nil, fmt.Errorf("read tree %s of %q: %w", sha, dir, err)
	}
	nodes := make([]node, len(tree.Entries))
	for i, e := range tree.Entries {
		if err := d.checkName(e.Name); err != nil {
			return nil, &UnsafeTreeError{Tree: sha, Path: dir + e.Name, Why: err.Error()}
		}
		nodes[i] = node{unescapeName(e.Name), Entry{e.Mode, SHA(e.Hash.String())}}
	}
	slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(nodes); i++ {
		if nodes[i].name == nodes[i-1].name {
			return nil, &UnsafeTreeError{Tree: sha, Path: dir + nodes[i].name, Why: "the name is in the tree twice"}
		}
	}
	return nodes, nil
}

func (d *differ) checkName(name string) error {
	if err := isPathComponent(name); err != nil || d.check == nil {
		return err
	}
	return d.check(name)
}
