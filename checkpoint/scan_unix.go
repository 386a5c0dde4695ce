//go:build unix

package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sys/unix"

	"hank/internal/failpoint"
	"hank/internal/vfs"
)

// scan is one walk through a workspace. Folders are walked by several
// goroutines: each takes a folder, and hands its subfolders on as long as
// there are tokens, else walks them itself.
type scan struct {
	ctx      context.Context
	s        *Store
	ws       *Workspace
	sel      *selector
	old      *statCache
	tokens   chan struct{}
	young    int64 // changes from this time (ns) on are too young to be trusted
	excludes []ignoreRules
	tracked  func() trackedPaths // the files in the user's own index

	mu    sync.Mutex
	snap  Snapshot
	fresh *statCache
	err   error
}

func newScan(ctx context.Context, s *Store, req SnapshotRequest) (*scan, error) {
	c := &scan{
		ctx: ctx, s: s, ws: req.Workspace, sel: newSelector(req.Selection, req.MustInclude),
		tokens: make(chan struct{}, 2*runtime.NumCPU()),
		fresh:  &statCache{dirs: map[string]*cachedDir{}},
	}
	c.old = s.cacheFor(req.Workspace)
	c.tracked = sync.OnceValue(func() trackedPaths { return userIndex(req.Workspace.Path()) })
	var err error
	if c.young, err = s.youngest(req.Workspace); err != nil {
		return nil, err
	}
	if text, err := vfs.ReadFile(s.fs, filepath.Join(s.dir, "info", "exclude")); err == nil {
		c.excludes = append(c.excludes, parseIgnore("", text))
	}
	c.excludes = append(c.excludes, userExclude(req.Workspace.Path()))
	return c, nil
}

// folder is a directory on the walk. What it needs from above comes with it.
type folder struct {
	path    string // "" or ending in a slash
	fd      int
	rules   []*ignoreRules // of the folders above and its own, outermost first
	ignored bool           // all below is ignored, unless it was recorded before
	base    *baseTree      // what the checkpoint before has here
}

func (c *scan) run(base *baseTree) (plumbing.Hash, error) {
	fd, err := unix.Openat(c.ws.Fd(), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("scan %s: %w", c.ws.Path(), err)
	}
	id, _, err := c.folder(folder{fd: fd, base: base})
	failpoint.Hit("scan.walked")
	return id, err
}

// fail remembers the first error; every goroutine stops soon after.
func (c *scan) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *scan) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = c.ctx.Err()
	}
	return c.err
}

// folder scans a directory with all below, and closes it. The second result
// is how many files its tree has: a tree without any is left out.
func (c *scan) folder(f folder) (plumbing.Hash, int, error) {
	dir := os.NewFile(uintptr(f.fd), path.Join(c.ws.Path(), f.path))
	defer dir.Close()
	list, err := dir.ReadDir(-1)
	if err != nil {
		err = unstable(cleanDir(f.path), "the folder cannot be listed", err)
		c.fail(err)
		return plumbing.ZeroHash, 0, err
	}
	if name := cleanDir(f.path); len(list) == 0 && f.path != "" && !f.ignored && c.sel.takes(name) {
		c.note(func(s *Snapshot) { s.Empty = append(s.Empty, name) })
	}
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	c.readRules(&f, list)
	w := &folderScan{scan: c, folder: f, old: c.old.dirs[f.path], now: &cachedDir{}}
	for _, e := range list {
		if err := c.failed(); err != nil {
			break
		}
		w.entry(e)
	}
	w.wait.Wait()
	if err := c.failed(); err != nil {
		return plumbing.ZeroHash, 0, err
	}
	return w.finish()
}

func cleanDir(p string) string {
	if p == "" {
		return "."
	}
	return strings.TrimSuffix(p, "/")
}

