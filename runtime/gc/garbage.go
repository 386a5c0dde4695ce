package gc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/history"
	"hank/runtime/losses"
	"hank/runtime/opening"
	"hank/runtime/rig"
	"hank/state"
	"hank/state/costindex"
)

// Kind says what takes the room.
type Kind string

// The kinds. Those of named go only where they are named, and a reset not even then.
const (
	Index       Kind = "index"       // recreated when needed
	Temporary   Kind = "temporary"   // what agents and killed runs have left
	Quarantine  Kind = "quarantine"  // set aside: damaged, or the journal of Hankweave
	Replaced    Kind = "replaced"    // repositories that a rig replaced
	Timelines   Kind = "timelines"   // branches of runs on abandoned lineage paths
	Recovery    Kind = "recovery"    // branches that keep what would have been lost
	Transcripts Kind = "transcripts" // of runs that a rollback left behind
	Archive     Kind = "archive"     // what such runs have moved to rigArchive
	Homes       Kind = "homes"       // of agents, with their sessions
	reset       Kind = "reset"       // an execution that a reset has moved
)

// named are the kinds that go only where they are named: of the first the next
// command would have to be without, the others cannot be recreated.
var named = []Kind{Index, Archive, Homes}

// Kinds are all kinds.
var Kinds = []Kind{Index, Temporary, Quarantine, Replaced, Timelines, Recovery, Transcripts, Archive, Homes}

// Policy says what may go. What a live run, the current lineage path or taking a
// rollback back needs never does.
type Policy struct {
	OlderThan time.Duration // of what is not recreated when needed
	Only      []Kind        // empty: all but those that must be named
	Now       time.Time
}

func (p Policy) takes(k Kind) bool {
	if len(p.Only) == 0 {
		return !slices.Contains(named, k)
	}
	return slices.Contains(p.Only, k)
}

func (p Policy) old(since time.Time) bool { return p.Now.Sub(since) > p.OlderThan }

// Garbage is something in an execution that takes room and that the present
// state does not need.
type Garbage struct {
	Kind   Kind   `json:"kind"`
	What   string `json:"what"`
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"` // of the checkpoint store that Path is
	Files  int    `json:"files"`            // in the store: objects
	Bytes  int64  `json:"bytes"`
	Remove bool   `json:"remove"`        // gc --apply deletes it
	Why    string `json:"why,omitempty"` // it stays

	below  string              // the directory that it is deleted in, whatever links lead out of it; empty: hank's own
	branch *recovery.Abandoned // not nil: Path is the store
	Store  bool                // all that goes from the store
}

// Text is what it is, and why it stays.
func (g Garbage) Text() string {
	if g.Why == "" {
		return g.What
	}
	return g.What + "; " + g.Why
}

// sweep is one look at an execution for what could go.
type sweep struct {
	Policy
	layout layout.Layout
	meta   layout.Meta
	state  *state.State
	live   bool
	store  *checkpoint.Store // nil: it cannot be opened
}

// stays says why something is not deleted, unless it is or that is known.
func (s *sweep) stays(g *Garbage) {
	switch {
	case g.Remove || g.Why != "":
	case !s.takes(g.Kind) && len(s.Only) == 0 && g.Kind == Index:
		g.Why = "without them the next command is slower; goes only with --only index"
	case !s.takes(g.Kind) && len(s.Only) == 0:
		g.Why = fmt.Sprintf("goes only with --only %s", g.Kind)
	case !s.takes(g.Kind):
		g.Why = "--only does not name it"
	case s.live:
		g.Why = "a run is in progress"
	default:
		g.Why = "not old enough"
	}
}

// ListGarbage lists what an execution could do without. An error is about the
// checkpoint store alone; the list has everything else.
func ListGarbage(ctx context.Context, v *recovery.View, p Policy) ([]Garbage, error) {
	s := sweep{p, v.Layout, v.Meta, v.State, v.Live, nil}
	list := s.files()
	store, err := v.Store()
	if err != nil {
		return list, err
	}
	defer store.Close()
	s.store = store
	checkpoints, err := s.checkpoints(ctx)
	return append(list, checkpoints...), err
}

