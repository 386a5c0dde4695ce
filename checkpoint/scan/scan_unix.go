//go:build unix

package scan

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sys/unix"

	"hank/checkpoint/match"
	"hank/checkpoint/worktree"
	"hank/internal/failpoint"
	"hank/internal/gitignore"
	secrets "hank/internal/secret"
)

// scan is one walk through a workspace. A goroutine takes a directory: it lists
// it, looks at every name, and hands subdirectories and files that have to be read
// on to others as long as there are tokens; else it does them itself. A directory
// in which nothing has changed costs an lstat for each file; it is not listed
// either where the file system is known to date every change of its names.
type scan struct {
	s        *Scanner
	ws       *worktree.Workspace
	sel      *match.Selector
	neverIn  map[string][]string // names that are never taken, by directory
	last     *statCache
	tokens   chan struct{}
	stamp    stamp
	excludes []gitignore.Rules
	progress *Progress // of files that are read
	// count, if it is set, is told of each file that would be read or trusted;
	// nothing is read then, and no tree is made.
	count func(path string, bytes int64)
	// relist lists every directory, whatever is known of it.
	relist bool
	apart  []inode // see Workspace.SetApart

	read, added atomic.Int64 // files read; blobs that were new to the store
	stopped     atomic.Bool

	mu      sync.Mutex // guards the following
	err     error
	skipped []Skipped
	nested  []string
	empty   []string
	refused map[string]bool // see Store.LeaveOut
	private []string
}

func newScan(s *Scanner, req SnapshotRequest) *scan {
	c := &scan{
		s: s, ws: req.Workspace, sel: match.NewSelector(req.Selection, req.MustInclude),
		neverIn: map[string][]string{}, tokens: make(chan struct{}, 2*runtime.NumCPU()), progress: req.Progress,
	}
	for name := range c.sel.Never {
		dir := worktree.Parent(name)
		if dir != "" {
			dir += "/"
		}
		c.neverIn[dir] = append(c.neverIn[dir], worktree.LastComponent(name))
	}
	for _, path := range req.Workspace.Apart {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err == nil {
			c.apart = append(c.apart, inodeOf(&st))
		}
	}
	c.last = s.cacheFor(req.Workspace)
	text, leftOut := match.Excludes(s.db)
	c.excludes, c.refused = append(c.excludes, gitignore.Parse("", []byte(text))), leftOut
	c.excludes = append(c.excludes, match.UserExclude(req.Workspace.Path()))
	return c
}

// run walks the whole workspace and returns the root. base is the tree of the
// checkpoint before, or zero.
func (c *scan) run(ctx context.Context, base plumbing.Hash) (*CachedDir, error) {
	defer context.AfterFunc(ctx, func() { c.fail(ctx.Err()) })()
	fd, err := worktree.OpenDirAt(c.ws.Fd(), ".")
	if err != nil {
		return nil, fmt.Errorf("scan %s: %w", c.ws.Path(), err)
	}
	f := directory{fd: fd, old: c.last.Root, repo: match.NewRepository(c.ws.Path(), "", nil)}
	if !base.IsZero() {
		f.base = newBase(c.s.db, base, c.last.Root)
	}
	root := c.scanDir(f)
	failpoint.Hit("scan.walked")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	return root, ctx.Err()
}

// fail remembers the first error; every goroutine stops soon after.
func (c *scan) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.stopped.Store(true)
}

// directory is a directory on the walk. What it needs from above comes with it.
type directory struct {
	path    string // "" or ending in a slash
	fd      int
	rules   []*gitignore.Rules // of the directories above and its own, outermost first
	ignored bool               // all below is ignored, unless it was recorded before
	base    *baseTree          // what the checkpoint before has here
	on      *volume            // the file system of the directory above, or nil
	repo    *match.Repository  // the user's own that the directory is in
	old     *CachedDir         // what the last scan found here
}

