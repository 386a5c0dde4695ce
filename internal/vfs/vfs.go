// Package vfs is the seam between hank and the disk.
//
// Everything that hank must not lose (journal, state.json, lock, intents,
// packs, references, caches, quarantine) is read and written through FS, so
// that tests can crash it after any call and fail any call. The workspace of
// the agents does not go through here: it is walked and restored relative to
// open directories, see package checkpoint.
//
// The interface promises no more than POSIX does: a write may be lost until
// File.Sync returned nil, and a created, renamed, linked or removed name may
// be lost until SyncDir of its directory returned nil.
package vfs

import (
	"io"
	"io/fs"
)

// FS is a file system. Names are absolute, or relative to the process's
// working directory. All errors are *fs.PathError or *os.LinkError and match
// fs.ErrNotExist, fs.ErrExist and syscall.Errno through errors.Is.
type FS interface {
	// OpenFile opens name with the flags of package os.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Rename(oldname, newname string) error
	Link(oldname, newname string) error
	Remove(name string) error
	Mkdir(name string, perm fs.FileMode) error
	// ReadDir returns the entries of a directory sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Lstat does not follow a link in the last component.
	Lstat(name string) (fs.FileInfo, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
}

// File is an open file. Append mode, positions and partial writes behave as
// those of *os.File.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Seeker
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	// Sync makes the file's content durable. After an error the content of
	// the file is unknown; the caller must not write to it again.
	Sync() error
}
