package lock

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/failpoint"
	"hank/internal/flock"
	"hank/internal/proc"
	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/state"
)

// MayActIn returns a *proc.DeniedError where a codon has started this process and
// the execution, or a workspace that is named for it, is not the codon's to act on.
func MayActIn(root, workspace string) error {
	if err := MayAct(root); err != nil || workspace == "" {
		return err
	}
	return proc.MayAct(os.Getpid(), workspace, "")
}

// MayAct is [proc.MayAct] for this process and the execution in root, wherever that is known to be.
func MayAct(root string) error {
	meta, _ := layout.ReadMeta(root) // without one there is no execution yet
	for _, at := range layout.Places(root, meta) {
		if err := proc.MayAct(os.Getpid(), at, meta.Lineage); err != nil {
			return err
		}
	}
	return nil
}

// heartbeat is how often a holder refreshes its lock file. It is also how much of the work
// of a runtime that was killed is not known.
const heartbeat = 2 * time.Second

// Lock is the hold on an execution and on its workspace: a flock on each
// directory, for the life of the runtime. The kernel drops both with the process,
// however it ends.
type Lock struct {
	fsys   vfs.FS
	layout layout.Layout
	around []*os.File // the directories that the workspace is in
	Mu     sync.Mutex // guards Info, and its file
	Info   LockInfo
	Left   *LockInfo // the lock file that was found; nil: there was none that can be read

	stop  chan struct{}
	ended chan struct{}

	DirsMu sync.Mutex // guards what follows
	Dirs   []*os.File
	names  []os.FileInfo // what the paths of dirs named, links not followed
	at     layout.DirID  // the workspace
	// A deleted directory is a lost one, unless a watch is set that writes it again.
	Watch  watch
	waited bool // in vain, for the directory that is where it was
}

// watch is told when the execution's directory was deleted.
type watch interface {
	// IsUnclaimed reports whether nothing of another execution is in the directory that
	// has the name now.
	IsUnclaimed() bool
	// Recreated is called when that directory, or a new one, is the locked one.
	Recreated()
}

// Acquire takes the execution and the workspace, in this order.
//
//  1. flock the .hankweave directory, without waiting.
//  2. The file system may not tell the truth about flock (a network mount):
//     a foreign holder in runtime.lock whose process is not proven gone is
//     then respected, until breakToken names its lockId.
//     So is a Hankweave, which locks by this file alone.
//  3. flock the workspace, so that two executions cannot share it, and with a
//     shared lock the directories that it is in: see lockAncestors.
//  4. Write runtime.lock, where the disk is full after fullDisk has made room,
//     and refresh it until release. What has its name and
//     is no file is set aside. (lock.written)
func Acquire(fsys vfs.FS, l layout.Layout, command, breakToken string, now time.Time, fullDisk func() error) (*Lock, error) {
	k := &Lock{fsys: fsys, layout: l, stop: make(chan struct{}), ended: make(chan struct{})}
	if err := k.take(l.Hankweave()); err != nil {
		return nil, err
	}
	holder, _ := ReadLock(fsys, l.Lock())
	k.Left = holder
	if holder != nil && holder.Foreign() {
		if err := holder.respect(l, breakToken); err != nil {
			return nil, errors.Join(err, k.closeDirs())
		}
	} else if holder != nil && holder.LockID != breakToken && !FlockTrusted(k.Dirs[0]) {
		if alive, why := holder.Process.Check(); alive != proc.Dead {
			err := &HeldError{Path: l.Root, Holder: holder, Why: "locks cannot be trusted on this file system, and " + why + "; if it is gone permanently: --break-lock " + holder.LockID}
			return nil, errors.Join(err, k.closeDirs())
		}
	}
	if err := k.take(l.Workspace); err != nil {
		return nil, errors.Join(err, k.closeDirs())
	}
	at, err := layout.DirAt(l.Workspace)
	if err != nil {
		return nil, errors.Join(err, k.closeDirs())
	}
	k.at = at
	if err := k.lockAncestors(); err != nil {
		return nil, errors.Join(err, k.closeDirs())
	}
	self, err := proc.Self()
	if err != nil {
		return nil, errors.Join(err, k.closeDirs())
	}
	token := make([]byte, 8)
	if _, err := rand.Read(token); err != nil {
		return nil, errors.Join(err, k.closeDirs())
	}
	k.Info = LockInfo{Schema: state.SchemaVersion, PID: self.PID, LockID: hex.EncodeToString(token), Command: command,
		StartTime: state.At(now), LastHeartbeat: state.At(now), Process: self}
	err = k.WriteFirst()
	if fullDisk != nil && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
		if err = fullDisk(); err == nil {
			err = k.WriteFirst()
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("taking the execution %s: its lock file cannot be written: %w", l.Root, err), k.closeDirs())
	}
	failpoint.Hit("lock.written")
	go k.beat()
	return k, nil
}

