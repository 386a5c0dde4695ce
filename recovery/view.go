package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hank/checkpoint"
	"hank/internal/proc"
	"hank/internal/vfs"
	"hank/state"
)

// View is an execution as a reader sees it: no lock is taken and nothing is
// written. What an opening would mend is in Report, and is computed again by
// the next one.
type View struct {
	Layout Layout
	Meta   Meta
	State  *state.State
	Report Report
	Holder *LockInfo // who says to hold it; see Live
	Live   bool      // a runtime is at work
}

// ReadMeta reads execution-meta.json.
func ReadMeta(root string) (Meta, error) { return readMeta(vfs.OS, Layout{Root: root}.Meta()) }

// Read looks at an execution. A state that cannot be read at all is a
// *DecisionError.
func Read(root string) (*View, error) {
	v := &View{}
	meta, err := ReadMeta(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.Report.add(Mended, "%v; the next run writes it anew", err)
	}
	v.Meta, v.Layout = meta, Layout{Root: root, Workspace: resolveWorkspace(meta, root)}
	m, err := recall(vfs.OS, v.Layout, &v.Report)
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	if m.state == nil {
		if !m.traces {
			m.state, m.source = &state.State{Lineage: meta.Lineage}, "new"
		} else {
			return nil, &DecisionError{What: "neither state.json, nor its backup, nor the journal of " + root + " can be read",
				Options: []string{"hank doctor --fix rebuilds the state from the checkpoints"}}
		}
	}
	v.State, v.Report.Source = m.state, m.source
	v.Holder, _ = readLock(vfs.OS, v.Layout.Lock())
	v.Live = v.held()
	v.judge()
	return v, nil
}

// held tells whether somebody holds the execution now: the lock is free if a
// shared one can be had for a moment. Readers do not get in each other's way.
func (v *View) held() bool {
	dir, err := os.Open(v.Layout.Hankweave())
	if err != nil {
		return false
	}
	defer dir.Close()
	return flockShared(dir) != nil
}

// judge says of each run that claims to be running what the next opening will
// record.
func (v *View) judge() {
	for _, r := range v.State.Runs {
		if r.Status != state.StatusRunning || v.Live {
			continue
		}
		verdict, why := liveness(r)
		if verdict != proc.Dead && len(r.Process) == 0 {
			v.Report.add(Note, "run %s is running as far as can be seen: %s", r.RunID, why)
			continue
		}
		what := "between two codons"
		if live := r.Live(); live != nil {
			what = fmt.Sprintf("while codon %s was %s", live.CodonID, live.Status)
		}
		v.Report.add(Mended, "run %s has crashed %s (%s); hank run goes on from before it", r.RunID, what, why)
	}
	if i := v.State.Intent; i != nil && !v.Live {
		v.Report.add(Mended, "a %s to %.12s was cut short; the next command finishes it", i.Kind, i.To)
	}
}

// Crashed tells whether a run that says running is over.
func (v *View) Crashed(r *state.Run) bool {
	if r.Status != state.StatusRunning || v.Live {
		return false
	}
	verdict, _ := liveness(r)
	return verdict == proc.Dead || len(r.Process) > 0
}

// Store opens the checkpoint store for reading: no stat cache is kept.
func (v *View) Store() (*checkpoint.Store, error) {
	store, err := checkpoint.Open(checkpoint.Options{Dir: v.Layout.Store(), ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DecisionError{What: "the checkpoint store " + v.Layout.Store() + " is gone", Options: []string{"put it back from a copy", "hank doctor --fix starts a new one"}}
	}
	return store, err
}

// Validate checks the state against itself, the run folders and the store.
func (v *View) Validate() state.Validation {
	w := state.World{}
	if entries, err := os.ReadDir(v.Layout.Runs()); err == nil {
		w.RunFolders = []string{}
		for _, e := range entries {
			if e.IsDir() {
				w.RunFolders = append(w.RunFolders, e.Name())
			}
		}
	}
	if store, err := v.Store(); err == nil {
		defer store.Close()
		w.HasCommit = func(sha state.SHA) bool { return store.Has(checkpoint.SHA(sha)) }
		return state.Validate(v.State, w)
	}
	return state.Validate(v.State, w)
}

// Quarantined lists what was set aside.
func (v *View) Quarantined() []string {
	entries, err := os.ReadDir(v.Layout.Quarantine())
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".why" {
			names = append(names, e.Name())
		}
	}
	return names
}
