package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hank/internal/vfs"
	"hank/state"
	"hank/state/journal"
	"hank/state/snapshot"
)

// Open takes an execution, brings it into order and returns it. What it found
// and did is in Report. The order:
//
//  1. The locks. Another runtime: *HeldError. What stands where hank's own
//     folders and files must be is set aside.
//  2. The state, from the furthest verified of state.json, its backup and the
//     journal (recall), and of git (advise), which knows every checkpoint. A
//     newer hank's: *state.NewerError, nothing written. Nothing at all left:
//     *DecisionError, until Fresh allows to begin anew. A state of Hankweave's
//     is adopted (foreign.go).
//  3. The store: without it no checkpoint can be made. One that is gone or
//     damaged: *DecisionError, until ReplaceStore allows a new one.
//  4. The journal: healed, or begun anew from the state where it is damaged
//     or behind; what was damaged goes to quarantine.
//  5. The branches (heed): a tip that the journal just missed is rolled
//     forward; one that nobody knows moves to recovery/.
//  6. A change of the workspace that a crash cut short is finished.
//  7. Runs whose process is proven gone are closed (markCrashes).
func Open(ctx context.Context, root string, o Options) (*Execution, error) {
	o = o.withDefaults()
	if err := nameable(root); err != nil {
		return nil, err
	}
	if err := mayAct(root, o.Workspace); err != nil {
		return nil, err
	}
	if mark, cut := importing(o.FS, root); cut && o.Refill == nil {
		return nil, importCut(root, mark)
	}
	rep := Report{}
	meta, metaErr := readMeta(o.FS, Layout{Root: root}.Meta())
	l := Layout{Root: root, Workspace: resolveWorkspace(meta, root)}
	if metaErr != nil {
		rep.add(Mended, "execution-meta.json could not be read (%v); it is written anew", metaErr)
		if o.Workspace != "" {
			l.Workspace = o.Workspace
		}
	}
	meta.doubt(&rep)
	if err := checkOwner(l); err != nil {
		return nil, err
	}
	if err := makeWorkspace(l, meta, metaErr, &rep); err != nil {
		if v, lookErr := Glance(root); lookErr == nil && v.Blocked != nil { // the state has a say in what is to be done
			err = v.Blocked
		}
		return nil, err
	}
	if err := respectUnreadable(o.FS, l, meta); err != nil {
		return nil, err
	}
	k, err := acquire(o.FS, l, o.Command, o.BreakLock, o.Now(), o.FullDisk)
	if err != nil {
		return nil, err
	}
	x := &Execution{Layout: l, opts: o, fs: o.FS, meta: meta, lock: k, Report: rep, settled: true}
	if err := x.open(ctx); err != nil {
		return nil, errors.Join(err, x.disallow(err), x.giveBack(nil))
	}
	return x, nil
}

func (x *Execution) open(ctx context.Context) error {
	m, err := recall(x.fs, x.Layout, x.meta.Lineage, x.lock.info.Process.BootID, &x.Report)
	if err != nil {
		return fmt.Errorf("reading the state: %w", err)
	}
	x.files, x.onDisk = m.files, m.onDisk
	if m.foreign {
		if err := x.respectRunning(m.state); err != nil {
			return err
		}
	}
	if err := x.clearWay(); err != nil {
		return fmt.Errorf("setting aside what is in the way: %w", err)
	}
	if err := makeOwnFolders(x.fs, x.Layout); err != nil {
		return err
	}
	if m.unsaved {
		x.Report.add(Mended, "state.json was gone; it is written anew from the journal")
	}
	storeErr := x.openStore()
	if x.opts.Refill != nil {
		if storeErr, err = x.refill(ctx, storeErr); err != nil {
			return err
		}
	}
	var a advice
	if m.foreign {
		if m.state, err = (chronicle{x.Store, &x.Report}).adopt(m.state); err != nil {
			return fmt.Errorf("reading the branches of the store: %w", err)
		}
	}
	if storeErr == nil {
		if a, err = (chronicle{x.Store, &x.Report}).advise(m); err != nil {
			return fmt.Errorf("comparing the state with the checkpoints: %w", err)
		}
	}
	m.take(a, &x.Report)
	if m.state == nil {
		if err := x.beginAnew(&m, storeErr); err != nil {
			return err
		}
	}
	if m.state.Lineage == "" { // another system's state becomes ours
		named := *m.state
		named.Lineage = cmp.Or(x.meta.Lineage, newID(16))
		m.state = &named
	}
	x.Report.Source = m.source
	x.current.Store(m.state)
	if storeErr != nil {
		if err := x.makeStore(storeErr); err != nil {
			return err
		}
	}
	if err := x.setAsideDamagedRefs(); err != nil {
		return err
	}
	if err := x.openJournal(m); err != nil {
		return err
	}
	return x.attach(ctx, a)
}

