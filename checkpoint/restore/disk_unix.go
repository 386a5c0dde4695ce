//go:build unix

package restore

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sys/unix"

	"hank/checkpoint/diff"
	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// seen is what was at a path when it was looked at; the zero seen is nothing.
// The change time is left out: it moves when another hard link goes.
type seen struct {
	dev, ino uint64
	mode     uint32 // type and permissions, as in stat
	size     int64
	mtime    unix.Timespec
}

func newSeen(st *unix.Stat_t) seen {
	return seen{uint64(st.Dev), uint64(st.Ino), uint32(st.Mode), st.Size, st.Mtim}
}

func (s seen) exists() bool { return s != seen{} }

func (s seen) isDir() bool { return s.mode&unix.S_IFMT == unix.S_IFDIR }

func (s seen) isFile() bool { return s.mode&unix.S_IFMT == unix.S_IFREG }

func (s seen) isSymlink() bool { return s.mode&unix.S_IFMT == unix.S_IFLNK }

func (s seen) isExec() bool { return s.isFile() && s.mode&0o100 != 0 }

// holds reports whether a file with content sha is what e describes, but
// for the exec bit, which is no content to lose.
func (s seen) holds(e diff.Entry, sha packdb.SHA) bool {
	if e.Mode == filemode.Symlink {
		return s.isSymlink() && sha == e.Blob
	}
	return e.Mode.IsFile() && s.isFile() && sha == e.Blob
}

// lookAt returns what is at name in dirfd.
func lookAt(dirfd int, name string) (seen, error) {
	var st unix.Stat_t
	return lookInto(dirfd, name, &st)
}

// lookInto is lookAt that leaves all that lstat says in st.
func lookInto(dirfd int, name string, st *unix.Stat_t) (seen, error) {
	err := worktree.LstatAt(dirfd, name, st)
	if errors.Is(err, unix.ENOENT) {
		return seen{}, nil
	}
	if err != nil {
		return seen{}, os.NewSyscallError("fstatat", err)
	}
	return newSeen(st), nil
}

// contentAt returns the id of the blob that the file or symlink at name in
// dirfd would be, or "" if it is something that git does not store or is no
// longer what s says.
func contentAt(dirfd int, name string, s seen) (packdb.SHA, error) {
	switch {
	case s.isSymlink():
		target, err := worktree.ReadLinkAt(dirfd, name)
		if err != nil {
			return "", os.NewSyscallError("readlinkat", err)
		}
		h := newBlobHash(int64(len(target)))
		io.WriteString(h, target)
		return sumSHA(h), nil
	case s.isFile():
		return fileContentAt(dirfd, name, s)
	}
	return "", nil
}

func fileContentAt(dirfd int, name string, s seen) (packdb.SHA, error) {
	fd, err := worktree.OpenFileAt(dirfd, name)
	if err != nil {
		return "", os.NewSyscallError("openat", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", os.NewSyscallError("fstat", err)
	}
	if newSeen(&st) != s {
		return "", nil
	}
	h := newBlobHash(s.size)
	buf := getBuffer()
	defer putBuffer(buf)
	var n int64
	for {
		m, err := worktree.RetryInterrupted(func() (int, error) { return unix.Read(fd, *buf) })
		if err != nil {
			return "", os.NewSyscallError("read", err)
		}
		if m == 0 {
			break
		}
		h.Write((*buf)[:m])
		n += int64(m)
	}
	if n != s.size {
		return "", nil
	}
	return sumSHA(h), nil
}

// newBlobHash starts the id of a blob of size bytes.
func newBlobHash(size int64) hash.Hash {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

func sumSHA(h hash.Hash) packdb.SHA { return packdb.SHA(hex.EncodeToString(h.Sum(nil))) }

// readNames lists the directory fd, without "." and "..".
func readNames(dirfd int) ([]string, error) {
	fd, err := worktree.OpenDirAt(dirfd, ".")
	if err != nil {
		return nil, os.NewSyscallError("openat", err)
	}
	dir := os.NewFile(uintptr(fd), "")
	defer dir.Close()
	return dir.Readdirnames(-1)
}