func (k *Lock) take(path string) error {
	name, err := os.Lstat(path)
	if err != nil {
		return err
	}
	dir, err := flock.OpenDir(path)
	if err != nil {
		return err
	}
	err = flock.Exclusive(dir)
	if errors.Is(err, flock.ErrHeld) && !(path == k.layout.Hankweave() && k.holderStays()) {
		err = retryFor(patience, flock.Exclusive, dir)
	}
	if err != nil {
		held := &HeldError{Path: path, Why: "its directory is locked"}
		if !errors.Is(err, flock.ErrHeld) {
			held.Why = err.Error()
		}
		if path == k.layout.Hankweave() {
			held.Holder, _ = ReadLock(k.fsys, k.layout.Lock())
		} else { // the lock file here is our own execution's
			held.Execution, held.Holder = holderOf(path, k.layout.Root)
		}
		return errors.Join(held, dir.Close())
	}
	k.Dirs, k.names = append(k.Dirs, dir), append(k.names, name)
	return nil
}

// holderStays tells that the lock of the execution's directory is that of the
// process that the lock file names, so that to wait for a reader is in vain: a
// holder removes the file before it lets go. Where nobody can tell whether that
// process lives, as of one in another container, it has the lock if not even a
// shared one can be had: readers share theirs.
func (k *Lock) holderStays() bool {
	h, err := ReadLock(k.fsys, k.layout.Lock())
	if err != nil {
		return false
	}
	verdict, _ := h.Process.Check()
	if verdict != proc.Unknown {
		return verdict == proc.Alive
	}
	probe, err := flock.OpenDir(k.layout.Hankweave())
	if err != nil {
		return false
	}
	defer flock.Close(probe)
	return errors.Is(flock.Shared(probe), flock.ErrHeld)
}

// retryFor tries to lock again for a while: a reader that looks whether the directory is
// held (View.Live) holds it itself while it looks, and what a dead holder was starting
// has its descriptors until it executes its program.
func retryFor(patience time.Duration, lock func(*os.File) error, dir *os.File) error {
	err := lock(dir)
	for began := time.Now(); errors.Is(err, flock.ErrHeld) && time.Since(began) <= patience; err = lock(dir) {
		time.Sleep(time.Millisecond)
	}
	return err
}

// patience is how long a lock that somebody else has is waited for.
const patience = 200 * time.Millisecond

func (k *Lock) write(d vfs.Durability) error {
	text, err := json.Marshal(k.Info, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return vfs.ReplaceFile(k.fsys, k.layout.Lock(), append(text, '\n'), 0o600, d)
}

// WriteFirst is write by one who has just got the lock.
func (k *Lock) WriteFirst() error {
	path := k.layout.Lock()
	if fi, err := k.fsys.Lstat(path); err == nil && !fi.Mode().IsRegular() {
		q := layout.Quarantine{FS: k.fsys, Dir: k.layout.Quarantine(), Now: time.Now}
		if err := q.Move(path, fmt.Errorf("%s is where the lock file must be", layout.What(path, fi))); err != nil {
			return err
		}
	}
	return k.write(vfs.Durable)
}

// beat refreshes the lock file. A failure is harmless, as is the loss of the file in a power
// cut: nothing decides by it.
func (k *Lock) beat() {
	defer close(k.ended)
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-k.stop:
			return
		case at := <-tick.C:
			k.Mu.Lock()
			k.Info.LastHeartbeat = state.At(at)
			if k.Held() == nil {
				_ = k.write(vfs.Volatile)
			}
			k.Mu.Unlock()
		}
	}
}

// LostError says that the execution's directory is not where it was: it was
// moved, deleted or replaced while it was held.
type LostError struct {
	Path    string
	Deleted bool // it is hank's own, and nowhere any more
	Taken   bool // and what is in its place is not this execution's
}

