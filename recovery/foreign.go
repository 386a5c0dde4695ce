package recovery

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/checkpoint"
	"hank/internal/proc"
	"hank/internal/vfs"
	"hank/state"
)

// An execution that Hankweave began is adopted by the first command that
// writes to it. What it left is read as it is:
//
//   - state.json has none of hank's additions; state.Adopt fills them in, from
//     the branches of its store. The store itself is a git repository and goes
//     on as it is.
//   - Its journal has lines without numbers and checksums. It is no damage: the
//     whole folder is set aside, and hank's own journal begins with the state.
//   - runtime.lock decides there, and explains here: no Hankweave holds a flock,
//     so its lock is respected while its process may live.

// adopting is why the journal of an adopted execution begins anew.
const adopting = "this execution was begun by Hankweave"

// isForeign tells whether the best of the snapshots are another runtime's, in
// an execution that hank has not written to yet.
func isForeign(snaps []candidate, lineage string) bool {
	return lineage == "" && len(snaps) > 0 && snaps[0].state.Lineage == ""
}

// ForeignJournal tells whether the journal of an execution is Hankweave's.
func ForeignJournal(l Layout) bool { return foreignJournal(vfs.OS, l) }

// foreignJournal: its first line is an event without number and checksum, or
// all there is are the packed forms that Hankweave gives to the journal of a
// run that has ended.
func foreignJournal(fsys vfs.FS, l Layout) bool {
	f, err := vfs.Open(fsys, filepath.Join(l.Events(), "events.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		for _, name := range []string{"events.jsonl.zst", "journal.meta.json"} {
			if _, err := fsys.Lstat(filepath.Join(l.Events(), name)); err == nil {
				return true
			}
		}
		return false
	}
	if err != nil {
		return false
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 1<<20)).ReadBytes('\n')
	_, ok := foreignEvent(line)
	return ok
}

// ForeignEvent is an event in a journal of Hankweave.
type ForeignEvent struct {
	ID        string         `json:"id"`
	Timestamp state.Time     `json:"timestamp"`
	Type      string         `json:"type"`
	Data      jsontext.Value `json:"data"`
	Seq       jsontext.Value `json:"seq"` // only hank's have it
}

func foreignEvent(line []byte) (ForeignEvent, bool) {
	var e ForeignEvent
	err := json.Unmarshal(line, &e)
	return e, err == nil && e.ID != "" && e.Type != "" && e.Seq == nil
}

