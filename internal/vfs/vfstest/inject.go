package vfstest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"hank/internal/vfs"
)

// Op names a kind of call.
type Op string

// The kinds of calls. OpCreate is an open that may create or truncate.
const (
	OpOpen     Op = "open"
	OpCreate   Op = "create"
	OpRead     Op = "read"
	OpWrite    Op = "write"
	OpTruncate Op = "truncate"
	OpSync     Op = "sync"
	OpRename   Op = "rename"
	OpLink     Op = "link"
	OpRemove   Op = "remove"
	OpMkdir    Op = "mkdir"
	OpReadDir  Op = "readdir"
	OpStat     Op = "stat"
	OpSyncDir  Op = "syncdir"
)

// Call is one call to a file system. N counts from 1. Name is the new name of
// a rename or link.
type Call struct {
	N    int
	Op   Op
	Name string
}

// Mutates reports whether the call changes what is seen or what is durable.
func (c Call) Mutates() bool {
	return !slices.Contains([]Op{OpOpen, OpRead, OpReadDir, OpStat}, c.Op)
}

func (c Call) String() string { return fmt.Sprintf("call %d, %s %s", c.N, c.Op, c.Name) }

// Inject returns fsys with the calls failing for which decide returns an
// error. Such a call is not made; an error wrapped by Short makes a write
// write its first half before it fails. Errors come back as *fs.PathError
// or *os.LinkError, as real ones do.
func Inject(fsys vfs.FS, decide func(Call) error) vfs.FS {
	return &injected{fs: fsys, decide: decide}
}

// Nth fails the n-th call (from 1) that match accepts, and no other one. A nil
// match accepts every call.
func Nth(n int, err error, match func(Call) bool) func(Call) error {
	var seen atomic.Int64
	return func(c Call) error {
		if (match == nil || match(c)) && seen.Add(1) == int64(n) {
			return err
		}
		return nil
	}
}

// From fails the n-th call that match accepts and all accepted ones after it,
// as a full disk does.
func From(n int, err error, match func(Call) bool) func(Call) error {
	var seen atomic.Int64
	return func(c Call) error {
		if (match == nil || match(c)) && seen.Add(1) >= int64(n) {
			return err
		}
		return nil
	}
}

// Match accepts calls of the given kinds (none: all) whose name ends in suffix.
func Match(suffix string, ops ...Op) func(Call) bool {
	return func(c Call) bool {
		return strings.HasSuffix(c.Name, suffix) && (len(ops) == 0 || slices.Contains(ops, c.Op))
	}
}

// Short makes an injected write failure leave the first half of the bytes.
func Short(err error) error { return &shortWrite{err} }

type shortWrite struct{ err error }

func (s *shortWrite) Error() string { return s.err.Error() }
func (s *shortWrite) Unwrap() error { return s.err }

type injected struct {
	fs     vfs.FS
	decide func(Call) error
	calls  atomic.Int64
}

// fails asks decide about a call.
func (i *injected) fails(op Op, name string) error {
	return i.decide(Call{N: int(i.calls.Add(1)), Op: op, Name: name})
}

func (i *injected) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	op := OpOpen
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		op = OpCreate
	}
	if err := i.fails(op, name); err != nil {
		return nil, pathErr("open", name, err)
	}
	f, err := i.fs.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &injectedFile{File: f, i: i}, nil
}

func (i *injected) Rename(oldname, newname string) error {
	if err := i.fails(OpRename, newname); err != nil {
		return linkErr("rename", oldname, newname, err)
	}
	return i.fs.Rename(oldname, newname)
}

func (i *injected) Link(oldname, newname string) error {
	if err := i.fails(OpLink, newname); err != nil {
		return linkErr("link", oldname, newname, err)
	}
	return i.fs.Link(oldname, newname)
}

func (i *injected) Remove(name string) error {
	if err := i.fails(OpRemove, name); err != nil {
		return pathErr("remove", name, err)
	}
	return i.fs.Remove(name)
}

func (i *injected) Mkdir(name string, perm fs.FileMode) error {
	if err := i.fails(OpMkdir, name); err != nil {
		return pathErr("mkdir", name, err)
	}
	return i.fs.Mkdir(name, perm)
}

func (i *injected) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := i.fails(OpReadDir, name); err != nil {
		return nil, pathErr("open", name, err)
	}
	return i.fs.ReadDir(name)
}

func (i *injected) Lstat(name string) (fs.FileInfo, error) {
	if err := i.fails(OpStat, name); err != nil {
		return nil, pathErr("lstat", name, err)
	}
	return i.fs.Lstat(name)
}

func (i *injected) SyncDir(name string) error {
	if err := i.fails(OpSyncDir, name); err != nil {
		return pathErr("sync", name, err)
	}
	return i.fs.SyncDir(name)
}

type injectedFile struct {
	vfs.File
	i *injected
}

func (f *injectedFile) Read(p []byte) (int, error) {
	if err := f.i.fails(OpRead, f.Name()); err != nil {
		return 0, pathErr("read", f.Name(), err)
	}
	return f.File.Read(p)
}

func (f *injectedFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.i.fails(OpRead, f.Name()); err != nil {
		return 0, pathErr("read", f.Name(), err)
	}
	return f.File.ReadAt(p, off)
}

func (f *injectedFile) Write(p []byte) (int, error) {
	return f.write(p, f.File.Write)
}

func (f *injectedFile) WriteAt(p []byte, off int64) (int, error) {
	return f.write(p, func(p []byte) (int, error) { return f.File.WriteAt(p, off) })
}

func (f *injectedFile) write(p []byte, do func([]byte) (int, error)) (int, error) {
	err := f.i.fails(OpWrite, f.Name())
	if err == nil {
		return do(p)
	}
	n := 0
	var short *shortWrite
	if errors.As(err, &short) {
		n, _ = do(p[:len(p)/2])
		err = short.err
	}
	return n, pathErr("write", f.Name(), err)
}

func (f *injectedFile) Truncate(size int64) error {
	if err := f.i.fails(OpTruncate, f.Name()); err != nil {
		return pathErr("truncate", f.Name(), err)
	}
	return f.File.Truncate(size)
}

func (f *injectedFile) Stat() (fs.FileInfo, error) {
	if err := f.i.fails(OpStat, f.Name()); err != nil {
		return nil, pathErr("stat", f.Name(), err)
	}
	return f.File.Stat()
}

func (f *injectedFile) Sync() error {
	if err := f.i.fails(OpSync, f.Name()); err != nil {
		return pathErr("sync", f.Name(), err)
	}
	return f.File.Sync()
}

func linkErr(op, oldname, newname string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: oldname, New: newname, Err: err}
}

func pathErr(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