func (e *LostError) Error() string {
	if e.Taken {
		return e.Path + " was deleted while hank worked in it, and what is there now is not this execution's, or is held; hank stops, and has not touched it; what was acknowledged is no longer in any directory"
	}
	if e.Deleted {
		return e.Path + " was deleted while hank worked in it, and cannot be recreated; hank stops; what was acknowledged is no longer in any directory: put a copy there if you have one, else `hank run` starts from scratch with the workspace as it is"
	}
	return e.Path + " was moved, deleted or replaced while hank worked in it; hank stops, so that two processes cannot write to the same execution; what was acknowledged is in the directory that it had open: put that back, then `hank run` continues"
}

// Is makes one loss of a directory the same as another.
func (e *LostError) Is(other error) bool {
	o, ok := other.(*LostError)
	return ok && *o == *e
}

// Held checks that the path of hank's own directory still leads to the one that is
// locked, and not by a link that was put there. For the workspace see OnWorkspace:
// what the journal is told does not depend on it.
func (k *Lock) Held() error {
	k.DirsMu.Lock()
	defer k.DirsMu.Unlock()
	path := k.layout.Hankweave()
	mine, err := k.Dirs[0].Stat()
	if err != nil || k.leadsTo(0, path, mine) {
		return err
	}
	deleted := layout.IsDeleted(mine)
	if !deleted || k.Watch == nil {
		return &LostError{Path: path, Deleted: deleted}
	}
	if err := k.recreate(path); err != nil {
		return &LostError{path, true, errors.Is(err, errForeign) || errors.Is(err, flock.ErrHeld)}
	}
	k.Watch.Recreated()
	return nil
}

// leadsTo reports whether a path still leads to the directory that is open.
func (k *Lock) leadsTo(i int, path string, mine os.FileInfo) bool {
	name, err := os.Lstat(path)
	if err != nil || !os.SameFile(k.names[i], name) {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// Unwatch ends that a deleted directory is made again.
func (k *Lock) Unwatch() {
	k.DirsMu.Lock()
	defer k.DirsMu.Unlock()
	k.Watch = nil
}

// recreate makes the execution's directory again and locks it. One that is deleted can
// never come back, and nobody else can hold it. There may be another one by then: what hank
// writes while the directory is being deleted makes it again, and so may whoever has
// deleted it. That is taken where nobody holds it, and where it is not another execution's.
// Another runtime that starts there holds it until it finds the workspace held: that is
// waited for, once.
func (k *Lock) recreate(path string) error {
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		err := k.recreateOnce(path)
		if err == nil || errors.Is(err, errForeign) || k.waited {
			return err
		}
		k.waited = time.Since(began) > recreateTimeout
	}
}

// recreateTimeout is how long a directory that has the name of a deleted one is waited for.
const recreateTimeout = time.Second

// errForeign says that what has the directory's name is not this execution's.
var errForeign = errors.New("it is not this execution's")

func (k *Lock) recreateOnce(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	name, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !name.IsDir() {
		return errForeign
	}
	dir, err := flock.OpenDir(path)
	if err != nil {
		return err
	}
	opened, err := dir.Stat()
	if err == nil {
		err = flock.Exclusive(dir)
	}
	there, lerr := os.Lstat(path) // whoever had it may have removed it
	switch {
	case err != nil:
	case lerr != nil || !os.SameFile(opened, there) || !os.SameFile(name, there):
		err = flock.ErrHeld
	case !k.Watch.IsUnclaimed():
		err = errForeign
	}
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	_ = flock.Close(k.Dirs[0]) // of a directory that is no more
	k.Dirs[0], k.names[0] = dir, name
	return nil
}

// Release removes the lock file, if the directory is still the locked one, and gives
// the locks back. The file stays open until then: where the disk is told of each
// freed block, to free one takes longer than others wait for the lock of one who
// has left no name.
func (k *Lock) Release() error {
	close(k.stop)
	<-k.ended
	var err error
	if k.Held() == nil {
		if file, oerr := vfs.Open(k.fsys, k.layout.Lock()); oerr == nil {
			defer file.Close()
		}
		if rerr := k.fsys.Remove(k.layout.Lock()); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = fmt.Errorf("the lock file cannot be removed, which harms nothing: %w", rerr)
		}
	}
	return errors.Join(err, k.closeDirs())
}

func (k *Lock) closeDirs() error {
	var errs []error
	for _, d := range slices.Concat(k.Dirs, k.around) {
		errs = append(errs, flock.Close(d))
	}
	return errors.Join(errs...)
}
