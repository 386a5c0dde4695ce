// Package vfstest holds the test doubles of vfs.FS: Mem, a file system in
// memory that can lose power, and Inject, which makes chosen calls fail.
//
// Mem keeps two versions of everything: what a program sees, and what is on
// the platter. A file's bytes reach the platter by File.Sync, a directory's names
// by SyncDir, and nothing else does. Crash returns what a machine could find
// after a power cut.
package vfstest

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"hank/internal/vfs"
)

// Mem is a vfs.FS in memory. The zero value is not usable, see NewMem. It is
// safe for concurrent use.
type Mem struct {
	mu    sync.Mutex
	root  *node
	ticks int64 // the clock: one millisecond per change
	calls int
	hook  func(Call)
}

var _ vfs.FS = (*Mem)(nil)

// NewMem returns an empty file system with a root directory.
func NewMem() *Mem {
	return &Mem{root: newDir(0o755)}
}

// SetHook makes f run before every mutating call (see Call.Mutates), outside
// of all locks: f may read the file system and call Crash. What it then sees
// is the state after the mutating call before. nil removes the hook.
func (m *Mem) SetHook(f func(Call)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook = f
}

// Calls returns how many mutating calls were made so far.
func (m *Mem) Calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// before counts a mutating call and shows it to the hook.
func (m *Mem) before(op Op, name string) {
	m.mu.Lock()
	m.calls++
	call, hook := Call{N: m.calls, Op: op, Name: name}, m.hook
	m.mu.Unlock()
	if hook != nil {
		hook(call)
	}
}

// node is a file or a directory.
type node struct {
	mode  fs.FileMode
	mtime time.Time

	// A file: what is seen, what is on the platter, and the changes between
	// the two. Bytes below len are never changed in place, so that slices can
	// be shared with images and with pending changes.
	data, disk []byte
	pending    []change

	// A directory: what is seen, and for each name changed since the last
	// SyncDir what the platter holds (nil: nothing).
	names   map[string]*node
	changed map[string]*node
}

func newDir(perm fs.FileMode) *node {
	return &node{mode: fs.ModeDir | perm.Perm(), names: map[string]*node{}, changed: map[string]*node{}}
}

// set changes a name in a directory; nil removes it.
func (n *node) set(name string, to *node) {
	if _, known := n.changed[name]; !known {
		n.changed[name] = n.names[name]
	}
	if to == nil {
		delete(n.names, name)
	} else {
		n.names[name] = to
	}
}

// touch advances the clock and stamps n. The caller holds m.mu.
func (m *Mem) touch(n *node) {
	m.ticks++
	n.mtime = time.UnixMilli(1_767_225_600_000 + m.ticks).UTC() // from 2026-01-01
}

// split cleans a name. Relative names start at the root.
func split(name string) []string {
	p := path.Clean("/" + filepath.ToSlash(strings.TrimPrefix(name, filepath.VolumeName(name))))
	if p == "/" {
		return nil
	}
	return strings.Split(p[1:], "/")
}

// find returns the node of a name.
func (m *Mem) find(name string) (*node, error) {
	if name == "" {
		return nil, syscall.ENOENT
	}
	n := m.root
	for _, part := range split(name) {
		if !n.mode.IsDir() {
			return nil, syscall.ENOTDIR
		}
		if n = n.names[part]; n == nil {
			return nil, syscall.ENOENT
		}
	}
	return n, nil
}

// findParent returns the directory of a name and its last component.
func (m *Mem) findParent(name string) (*node, string, error) {
	parts := split(name)
	if name == "" {
		return nil, "", syscall.ENOENT
	}
	if len(parts) == 0 {
		return nil, "", syscall.EBUSY // the root has no name to change
	}
	dir, err := m.find("/" + strings.Join(parts[:len(parts)-1], "/"))
	if err != nil {
		return nil, "", err
	}
	if !dir.mode.IsDir() {
		return nil, "", syscall.ENOTDIR
	}
	return dir, parts[len(parts)-1], nil
}

// OpenFile opens name. Creating and truncating are mutating calls.
func (m *Mem) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		m.before(OpCreate, name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	switch {
	case err == nil && flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		err = syscall.EEXIST
	case err == nil && n.mode.IsDir() && flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0:
		err = syscall.EISDIR
	case err == nil && flag&os.O_TRUNC != 0 && len(n.data) > 0:
		m.truncate(n, 0)
	case errors.Is(err, syscall.ENOENT) && flag&os.O_CREATE != 0:
		var dir *node
		var base string
		if dir, base, err = m.findParent(name); err == nil {
			n = &node{mode: perm.Perm()}
			m.touch(n)
			dir.set(base, n)
			m.touch(dir)
		}
	}
	if err != nil {
		return nil, pathErr("open", name, err)
	}
	return &file{m: m, n: n, name: name, flag: flag}, nil
}