// files lists what can be deleted file by file.
func (s *sweep) files() []Garbage {
	l := s.layout
	list := []Garbage{
		{Kind: Index, What: "cost index and stat cache", Path: l.Index(), Remove: true},
		{Kind: Temporary, What: "temporary files of agents", Path: l.Temps(), Remove: true},
	}
	aside, what := &recovery.View{Layout: l}, "set aside"
	if aside.OnlyOfOrigin() {
		what = "of the execution that this is a copy of, set aside"
	}
	for _, name := range l.Quarantined() {
		path := filepath.Join(l.Quarantine(), name)
		list = append(list, Garbage{Kind: Quarantine, What: what, Path: path, Remove: s.old(changed(path))})
	}
	list = append(list, s.transcripts()...)
	list = append(list, s.archived()...)
	// A later codon may continue with a session that only a home has.
	homes := Garbage{Kind: Homes, What: "homes of agents", Path: l.Homes()}
	if s.state.Next() < len(s.state.ExecutionPlan()) {
		homes.Why = "a codon that is to come may continue a session in them"
	} else {
		homes.Remove = s.old(changed(l.Homes()))
	}
	list = append(list, homes)
	for _, dir := range layout.ResetDirs(l.Root) {
		list = append(list, Garbage{Kind: reset, What: "an execution that a reset has moved", Path: dir, Why: "goes only with --executions"})
	}
	list = append(list, s.replaced()...)
	for _, dir := range []string{l.Workspace, s.meta.Output} {
		list = append(list, leftOver(dir, !s.live)...)
	}
	kept := list[:0]
	for _, g := range list {
		g.Remove = g.Remove && s.takes(g.Kind)
		s.stays(&g)
		if g.Files, g.Bytes = measure(g.Path); g.Files > 0 || g.below != "" {
			kept = append(kept, g)
		}
	}
	return kept
}

// changed is when a file was last written to; now, if it is not there.
func changed(path string) time.Time {
	fi, err := os.Lstat(path)
	if err != nil {
		return time.Now()
	}
	return fi.ModTime()
}

// transcripts lists those of runs that nothing needs, and directories of no run.
func (s *sweep) transcripts() []Garbage {
	needed := s.state.Needed()
	var list []Garbage
	dirs, err := os.ReadDir(s.layout.Runs())
	if err != nil {
		return nil
	}
	for _, e := range dirs {
		id := state.RunID(e.Name())
		g := Garbage{Kind: Transcripts, What: "transcripts of an abandoned run", Path: s.layout.RunDir(id)}
		switch run := s.state.Run(id); {
		case needed[id]:
			continue
		case run == nil:
			g.What, g.Remove = "a directory of no run", s.old(changed(g.Path)) && !s.live
		case run.EndTime != nil:
			g.Remove = s.old(run.EndTime.Time)
		}
		list = append(list, g)
	}
	return list
}

// archived lists the files that codons have moved to the archive; those of runs
// that nothing needs can go.
func (s *sweep) archived() []Garbage {
	all := Garbage{Kind: Archive, What: "archived files", Path: s.layout.Archive(), Why: "of the current lineage path, or not old enough"}
	m, err := layout.ReadManifest(vfs.OS, s.layout.Manifest())
	if err != nil {
		return []Garbage{all} // what it does not name stays
	}
	abandoned, needed := map[string]bool{}, s.state.Needed()
	for _, r := range s.state.Runs {
		if !needed[r.RunID] && r.EndTime != nil && s.old(r.EndTime.Time) {
			for _, c := range r.Codons() {
				abandoned[string(c.Checkpoint())] = true
			}
		}
	}
	var list []Garbage
	for _, e := range m.Entries {
		if abandoned[e.CheckpointSHA] && e.CheckpointSHA != "" && filepath.IsLocal(filepath.FromSlash(e.ArchivePath)) {
			list = append(list, Garbage{Kind: Archive, What: "archived by an abandoned run", Remove: true,
				Path: filepath.Join(s.layout.Root, filepath.FromSlash(e.ArchivePath)), below: s.layout.Archive()})
		}
	}
	list = slices.DeleteFunc(list, func(g Garbage) bool { _, err := os.Lstat(g.Path); return err != nil })
	return append(list, all)
}

