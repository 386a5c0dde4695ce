package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/recovery/lock"
	"hank/state"
	"hank/state/journal"
	"hank/state/snapshot"
)

// planPlace records where the execution is. A moved one gets other paths; a copied one a
// lineage of its own besides, so that the two cannot be taken for one another.
//
// Its second repair, which is there in every opening and has no finding, makes the
// execution ready for the stages after it: the command's limits and cap are due with the
// next transition (see Execution.AllowanceDue), and what keeps the execution is started.
func planPlace(s *subject) ([]Repair, error) {
	inode, err := layout.InodeOf(s.layout.Hankweave())
	if err != nil {
		return nil, err
	}
	how := layout.Relocated(s.fs, s.meta, s.layout.Root, inode)
	here, moved := s.layout.RebasePaths(s.state)
	r := Repair{Severity: finding.Note}
	switch {
	case how == layout.Copied:
		r.Found, r.Will, r.Did = "this execution is a copy of "+s.meta.Root, "the next command makes it independent of the original", "it is independent of the original from now on"
		here.Gates = slices.Clone(here.Gates)
		for i := range here.Gates { // as soon as the lineage is its own
			here.Gates[i].Lineage = ""
		}
	case how == layout.Moved, moved:
		r.Found = "the execution was moved here from " + cmp.Or(s.meta.Root, "elsewhere")
	}
	if moved {
		r.next = here
	}
	r.do = func(_ context.Context, x *execution.Execution, _ *Repair) error { return relocate(x, how) }
	ready := func(_ context.Context, x *execution.Execution, _ *Repair) error {
		x.AllowanceDue = true
		return startWriters(x, inode)
	}
	return []Repair{r, {do: ready}}, nil
}

// relocate makes the present paths those of the state, and of a copy a lineage of its
// own: the journal begins again with them.
func relocate(x *execution.Execution, how layout.Relocation) error {
	switch s, moved := x.Layout.RebasePaths(x.State()); {
	case how == layout.Copied:
		copied := *s
		x.Origin, copied.Lineage = s.Lineage, layout.NewID(16)
		if err := rebase(x, &copied, x.Journal.Last()+1, "this is a copy of "+x.Metadata.Root); err != nil {
			return err
		}
	case moved:
		if err := rebase(x, s, x.Journal.Last()+1, "the execution is in "+x.Layout.Root+" now"); err != nil {
			return err
		}
	}
	if how != layout.InPlace {
		x.Metadata.WorkspaceDir = nil
	}
	return nil
}

// startWriters starts what saves state.json and what merges packs, brings
// execution-meta.json and the link to the data up to date, and removes the directories of
// runs that never began.
func startWriters(x *execution.Execution, inode string) error {
	if err := startStateWriter(x); err != nil {
		return err
	}
	x.Merger = execution.NewMerger(x.Store, x.Opts.Warn)
	if err := errors.Join(renewMeta(x, inode), x.LinkData()); err != nil {
		return err
	}
	dropEmptyRuns(x)
	return nil
}

// renewMeta brings execution-meta.json up to date. A damaged one is kept in
// quarantine, and what of it can be seen in the execution is taken from there.
func renewMeta(x *execution.Execution, inode string) error {
	if x.Metadata.Version == "" {
		if _, err := layout.ReadMetaFile(x.FS, x.Layout.Meta()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			if err := x.QuarantineFile(x.Layout.Meta(), err); err != nil {
				return err
			}
		}
		x.Metadata = layout.Meta{Version: layout.MetaVersion, CreatedAt: x.Now(), Environment: layout.Here()}
		if data, err := os.Readlink(x.Layout.Data()); err == nil {
			x.Metadata.ReadOnlySourceDataPath, x.Metadata.LinkType = data, "symlink"
		}
	}
	return x.SetMeta(func(m *layout.Meta) {
		if x.State().Adopted && m.Lineage == "" && m.Adopted == nil {
			m.Adopt(x.Now())
		}
		m.SetLineage(x.State().Lineage)
		m.Root, m.Inode = x.Layout.Root, inode
		if r := x.State().Newest(); r == nil || r.Live() == nil {
			m.RememberWorkspace(x.Lock.Workspace())
		}
		if x.Layout.Workspace != layout.DefaultWorkspace(x.Layout.Root) {
			m.Workspace = x.Layout.Workspace
		}
	})
}

