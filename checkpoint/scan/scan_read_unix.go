//go:build unix

package scan

import (
	"errors"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sys/unix"

	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
)

// Attempts is how often a file that changes under the reader is read.
const Attempts = 3

// storeError is a failure of the store, which is not the file's fault.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

func (e *storeError) Unwrap() error { return e.err }

// readFile hashes and stores a file or link, whole and unchanged from its
// first byte to its last. st is what lstat said.
func (w *dirScan) readFile(name string, st *unix.Stat_t) (cachedEntry, error) {
	w.read.Add(1)
	failpoint.Hit("scan.read")
	for n := 1; ; n++ {
		e, err := w.readOnce(name, st)
		var failed *storeError
		switch {
		case err == nil:
			w.progress.Add(e.stat.size)
			return e, nil
		case errors.Is(err, unix.ENOENT), errors.As(err, &failed):
			return e, err
		case !errors.Is(err, packdb.ErrChanging):
			return e, unstable(w.path+name, "it cannot be read", err)
		case n == Attempts:
			return e, unstable(w.path+name, "it changed each time that it was read", err)
		}
		if err := worktree.LstatAt(w.fd, name, st); err != nil {
			return e, err // it vanished, most likely
		}
	}
}

func (w *dirScan) readOnce(name string, st *unix.Stat_t) (cachedEntry, error) {
	e := cachedEntry{Name: name, stat: fingerprintOf(st)}
	if worktree.NeedsEscape(name) {
		e.Flags |= entryEscaped
	}
	if w.on.unseen || max(e.stat.mtime, e.stat.ctime) >= w.on.young {
		e.Flags |= EntryUnsure
	}
	var err error
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		if worktree.IsSpecial(name) {
			e.Flags |= entryEscaped // git refuses a link of a special name
		}
		e.Blob, err = w.storeLink(name, e.stat)
	case unix.S_IFREG:
		var flags entryFlags
		e.Blob, flags, err = w.storeFile(name, e.stat)
		e.Flags |= flags
	default:
		err = packdb.ErrChanging // another kind of thing has taken its place
	}
	return e, err
}

func (w *dirScan) storeLink(name string, want fingerprint) (plumbing.Hash, error) {
	target, err := worktree.ReadLinkAt(w.fd, name)
	if errors.Is(err, unix.EINVAL) {
		err = packdb.ErrChanging // it is no link any more
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var after unix.Stat_t
	if err := worktree.LstatAt(w.fd, name, &after); err != nil || fingerprintOf(&after) != want {
		return plumbing.ZeroHash, errors.Join(packdb.ErrChanging, err)
	}
	return w.store([]byte(target))
}

func (w *dirScan) store(data []byte) (plumbing.Hash, error) {
	id, added, err := w.s.db.PutObject(plumbing.BlobObject, data)
	if err != nil {
		return id, &storeError{err}
	}
	if added {
		w.added.Add(1)
	}
	return id, nil
}

// fileBuffers hold files that are read whole.
var fileBuffers = sync.Pool{New: func() any { return &fileBuffer{data: make([]byte, 64<<10)} }}

type fileBuffer struct{ data []byte }

// storeFile reads exactly as many bytes as lstat said: one more or less means
// that the file is changing, and so does another fstat in the end. The flags
// say what the content and whoever has it open make of the entry.
func (w *dirScan) storeFile(name string, want fingerprint) (id plumbing.Hash, flags entryFlags, err error) {
	fd, err := worktree.OpenFileAt(w.fd, name)
	if errors.Is(err, unix.ELOOP) {
		err = packdb.ErrChanging // a link has taken its place
	}
	if err != nil {
		return id, 0, err
	}
	defer unix.Close(fd)
	unchanged := func() error {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if fingerprintOf(&st) != want {
			return packdb.ErrChanging
		}
		return nil
	}
	if err := unchanged(); err != nil {
		return id, 0, err
	}
	// Before the first byte is read: who maps the file from here on shows.
	if isOpenForWriting(fd) {
		flags |= EntryUnsure
	}
	if w.s.Reading != nil {
		w.s.Reading(name)
	}
	if want.size > packdb.InMemory {
		id, err = w.storeLarge(fd, want.size, unchanged)
		if worktree.IsSpecial(name) {
			flags |= entryEscaped
		}
		return id, flags, err
	}
	buf := fileBuffers.Get().(*fileBuffer)
	defer fileBuffers.Put(buf)
	if int64(len(buf.data)) <= want.size {
		buf.data = make([]byte, want.size+1)
	}
	n, err := io.ReadFull(fdReader(fd), buf.data[:want.size+1])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return id, 0, err
	}
	if int64(n) != want.size {
		return id, 0, packdb.ErrChanging
	}
	if err := unchanged(); err != nil {
		return id, 0, err
	}
	data := buf.data[:n]
	if worktree.IsSpecial(name) && !worktree.SpecialAllowed(name, data) {
		flags |= entryEscaped
	}
	id, err = w.store(data)
	return id, flags, err
}

// storeLarge streams a file that is too large for memory.
func (w *dirScan) storeLarge(fd int, size int64, unchanged func() error) (plumbing.Hash, error) {
	exact := &packdb.ExactReader{R: fdReader(fd), Left: size, End: unchanged}
	id, added, err := w.s.db.PutStream(plumbing.BlobObject, size, exact)
	switch {
	case exact.Err != nil:
		return id, exact.Err
	case err != nil:
		return id, &storeError{err}
	}
	if added {
		w.added.Add(1)
	}
	return id, nil
}

// fdReader reads from a descriptor without the machinery of os.File.
type fdReader int

func (fd fdReader) Read(p []byte) (int, error) {
	n, err := worktree.RetryInterrupted(func() (int, error) { return unix.Read(int(fd), p) })
	switch {
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// readSmall reads a regular file of at most limit bytes.
func readSmall(dirfd int, name string, limit int64) ([]byte, error) {
	fd, err := worktree.OpenFileAt(dirfd, name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.New("not a regular file")
	}
	return io.ReadAll(io.LimitReader(fdReader(fd), limit))
}