// take lets git's history win where it is further.
func (m *memory) take(a advice, rep *Report) {
	switch {
	case a.rebuilt == nil:
	case m.state == nil || a.rebuilt.Lineage != m.state.Lineage:
		m.state, m.source = a.rebuilt, "git"
		m.rebase = "state and journal were lost; they were rebuilt from the checkpoints"
		rep.add(Mended, "state and journal were lost; %s, up to event %d", rep.will("they were rebuilt from the checkpoints", "the next command rebuilds them from the checkpoints"), m.state.Seq)
		rep.doubt("the checkpoints do not know everything: a rollback or an undo after the last of them is forgotten")
	default:
		rep.add(Mended, "the checkpoints know more (up to event %d) than state and journal (up to %d); %s", a.rebuilt.Seq, m.state.Seq,
			rep.will("the history was rebuilt from them", "the next command rebuilds the history from them"))
		rep.doubt("the checkpoints do not know everything: a rollback or an undo after the last of them is forgotten")
		m.state, m.source, m.rebase = a.rebuilt, "git", "rebuilt from the checkpoints"
	}
}

// beginAnew is for when no memory can be read. An execution whose creation was
// cut short begins; anything else needs a person's word.
func (x *Execution) beginAnew(m *memory, storeErr error) error {
	began := m.traces || x.hasRuns() || !errors.Is(storeErr, fs.ErrNotExist)
	if began && !x.opts.Fresh {
		return needFresh(x.Layout)
	}
	m.state, m.source, m.rebase = &state.State{Lineage: x.meta.Lineage}, "new", "a new execution"
	if began || m.state.Lineage == "" {
		m.state.Lineage = newID(16)
	}
	if began {
		x.Report.add(Lost, "nothing was left of the state; the execution begins anew")
	}
	return nil
}

func needFresh(l Layout) error {
	return &DecisionError{
		What:    "nothing is left of the state of " + l.Root + ": state.json, its backup, the journal and the checkpoints cannot be read",
		Options: []string{"put one of them back from a copy of " + l.Hankweave(), "hank run --fresh begins anew; what is there is kept in quarantine"},
		Command: "hank run --fresh",
	}
}

func (x *Execution) hasRuns() bool {
	runs, err := x.fs.ReadDir(x.Layout.Runs())
	return err == nil && len(runs) > 0
}

// openJournal opens the journal for writing, or begins it anew.
func (x *Execution) openJournal(m memory) error {
	if m.apart {
		if err := x.setAside(x.Layout.Events(), errors.New("it is the journal that Hankweave kept, whole and not damaged; hank's own begins with the state that it led to")); err != nil {
			return err
		}
		if err := vfs.MkdirAll(x.fs, x.Layout.Events(), 0o700); err != nil {
			return err
		}
	}
	if m.found == nil {
		base, err := x.baseEvent(m.state, max(m.state.Seq, m.high)+1, m.rebase)
		if err != nil {
			return err
		}
		x.journal, err = journal.Create(x.fs, x.Layout.Events(), base.Seq-1, base)
		return err
	}
	j, err := journal.OpenFound(x.fs, x.Layout.Events(), *m.found, x.quarantine)
	if err != nil {
		return err
	}
	x.journal = j
	keepKnown(x.fs, x.Layout, m.found, x.lock.info.Process.BootID)
	switch {
	case m.found.Torn != nil && m.rebase != "": // others knew more
		x.Report.add(Note, "the end of the journal was torn; it is in quarantine")
	case m.found.Torn != nil:
		x.Report.add(Note, "the end of the journal was torn by a crash; it had not been acknowledged and is in quarantine")
	}
	if m.rebase == "" {
		return nil
	}
	return x.rebase(m.state, max(m.state.Seq, m.found.Highest)+1, m.rebase)
}

