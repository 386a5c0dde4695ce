package integrity

import (
	"errors"
	"io/fs"
	"path/filepath"

	"hank/internal/proc"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/recovery/lock"
	"hank/state"
)

// Recreated is called by the lock when hank's directory was deleted and another one has
// its name. An agent may delete it at any moment, also while hank is writing in it, and
// more than once:
//
//  1. The lock finds its directory deleted. It takes the one that has the name now, if
//     IsUnclaimed, or a new one.
//  2. The next event recreates the journal, from the state in memory.
//  3. The next checkpoint, or closing the execution, writes the rest once, and ends with a
//     decision: the open store is that of the deleted directory and makes no more
//     checkpoints. A store that somebody has put there is judged by the next opening, as
//     any that it finds.
//
// Nothing is written in a loop against a deletion that continues: what fails stops the run,
// and closing the execution, when no agent is left, writes once more.
func (m *Monitor) Recreated() {
	if !m.WasDeleted() {
		m.Report(nil, "%s was deleted; it is recreated from memory, which does not hold transcripts and checkpoints", layout.Dir)
	}
	m.mu.Lock()
	m.deleted = true
	m.mu.Unlock()
	m.OnDelete()
}

// WasDeleted reports whether hank's directory was deleted as a whole.
func (m *Monitor) WasDeleted() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.deleted
}

// IsUnclaimed reports whether nothing in hank's directory belongs to another execution, as
// its readers would see it. What cannot be read belongs to nobody: it is quarantined.
func (m *Monitor) IsUnclaimed() bool {
	l, own := m.Layout, m.Lineage
	meta, err := layout.ReadMetaFile(m.FS, l.Meta())
	if err == nil && (meta.Foreign() || meta.Lineage != "" && meta.Lineage != own) {
		return false
	}
	if holder, err := lock.ReadLock(m.FS, l.Lock()); err == nil && holder.Foreign() {
		if verdict, _ := holder.Process.Check(); verdict != proc.Dead {
			return false
		}
	}
	loaded, err := load.Load(m.FS, l, "", "", &finding.Report{})
	var newer *state.NewerError
	if errors.As(err, &newer) || loaded.Apart || loaded.State != nil && loaded.State.Lineage != own {
		return false
	}
	if _, err := m.FS.Lstat(l.Importing()); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	packs, _ := m.FS.ReadDir(filepath.Join(l.Store(), "objects", "pack"))
	return len(packs) == 0 || meta.Lineage == own || loaded.State != nil
}
