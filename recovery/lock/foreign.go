package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hank/internal/proc"
	"hank/internal/vfs"
	"hank/recovery/layout"
)

// clockSlack is how far a clock may have been set since a time was written.
const clockSlack = time.Minute

// Alive reports whether the process of Hankweave's lock may live: there is one,
// and it is no later one that has got the same pid. A heartbeat that has
// stopped proves nothing: a machine may have slept.
func (h *LockInfo) Alive() (bool, string) {
	last := h.LastHeartbeat.Time
	if h.StartTime.After(last) {
		last = h.StartTime.Time
	}
	return PidAlive(h.PID, last)
}

// PidAlive reports whether a process that was seen at a time may live, where
// only its pid was recorded.
func PidAlive(pid int, seen time.Time) (bool, string) {
	verdict, why := proc.Identity{PID: pid}.Check()
	if verdict == proc.Dead {
		return false, why
	}
	if began, err := proc.StartedAt(pid); err == nil && !seen.IsZero() && began.After(seen.Add(clockSlack)) {
		return false, fmt.Sprintf("process %d was started later, at %s", pid, began.UTC().Format(time.RFC3339))
	}
	return true, why
}

// respect returns a *HeldError while the runtime that wrote the lock file may
// be running, as far as that is not what the flock tells. A token that names
// the lock breaks it.
func (h *LockInfo) respect(l layout.Layout, token string) error {
	if h.LockID == token {
		return nil
	}
	if alive, why := h.Alive(); alive {
		return &HeldError{Path: l.Root, Holder: h, Why: why}
	}
	return nil
}

// RespectUnreadable is for a lock file that cannot be read, or names no process:
// Hankweave would not pass it, so hank does not either, until it has been here
// itself.
func RespectUnreadable(fsys vfs.FS, l layout.Layout, m layout.Meta) error {
	if m.Version == "" || m.Ours() {
		return nil
	}
	h, err := ReadLock(fsys, l.Lock())
	if err == nil && h.Schema == 0 && h.PID <= 0 && h.Process == (proc.Identity{}) {
		err = errors.New("it names no process")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &HeldError{Path: l.Root, Holder: nil, Why: fmt.Sprintf("its lock file does not say who holds it: %v; if no Hankweave is running, remove %s", err, l.Lock())}
	}
	return nil
}