// rebase makes a state the one that the journal begins with.
func (x *Execution) rebase(s *state.State, seq uint64, why string) error {
	base, err := x.baseEvent(s, seq, why)
	if err != nil {
		return err
	}
	if err := x.journal.NewSegment(base); err != nil {
		return fmt.Errorf("beginning the journal anew: %w", err)
	}
	return nil
}

// baseEvent returns the event that a journal begins with, and makes its state
// the present one.
func (x *Execution) baseEvent(s *state.State, seq uint64, why string) (journal.Event, error) {
	rebased, err := s.Rebase(why)
	if err != nil {
		return journal.Event{}, err
	}
	data, err := state.Encode(rebased)
	if err != nil {
		return journal.Event{}, err
	}
	next, err := state.Apply(s, seq, rebased)
	if err != nil {
		return journal.Event{}, err
	}
	x.current.Store(next)
	return x.event(seq, state.TransitionEvent, data), nil
}

// attach is what Create and Open have in common: what git advises, the saver,
// and bringing the workspace into order.
func (x *Execution) attach(ctx context.Context, a advice) error {
	// What a codon has left there is for sameWorkspace: its agent may still be ended.
	if blocked := x.meta.replaced(x.Layout, x.State(), func(*state.Run) bool { return false }); blocked != nil {
		return blocked
	}
	if err := x.openWorkspace(); err != nil {
		return err
	}
	x.clearUp()
	if x.Store != nil {
		if err := x.keepLeftOut(); err != nil {
			return err
		}
	}
	if err := x.heed(a); err != nil {
		return err
	}
	x.settled = false
	defer func() { x.settled = true }()
	if err := x.settleIn(); err != nil {
		return err
	}
	x.dropEmptyRuns()
	if err := x.anchor(ctx); err != nil {
		return err
	}
	if err := x.handOver(ctx); err != nil {
		return err
	}
	if err := x.finishIntent(ctx); err != nil {
		return err
	}
	return x.markCrashes(ctx)
}

// dropEmptyRuns removes the folders of runs that a crash kept from beginning.
// What holds anything stays, and so does what cannot be removed.
func (x *Execution) dropEmptyRuns() {
	folders, err := x.fs.ReadDir(x.Layout.Runs())
	if err != nil {
		return
	}
	known := map[string]bool{}
	for _, r := range x.State().Runs {
		known[string(r.RunID)] = true
	}
	for _, folder := range folders {
		if folder.IsDir() && !known[folder.Name()] {
			_ = x.fs.Remove(x.Layout.RunFolder(state.RunID(folder.Name())))
		}
	}
}

// startSaver begins to keep state.json. What is damaged of it, or of another
// execution, or was left by an interrupted save, goes to quarantine: there is
// a whole state now.
func (x *Execution) startSaver() error {
	snaps := &snapshot.Store{FS: x.fs, Path: x.Layout.State(), Verify: x.ownState, Quarantine: x.setAside}
	v := &saver{store: snaps, serial: x.State().Serial, held: x.Held, onDisk: x.onDisk}
	v.saved = func(s *state.State, end journal.Place) {
		if x.Held() == nil { // else it would be written into somebody else's folder
			writeHead(x.fs, x.Layout, x.lock.info.Process.BootID, s, end)
		}
	}
	v.failed = func(err error) {
		var lost *LostError
		if errors.As(err, &lost) {
			return // the next transition says it, and ends the run
		}
		x.opts.Warn(fmt.Sprintf("%v; the journal holds everything, and the next save tries again", err))
	}
	x.saver = v.start()
	if err := snaps.SetAside(x.notOurs()); err != nil {
		return err
	}
	x.saver.ask(x.State(), x.journal.End(), true)
	return nil
}

