package integrity

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
)

// CheckFiles rewrites the lock file, the meta and the directory of the run where they are
// not what they must be.
func (m *Monitor) CheckFiles(meta layout.Meta, run *state.Run) error {
	return errors.Join(m.checkLock(), m.checkMeta(meta), m.checkRun(run))
}

func (m *Monitor) checkLock() error {
	k := m.Lock
	have, err := lock.ReadLock(m.FS, m.Layout.Lock())
	if err == nil && have.LockID == k.Info.LockID && have.PID == k.Info.PID {
		return nil
	}
	if isStarved(err) {
		return err
	}
	m.Report(err, "runtime.lock; it is rewritten")
	k.Mu.Lock()
	defer k.Mu.Unlock()
	return k.WriteFirst()
}

func (m *Monitor) checkMeta(want layout.Meta) error {
	path := m.Layout.Meta()
	have, err := layout.ReadMetaFile(m.FS, path)
	if isStarved(err) {
		return err
	}
	if err == nil && sameMeta(have, want) {
		return nil
	}
	m.Report(err, "execution-meta.json; it is rewritten")
	if fi, err := m.FS.Lstat(path); err == nil {
		if err := m.Quarantine(path, fmt.Errorf("it was changed while a codon was running (%s)", fi.Mode().Type())); err != nil {
			return err
		}
	}
	return layout.WriteMeta(m.FS, path, want)
}

func sameMeta(a, b layout.Meta) bool {
	one, err1 := json.Marshal(a, json.Deterministic(true))
	other, err2 := json.Marshal(b, json.Deterministic(true))
	return err1 == nil && err2 == nil && bytes.Equal(one, other)
}

// checkRun recreates the directory of the current run, if it is gone: transcripts are not
// in memory.
func (m *Monitor) checkRun(r *state.Run) error {
	if r == nil {
		return nil
	}
	dir := m.Layout.RunDir(r.RunID)
	fi, err := os.Lstat(dir)
	if err == nil && fi.IsDir() {
		return nil
	}
	m.Report(err, "the directory of the run is gone, and with it the transcripts that were in it")
	return vfs.MkdirAll(m.FS, dir, 0o700)
}

