package execution

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"hank/internal/proc"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/recovery/lock"
	"hank/state"
)

// Remade is told by the lock that hank's folder was deleted, and that another
// one is in its place. An agent may delete it at any moment, also while hank is
// at work in it, and more than once:
//
//  1. The lock finds that its folder is deleted, and takes the one that stands
//     there, or a new one, if NobodyElses: see lock.takeAnew.
//  2. The next append begins the journal anew, from the state in memory: see
//     mendJournal.
//  3. The next checkpoint, or the end, writes the rest, and asks for a person:
//     see writeAnew. The store that is open is that of the deleted folder, and
//     makes no more checkpoints. One that somebody has put there is judged by the
//     next opening, as any that it finds.
//
// Each is tried again while the deletion goes on, for as long as vandalism says.
func (x *Execution) Remade() {
	if !x.Monitor.wasDeleted() {
		x.notice(nil, "%s was deleted; it is made again from what is in memory, which transcripts and checkpoints are not", layout.Dir)
	}
	x.Monitor.mu.Lock()
	x.Monitor.deleted = true
	x.Monitor.mu.Unlock()
	x.Merger.cancel()
}

// wasDeleted tells whether hank's folder was deleted as a whole.
func (g *guard) wasDeleted() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.deleted
}

// NobodyElses tells whether nothing in hank's folder is of another execution, as
// its readers would see it. What cannot be read as anything is nobody's: it goes
// to quarantine.
func (x *Execution) NobodyElses() bool {
	l, own := x.Layout, x.State().Lineage
	meta, err := layout.ReadMetaFile(x.FS, l.Meta())
	if err == nil && (meta.Foreign() || meta.Lineage != "" && meta.Lineage != own) {
		return false
	}
	if holder, err := lock.ReadLock(x.FS, l.Lock()); err == nil && holder.Foreign() {
		if verdict, _ := holder.Process.Check(); verdict != proc.Dead {
			return false
		}
	}
	m, err := load.Recall(x.FS, l, "", "", &finding.Report{})
	var newer *state.NewerError
	if errors.As(err, &newer) || m.Apart || m.State != nil && m.State.Lineage != own {
		return false
	}
	if _, err := x.FS.Lstat(l.Importing()); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	packs, _ := x.FS.ReadDir(filepath.Join(l.Store(), "objects", "pack"))
	return len(packs) == 0 || meta.Lineage == own || m.State != nil
}

// undeleted calls write, which makes files in hank's folder, again where that is
// being deleted meanwhile.
func (x *Execution) undeleted(write func() error) error {
	for began := time.Now(); ; time.Sleep(layout.Breather) {
		err := write()
		if !errors.Is(err, fs.ErrNotExist) || x.Held() != nil || !x.Monitor.wasDeleted() || time.Since(began) > layout.Vandalism {
			return err
		}
	}
}