// dirScan is the work on one directory.
type dirScan struct {
	*scan
	directory
	list    *listing
	listed  fingerprint // what fstat said of it before it was listed
	again   bool        // it was not listed: it has the names that it had
	own     *ignoreFile
	never   []string
	entries []cachedEntry // one for each name of the list; without a name: nothing
	known   []int32       // where each was in old, or -1
	wait    sync.WaitGroup
}

// scanDir scans a directory with all below, and closes it. It returns nil if it
// fails: fail has been called then.
func (c *scan) scanDir(f directory) *CachedDir {
	defer unix.Close(f.fd)
	w := &dirScan{scan: c, directory: f, never: c.neverIn[f.path], list: listings.Get().(*listing)}
	defer w.release()
	if err := w.listNames(); errors.Is(err, errApart) {
		return nil
	} else if err != nil {
		c.fail(unstable(match.CleanDir(f.path), "the directory cannot be listed", err))
		return nil
	}
	if name := match.CleanDir(f.path); len(w.list.names) == 0 && f.path != "" && !f.ignored && c.sel.Takes(name) {
		c.note(func() { c.empty = append(c.empty, name) })
	}
	w.readRules()
	w.enterRepository()
	w.findKnown()
	n := len(w.list.names)
	w.entries = slices.Grow(w.list.entries[:0], n)[:n]
	clear(w.entries)
	for i := range w.list.names {
		if c.stopped.Load() {
			break
		}
		w.entry(i)
	}
	w.wait.Wait()
	if c.stopped.Load() {
		return nil
	}
	return w.finish()
}

// listNames finds out which names the directory has: those of the last scan, if it
// has not changed since. It is looked at before it is listed, so that a change
// meanwhile shows the next time.
func (w *dirScan) listNames() error {
	var st unix.Stat_t
	if err := unix.Fstat(w.fd, &st); err != nil {
		return err
	}
	if w.path != "" && w.leftOut(&st) {
		return errApart
	}
	if dev := uint64(st.Dev); w.on == nil || w.on.device != dev {
		w.on = w.volumeOf(w.fd, dev)
	}
	w.listed = fingerprintOf(&st)
	if !w.on.dated || max(w.listed.mtime, w.listed.ctime) >= w.on.young || isWholeSecond(w.listed.ctime) {
		w.listed = fingerprint{} // another change may leave it as it is
	}
	if w.again = !w.relist && !w.listed.zero() && w.old.lists(&st); w.again {
		w.list.fill(w.old)
		return nil
	}
	if w.s.Listing == nil {
		return w.list.read(w.fd)
	}
	more := w.s.Listing(match.CleanDir(w.path))
	err := w.list.read(w.fd)
	for _, name := range more {
		w.list.names = append(w.list.names, listed{bytes: append([]byte(name), 0)[:len(name)]})
	}
	return err
}

// inode is what a file or directory is, whatever its name.
type inode struct{ device, number uint64 }

func inodeOf(st *unix.Stat_t) inode { return inode{uint64(st.Dev), uint64(st.Ino)} }

// errApart says that a directory is left out: see leftOut.
var errApart = errors.New("the directory is no part of the workspace")

// leftOut reports whether a directory below the root is no part of the workspace: one
// that is the execution's own, or that of another execution that is running. What
// the other one writes meanwhile would be a mixture, and it is in checkpoints of
// its own.
func (w *dirScan) leftOut(st *unix.Stat_t) bool {
	if slices.Contains(w.apart, inodeOf(st)) {
		return true
	}
	if !match.IsExecution(w.path) {
		return false
	}
	if unix.Flock(w.fd, unix.LOCK_SH|unix.LOCK_NB) != unix.EWOULDBLOCK {
		_ = unix.Flock(w.fd, unix.LOCK_UN)
		return false
	}
	live := Skipped{match.CleanDir(w.path), "an execution of hank that is running; it has checkpoints of its own"}
	w.note(func() { w.skipped = append(w.skipped, live) })
	return true
}