// readRules adds the folder's own .gitignore.
func (c *scan) readRules(f *folder, list []os.DirEntry) {
	i, ok := slices.BinarySearchFunc(list, ".gitignore", func(e os.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	if !ok || !list[i].Type().IsRegular() {
		return
	}
	fd, err := openFileAt(f.fd, ".gitignore")
	if err != nil {
		return // the file itself is looked at like any other, and says so
	}
	file := os.NewFile(uintptr(fd), ".gitignore")
	defer file.Close()
	if fi, err := file.Stat(); err != nil || !fi.Mode().IsRegular() {
		return
	}
	text, err := io.ReadAll(io.LimitReader(file, 16<<20))
	if err != nil {
		return
	}
	rules := parseIgnore(f.path, text)
	f.rules = append(slices.Clip(f.rules), &rules)
}

// folderScan is the work on one directory.
type folderScan struct {
	*scan
	folder
	old, now *cachedDir
	wait     sync.WaitGroup

	mine  sync.Mutex // guards what follows
	tree  folderTree
	files int
}

// isIgnored decides by the rules: the deepest file that says something counts,
// then the excludes.
func (w *folderScan) isIgnored(path, name string, isDir bool) bool {
	if w.ignored {
		return true
	}
	for _, r := range slices.Backward(w.rules) {
		if v := r.match(path, name, isDir); v != undecided {
			return v == ignored
		}
	}
	for i := range w.excludes {
		if v := w.excludes[i].match(path, name, isDir); v != undecided {
			return v == ignored
		}
	}
	return false
}

// entry looks at one name.
func (w *folderScan) entry(e os.DirEntry) {
	name := e.Name()
	full := w.path + name
	if name == ".git" && w.path != "" {
		w.note(func(s *Snapshot) { s.Nested = append(s.Nested, strings.TrimSuffix(w.path, "/")) })
	}
	if neverRecorded(name) || w.sel.never[full] {
		return
	}
	var st unix.Stat_t
	if err := lstatAt(w.fd, name, &st); err != nil {
		if !errors.Is(err, unix.ENOENT) { // it vanished: it is not there
			w.fail(unstable(full, "it cannot be looked at", err))
		}
		return
	}
	stored := name
	if needsEscape(name) {
		stored = escapeName(name)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		w.subfolder(name, stored, full)
	case unix.S_IFREG, unix.S_IFLNK:
		if w.selected(full, name, stored) {
			w.record(name, stored, full, &st)
		}
	default:
		if w.selected(full, name, stored) {
			w.note(func(s *Snapshot) { s.Skipped = append(s.Skipped, Skipped{full, kindOf(st.Mode)}) })
		}
	}
}

func kindOf[M uint16 | uint32](mode M) string {
	switch uint32(mode) & unix.S_IFMT {
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "a device"
	}
	return "neither file, folder nor link"
}

func (c *scan) note(change func(*Snapshot)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.snap)
}

// selected tells whether a file is recorded: it is asked for by name, or it is
// selected and either not ignored, or recorded before, or in the user's index.
func (w *folderScan) selected(full, name, stored string) bool {
	if w.sel.includes(full) {
		return true
	}
	if !w.sel.takes(full) {
		return false
	}
	if !w.isIgnored(full, name, false) {
		return true
	}
	if _, before := w.base.child(stored); before {
		return true
	}
	return w.tracked().has(full)
}

// subfolder goes down, unless nothing there can be recorded.
func (w *folderScan) subfolder(name, stored, full string) {
	sub, _ := w.base.child(stored)
	// A folder in the user's index is a submodule: it is not ignored either.
	next := folder{path: full + "/", rules: w.rules, base: sub, ignored: w.isIgnored(full, name, true) && !w.tracked().has(full)}
	if !w.sel.mayHold(full) && !w.sel.above[full] && !w.sel.includes(full) {
		return
	}
	if next.ignored && sub == nil && !w.sel.above[full] && !w.sel.includes(full) && !w.tracked().anyBelow(next.path) {
		return
	}
	fd, err := openDirAt(w.fd, name)
	if err != nil {
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
			w.fail(unstable(full, "the folder cannot be opened", err))
		}
		return
	}
	next.fd = fd
	down := func() {
		id, files, err := w.scan.folder(next)
		if err != nil || files == 0 {
			return
		}
		if stored != name {
			w.note(func(s *Snapshot) { s.Escaped = append(s.Escaped, Escaped{full, stored}) })
		}
		w.put(stored, filemode.Dir, id, files)
	}
	w.spawn(down)
}

// spawn runs f beside the walk if there is a token, else at once.
func (w *folderScan) spawn(f func()) {
	select {
	case w.tokens <- struct{}{}:
		w.wait.Add(1)
		go func() {
			defer func() { <-w.tokens; w.wait.Done() }()
			f()
		}()
	default:
		f()
	}
}

func (w *folderScan) put(stored string, mode filemode.FileMode, id plumbing.Hash, files int) {
	w.mine.Lock()
	defer w.mine.Unlock()
	w.tree.add(stored, mode, id)
	w.files += files
}

// record takes a file or link: by its fingerprint if it is known, else by
// reading it.
func (w *folderScan) record(name, stored, full string, st *unix.Stat_t) {
	print := fingerprintOf(st)
	if known := w.old.find(name); known != nil && known.stat == print && !known.young && w.old.device == uint64(st.Dev) {
		w.keep(*known, stored, full)
		return
	}
	w.spawn(func() {
		f, err := w.read(name, full)
		if errors.Is(err, unix.ENOENT) {
			return // it vanished, or became something else: the next checkpoint tells
		}
		if err != nil {
			w.fail(err)
			return
		}
		w.keep(f, stored, full)
	})
}

// keep puts a file into the tree and into the cache.
func (w *folderScan) keep(f cachedFile, stored, full string) {
	if f.escaped && stored == f.name {
		stored = escapeName(f.name)
	}
	mode := filemode.Regular
	switch {
	case f.stat.mode&unix.S_IFMT == unix.S_IFLNK:
		mode = filemode.Symlink
	case f.stat.mode&0o100 != 0:
		mode = filemode.Executable
	}
	w.put(stored, mode, f.blob, 1)
	w.mine.Lock()
	w.now.files = append(w.now.files, f)
	w.mine.Unlock()
	w.note(func(s *Snapshot) {
		s.Files++
		s.Bytes += f.stat.size
		if stored != f.name {
			s.Escaped = append(s.Escaped, Escaped{full, stored})
		}
	})
}

