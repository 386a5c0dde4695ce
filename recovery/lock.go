package recovery

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/proc"
	"hank/internal/vfs"
	"hank/state"
)

// LockInfo is runtime.lock: it explains who holds an execution. It never
// decides: the flock on the folder does.
type LockInfo struct {
	Schema        int           `json:"schema"`
	PID           int           `json:"pid"`
	LockID        string        `json:"lockId"` // one per acquisition; --break-lock names it
	RunID         state.RunID   `json:"runId,omitempty"`
	Command       string        `json:"command"`
	StartTime     state.Time    `json:"startTime"`
	LastHeartbeat state.Time    `json:"lastHeartbeat"` // for observers on other machines
	Process       proc.Identity `json:"process"`
}

// HeldError says that another runtime holds an execution or a workspace.
type HeldError struct {
	Path   string
	Holder *LockInfo // nil if it did not say who it is
	Why    string
}

func (e *HeldError) Error() string {
	if e.Holder == nil {
		return fmt.Sprintf("%s is held by another hank that does not say who it is (%s)", e.Path, e.Why)
	}
	h := e.Holder
	return fmt.Sprintf("%s is held by hank process %d on %s since %s (%s; %s); wait for it, or end it with: hank stop",
		e.Path, h.PID, h.Process.Host, h.StartTime.Format(time.RFC3339), h.Command, e.Why)
}

// heartbeat is how often a holder refreshes its lock file.
const heartbeat = 30 * time.Second

// lock is the hold on an execution and on its workspace: a flock on each
// folder, for the life of the runtime. The kernel drops both with the process,
// however it ends.
type lock struct {
	fsys   vfs.FS
	layout Layout
	dirs   []*os.File
	info   LockInfo
	stop   chan struct{}
	ended  chan struct{}
}

// acquire takes the execution and the workspace, in this order.
//
//  1. flock the .hankweave folder, without waiting.
//  2. The file system may not tell the truth about flock (a network mount):
//     a foreign holder in runtime.lock whose process is not proven gone is
//     then respected, until breakToken names its lockId.
//  3. flock the workspace, so that two executions cannot share it.
//  4. Write runtime.lock, and refresh it until release.
func acquire(fsys vfs.FS, l Layout, command, breakToken string, now time.Time) (*lock, error) {
	k := &lock{fsys: fsys, layout: l, stop: make(chan struct{}), ended: make(chan struct{})}
	if err := k.take(l.Hankweave()); err != nil {
		return nil, err
	}
	holder, _ := readLock(fsys, l.Lock())
	if holder != nil && holder.LockID != breakToken && !flockTrusted(k.dirs[0]) {
		if alive, why := holder.Process.Check(); alive != proc.Dead {
			err := &HeldError{l.Root, holder, "locks cannot be trusted on this file system, and " + why + "; if it is gone for good: --break-lock " + holder.LockID}
			return nil, errors.Join(err, k.closeDirs())
		}
	}
	if err := k.take(l.Workspace); err != nil {
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
	k.info = LockInfo{Schema: state.SchemaVersion, PID: self.PID, LockID: hex.EncodeToString(token), Command: command,
		StartTime: state.At(now), LastHeartbeat: state.At(now), Process: self}
	if err := k.write(); err != nil {
		return nil, errors.Join(err, k.closeDirs())
	}
	go k.beat()
	return k, nil
}

func (k *lock) take(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := flockPatiently(dir); err != nil {
		holder, _ := readLock(k.fsys, k.layout.Lock())
		if path != k.layout.Hankweave() {
			holder = nil // the lock file here is our own execution's
		}
		return errors.Join(&HeldError{path, holder, err.Error()}, dir.Close())
	}
	k.dirs = append(k.dirs, dir)
	return nil
}

// flockPatiently tries again for a moment: a reader that looks whether the
// folder is held (View.Live) holds it itself while it looks.
func flockPatiently(dir *os.File) error {
	err := flock(dir)
	for tries := 0; err != nil && tries < 10; tries++ {
		time.Sleep(20 * time.Millisecond)
		err = flock(dir)
	}
	return err
}

func readLock(fsys vfs.FS, path string) (*LockInfo, error) {
	text, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return nil, err
	}
	var info LockInfo
	if err := json.Unmarshal(text, &info); err != nil {
		return nil, err
	}
	return &info, nil
}

func (k *lock) write() error {
	text, err := json.Marshal(k.info, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return vfs.WriteFile(k.fsys, k.layout.Lock(), append(text, '\n'), 0o600)
}

// beat refreshes the lock file. A failure is harmless: nothing decides by it.
func (k *lock) beat() {
	defer close(k.ended)
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-k.stop:
			return
		case at := <-tick.C:
			k.info.LastHeartbeat = state.At(at)
			if k.held() == nil {
				_ = k.write()
			}
		}
	}
}

// LostError says that the execution's folder is not where it was: it was
// moved, deleted or replaced while it was held.
type LostError struct{ Path string }

func (e *LostError) Error() string {
	return e.Path + " was moved, deleted or replaced while hank worked in it; hank stops, so that two runtimes cannot meet; what was acknowledged is in the folder that it had open"
}

// held checks that the paths still lead to the folders that are locked.
func (k *lock) held() error {
	for i, path := range []string{k.layout.Hankweave(), k.layout.Workspace} {
		mine, err := k.dirs[i].Stat()
		if err != nil {
			return err
		}
		if there, err := os.Stat(path); err != nil || !os.SameFile(mine, there) {
			return &LostError{path}
		}
	}
	return nil
}

// release gives the locks back and removes the lock file, if the folder is
// still the locked one.
func (k *lock) release() error {
	close(k.stop)
	<-k.ended
	var err error
	if k.held() == nil {
		if rerr := k.fsys.Remove(k.layout.Lock()); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = rerr
		}
	}
	return errors.Join(err, k.closeDirs())
}

func (k *lock) closeDirs() error {
	var errs []error
	for _, d := range k.dirs {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
