package recovery

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"hank/checkpoint"
	"hank/state"
)

// vandalism is how long hank writes again what is deleted at the same time.
const vandalism = time.Second

// remade is told by the lock that hank's folder was deleted, and that another
// one is in its place. An agent may delete it at any moment, also while hank is
// at work in it, and more than once:
//
//  1. The lock finds that its folder is deleted, and takes the one that stands
//     there, or a new one, if nobodyElses: see lock.takeAnew.
//  2. The next append begins the journal anew, from the state in memory: see
//     mendJournal.
//  3. The next checkpoint, or the end, writes the rest: see writeAnew. The store
//     that is open is that of the deleted folder; the one that is there counts
//     only if it has all of the newest checkpoint: see retakeStore.
//
// Each is tried again while the deletion goes on, for as long as vandalism says.
func (x *Execution) remade() {
	if _, due := x.guard.toRebuild(); !due {
		x.notice(nil, "%s was deleted; it is made again from what is in memory, which transcripts and checkpoints are not", Dir)
	}
	x.guard.mu.Lock()
	x.guard.deleted++
	x.guard.mu.Unlock()
}

// toRebuild tells whether hank's folder was deleted and is not yet written anew,
// and which deletion that was.
func (g *guard) toRebuild() (deletion int, due bool) {
	if g == nil {
		return 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.deleted, g.deleted != g.rebuilt
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
	for began := time.Now(); ; {
		err := write()
		if !errors.Is(err, fs.ErrNotExist) || time.Since(began) > vandalism || x.Held() != nil {
			return err
		}
	}
}

// retakeStore opens the store that is in the folder now. Without it, or where it
// lacks something of the newest checkpoint, a person must decide, as at any
// opening: *DecisionError.
func (x *Execution) retakeStore() error {
	store, err := checkpoint.Open(x.storeOptions())
	var damaged *checkpoint.DamagedError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged) {
		return x.needStore("the checkpoint store was deleted with " + Dir)
	}
	if err != nil {
		return err
	}
	x.merger.close()
	x.Store.DropCache() // of packs that are gone
	_ = x.Store.Close()
	x.Store, x.merger = store, newMerger(store, x.opts.Warn)
	if err := x.Store.DistrustCache(); err != nil {
		return err
	}
	if !x.isWhole(x.Head()) {
		return x.needStore("the checkpoint store that is in " + Dir + " since it was deleted has not all of the newest checkpoint")
	}
	return nil
}
