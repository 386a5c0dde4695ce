package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ErrNotRegular says that a directory, link, FIFO or device is where a file
// must.
var ErrNotRegular = errors.New("not a regular file")

// Open opens a regular file for reading. It refuses FIFOs, devices and links
// in the last component with [ErrNotRegular], so that a planted name cannot
// hang hank.
func Open(fsys FS, name string) (File, error) {
	fi, err := fsys.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrNotRegular}
	}
	return fsys.OpenFile(name, os.O_RDONLY, 0)
}

// ReadFile returns the content of a regular file, as [Open] reads it.
func ReadFile(fsys FS, name string) ([]byte, error) {
	f, err := Open(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0)
	if fi, err := f.Stat(); err == nil {
		size = min(fi.Size(), 1<<30)
	}
	content := make([]byte, 0, size+bytes.MinRead) // in one piece
	for {
		n, err := f.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if err == io.EOF {
			return content, nil
		}
		if err != nil {
			return content, err
		}
		content = slices.Grow(content, bytes.MinRead)
	}
}

// MkdirAll creates a directory and its missing parents, and syncs the directory
// that received each new name.
func MkdirAll(fsys FS, name string, perm fs.FileMode) error {
	fi, err := fsys.Lstat(name)
	if err == nil {
		if fi.IsDir() || fi.Mode()&fs.ModeSymlink != 0 {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: name, Err: errors.New("a file is in the way")}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(name)
	if parent != name {
		if err := MkdirAll(fsys, parent, perm); err != nil {
			return err
		}
	}
	if err := fsys.Mkdir(name, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsys.SyncDir(parent)
}

// Durability is what is left of a new file after a power cut.
type Durability int

const (
	Durable  Durability = iota // the old contents before ReplaceFile has returned, the new ones after that
	Volatile                   // anything: for a file that is checked when it is read, and can be missed
)

// ReplaceFile gives name new contents, whole: they are written to a temporary name in the
// same directory, which is renamed over name. If they are to be Durable, the file is synced
// before that and the directory after it. A crash leaves the old contents or the new ones,
// and perhaps the temporary name, which the next call replaces.
func ReplaceFile(fsys FS, name string, data []byte, perm fs.FileMode, d Durability) error {
	tmp := name + ".tmp"
	// A FIFO there would hang it, and what a link leads to would be lost.
	if fi, err := fsys.Lstat(tmp); err == nil && !fi.Mode().IsRegular() {
		if err := fsys.Remove(tmp); err != nil {
			return err
		}
	}
	f, err := fsys.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	if err := fill(f, data, d); err != nil {
		return errors.Join(err, removeIfThere(fsys, tmp))
	}
	if err := fsys.Rename(tmp, name); err != nil || d != Durable {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// WriteSynced makes a file with contents that a power cut leaves: one that must not be there, with
// os.O_EXCL, or one that may be, with os.O_TRUNC. Its name is made durable by the caller, who
// renames it, or syncs its directory.
func WriteSynced(fsys FS, name string, data []byte, flag int, perm fs.FileMode) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|flag, perm)
	if err != nil {
		return err
	}
	return fill(f, data, Durable)
}

// fill writes all contents of a file, and closes it.
func fill(f File, data []byte, d Durability) error {
	n, err := f.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil && d == Durable {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// RemoveTree removes name and everything in it, as far as it can. Links are removed, not
// followed. A name that is not there is no error.
func RemoveTree(fsys FS, name string) error {
	fi, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && fi.IsDir() {
		var entries []fs.DirEntry
		entries, err = fsys.ReadDir(name)
		for _, e := range entries {
			err = errors.Join(err, RemoveTree(fsys, filepath.Join(name, e.Name())))
		}
	}
	if err != nil {
		return err
	}
	return fsys.Remove(name)
}

func removeIfThere(fsys FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
