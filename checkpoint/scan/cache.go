package scan

import (
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
	"hank/internal/gitignore"
)

// statCache remembers what the last scan of a workspace found: for each file
// what lstat said when its content was hashed, so that a file with the same
// answer need not be read again, and for each directory its tree. The answer
// holds the change time, which no program can set back, so that a file of the
// same size with its old modification time does not pass.
//
// It is a projection: without it, or with one that is damaged, of another boot
// (after a power cut sizes and times may survive where content does not) or of
// other packs, everything is read once.
type statCache struct {
	Root *CachedDir // nil: nothing is known
}

// CachedDir is a directory. Once a scan has made it, it does not change: scans share
// what is the same, and it may be saved at any moment. Only rules, which are not
// saved, may be filled in, by the one scan that is running.
type CachedDir struct {
	device  uint64
	Tree    plumbing.Hash // the tree that the store has for it
	files   int           // in the tree, all below included
	bytes   int64         // their sizes
	escaped int           // how many files and directories are stored under another name
	Entries []cachedEntry // sorted by name

	rules *ignoreFile // of its own .gitignore, while this process remembers

	// listed is what fstat said of the directory before it was listed: as long as
	// it says the same, the directory has the names of entries and others, and no
	// more. Zero: it has to be listed again.
	listed fingerprint
	Others []otherName
}

// otherName is a name that a directory lists and of which nothing else is known: it
// is ignored, not selected, or can be in no tree.
type otherName struct {
	name string
	dir  bool // the listing said so
}

// cachedEntry is a file, a link or a directory.
type cachedEntry struct {
	Name  string
	stat  fingerprint   // zero for a directory
	Blob  plumbing.Hash // zero for a directory
	Sub   *CachedDir    // nil for a file
	Flags entryFlags
}

type entryFlags uint8

const (
	// entryTaken: it is in the directory's tree. Else the last scan had no reason
	// to look at it, and what is known is kept.
	entryTaken entryFlags = 1 << iota
	// EntryUnsure: a later change may leave what lstat says as it was, because
	// it was changed just before it was read, was open for writing, or is on a
	// file system that does not tell. It is read again next time.
	EntryUnsure
	// entryEscaped: it is stored under an escaped name.
	entryEscaped
)

// fingerprint is what of lstat reports that a file was not touched.
type fingerprint struct {
	size, mtime, ctime int64 // bytes, nanoseconds
	inode              uint64
	mode               uint32
}

func (f fingerprint) zero() bool { return f == fingerprint{} }

// ignoreFile is a .gitignore that was read.
type ignoreFile struct {
	stat  fingerprint
	rules gitignore.Rules
}

func (e *cachedEntry) taken() bool { return e.Flags&entryTaken != 0 }

// stored returns the name in the tree.
func (e *cachedEntry) stored() string {
	if e.Flags&entryEscaped != 0 {
		return worktree.EscapeName(e.Name)
	}
	return e.Name
}

// treeEntry returns the mode and id that the tree has.
func (e *cachedEntry) treeEntry() (filemode.FileMode, plumbing.Hash) {
	switch {
	case e.Sub != nil:
		return filemode.Dir, e.Sub.Tree
	case e.stat.mode&worktree.ModeType == worktree.ModeLink:
		return filemode.Symlink, e.Blob
	case e.stat.mode&0o100 != 0:
		return filemode.Executable, e.Blob
	}
	return filemode.Regular, e.Blob
}

// find returns the place of an entry, or -1. The name is bytes, so that a
// directory's listing is looked up without making strings of it.
func (d *CachedDir) find(name []byte) int {
	if d == nil {
		return -1
	}
	lo, hi := 0, len(d.Entries)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if d.Entries[mid].Name < string(name) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(d.Entries) && d.Entries[lo].Name == string(name) {
		return lo
	}
	return -1
}

// maxOthers bounds the names that are kept beside n entries: a directory of nothing
// but ignored files is listed each time, and takes no memory.
func maxOthers(n int) int { return 4 + n }

// newCachedDir sorts the entries and adds up what is in them. The tree is left
// to the caller. A new name that was listed twice (see findKnown) is there once.
func newCachedDir(device uint64, entries []cachedEntry) *CachedDir {
	slices.SortFunc(entries, func(a, b cachedEntry) int { return strings.Compare(a.Name, b.Name) })
	entries = slices.CompactFunc(entries, func(a, b cachedEntry) bool { return a.Name == b.Name })
	d := &CachedDir{device: device, Entries: entries}
	for i := range entries {
		e := &entries[i]
		if !e.taken() {
			continue
		}
		if e.Flags&entryEscaped != 0 {
			d.escaped++
		}
		if e.Sub == nil {
			d.files++
			d.bytes += e.stat.size
			continue
		}
		d.files += e.Sub.files
		d.bytes += e.Sub.bytes
		d.escaped += e.Sub.escaped
	}
	return d
}

// sameTree reports whether two directories have the same tree, without making it.
func (d *CachedDir) sameTree(other *CachedDir) bool {
	i, j := 0, 0
	for {
		for i < len(d.Entries) && !d.Entries[i].taken() {
			i++
		}
		for j < len(other.Entries) && !other.Entries[j].taken() {
			j++
		}
		if i == len(d.Entries) || j == len(other.Entries) {
			return i == len(d.Entries) && j == len(other.Entries)
		}
		a, b := &d.Entries[i], &other.Entries[j]
		modeA, idA := a.treeEntry()
		modeB, idB := b.treeEntry()
		if a.Name != b.Name || modeA != modeB || idA != idB || (a.Flags^b.Flags)&entryEscaped != 0 {
			return false
		}
		i, j = i+1, j+1
	}
}

// encodeTree returns the text of the directory's tree.
func (d *CachedDir) encodeTree() []byte {
	var t packdb.TreeBuilder
	for i := range d.Entries {
		if e := &d.Entries[i]; e.taken() {
			mode, id := e.treeEntry()
			t.Add(e.stored(), mode, id)
		}
	}
	return t.Encode()
}

// eachEscaped calls f for what is stored under another name.
func (d *CachedDir) eachEscaped(prefix string, f func(path, as string)) {
	if d == nil || d.escaped == 0 {
		return
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		if !e.taken() {
			continue
		}
		if e.Flags&entryEscaped != 0 {
			f(prefix+e.Name, e.stored())
		}
		e.Sub.eachEscaped(prefix+e.Name+"/", f)
	}
}