// CheckStore rewrites the small files of the store and its references where they are not
// what they must be, and names what is in hank's directories and not hank's.
func (m *Monitor) CheckStore() error {
	before, _, err := m.Store.ReadableRefs("refs/")
	if isStarved(err) {
		return err // any other error says that files have to be rewritten
	}
	for path, want := range m.files {
		if err := m.checkFile(path, want); err != nil {
			return err
		}
	}
	for _, dir := range []string{"refs/heads", "refs/tags"} {
		if err := vfs.MkdirAll(m.FS, filepath.Join(m.Layout.Store(), filepath.FromSlash(dir)), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(m.restoreRefs(before), m.reportUnexpected())
}

func (m *Monitor) checkFile(path string, want []byte) error {
	have, err := vfs.ReadFile(m.FS, path)
	if want == nil || err == nil && bytes.Equal(have, want) { // stock Git may create one where none was
		return nil
	}
	if isStarved(err) {
		return err
	}
	if filepath.Base(path) == "packed-refs" && m.refsUnchanged() { // stock Git's gc rewrites it
		m.files[path] = have
		return nil
	}
	m.Report(err, "%s; it is rewritten", m.Layout.Relative(path))
	if _, err := m.FS.Lstat(path); err == nil {
		if err := m.Quarantine(path, errors.New("it was changed while a codon was running")); err != nil {
			return err
		}
	}
	if err := vfs.MkdirAll(m.FS, filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return vfs.ReplaceFile(m.FS, path, want, 0o600, vfs.Durable)
}

// refsUnchanged reports whether every reference points to what it must.
func (m *Monitor) refsUnchanged() bool {
	have, damaged, err := m.Store.ReadableRefs("refs/")
	if err != nil || len(damaged) > 0 {
		return false
	}
	for ref, want := range m.refs {
		if have[ref] != want {
			return false
		}
	}
	return true
}

// restoreRefs sets the references to what they must point to. What they pointed to, and
// references that only the packed ones had before those were rewritten, stay.
func (m *Monitor) restoreRefs(before map[string]checkpoint.SHA) error {
	have, damaged, err := m.Store.ReadableRefs("refs/")
	if err != nil {
		return err
	}
	if len(damaged) > 0 {
		m.Report(nil, "%d files among the references are none (the first: %s); they are in quarantine", len(damaged), filepath.Base(damaged[0].Path))
		for _, d := range damaged {
			if err := m.Quarantine(d.Path, d); err != nil {
				return err
			}
		}
		if have, err = m.Store.Refs("refs/"); err != nil {
			return err
		}
	}
	for ref, sha := range before {
		if have[ref] == "" && m.refs[ref] == "" {
			if err := m.Store.SetRef(ref, "", sha); err != nil {
				return err
			}
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(m.refs)) {
		if err := m.restoreRef(ref, before[ref], have[ref]); err != nil {
			return err
		}
	}
	return nil
}

// restoreRef sets a reference that is at have to what it must point to. That, and what it
// pointed to before the packed references were rewritten, is kept.
func (m *Monitor) restoreRef(ref string, before, have checkpoint.SHA) error {
	want, at, kept := m.refs[ref], have, ""
	if before != "" && before != want {
		at = before
	}
	if at == want {
		return nil
	}
	for _, tip := range slices.Compact([]checkpoint.SHA{at, have}) {
		if tip == "" || tip == want {
			continue
		}
		branch, err := m.KeepTip(tip, want)
		var other *checkpoint.NotCommitError
		if errors.As(err, &other) {
			kept += "; " + other.Error()
			if other.Of == "" {
				continue
			}
			tip = other.Of
			branch, err = m.KeepTip(tip, want)
		}
		switch {
		case checkpoint.IsMissing(err):
			kept += fmt.Sprintf("; commit %s cannot be read (%v)", tip, err)
		case err != nil:
			return err
		case branch != "":
			kept += fmt.Sprintf("; commit %.12s is kept on the branch %s", tip, branch)
		}
	}
	m.Report(nil, "%s pointed to %.12s; it points to %.12s again%s", ref, orNothing(at), want, kept)
	if have == want {
		return nil
	}
	return m.Store.SetRef(ref, have, want)
}

func orNothing(sha checkpoint.SHA) string {
	if sha == "" {
		return "nothing"
	}
	return string(sha)
}

// reportUnexpected names what is in hank's directories and not hank's. It stays where it
// is: it harms nothing, and is not hank's to delete.
func (m *Monitor) reportUnexpected() error {
	for dir, known := range m.names {
		list, err := m.FS.ReadDir(dir)
		if err != nil {
			return err
		}
		var found []string
		for _, e := range list {
			if _, ok := known[e.Name()]; !ok && !m.isOwnName(dir, e.Name()) {
				known[e.Name()] = struct{}{} // it is reported once
				found = append(found, e.Name())
			}
		}
		if len(found) > 0 {
			m.Report(nil, "%s in %s that hank did not make, such as %q; hank leaves them alone: remove them", layout.Entries(len(found)), m.Layout.Relative(dir), found[0])
		}
	}
	return nil
}

// isOwnName reports whether hank may have made an entry of one of its directories since
// the run began.
func (m *Monitor) isOwnName(dir, name string) bool {
	if dir == m.Layout.Events() {
		return strings.HasPrefix(name, "events")
	}
	l := m.Layout
	return slices.ContainsFunc([]string{l.State(), l.Lock(), l.Meta(), l.Events(), l.Runs(), filepath.Dir(l.Store()), l.Index(), l.Quarantine(),
		l.Reports(), l.Homes(), l.Temps(), l.Logs(), l.Manifest(), l.Socket(), l.Sentinels()}, func(own string) bool {
		return strings.HasPrefix(name, filepath.Base(own))
	})
}
