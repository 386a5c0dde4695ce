package diff

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"golang.org/x/sync/errgroup"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
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
	Blob packdb.SHA
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
// the difference. It works on any object storage that several goroutines may
// read at once.
func Diff(st storer.EncodedObjectStorer, from, to packdb.SHA) ([]Change, error) {
	d := Differ{St: st}
	return d.Run(from, to)
}

var emptyTreeID = plumbing.NewHash(string(packdb.EmptyTree))

// Differ walks two trees at once, and subtrees beside each other.
type Differ struct {
	St     storer.EncodedObjectStorer
	Within func(dir string) bool   // nil: look into every directory
	Check  func(name string) error // nil: only what IsPathComponent says

	walks   errgroup.Group
	mu      sync.Mutex
	changes []Change
}

// Run returns the differences of two trees, by path. It may be called once.
func (d *Differ) Run(from, to packdb.SHA) ([]Change, error) {
	if from == to {
		return nil, nil
	}
	d.walks.SetLimit(runtime.NumCPU())
	d.walks.Go(func() error { return d.trees("", plumbing.NewHash(string(from)), plumbing.NewHash(string(to))) })
	if err := d.walks.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(d.changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return d.changes, nil
}

// trees compares the trees from and to, found at dir ("" or ending in "/").
func (d *Differ) trees(dir string, from, to plumbing.Hash) error {
	if d.Within != nil && !d.Within(dir) {
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
	var none gitobject.TreeEntry
	for len(a) > 0 || len(b) > 0 {
		x, y := none, none
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			x, a = a[0], a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			y, b = b[0], b[1:]
		default:
			x, y, a, b = a[0], b[0], a[1:], b[1:]
		}
		if x == y {
			continue
		}
		if err := d.pair(dir+max(x.Name, y.Name), x, y); err != nil {
			return err
		}
	}
	return nil
}

// pair compares what the two trees hold at path, which is not the same.
func (d *Differ) pair(path string, from, to gitobject.TreeEntry) error {
	var fromTree, toTree plumbing.Hash
	if from.Mode == filemode.Dir {
		fromTree, from = from.Hash, gitobject.TreeEntry{}
	}
	if to.Mode == filemode.Dir {
		toTree, to = to.Hash, gitobject.TreeEntry{}
	}
	if fromTree != toTree {
		walk := func() error { return d.trees(path+"/", fromTree, toTree) }
		if !d.walks.TryGo(walk) { // all are running
			if err := walk(); err != nil {
				return err
			}
		}
	}
	c := Change{Path: path, From: newEntry(from), To: newEntry(to), Kind: Modified}
	switch {
	case c.From == c.To:
		return nil
	case c.From == Entry{}:
		c.Kind = Added
	case c.To == Entry{}:
		c.Kind = Deleted
	case from.Mode.IsFile() != to.Mode.IsFile(), (from.Mode == filemode.Symlink) != (to.Mode == filemode.Symlink):
		c.Kind = TypeChanged
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes = append(d.changes, c)
	return nil
}

func newEntry(e gitobject.TreeEntry) Entry {
	if e.Mode == filemode.Empty {
		return Entry{}
	}
	return Entry{e.Mode, packdb.SHA(e.Hash.String())}
}

// read returns the entries of a tree by their names in the workspace, and
// sorted so; it refuses a tree whose names could not stand side by side in a
// directory.
func (d *Differ) read(dir string, id plumbing.Hash) ([]gitobject.TreeEntry, error) {
	if id.IsZero() || id == emptyTreeID {
		return nil, nil
	}
	nodes, err := packdb.ReadTree(d.St, id)
	if err != nil {
		return nil, fmt.Errorf("read tree %s of %q: %w", id, dir, err)
	}
	for i := range nodes {
		name := nodes[i].Name
		if err := d.checkName(name); err != nil {
			return nil, &packdb.UnsafeTreeError{Tree: packdb.SHA(id.String()), Path: dir + name, Why: err.Error()}
		}
		nodes[i].Name = worktree.UnescapeName(name)
	}
	byName := func(a, b gitobject.TreeEntry) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(nodes, byName) {
		slices.SortFunc(nodes, byName)
	}
	for i := 1; i < len(nodes); i++ {
		if nodes[i].Name == nodes[i-1].Name {
			return nil, &packdb.UnsafeTreeError{Tree: packdb.SHA(id.String()), Path: dir + nodes[i].Name, Why: "the name is in the tree twice"}
		}
	}
	return nodes, nil
}

func (d *Differ) checkName(name string) error {
	if err := worktree.IsPathComponent(name); err != nil || d.Check == nil {
		return err
	}
	return d.Check(name)
}
