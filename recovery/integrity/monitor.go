package integrity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/recovery/lock"
)

// Watched is what a Monitor watches, and what it needs for that.
type Watched struct {
	FS      vfs.FS
	Layout  layout.Layout
	Lineage string // of the execution
	Store   *checkpoint.Store
	Lock    *lock.Lock
	// Quarantine moves a file away and keeps why.
	Quarantine func(path string, why error) error
	// KeepTip keeps a commit that a reference led to, which is set to another one, and
	// returns the branch that leads to it; empty: the other one leads to it too.
	KeepTip func(tip, to checkpoint.SHA) (branch string, err error)
	// OnDelete is called when hank's directory was deleted as a whole.
	OnDelete func()
	Warn     func(string)
}

// Monitor compares hank's own files with what they must be. The methods that only take
// note do nothing on a nil Monitor: nothing is watched then.
type Monitor struct {
	Watched
	modes map[string]fs.FileMode         // of directories
	files map[string][]byte              // small files of the store; nil: not there
	refs  map[string]checkpoint.SHA      // all references
	names map[string]map[string]struct{} // by directory: the entries that were there, or are reported

	mu      sync.Mutex
	notes   []string // what was noticed and not yet returned by Notes
	deleted bool     // hank's directory, as a whole
}

// changed begins a sentence about something that was noticed.
const changed = "hank's own files were changed while the codon was running: "

// Watch returns a Monitor that takes the files as they are for what they must be.
func Watch(w Watched) (*Monitor, error) {
	m := &Monitor{Watched: w, modes: map[string]fs.FileMode{}, files: map[string][]byte{}, names: map[string]map[string]struct{}{}}
	var err error
	if m.refs, err = w.Store.Refs("refs/"); err != nil {
		return nil, err
	}
	for _, dir := range m.directories() {
		if fi, err := os.Lstat(dir); err == nil && fi.IsDir() {
			m.modes[dir] = fi.Mode().Perm()
		}
	}
	for _, name := range []string{"HEAD", "config", "info/exclude", "info/attributes", "packed-refs", "shallow"} {
		if err := m.Rewritten(filepath.Join(w.Layout.Store(), filepath.FromSlash(name))); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{w.Layout.Hankweave(), w.Layout.Events()} {
		m.names[dir] = map[string]struct{}{}
		list, err := w.FS.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			m.names[dir][e.Name()] = struct{}{}
		}
	}
	return m, nil
}

// directories are those whose modes are kept, parents first.
func (m *Monitor) directories() []string {
	l := m.Layout
	store := l.Store()
	return []string{l.Hankweave(), l.Events(), l.Runs(), l.Index(), l.Quarantine(), l.Homes(), l.Temps(), l.Reports(), filepath.Dir(store), store,
		filepath.Join(store, "objects"), filepath.Join(store, "objects", "pack"), filepath.Join(store, "refs"), filepath.Join(store, "refs", "heads"), filepath.Join(store, "info")}
}

// Rewritten takes a small file of the store, which hank has just written, for what it
// must be.
func (m *Monitor) Rewritten(path string) error {
	if m == nil {
		return nil
	}
	text, err := vfs.ReadFile(m.FS, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m.files[path] = text
	return nil
}

// RefMoved takes note that hank has moved a reference.
func (m *Monitor) RefMoved(ref string, to checkpoint.SHA) {
	if m != nil {
		m.refs[ref] = to
	}
}

// JournalRecreated takes note that the directory of the journal holds one file.
func (m *Monitor) JournalRecreated(file string) {
	m.names[filepath.Dir(file)] = map[string]struct{}{filepath.Base(file): {}}
}

// Report keeps for the record that something was changed, and warns, once. seen is the
// error that has shown it, if one has. After hank's directory was deleted everything is
// missing, perhaps repeatedly: the deletion alone is reported.
func (m *Monitor) Report(seen error, format string, args ...any) {
	what := changed + fmt.Sprintf(format, args...)
	if m.WasDeleted() && errors.Is(seen, fs.ErrNotExist) {
		return
	}
	if m.Note(what) {
		m.Warn("warning: " + what)
	}
}

// Note keeps a sentence for the record without a warning, and reports whether it is new.
func (m *Monitor) Note(what string) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(m.notes, what) {
		return false
	}
	m.notes = append(m.notes, what)
	return true
}

// Notes returns what was noticed since it was last called.
func (m *Monitor) Notes() []string {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	notes := m.notes
	m.notes = nil
	return notes
}

// RestoreModes gives directories the modes back that they had; without names, all of
// them.
func (m *Monitor) RestoreModes(dirs ...string) {
	if len(dirs) == 0 {
		dirs = m.directories()
	}
	for _, dir := range dirs {
		want, known := m.modes[dir]
		fi, err := os.Lstat(dir)
		if !known || err != nil || !fi.IsDir() || fi.Mode().Perm() == want {
			continue
		}
		m.Report(nil, "the mode of %s was %04o; it is %04o again", m.Layout.Relative(dir), fi.Mode().Perm(), want)
		if err := os.Chmod(dir, want); err != nil {
			m.Warn(fmt.Sprintf("warning: %v", err)) // whatever needs the directory fails and reports it
		}
	}
}

// isStarved reports whether an error says nothing about the file: this process, or the
// machine, has no descriptors or no memory left. An agent can cause that (prlimit), and
// nothing is quarantined because of it.
func isStarved(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}