// checkpoints lists the branches that nothing needs, and, at the end, what all
// of those that go would free.
func (s *sweep) checkpoints(ctx context.Context) ([]Garbage, error) {
	found, err := recovery.FindAbandoned(s.state, s.store)
	if err != nil {
		return nil, err
	}
	var list []Garbage
	var without []string
	for _, b := range found {
		g := Garbage{Kind: Recovery, What: "kept before a rollback or after a crash", Path: s.layout.Store(), Branch: b.Branch, branch: &b}
		if b.Run != "" {
			g.Kind, g.What = Timelines, "checkpoints of an abandoned run"
		}
		g.What += ", " + b.Since.Local().Format("2006-01-02 15:04")
		if g.Remove = s.takes(g.Kind) && s.old(b.Since) && !s.live; g.Remove {
			if without = append(without, history.Branches+b.Branch); b.Run != "" {
				without = append(without, githistory.Sessions(b.Run))
			}
		}
		s.stays(&g)
		list = append(list, g)
	}
	free, err := s.store.Unreachable(ctx, without, githistory.Keep(s.state, s.store))
	if err != nil {
		return list, fmt.Errorf("what can go from the checkpoint store cannot be told: %w", err)
	}
	if free.Objects > 0 {
		list = append(list, Garbage{Kind: Timelines, What: "unreachable objects", Path: s.layout.Store(), Store: true,
			Files: free.Objects, Bytes: free.Bytes, Remove: (s.takes(Timelines) || s.takes(Recovery)) && !s.live})
		s.stays(&list[len(list)-1])
	}
	return list, nil
}

// replaced lists what rigs have moved out of the way because no checkpoint can
// hold it: see placement.keepRepositories.
func (s *sweep) replaced() []Garbage {
	aside := filepath.Join(s.layout.Workspace, rig.AsideName)
	if fi, err := os.Lstat(aside); err != nil || !fi.IsDir() {
		return nil // an agent may have put a link there
	}
	attempts, err := os.ReadDir(aside)
	if err != nil {
		return nil
	}
	needed := s.state.Needed()
	var list []Garbage
	for _, e := range attempts {
		path := filepath.Join(aside, e.Name())
		g := Garbage{Kind: Replaced, What: "repositories that a rig replaced; no checkpoint holds them", Path: path, below: s.layout.Workspace, Remove: s.old(changed(path))}
		for run := range needed {
			if strings.Contains(e.Name(), string(run)) {
				g.Remove, g.Why = false, "of the current lineage path"
			}
		}
		list = append(list, g)
	}
	return list
}

// leftOver lists temporary files and directories that a killed run has left below
// a directory. What they were made from is in the frozen program, in a checkpoint
// or in the workspace.
func leftOver(dir string, remove bool) []Garbage {
	if dir == "" {
		return nil
	}
	var list []Garbage
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name := ""
		if err == nil {
			name = e.Name()
		}
		switch {
		case err != nil: // what cannot be read is not listed
			return nil
		case name == rig.PlaceNew, name == rig.PlaceOld, strings.HasPrefix(name, rig.OutputTemp) && e.Type().IsRegular():
			list = append(list, Garbage{Kind: Temporary, What: "left over from an interrupted copy", Path: path, Remove: remove, below: dir})
		case !e.IsDir() || path == dir || !layout.IsOwn(name) && name != layout.Dir && name != layout.ArchiveName:
			return nil
		}
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return list
}

// measure counts the files below a path and their bytes.
func measure(path string) (files int, bytes int64) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // what cannot be read is not counted
		}
		if fi, err := e.Info(); err == nil {
			files, bytes = files+1, bytes+fi.Size()
		}
		return nil
	})
	return files, bytes
}

