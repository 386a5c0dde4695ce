package packdb

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// EmptyTree is git's id of the tree without entries; a store need not hold it.
const EmptyTree SHA = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// TreeBuilder is a tree that is being made.
type TreeBuilder struct {
	Entries []gitobject.TreeEntry
}

// Add puts an entry in; the order is made by encode.
func (n *TreeBuilder) Add(name string, mode filemode.FileMode, id plumbing.Hash) {
	n.Entries = append(n.Entries, gitobject.TreeEntry{Name: name, Mode: mode, Hash: id})
}

// Encode returns the text of a tree: entries in git's order, in which a directory
// counts as if its name ended in a slash.
func (n *TreeBuilder) Encode() []byte {
	slices.SortFunc(n.Entries, CompareEntries)
	size := 0
	for i := range n.Entries {
		size += len(n.Entries[i].Name) + 28
	}
	out := make([]byte, 0, size)
	for i := range n.Entries {
		e := &n.Entries[i]
		out = fmt.Appendf(out, "%o %s\x00", uint32(e.Mode), e.Name)
		out = append(out, e.Hash[:]...)
	}
	return out
}

// CompareEntries orders the entries of a tree as Git does: the name of a directory as
// if it ended with a slash.
func CompareEntries(a, b gitobject.TreeEntry) int {
	return cmp.Compare(sortName(a), sortName(b))
}

func sortName(e gitobject.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

// ReadTree returns a tree's entries in git's order. go-git decodes a tree
// through a buffered reader, with some allocations for each entry; a rollback
// reads every tree that differs, and this takes a tenth of the time.
func ReadTree(st storer.EncodedObjectStorer, id plumbing.Hash) ([]gitobject.TreeEntry, error) {
	o, err := st.EncodedObject(plumbing.TreeObject, id)
	if err != nil {
		return nil, err
	}
	data, err := contentOf(o)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(data)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	return entries, nil
}

// contentOf returns the whole content of an object of any storage.
func contentOf(o plumbing.EncodedObject) ([]byte, error) {
	if ours, ok := o.(*GitObject); ok {
		return ours.content()
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, firstOf(err, r.Close())
}

var errTornTree = errors.New("it is not a whole git tree")

// parseTree decodes a tree as git stores it: for each entry the mode in octal,
// a space, the name, a NUL, and the 20 bytes of the id. All names share one
// string.
func parseTree(data []byte) ([]gitobject.TreeEntry, error) {
	entries := make([]gitobject.TreeEntry, 0, len(data)/36)
	text := string(data)
	for at := 0; at < len(data); {
		space := bytes.IndexByte(data[at:], ' ')
		if space < 0 {
			return nil, errTornTree
		}
		mode, err := filemode.New(text[at : at+space])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errTornTree, err)
		}
		at += space + 1
		end := bytes.IndexByte(data[at:], 0)
		if end <= 0 || len(data)-at-end-1 < HashSize { // no name is none
			return nil, errTornTree
		}
		e := gitobject.TreeEntry{Name: text[at : at+end], Mode: canonical(mode)}
		at += end + 1
		copy(e.Hash[:], data[at:])
		at += HashSize
		entries = append(entries, e)
	}
	return entries, nil
}

// canonical is the mode that git takes for any that a tree may have (canon_mode
// in its object.h): its own programs write these only, but old ones and others
// have not.
func canonical(mode filemode.FileMode) filemode.FileMode {
	const kind = 0o170000
	switch mode & kind {
	case filemode.Dir:
		return filemode.Dir
	case filemode.Symlink:
		return filemode.Symlink
	case filemode.Regular & kind:
		if mode&0o100 != 0 {
			return filemode.Executable
		}
		return filemode.Regular
	}
	return filemode.Submodule
}
