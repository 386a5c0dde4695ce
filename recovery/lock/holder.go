package lock

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/proc"
	"hank/internal/shell"
	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/state"
)

// LockInfo is runtime.lock: it explains who holds an execution. It never
// decides: the flock on the directory does.
type LockInfo struct {
	Schema        int           `json:"schema"`
	PID           int           `json:"pid"`
	LockID        string        `json:"lockId"` // one per acquisition; --break-lock names it
	RunID         state.RunID   `json:"runId,omitempty"`
	Command       string        `json:"command"`
	StartTime     state.Time    `json:"startTime"`
	LastHeartbeat state.Time    `json:"lastHeartbeat"` // when the holder was last known to live
	Process       proc.Identity `json:"process"`

	pidOnly bool // the file is a number
}

// Foreign reports whether a lock was written by Hankweave, which numbers no
// schema, describes no process but by its pid, and gives a sign of life from the
// beginning. Its oldest versions wrote the pid alone. A lock of hank's with one
// of its names damaged is not one.
func (h *LockInfo) Foreign() bool {
	return h.Schema == 0 && h.PID > 0 && h.Process == (proc.Identity{}) && (!h.LastHeartbeat.IsZero() || h.pidOnly)
}

// Runs reports whether the holder is the runtime of a run.
func (h *LockInfo) Runs(r *state.Run) bool {
	var id proc.Identity
	return h != nil && len(r.Process) > 0 && json.Unmarshal(r.Process, &id) == nil && h.Process == id
}

// HeldError says that another runtime holds an execution or a workspace.
type HeldError struct {
	Path      string
	Holder    *LockInfo // nil if it did not say who it is
	Execution string    // the holder's, if it is another one
	Why       string
}

func (e *HeldError) Error() string {
	h := e.Holder
	if h != nil && h.Foreign() {
		return fmt.Sprintf("%s is held by Hankweave, process %d (%s; its last sign of life was at %s); wait for it, or end it; if it is gone permanently: --break-lock %s",
			e.Path, h.PID, e.Why, h.LastHeartbeat.Format(time.RFC3339), h.LockID)
	}
	who, why, option := "another process that does not say who it is", e.Why, ""
	if h != nil {
		who = fmt.Sprintf("hank process %d on %s since %s", h.PID, h.Process.Host, h.StartTime.Format(time.RFC3339))
		why = h.Command + "; " + why
	}
	if e.Execution != "" {
		who, option = who+" for the execution "+e.Execution, " -e "+shell.Quote(e.Execution)
	}
	if root := e.root(); root != "" {
		option = " -e " + shell.Quote(root)
	}
	if h == nil && e.Execution == "" {
		return fmt.Sprintf("%s is held by %s (%s); wait for it, or find it with: `hank ls`, and end it with: `hank stop -e DIR`", e.Path, who, why)
	}
	return fmt.Sprintf("%s is held by %s (%s); wait for it, or end it with: `hank stop%s`", e.Path, who, why, option)
}

// root is the execution that is held, where a command does not find it from here
// by itself; empty where it does, or where another one is the holder's.
func (e *HeldError) root() string {
	if e.Execution != "" {
		return ""
	}
	root := e.Path
	if filepath.Base(root) == layout.Dir {
		root = filepath.Dir(root)
	}
	if found, err := layout.Find("."); err == nil && found == root {
		return ""
	}
	return root
}

// ReadLock reads a lock file, also one that an old Hankweave wrote.
func ReadLock(fsys vfs.FS, path string) (*LockInfo, error) {
	text, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return nil, err
	}
	var info LockInfo
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil { // as an old Hankweave wrote it
		return &LockInfo{PID: pid, LockID: strconv.Itoa(pid), pidOnly: true}, nil
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return nil, err
	}
	return &info, nil
}