// rebase makes a state the one that the journal begins with, and then the present one.
func rebase(x *execution.Execution, s *state.State, seq uint64, why string) error {
	base, next, err := x.BaseEvent(s, seq, why)
	if err != nil {
		return err
	}
	if err := x.Journal.NewSegment(base); err != nil {
		return fmt.Errorf("beginning the journal again: %w", err)
	}
	x.Current.Store(next)
	return nil
}

// startStateWriter begins to keep state.json. What is damaged of it, or of another
// execution, or was left by an interrupted save, goes to quarantine: there is
// a whole state now.
func startStateWriter(x *execution.Execution) error {
	snaps := &snapshot.Store{FS: x.FS, Path: x.Layout.State(), Verify: func(text []byte) error { return ownState(x, text) }, Quarantine: x.QuarantineFile}
	v := &execution.StateWriter{Store: snaps, Serial: x.State().Serial, Held: x.Held, OnDisk: x.OnDisk}
	v.Saved = func(s *state.State, end journal.Place) {
		if x.Held() == nil { // else it would be written into somebody else's directory
			load.WriteHead(x.FS, x.Layout, x.Lock.Info.Process.BootID, s, end)
		}
	}
	v.Failed = func(err error) {
		var lost *lock.LostError
		if errors.As(err, &lost) {
			return // the next transition reports it, and ends the run
		}
		x.Opts.Warn(fmt.Sprintf("%v; the journal holds everything, and the next save tries again", err))
	}
	x.StateWriter = v.Start()
	if err := snaps.QuarantineDamaged(notOurs(x)); err != nil {
		return err
	}
	x.StateWriter.Request(x.State(), x.Journal.End(), true)
	return nil
}

// notOurs returns what opening has found of state.json and its backup. What is
// whole, but of another execution, is as bad as damaged.
func notOurs(x *execution.Execution) []snapshot.Candidate {
	list := make([]snapshot.Candidate, len(x.Files))
	for i, f := range x.Files {
		list[i] = f.Candidate
		if err := ours(x, f.Lineage); f.Err == nil && err != nil {
			list[i].Err = &snapshot.DamagedError{Path: f.Path, Err: err}
		}
	}
	return list
}

// ownState returns why a text is not a whole state of this execution; nil: it is one. Of
// one that hank wrote, the digest vouches for its lineage.
func ownState(x *execution.Execution, text []byte) error {
	if err := state.Verify(text); err != nil {
		return err
	}
	lineage, _ := state.Peek(text)
	return ours(x, lineage)
}

// ours returns why a lineage is not this execution's; nil: it is, or there is none, as
// in a state of Hankweave's.
func ours(x *execution.Execution, lineage string) error {
	if lineage != "" && lineage == x.Origin {
		return execution.ErrOfOrigin
	}
	if lineage != "" && lineage != x.State().Lineage {
		return fmt.Errorf("it is of another execution (lineage %.8s)", lineage)
	}
	return nil
}

// dropEmptyRuns removes the directories of runs that a crash kept from beginning.
// What holds anything stays, and so does what cannot be removed.
func dropEmptyRuns(x *execution.Execution) {
	dirs, err := x.FS.ReadDir(x.Layout.Runs())
	if err != nil {
		return
	}
	known := map[string]bool{}
	for _, r := range x.State().Runs {
		known[string(r.RunID)] = true
	}
	for _, dir := range dirs {
		if dir.IsDir() && !known[dir.Name()] {
			_ = x.FS.Remove(x.Layout.RunDir(state.RunID(dir.Name())))
		}
	}
}