// finish writes the folder's tree and keeps its part of the cache.
func (w *folderScan) finish() (plumbing.Hash, int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(w.fd, &st); err == nil {
		w.now.device = uint64(st.Dev)
	}
	w.now.merge(w.old)
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fresh.dirs[w.path] = w.now
	}()
	if w.files == 0 && w.path != "" {
		return plumbing.ZeroHash, 0, nil
	}
	text := w.tree.encode()
	w.now.tree = objectID(plumbing.TreeObject, text)
	if w.old != nil && w.old.tree == w.now.tree {
		return w.now.tree, w.files, nil // the store has it
	}
	if _, _, err := w.s.putObject(plumbing.TreeObject, text); err != nil {
		w.fail(err)
		return plumbing.ZeroHash, 0, err
	}
	return w.now.tree, w.files, nil
}

// merge keeps what the scan before knew of files that this one had no reason
// to look at, and sorts.
func (d *cachedDir) merge(old *cachedDir) {
	slices.SortFunc(d.files, func(a, b cachedFile) int { return strings.Compare(a.name, b.name) })
	if old == nil || old.device != d.device {
		return
	}
	have := len(d.files)
	for i := range old.files {
		if (&cachedDir{files: d.files[:have]}).find(old.files[i].name) == nil {
			d.files = append(d.files, old.files[i])
		}
	}
	slices.SortFunc(d.files, func(a, b cachedFile) int { return strings.Compare(a.name, b.name) })
}

// attempts is how often a file that changes under the reader is read.
const attempts = 3

// read hashes and stores a file or link, whole and unchanged from its first
// byte to its last.
func (w *folderScan) read(name, full string) (cachedFile, error) {
	var err error
	for range attempts {
		var f cachedFile
		if f, err = w.readOnce(name); err == nil || errors.Is(err, unix.ENOENT) || !errors.Is(err, errChanging) {
			if err == nil || errors.Is(err, unix.ENOENT) || isStoreError(err) {
				return f, err
			}
			return f, unstable(full, "it cannot be read", err)
		}
	}
	return cachedFile{}, unstable(full, "it changed each time that it was read", err)
}

// storeError is a failure of the store, which is not the file's fault.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

func isStoreError(err error) bool {
	var se *storeError
	return errors.As(err, &se)
}

func (w *folderScan) readOnce(name string) (cachedFile, error) {
	var before unix.Stat_t
	if err := lstatAt(w.fd, name, &before); err != nil {
		return cachedFile{}, err
	}
	f := cachedFile{name: name, stat: fingerprintOf(&before)}
	var err error
	switch before.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		f.blob, err = w.storeLink(name)
	case unix.S_IFREG:
		f.blob, f.escaped, err = w.storeFile(name, f.stat)
	default:
		return cachedFile{}, unix.ENOENT // another kind of thing has taken its place
	}
	if err != nil {
		return cachedFile{}, err
	}
	var after unix.Stat_t
	if err := lstatAt(w.fd, name, &after); err != nil || fingerprintOf(&after) != f.stat {
		return cachedFile{}, errors.Join(errChanging, err)
	}
	f.young = max(f.stat.mtime, f.stat.ctime) >= w.scan.young
	return f, nil
}

func (w *folderScan) storeLink(name string) (plumbing.Hash, error) {
	target, err := readLinkAt(w.fd, name)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return w.store([]byte(target))
}

func (w *folderScan) store(data []byte) (plumbing.Hash, error) {
	id, added, err := w.s.putObject(plumbing.BlobObject, data)
	if err != nil {
		return id, &storeError{err}
	}
	if added {
		w.note(func(s *Snapshot) { s.Changed++ })
	}
	return id, nil
}

// storeFile reads exactly as many bytes as lstat said: one more or less means
// that the file is changing.
func (w *folderScan) storeFile(name string, want fingerprint) (id plumbing.Hash, escaped bool, err error) {
	fd, err := openFileAt(w.fd, name)
	if err != nil {
		if errors.Is(err, unix.ELOOP) {
			err = errChanging
		}
		return id, false, err
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return id, false, err
	}
	if fingerprintOf(&st) != want {
		return id, false, errChanging
	}
	if want.size > inMemory {
		var added bool
		exact := &exactReader{r: file, left: want.size}
		id, added, err = w.s.putStream(plumbing.BlobObject, want.size, exact)
		if err != nil && exact.err == nil {
			err = &storeError{err}
		} else if exact.err != nil {
			err = exact.err
		}
		if added {
			w.note(func(s *Snapshot) { s.Changed++ })
		}
		return id, isSpecial(name), err
	}
	var data bytes.Buffer
	data.Grow(int(want.size) + 1)
	n, err := io.Copy(&data, io.LimitReader(file, want.size+1))
	if err != nil {
		return id, false, err
	}
	if n != want.size {
		return id, false, errChanging
	}
	id, err = w.store(data.Bytes())
	return id, isSpecial(name) && !specialAllowed(name, data.Bytes()), err
}
