package vfstest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// file is an open file or directory of Mem.
type file struct {
	m      *Mem
	n      *node
	name   string
	flag   int
	pos    int64
	closed bool
}

func (f *file) Name() string { return f.name }

func (f *file) readable() bool { return f.flag&(os.O_WRONLY|os.O_RDWR) != os.O_WRONLY }
func (f *file) writable() bool { return f.flag&(os.O_WRONLY|os.O_RDWR) != 0 }

// check returns why an operation cannot be done at all. The caller holds m.mu.
func (f *file) check(allowed bool, refusal error) error {
	switch {
	case f.closed:
		return os.ErrClosed
	case !allowed:
		return refusal
	case f.n.mode.IsDir():
		return syscall.EISDIR
	}
	return nil
}

func (f *file) Read(p []byte) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	n, err := f.readAt(p, f.pos)
	f.pos += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if off < 0 {
		return 0, pathErr("readat", f.name, errors.New("negative offset"))
	}
	return f.readAt(p, off)
}

func (f *file) readAt(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := f.check(f.readable(), syscall.EBADF); err != nil {
		return 0, pathErr("read", f.name, err)
	}
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Write(p []byte) (int, error) {
	f.m.before(OpWrite, f.name)
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check(f.writable(), syscall.EBADF); err != nil {
		return 0, pathErr("write", f.name, err)
	}
	if f.flag&os.O_APPEND != 0 {
		f.pos = int64(len(f.n.data))
	}
	f.m.write(f.n, f.pos, p)
	f.pos += int64(len(p))
	return len(p), nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.m.before(OpWrite, f.name)
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.flag&os.O_APPEND != 0 {
		return 0, errors.New("os: invalid use of WriteAt on file opened with O_APPEND")
	}
	if off < 0 {
		return 0, pathErr("writeat", f.name, errors.New("negative offset"))
	}
	if len(p) == 0 {
		return 0, nil // package os makes no system call
	}
	if err := f.check(f.writable(), syscall.EBADF); err != nil {
		return 0, pathErr("write", f.name, err)
	}
	f.m.write(f.n, off, p)
	return len(p), nil
}

func (f *file) Seek(offset int64, whence int) (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return 0, pathErr("seek", f.name, os.ErrClosed)
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += f.pos
	case io.SeekEnd:
		offset += int64(len(f.n.data))
	default:
		return 0, pathErr("seek", f.name, syscall.EINVAL)
	}
	if offset < 0 {
		return 0, pathErr("seek", f.name, syscall.EINVAL)
	}
	f.pos = offset
	return offset, nil
}

func (f *file) Stat() (fs.FileInfo, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return nil, pathErr("stat", f.name, os.ErrClosed)
	}
	return f.n.info(path.Base(filepath.ToSlash(f.name))), nil
}

func (f *file) Truncate(size int64) error {
	f.m.before(OpTruncate, f.name)
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	err := f.check(f.writable() && size >= 0, syscall.EINVAL)
	if err == nil {
		f.m.truncate(f.n, size)
	}
	return pathErr("truncate", f.name, err)
}

func (f *file) Sync() error {
	f.m.before(OpSync, f.name)
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return pathErr("sync", f.name, os.ErrClosed)
	}
	for _, c := range f.n.pending {
		f.n.disk = c.apply(f.n.disk)
	}
	f.n.pending = nil
	return nil
}

func (f *file) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return pathErr("close", f.name, os.ErrClosed)
	}
	f.closed = true
	return nil
}

// change is one unsynced step of a file: data written at off, or, with data
// nil, the size set to off.
type change struct {
	off  int64
	data []byte
}

// apply returns b after the change. It never changes bytes of b in place.
func (c change) apply(b []byte) []byte {
	if c.data == nil {
		return resize(b, c.off)
	}
	if c.off >= int64(len(b)) {
		return append(resize(b, c.off), c.data...)
	}
	end := c.off + int64(len(c.data))
	out := make([]byte, max(end, int64(len(b))))
	copy(out, b)
	copy(out[c.off:], c.data)
	return out
}

// resize cuts b or extends it with zeros. A cut gives up the spare capacity,
// so that a later append cannot reach bytes that someone shares.
func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		if size == int64(len(b)) {
			return b
		}
		return b[:size:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

func (m *Mem) write(n *node, off int64, p []byte) {
	if len(p) == 0 {
		return
	}
	c := change{off, p}
	n.data = c.apply(n.data)
	c.data = n.data[off : off+int64(len(p)) : off+int64(len(p))] // own copy, not the caller's
	n.pending = append(n.pending, c)
	m.touch(n)
}

func (m *Mem) truncate(n *node, size int64) {
	c := change{off: size}
	n.data = c.apply(n.data)
	n.pending = append(n.pending, c)
	m.touch(n)
}