// findKnown finds where each name of the list is among the entries that are
// known. A name that a large directory lists twice, because its file was removed and
// made again meanwhile, is kept once: it would count for another one that is gone.
func (w *dirScan) findKnown() {
	w.known = slices.Grow(w.list.known[:0], len(w.list.names))
	if w.again {
		for i := range w.list.names {
			if i >= len(w.old.Entries) {
				i = -1
			}
			w.known = append(w.known, int32(i))
		}
		return
	}
	var met []bool
	if w.old != nil {
		met = make([]bool, len(w.old.Entries))
	}
	names := w.list.names[:0]
	for _, name := range w.list.names {
		k := w.old.find(name.bytes)
		if k >= 0 && met[k] {
			continue
		}
		if k >= 0 {
			met[k] = true
		}
		names, w.known = append(names, name), append(w.known, int32(k))
	}
	w.list.names = names
}

// name returns the i-th name of the list.
func (w *dirScan) name(i int) string {
	switch k := w.known[i]; {
	case k >= 0:
		return w.old.Entries[k].Name
	case w.again:
		return w.old.Others[i-len(w.old.Entries)].name
	}
	return string(w.list.names[i].bytes)
}

func (w *dirScan) release() {
	w.list.entries, w.list.known = w.entries, w.known
	clear(w.list.entries) // they would keep what they point to
	listings.Put(w.list)
}

// readRules adds the directory's own .gitignore, if it is a regular file.
func (w *dirScan) readRules() {
	for i := range w.list.names {
		if string(w.list.names[i].bytes) != ".gitignore" {
			continue
		}
		var st unix.Stat_t
		if err := statAt(w.fd, w.list.names[i], &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			return
		}
		if w.own = w.knownRules(&st); w.own == nil {
			text, err := readSmall(w.fd, ".gitignore", match.RulesLimit)
			if err != nil {
				return // the file itself is looked at like any other, and says so
			}
			w.own = &ignoreFile{stat: fingerprintOf(&st), rules: match.DirRules(w.path, text)}
		}
		w.rules = append(slices.Clip(w.rules), &w.own.rules)
		return
	}
}

// enterRepository notices that the directory is a repository of its own. Its index
// has a say in what is ignored below, as the workspace's own has; not if the
// directory is ignored as a whole.
func (w *dirScan) enterRepository() {
	if w.path == "" || !slices.ContainsFunc(w.list.names, func(n listed) bool { return string(n.bytes) == ".git" }) {
		return
	}
	w.note(func() { w.nested = append(w.nested, match.CleanDir(w.path)) })
	if !w.ignored {
		w.repo = match.NewRepository(w.ws.Path(), w.path, w.repo)
	}
}

// knownRules returns what the last scan read, if the file is trusted as any
// other file would be.
func (w *dirScan) knownRules(st *unix.Stat_t) *ignoreFile {
	i := w.old.find([]byte(".gitignore"))
	if i < 0 || w.old.rules == nil || w.old.rules.stat != fingerprintOf(st) || !w.old.trusts(&w.old.Entries[i], st) {
		return nil
	}
	return w.old.rules
}

// isIgnored decides by the rules: the deepest file that says something counts,
// then the excludes.
func (w *dirScan) isIgnored(name string, isDir bool) bool {
	if w.ignored {
		return true
	}
	path := w.path + name
	for _, r := range slices.Backward(w.rules) {
		if v := r.Match(path, name, isDir); v != gitignore.Undecided {
			return v == gitignore.Excluded
		}
	}
	for i := range w.excludes {
		if v := w.excludes[i].Match(path, name, isDir); v != gitignore.Undecided {
			return v == gitignore.Excluded
		}
	}
	return false
}

