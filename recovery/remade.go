package recovery

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"hank/internal/proc"
	"hank/state"
)

// vandalism is how long hank writes again what is deleted at the same time, and
// between the tries it waits for breather.
const (
	vandalism = time.Second
	breather  = 2 * time.Millisecond
)

// remade is told by the lock that hank's folder was deleted, and that another
// one is in its place. An agent may delete it at any moment, also while hank is
// at work in it, and more than once:
//
//  1. The lock finds that its folder is deleted, and takes the one that stands
//     there, or a new one, if nobodyElses: see lock.takeAnew.
//  2. The next append begins the journal anew, from the state in memory: see
//     mendJournal.
//  3. The next checkpoint, or the end, writes the rest, and asks for a person:
//     see writeAnew. The store that is open is that of the deleted folder, and
//     makes no more checkpoints. One that somebody has put there is judged by the
//     next opening, as any that it finds.
//
// Each is tried again while the deletion goes on, for as long as vandalism says.
func (x *Execution) remade() {
	if !x.guard.wasDeleted() {
		x.notice(nil, "%s was deleted; it is made again from what is in memory, which transcripts and checkpoints are not", Dir)
	}
	x.guard.mu.Lock()
	x.guard.deleted = true
	x.guard.mu.Unlock()
	x.merger.cancel()
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

// nobodyElses tells whether nothing in hank's folder is of another execution, as
// its readers would see it. What cannot be read as anything is nobody's: it goes
// to quarantine.
func (x *Execution) nobodyElses() bool {
	l, own := x.Layout, x.State().Lineage
	meta, err := readMeta(x.fs, l.Meta())
	if err == nil && (meta.Foreign() || meta.Lineage != "" && meta.Lineage != own) {
		return false
	}
	if holder, err := readLock(x.fs, l.Lock()); err == nil && holder.foreign() {
		if verdict, _ := holder.Process.Check(); verdict != proc.Dead {
			return false
		}
	}
	m, err := recall(x.fs, l, "", "", &Report{})
	var newer *state.NewerError
	if errors.As(err, &newer) || m.apart || m.state != nil && m.state.Lineage != own {
		return false
	}
	if _, err := x.fs.Lstat(l.importing()); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	packs, _ := x.fs.ReadDir(filepath.Join(l.Store(), "objects", "pack"))
	return len(packs) == 0 || meta.Lineage == own || m.state != nil
}

// undeleted calls write, which makes files in hank's folder, again where that is
// being deleted meanwhile.
func (x *Execution) undeleted(write func() error) error {
	for began := time.Now(); ; time.Sleep(breather) {
		err := write()
		if !errors.Is(err, fs.ErrNotExist) || x.Held() != nil || !x.guard.wasDeleted() || time.Since(began) > vandalism {
			return err
		}
	}
}