// Rename moves a name, replacing what is at the new one. As POSIX has it, it
// does nothing when both names are links to one file.
func (m *Mem) Rename(oldname, newname string) error {
	m.before(OpRename, newname)
	m.mu.Lock()
	defer m.mu.Unlock()
	return linkErr("rename", oldname, newname, m.rename(oldname, newname))
}

func (m *Mem) rename(oldname, newname string) error {
	from, oldbase, err := m.findParent(oldname)
	if err != nil {
		return err
	}
	to, newbase, err := m.findParent(newname)
	if err != nil {
		return err
	}
	n, there := from.names[oldbase], to.names[newbase]
	if n == nil {
		return syscall.ENOENT
	}
	switch {
	case there != nil && there.mode.IsDir():
		return syscall.EEXIST // as package os does, for empty directories too
	case n == there:
		return nil
	case n.mode.IsDir() && slices.Equal(split(oldname), prefix(split(newname), len(split(oldname)))):
		return syscall.EINVAL // into itself
	case there != nil && n.mode.IsDir():
		return syscall.ENOTDIR
	}
	from.set(oldbase, nil)
	to.set(newbase, n)
	m.touch(from)
	m.touch(to)
	return nil
}

func prefix(s []string, n int) []string { return s[:min(n, len(s))] }

// Link gives a file a second name.
func (m *Mem) Link(oldname, newname string) error {
	m.before(OpLink, newname)
	m.mu.Lock()
	defer m.mu.Unlock()
	return linkErr("link", oldname, newname, m.link(oldname, newname))
}

func (m *Mem) link(oldname, newname string) error {
	n, err := m.find(oldname)
	if err != nil {
		return err
	}
	dir, base, err := m.findParent(newname)
	if err != nil {
		return err
	}
	if dir.names[base] != nil {
		return syscall.EEXIST
	}
	if n.mode.IsDir() {
		return syscall.EPERM
	}
	dir.set(base, n)
	m.touch(dir)
	return nil
}

// Remove removes a file's name or an empty directory.
func (m *Mem) Remove(name string) error {
	m.before(OpRemove, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.findParent(name)
	if err != nil {
		return pathErr("remove", name, err)
	}
	n := dir.names[base]
	if n == nil {
		return pathErr("remove", name, syscall.ENOENT)
	}
	if len(n.names) > 0 {
		return pathErr("remove", name, syscall.ENOTEMPTY)
	}
	dir.set(base, nil)
	m.touch(dir)
	return nil
}

// Mkdir creates a directory.
func (m *Mem) Mkdir(name string, perm fs.FileMode) error {
	m.before(OpMkdir, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(name); err == nil {
		return pathErr("mkdir", name, syscall.EEXIST)
	}
	dir, base, err := m.findParent(name)
	if err != nil {
		return pathErr("mkdir", name, err)
	}
	n := newDir(perm)
	m.touch(n)
	dir.set(base, n)
	m.touch(dir)
	return nil
}

// ReadDir lists a directory, sorted by name.
func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err == nil && !n.mode.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, pathErr("open", name, err)
	}
	list := make([]fs.DirEntry, 0, len(n.names))
	for base, child := range n.names {
		list = append(list, fs.FileInfoToDirEntry(child.info(base)))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Lstat describes a name. Mem has no symbolic links.
func (m *Mem) Lstat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err != nil {
		return nil, pathErr("lstat", name, err)
	}
	return n.info(path.Base("/" + strings.Join(split(name), "/"))), nil
}

// SyncDir makes the names of a directory survive.
func (m *Mem) SyncDir(name string) error {
	m.before(OpSyncDir, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err == nil && !n.mode.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return pathErr("sync", name, err)
	}
	clear(n.changed)
	return nil
}

// info is a snapshot of a node's metadata.
type info struct {
	name  string
	size  int64
	mode  fs.FileMode
	mtime time.Time
}

func (n *node) info(name string) fs.FileInfo {
	return info{name, int64(len(n.data)), n.mode, n.mtime}
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.mtime }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