// entry looks at the i-th name.
func (w *dirScan) entry(i int) {
	n, name := w.list.names[i], w.name(i)
	if name == ".git" || slices.Contains(w.never, name) {
		return
	}
	if worktree.IsTemporary(name) {
		if w.selected(i, name) {
			w.note(func() {
				w.skipped = append(w.skipped, Skipped{w.path + name, "hank gives such names to its own temporary files"})
			})
		}
		return
	}
	if n.kind == kindDir {
		w.subdir(i, name)
		return
	}
	var st unix.Stat_t
	if err := statAt(w.fd, n, &st); errors.Is(err, unix.ENOENT) {
		w.vanished()
		return
	} else if err != nil {
		w.fail(unstable(w.path+name, "it cannot be looked at", err))
		return
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		w.subdir(i, name)
	case unix.S_IFREG, unix.S_IFLNK:
		if !slices.Contains(w.apart, inodeOf(&st)) {
			w.file(i, name, &st)
		}
	default:
		if w.selected(i, name) {
			skipped := Skipped{w.path + name, kindOf(st.Mode)}
			w.note(func() { w.skipped = append(w.skipped, skipped) })
		}
	}
}

// vanished is called where a name is not there. Somebody has just removed it; or
// the directory has other names than it had and does not show it, as one does whose
// key was given or taken away (fscrypt): then what is known of directories is wrong.
func (w *dirScan) vanished() {
	var st unix.Stat_t
	if w.again && (unix.Fstat(w.fd, &st) != nil || w.old.lists(&st)) {
		w.fail(errOtherNames)
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
	return "neither file, directory nor link"
}

func (c *scan) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// selected reports whether a file is recorded: it is not left out of every checkpoint,
// and it is asked for by name, or selected and either recorded before, or not ignored,
// or in the user's index.
func (w *dirScan) selected(i int, name string) bool {
	if len(w.refused) > 0 && w.refused[w.path+name] {
		return false
	}
	if len(w.sel.Include) > 0 && w.sel.Includes(w.path+name) {
		return true
	}
	if !w.sel.Everything() && !w.sel.Takes(w.path+name) {
		return false
	}
	return w.recorded(i, name) || !w.isIgnored(name, false) || w.repo.Tracks(w.path+name)
}

// recorded reports whether the checkpoint before has the i-th name as a file. Most
// often it is what the last scan found, where the place of the name is known.
func (w *dirScan) recorded(i int, name string) bool {
	if k := w.known[i]; k >= 0 && w.base != nil && w.base.last == w.old {
		e := &w.old.Entries[k]
		return e.taken() && e.Sub == nil
	}
	return w.base.hasFile(name)
}

// subdir goes down, unless nothing there can be recorded.
func (w *dirScan) subdir(i int, name string) {
	full := w.path + name
	var last *CachedDir
	if k := w.known[i]; k >= 0 {
		if last = w.old.Entries[k].Sub; last != nil {
			w.entries[i] = w.old.Entries[k]
			w.entries[i].Flags &^= entryTaken // until it is looked into
		}
	}
	above := w.sel.Above[full] || w.sel.Includes(full)
	if !above && !w.sel.MayHold(full) {
		return
	}
	base, below := w.base.sub(name, last), full+"/"
	if w.refused[full] {
		gone := Skipped{full, "a file of this name is left out of every checkpoint, and so is the directory that has taken its place"}
		w.note(func() { w.skipped = append(w.skipped, gone) })
		return
	}
	ignored := w.isIgnored(name, true) && !w.repo.Tracks(below) // a submodule is not ignored either
	if ignored && base == nil && !above && !w.repo.TracksBelow(below) {
		return
	}
	fd, err := worktree.OpenDirAt(w.fd, name)
	if errors.Is(err, unix.ENOENT) {
		w.vanished()
		return
	} else if err != nil {
		w.fail(unstable(full, "the directory cannot be opened", err))
		return
	}
	next := directory{path: below, fd: fd, rules: w.rules, base: base, on: w.on, repo: w.repo, ignored: ignored, old: last}
	w.spawn(func() {
		sub := w.scan.scanDir(next)
		if sub == nil {
			return
		}
		e := cachedEntry{Name: name, Sub: sub}
		if sub.files > 0 {
			e.Flags |= entryTaken
		}
		if worktree.NeedsEscape(name) || worktree.IsSpecial(name) {
			e.Flags |= entryEscaped // git refuses a directory of a special name
		}
		w.entries[i] = e
	})
}

// spawn runs f beside the walk if there is a token, else at once.
func (w *dirScan) spawn(f func()) {
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

// file takes a file or link: by its fingerprint if it is known, else by
// reading it.
func (w *dirScan) file(i int, name string, st *unix.Stat_t) {
	trusted := false
	if k := w.known[i]; k >= 0 {
		trusted = w.old.trusts(&w.old.Entries[k], st)
		if trusted {
			w.entries[i] = w.old.Entries[k]
			w.entries[i].Flags &^= entryTaken
		}
	}
	if !w.selected(i, name) {
		return
	}
	if secrets.IsPrivate(name) && !w.recorded(i, name) {
		w.note(func() { w.private = append(w.private, w.path+name) })
	}
	if w.count != nil {
		w.count(w.path+name, st.Size)
		return
	}
	if trusted {
		w.entries[i].Flags |= entryTaken
		return
	}
	seen := *st
	w.spawn(func() {
		e, err := w.readFile(name, &seen)
		switch {
		case errors.Is(err, unix.ENOENT): // it vanished
		case err != nil:
			w.fail(err)
		default:
			e.Flags |= entryTaken
			w.entries[i] = e
		}
	})
}

// finish makes the directory of what was found: the last one, if that is all the
// same. A new tree goes to the store.
func (w *dirScan) finish() *CachedDir {
	if w.count != nil {
		return nil
	}
	same, count := 0, 0
	for i := range w.entries {
		if w.entries[i].Name == "" {
			continue
		}
		count++
		if k := w.known[i]; k >= 0 && w.entries[i] == w.old.Entries[k] {
			same++
		}
	}
	if w.old != nil && same == count && count == len(w.old.Entries) && w.old.device == w.on.device {
		w.old.rules = w.own
		return w.relisted()
	}
	entries := make([]cachedEntry, 0, count)
	for i := range w.entries {
		if w.entries[i].Name != "" {
			entries = append(entries, w.entries[i])
		}
	}
	d := newCachedDir(w.on.device, entries)
	d.rules = w.own
	d.listed, d.Others = w.names(len(entries))
	if d.files == 0 {
		return d // it has no tree; the root's is made by the caller
	}
	if w.old != nil && w.old.files > 0 && d.sameTree(w.old) {
		d.Tree = w.old.Tree
		return d
	}
	var err error
	if d.Tree, _, err = w.s.db.PutObject(plumbing.TreeObject, d.encodeTree()); err != nil {
		w.fail(err)
		return nil
	}
	return d
}

// relisted returns the directory as it was, with what it lists now. Who saves the
// stat cache beside the scan reads the directory: it gets another one, if that is new.
func (w *dirScan) relisted() *CachedDir {
	if w.again {
		return w.old
	}
	listed, others := w.names(len(w.old.Entries))
	if w.old.listed == listed && slices.Equal(w.old.Others, others) {
		return w.old
	}
	d := *w.old
	d.listed, d.Others = listed, others
	return &d
}

// names returns what a directory with so many entries keeps of what it lists:
// nothing if another change of it might not show, or it is more than it is worth.
func (w *dirScan) names(entries int) (listed fingerprint, others []otherName) {
	n := len(w.list.names) - entries
	if w.listed.zero() || n > maxOthers(entries) {
		return fingerprint{}, nil
	}
	for i := range w.entries {
		if w.entries[i].Name != "" {
			continue
		}
		if others == nil {
			others = make([]otherName, 0, n)
		}
		others = append(others, otherName{w.name(i), w.list.names[i].kind == kindDir})
	}
	return w.listed, others
}