// Collect deletes the garbage that may go, while it holds the execution. It returns what it deleted. Branches are the
// last: their removal is acknowledged before the first of them goes.
func Collect(ctx context.Context, root string, p Policy, work execution.Work) ([]Garbage, error) {
	var gone []Garbage
	fullDisk := func() error { // to remove anything, its removal must be recorded
		g, err := dropIndex(layout.LayoutOf(root))
		if err == nil {
			gone = append(gone, g)
		}
		return err
	}
	x, err := opening.Open(ctx, root, execution.Options{Command: "hank gc", KeepPaused: true, FullDisk: fullDisk, Work: work})
	if err != nil {
		return gone, err
	}
	s := sweep{p, x.Layout, x.Meta(), x.State(), false, x.Store}
	_, end := work.Begin("deleting what can go")
	defer end()
	var errs []error
	for _, g := range s.files() {
		if !g.Remove || g.Kind == Index {
			continue
		}
		err := s.recordDeletion(x, g)
		if err == nil {
			err = g.delete()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("deleting %s: %w", g.Path, err))
			continue
		}
		gone = append(gone, g)
	}
	freed, err := s.collect(ctx, x)
	gone = append(gone, freed...)
	if err := errors.Join(append(errs, err, x.Close())...); err != nil || !p.takes(Index) {
		return gone, err
	}
	// The store keeps its stat cache until it is closed.
	g, err := dropIndex(x.Layout)
	if err != nil {
		return gone, err
	}
	return append(gone, g), nil
}

// recordDeletion records whose transcripts go, durably: a rollback may need their run again,
// and they are not lost then.
func (s *sweep) recordDeletion(x *execution.Execution, g Garbage) error {
	id := state.RunID(filepath.Base(g.Path))
	if g.Kind != Transcripts || s.state.Run(id) == nil {
		return nil
	}
	if err := x.Note(losses.Deleted, losses.Deletion{RunID: id}); err != nil {
		return err
	}
	return x.Sync()
}

// dropIndex deletes what is recreated when it is needed. A cost index that
// another process has open stays; so does one that is made meanwhile.
func dropIndex(l layout.Layout) (Garbage, error) {
	files, bytes := measure(l.Index())
	if err := removeIndex(l); err != nil {
		return Garbage{}, fmt.Errorf("deleting %s: %w", l.Index(), err)
	}
	leftFiles, leftBytes := measure(l.Index())
	files, bytes = max(files-leftFiles, 0), max(bytes-leftBytes, 0)
	return Garbage{Kind: Index, What: "cost index and stat cache (recreated when needed)", Path: l.Index(), Files: files, Bytes: bytes, Remove: true}, nil
}

func removeIndex(l layout.Layout) error {
	entries, err := os.ReadDir(l.Index())
	if err != nil { // it is not there, or no directory
		return os.RemoveAll(l.Index())
	}
	for _, e := range entries {
		if name := filepath.Join(l.Index(), e.Name()); name != l.CostIndex() {
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	cerr := costindex.Remove(l.CostIndex())
	var busy *costindex.BusyError
	if errors.As(cerr, &busy) {
		cerr = nil
	}
	_ = os.Remove(l.Index()) // if it is empty now
	return errors.Join(err, cerr)
}

// collect removes the branches that may go, and frees what nothing leads to.
// In a store that cannot be read whole nothing is removed.
func (s *sweep) collect(ctx context.Context, x *execution.Execution) ([]Garbage, error) {
	if !s.takes(Timelines) && !s.takes(Recovery) {
		return nil, nil
	}
	list, err := s.checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	var gone []Garbage
	var branches []recovery.Abandoned
	for _, g := range list {
		if g.Remove && g.branch != nil {
			gone, branches = append(gone, g), append(branches, *g.branch)
		}
	}
	if err := recovery.RemoveBranches(ctx, x, branches); err != nil {
		return nil, err
	}
	freed, err := recovery.Collect(ctx, x)
	if freed.Objects > 0 {
		gone = append(gone, Garbage{Kind: Timelines, What: "objects that nothing else led to", Path: s.layout.Store(), Files: freed.Objects, Bytes: freed.Bytes, Remove: true, Store: true})
	}
	return gone, err
}

// delete deletes it, with what explains it. In the workspace and the output
// directory nothing leads out of them.
func (g Garbage) delete() error {
	if g.below == "" {
		return errors.Join(os.RemoveAll(g.Path), removeNote(g.Path))
	}
	rel, err := filepath.Rel(g.below, g.Path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(g.below)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := rig.RemoveTree(root, filepath.ToSlash(rel)); err != nil {
		return err
	}
	if path.Dir(filepath.ToSlash(rel)) == rig.AsideName {
		_ = root.Remove(rig.AsideName) // if it is empty now
	}
	return nil
}

// removeNote deletes what explains a file in quarantine.
func removeNote(path string) error {
	if err := os.Remove(path + ".why"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
