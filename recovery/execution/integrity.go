package execution

import (
	"errors"
	"io/fs"
	"path/filepath"

	"hank/internal/vfs"
	"hank/recovery/integrity"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state/journal"
)

// Watch begins to watch the execution's own files. A run calls it once, before its first
// agent.
func (x *Execution) Watch() error {
	m, err := integrity.Watch(integrity.Watched{
		FS: x.FS, Layout: x.Layout, Lineage: x.State().Lineage, Store: x.Store, Lock: x.Lock,
		Quarantine: x.QuarantineFile, KeepTip: x.keepTip, OnDelete: x.Merger.stop, Warn: x.Opts.Warn,
	})
	if err != nil {
		return err
	}
	x.Monitor = m
	x.Lock.DirsMu.Lock()
	x.Lock.Watch = m
	x.Lock.DirsMu.Unlock()
	x.StateWriter.Disk.Lock()
	failed := x.StateWriter.Failed
	x.StateWriter.tampered = x.reportState
	x.StateWriter.Failed = func(err error) {
		if !m.WasDeleted() || !errors.Is(err, fs.ErrNotExist) { // the deletion is reported
			failed(err)
		}
	}
	x.StateWriter.Disk.Unlock()
	return nil
}

func (x *Execution) reportState(err error) {
	x.Monitor.Report(err, "state.json (%v); it is rewritten", err)
}

// Noticed returns what was noticed since it was last called.
func (x *Execution) Noticed() []string {
	found := x.Monitor.Notes()
	return found[:min(len(found), MaxNotes)]
}

// Inspect compares all that hank keeps beside Git's objects with what it must be, and
// rewrites what differs. It writes once: where that fails, the run ends.
func (x *Execution) Inspect() error {
	m := x.Monitor
	if m == nil || x.Broken != nil || x.Held() != nil { // after what has broken it nothing is written
		return nil
	}
	deleted := m.WasDeleted()
	if deleted {
		if err := layout.MakeOwnDirs(x.FS, x.Layout); err != nil {
			return err
		}
	}
	m.RestoreModes()
	if err := x.checkJournal(); err != nil {
		return err
	}
	x.checkState()
	if err := m.CheckFiles(x.Metadata, x.State().Newest()); err != nil {
		return err
	}
	if deleted {
		return NeedStore(x.Layout, "the checkpoint store was deleted with "+layout.Dir, AllLost)
	}
	return m.CheckStore()
}

// checkState has state.json rewritten, if somebody else has changed it, and reports
// whether somebody has.
func (x *Execution) checkState() bool {
	err := x.StateWriter.Changed()
	if err != nil {
		x.reportState(err)
		x.StateWriter.Request(x.State(), x.Journal.End(), true)
	}
	return err != nil
}

// checkJournal recreates the journal from the state in memory, if somebody else has
// changed it. What is left of the old one is quarantined.
func (x *Execution) checkJournal() error {
	if x.Monitor == nil || x.Held() != nil { // a lost directory is another matter: see append
		return nil
	}
	x.Monitor.RestoreModes(x.Layout.Hankweave(), x.Layout.Events())
	why := x.Journal.Changed()
	if why == nil {
		return nil
	}
	x.Monitor.Report(why, "the journal (%v); it is recreated from memory, what was left of it is in quarantine", why)
	_ = x.Journal.Close() // it cannot be used any more
	err := x.recreateJournal(why)
	if err != nil {
		x.Broken = err
	}
	return err
}

func (x *Execution) recreateJournal(why error) error {
	events := x.Layout.Events()
	if err := x.QuarantineObstacles(); err != nil {
		return err
	}
	if _, err := x.FS.Lstat(events); err == nil {
		if err := x.QuarantineFile(events, why); err != nil {
			return err
		}
	}
	if err := vfs.MkdirAll(x.FS, events, 0o700); err != nil {
		return err
	}
	base, next, err := x.BaseEvent(x.State(), max(x.State().Seq, x.Journal.Last())+1, "the journal was changed while a codon was running")
	if err != nil {
		return err
	}
	created, err := journal.Create(x.FS, events, base.Seq-1, base)
	if err != nil {
		return err
	}
	x.Journal = created
	x.Current.Store(next)
	x.Monitor.JournalRecreated(filepath.Join(events, "events.jsonl"))
	x.StateWriter.Request(x.State(), x.Journal.End(), true)
	return nil
}

// untampered calls write, which appends to the journal, again if somebody else has changed
// the journal between the comparison and the append.
func (x *Execution) untampered(write func() error) error {
	if x.Broken != nil {
		return x.Broken
	}
	for attempt := 1; ; attempt++ {
		if err := x.checkJournal(); err != nil {
			return err
		}
		err := write()
		if x.Monitor == nil || !errors.Is(err, journal.ErrForeign) || attempt == maxRecreations {
			return err
		}
		x.Broken = nil // nothing was written
	}
}

// maxRecreations is how often the journal is recreated for one event.
const maxRecreations = 3

// lastLook rewrites what somebody else has changed since the last checkpoint. No agent is
// left: what a deletion has kept from being written is written now.
func (x *Execution) lastLook() error {
	if x.Monitor == nil {
		return nil
	}
	held := x.Held()
	var lost *lock.LostError
	isBack := errors.As(x.Broken, &lost) && lost.Deleted && held == nil // another was in its place for a moment
	wroteNothing := errors.Is(x.Broken, journal.ErrForeign) || errors.Is(x.Broken, fs.ErrNotExist)
	if x.Broken != nil && !isBack && !wroteNothing { // the memory may be wrong
		return nil
	}
	if held != nil {
		x.Broken = held
		return held
	}
	changed := x.checkState()
	if !changed && x.Broken == nil && !x.Monitor.WasDeleted() && x.Journal.Changed() == nil {
		return nil
	}
	x.Broken = nil
	return x.Inspect()
}