// notOurs returns what opening has found of state.json and its backup. What is
// whole, but of another execution, is as bad as damaged.
func (x *Execution) notOurs() []snapshot.Candidate {
	list := make([]snapshot.Candidate, len(x.files))
	for i, f := range x.files {
		list[i] = f.Candidate
		if err := x.ours(f.lineage); f.Err == nil && err != nil {
			list[i].Err = &snapshot.DamagedError{Path: f.Path, Err: err}
		}
	}
	return list
}

// ownState tells whether a text is a whole state of this execution. Of one that
// hank wrote, the digest vouches for its lineage.
func (x *Execution) ownState(text []byte) error {
	if err := state.Verify(text); err != nil {
		return err
	}
	lineage, _ := state.Peek(text)
	return x.ours(lineage)
}

// errOfOrigin is said of what a copy has brought along.
var errOfOrigin = errors.New("it is of the execution that this is a copy of; nothing in it is damaged")

// ours tells whether a lineage is this execution's, or that of another system,
// which has none.
func (x *Execution) ours(lineage string) error {
	if lineage != "" && lineage == x.origin {
		return errOfOrigin
	}
	if lineage != "" && lineage != x.State().Lineage {
		return fmt.Errorf("it is of another execution (lineage %.8s)", lineage)
	}
	return nil
}

// settleIn notes where the execution is. A moved one gets its paths anew; a
// copied one a lineage of its own besides, so that the two cannot be taken for
// one another.
func (x *Execution) settleIn() error {
	inode, err := inodeOf(x.Layout.Hankweave())
	if err != nil {
		return err
	}
	how := relocated(x.fs, x.meta, x.Layout.Root, inode)
	s, strayed := x.Layout.rehouse(x.State())
	switch {
	case how == copied:
		copied := *s
		x.origin, copied.Lineage = s.Lineage, newID(16)
		if err := x.rebase(&copied, x.journal.Last()+1, "this is a copy of "+x.meta.Root); err != nil {
			return err
		}
		x.Report.add(Note, "this execution is a copy of %s and goes its own way from here", x.meta.Root)
	case strayed:
		if err := x.rebase(s, x.journal.Last()+1, "the execution is in "+x.Layout.Root+" now"); err != nil {
			return err
		}
		fallthrough
	case how == moved:
		x.Report.add(Note, "the execution was moved here from %s", orElsewhere(x.meta.Root))
	}
	if how != inPlace {
		x.meta.Folder = nil
	}
	if err := x.startSaver(); err != nil {
		return err
	}
	x.merger = newMerger(x.Store, x.opts.Warn)
	if err := x.renewMeta(inode); err != nil {
		return err
	}
	return x.linkData()
}

// linkData puts the data into the workspace.
func (x *Execution) linkData() error {
	if data := x.meta.ReadOnlySourceDataPath; data != "" && x.meta.LinkType != "copy" {
		if err := linkData(data, x.Layout.Data()); err != nil {
			return fmt.Errorf("linking the data into the workspace: %w", err)
		}
	}
	return nil
}

func orElsewhere(root string) string {
	if root == "" {
		return "elsewhere"
	}
	return root
}

// renewMeta brings execution-meta.json up to date. A damaged one is kept in
// quarantine, and what of it can be seen in the execution is taken from there.
func (x *Execution) renewMeta(inode string) error {
	if x.meta.Version == "" {
		if _, err := readMeta(x.fs, x.Layout.Meta()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			if err := x.setAside(x.Layout.Meta(), err); err != nil {
				return err
			}
		}
		x.meta = Meta{Version: MetaVersion, CreatedAt: x.Now(), Environment: here()}
		if data, err := os.Readlink(x.Layout.Data()); err == nil {
			x.meta.ReadOnlySourceDataPath, x.meta.LinkType = data, "symlink"
		}
	}
	return x.SetMeta(func(m *Meta) {
		if x.State().Adopted && m.Lineage == "" && m.Adopted == nil {
			m.adopt(x.Now())
		}
		m.setLineage(x.State().Lineage)
		m.Root, m.Inode = x.Layout.Root, inode
		if r := x.State().Newest(); r == nil || r.Live() == nil {
			m.rememberWorkspace(x.lock.workspace())
		}
		if x.Layout.Workspace != DefaultWorkspace(x.Layout.Root) {
			m.Workspace = x.Layout.Workspace
		}
	})
}