// ReadForeignEvents calls fn for each event of the journal that Hankweave has
// left, with the number of its line. Lines that cannot be read are passed over,
// as Hankweave does.
func (v *View) ReadForeignEvents(fn func(line uint64, e ForeignEvent) error) error {
	path := filepath.Join(v.Layout.Events(), "events.jsonl")
	f, err := vfs.OS.OpenFile(path, 0, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return &DecisionError{What: "the journal in " + v.Layout.Events() + " is packed, as Hankweave does when a run has ended",
			Options: []string{"unpack it with: hankweave --restore-journal " + v.Layout.Root}}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for n := uint64(1); ; n++ {
		line, err := lines.ReadBytes('\n')
		if e, ok := foreignEvent(line); ok {
			if err := fn(n, e); err != nil {
				return err
			}
		}
		if err != nil {
			return errors.Join(ignoreEOF(err))
		}
	}
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// adopt makes a foreign state one that hank can go on from. The branches of
// the store say where its runs stand.
func (g chronicle) adopt(s *state.State) (*state.State, error) {
	if g.store == nil {
		return s.Adopt("", nil)
	}
	tips, _, err := g.heads()
	if err != nil {
		return nil, err
	}
	return s.Adopt(tips["main"], tips)
}

// foreign tells whether a lock was written by Hankweave, which numbers no
// schema, describes no process but by its pid, and gives a sign of life from the
// beginning. Its oldest versions wrote the pid alone. A lock of hank's with one
// of its names damaged is not one.
func (h *LockInfo) foreign() bool {
	return h.Schema == 0 && h.PID > 0 && h.Process == (proc.Identity{}) && (!h.LastHeartbeat.IsZero() || h.pidOnly)
}

// clockSlack is how far a clock may have been set since a time was written.
const clockSlack = time.Minute

// alive tells whether the process of Hankweave's lock may live: there is one,
// and it is no later one that has got the same pid. A heartbeat that has
// stopped proves nothing: a machine may have slept.
func (h *LockInfo) alive() (bool, string) {
	last := h.LastHeartbeat.Time
	if h.StartTime.After(last) {
		last = h.StartTime.Time
	}
	return pidAlive(h.PID, last)
}

// pidAlive tells whether a process that was seen at a time may live, where
// only its pid was recorded.
func pidAlive(pid int, seen time.Time) (bool, string) {
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
// be at work, as far as that is not what the flock tells. A token that names
// the lock breaks it.
func (h *LockInfo) respect(l Layout, token string) error {
	if h.LockID == token {
		return nil
	}
	if alive, why := h.alive(); alive {
		return &HeldError{Path: l.Root, Holder: h, Why: why}
	}
	return nil
}

// respectUnreadable is for a lock file that cannot be read, or names no process:
// Hankweave would not pass it, so hank does not either, until it has been here
// itself.
func respectUnreadable(fsys vfs.FS, l Layout, m Meta) error {
	if m.Version == "" || m.ours() {
		return nil
	}
	h, err := readLock(fsys, l.Lock())
	if err == nil && h.Schema == 0 && h.PID <= 0 && h.Process == (proc.Identity{}) {
		err = errors.New("it names no process")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &HeldError{Path: l.Root, Holder: nil, Why: fmt.Sprintf("its lock file does not say who holds it: %v; if no Hankweave is at work, remove %s", err, l.Lock())}
	}
	return nil
}

// respectRunning returns a *HeldError if a run of a foreign state may be at
// work though there is no lock file.
func (x *Execution) respectRunning(s *state.State) error {
	for _, r := range s.Runs {
		if r.Status != state.StatusRunning {
			continue
		}
		if over, why := isOver(r, false); !over {
			return &HeldError{Path: x.Layout.Root, Why: fmt.Sprintf("run %s is running and its process %d is not proven gone: %s", r.RunID, r.ServerPid, why)}
		}
	}
	return nil
}

// byHankweave tells whether a checkpoint is one of Hankweave's: it has no
// record.
func byHankweave(store *checkpoint.Store, sha state.SHA) bool {
	info, err := store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return false
	}
	_, found, err := readRecord(info)
	return err == nil && !found
}

// IsHankweaves tells whether a checkpoint is one of Hankweave's. They leave out
// links and nested repositories, so that what one has not is no edit.
func IsHankweaves(s *state.State, store *checkpoint.Store, sha state.SHA) bool {
	return s.Adopted && byHankweave(store, sha)
}

// handOver keeps the workspace as Hankweave left it, in a checkpoint whose
// record carries the whole state: the commits of Hankweave tell too little to
// rebuild it from git alone.
func (x *Execution) handOver(ctx context.Context) error {
	if done, err := x.handedOver(); err != nil || done {
		return err
	}
	snap, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, x.Head())
	if err != nil {
		return fmt.Errorf("keeping the workspace as Hankweave left it: %w", err)
	}
	const note = "the workspace as Hankweave left it"
	branch := x.RecoveryBranch()
	sha, err := x.Commit(ctx, Commit{
		Title: Title{Status: state.KindRecovery, Name: note}, Snapshot: snap, Parents: []state.SHA{x.Head()}, Branch: branch,
		Transition: state.CheckpointCreated{Kind: state.KindRecovery, Branch: branch, Note: note}, Whole: true,
	})
	if err == nil {
		x.Report.add(Note, "the workspace as Hankweave left it is checkpoint %.12s; its journal is in %s", sha, x.Layout.Quarantine())
	}
	return err
}

// handedOver tells whether there is nothing to hand over, any more or at all. A
// run of hank's own only begins behind it.
func (x *Execution) handedOver() (bool, error) {
	s := x.State()
	if r := s.Newest(); !s.Adopted || r != nil && len(r.Process) > 0 {
		return true, nil
	}
	refs, err := x.Store.Refs(heads + "recovery/")
	for _, tip := range refs {
		info, cerr := x.Store.CommitInfo(tip)
		if cerr != nil {
			continue // the next one may be it
		}
		if r, found, _ := readRecord(info); found && len(r.State) > 0 {
			return true, nil
		}
	}
	return false, err
}
