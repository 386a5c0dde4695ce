package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hank/checkpoint"
	"hank/internal/gitignore"
	"hank/internal/secret"
	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/recovery/lock"
	"hank/state"
	"hank/state/consistency"
	"hank/state/journal"
)

// LateQuestion returns what the next opening asks about a workspace that was changed
// between a codon's end and its checkpoint; nil if it asks nothing. Nothing on disk is
// changed.
func (v *View) LateQuestion(ctx context.Context, store *checkpoint.Store) (*finding.DecisionError, error) {
	live := v.Unrecorded()
	if live == nil {
		return nil, nil
	}
	ws, err := v.Layout.OpenWorkspace()
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	defer store.Abort() // what the scan has found is not kept
	selection, base := execution.Tracked(v.State, live.CodonID), checkpoint.SHA(execution.Head(v.State))
	selection.Never = execution.Never
	if !store.Has(base) { // lost, and parted from
		base = ""
	}
	snap, err := store.Snapshot(ctx, checkpoint.SnapshotRequest{Workspace: ws, Selection: selection, Base: base})
	if err != nil {
		return nil, err
	}
	changed, err := execution.ChangedAfterEnd(v.Layout, v.State, store, live, snap)
	if changed = execution.ExceptPaused(v.State.Newest(), changed); err != nil || len(changed) == 0 {
		return nil, err
	}
	return execution.LateQuestion(live, changed), nil
}

// Unrecorded is the codon that has done its work and whose checkpoint the next
// opening makes; nil if there is none.
func (v *View) Unrecorded() *state.Codon {
	r := v.State.Newest()
	if v.Live || !Concludes(r) || r.Live().Settling.At == nil || !r.Live().Conclude(*r.Live().Settling.At).Settled() {
		return nil
	}
	return r.Live()
}

// Concludes reports whether the next opening makes the checkpoint of a codon that had ended.
func Concludes(r *state.Run) bool {
	return r != nil && r.Live() != nil && r.Live().Settling != nil && ofThisBoot(r)
}

// LateAtOnce is LateQuestion as far as the workspace's directory alone tells: names have
// come or gone in it since.
func (v *View) LateAtOnce() *finding.DecisionError {
	live := v.Unrecorded()
	if live == nil {
		return nil
	}
	fi, err := os.Stat(v.Layout.Workspace)
	if err != nil || !fi.ModTime().After(live.Settling.At.Add(execution.EndMargin)) {
		return nil
	}
	return execution.LateQuestion(live, []string{"./"})
}

// WarnOfPrivate adds a finding for each file for secrets that is in the newest
// checkpoint. It looks at the two upper levels of the workspace.
func (v *View) WarnOfPrivate() {
	found := secret.PrivateFiles(v.Layout.Workspace)
	if len(found) == 0 {
		return
	}
	store, err := v.Store()
	if err != nil {
		return // whoever needs checkpoints says so
	}
	defer store.Close()
	info, err := store.CommitInfo(checkpoint.SHA(execution.Head(v.State)))
	if err != nil {
		return
	}
	for _, path := range found {
		if store.HasFile(info.Tree, path) {
			v.Report.Add(finding.Warning, "%s is in the checkpoints, and files of this name hold secrets; treat exports as confidential, or replace those secrets and start a new execution with the line %s in .gitignore", path, gitignore.Line(path))
		}
	}
}

// Weigh looks how much checkpoints and agents take.
func (v *View) Weigh() layout.Weight {
	w := layout.Weight{Agents: v.Layout.AgentBytes(), Cap: execution.Cap(v.Meta)}
	store, err := v.Store()
	if err != nil {
		return w // whoever needs checkpoints says so
	}
	defer store.Close()
	w.Bytes = store.PackBytes()
	return w
}

// View is an execution as a reader sees it: no lock is taken and nothing is
// written. What an opening would mend is in Report, and is computed again by
// the next one.
type View struct {
	Layout layout.Layout
	Meta   layout.Meta
	State  *state.State
	Head   state.Summary // of State
	Report finding.Report
	// Repairs are what the next opening does, in its order; what of them is worth a
	// finding is in Report.
	Repairs []Repair
	Holder  *lock.LockInfo // who says to hold it; see Live
	Live    bool           // a runtime is running
	Whole   bool           // State has all records; else it may be that of a head
	// Refs are where references lead after Repairs, by name; nil: where they do.
	Refs map[string]checkpoint.SHA
	// Blocked is what the user must do about the workspace before anything else;
	// nil: nothing. It is in Report, too.
	Blocked *finding.DecisionError
	// ForeignJournal: the journal is Hankweave's; see ReadForeignEvents.
	ForeignJournal bool
	Journal        *journal.Opened // as it was found; nil: it is not there, or State is that of a head

	fs       vfs.FS
	metaErr  error                 // why Meta could not be read
	history  githistory.Comparison // what git adds to the other records
	changed  bool                  // State is not what was read, but what the next opening makes of it
	storeErr error                 // why the checkpoints cannot be used
	outline  *plan.Outline         // of its program, once it was asked for
	store    *checkpoint.Store     // while the execution is looked at; nil: see storeErr, and while a runtime holds it
}

// Creating reports whether the execution is being created now: a runtime holds it,
// and its first checkpoint is not made yet.
func (v *View) Creating() bool {
	return v.Live && !v.ForeignJournal && v.State.InitialCheckpoint == "" && len(v.State.Runs) == 0
}

// CreatingError says that an execution has no checkpoints yet, because it is just being created.
type CreatingError struct{ Root string }

func (e *CreatingError) Error() string {
	return "the execution " + e.Root + " is being created and has no checkpoints yet; ask again in a moment"
}

// Read looks at an execution. A state that cannot be read at all is a *DecisionError.
func Read(root string) (*View, error) { return read(vfs.OS, root, false) }

// ReadKnown is Read for viewers: of the journal's current segment, what the writer vouches for
// is not verified, see load.KnownEnd. Damage that keeps size and times of the file is not found.
func ReadKnown(root string) (*View, error) { return read(vfs.OS, root, true) }

func read(fsys vfs.FS, root string, known bool) (*View, error) {
	v, err := look(fsys, root)
	if err != nil {
		return nil, err
	}
	defer v.closeStore()
	err = v.read(known)
	if v.Whole = true; err != nil {
		return nil, err
	}
	return v, nil
}

// ReadSummary is Read for those who ask where an execution is, and not how it
// got there: State may be that of a head, see state.Summary. It costs nearly the
// same however long the history is, as long as the files are those that hank
// has left in this boot; else it is Read.
func ReadSummary(root string) (*View, error) {
	v, err := look(vfs.OS, root)
	if err != nil || v.readSummary() {
		return v, err
	}
	return Read(root)
}

// ReadNames reads what names of targets and codons are made of: see load.ReadNames. Where that
// is not to be had from one file, it is the whole state.
func ReadNames(root string) (*state.State, error) {
	v, err := look(vfs.OS, root)
	if err != nil {
		return nil, err
	}
	if !v.Live && v.metaErr == nil {
		if s, ok := load.ReadNames(v.fs, v.Layout, layout.Boot(), v.Meta.Lineage); ok {
			return s, nil
		}
	}
	if v, err = Read(root); err != nil {
		return nil, err
	}
	return v.State, nil
}

// look sees what does not depend on the state.
func look(fsys vfs.FS, root string) (*View, error) {
	if mark, cut := importing(fsys, root); cut {
		return nil, importCut(root, mark)
	}
	if r, interrupted := layout.Resetting(fsys, root); interrupted {
		return nil, resetInterrupted(root, r)
	}
	v := &View{fs: fsys, Report: finding.Report{Reading: true}}
	v.Layout = layout.Layout{Root: root}
	v.Live = v.holdsOrBegins()
	meta, metaErr := layout.ReadMetaFile(fsys, v.Layout.Meta())
	v.Layout.Workspace = layout.ResolveWorkspace(meta, root) // CheckOwner names it
	if metaErr != nil && !(v.Live && errors.Is(metaErr, fs.ErrNotExist)) && !(errors.Is(metaErr, fs.ErrPermission) && v.Barred() != nil) {
		unreadableMeta(metaErr).report(&v.Report)
	}
	meta.Doubt(&v.Report)
	v.Meta, v.Layout = meta, layout.Layout{Root: root, Workspace: layout.ResolveWorkspace(meta, root)}
	v.metaErr = metaErr
	return v, nil
}

// readSummary takes the state from the head. It is false if there is anything to be
// said that takes the whole state.
func (v *View) readSummary() bool {
	defer v.closeStore()
	if paths, _ := layout.Irregular(v.fs, v.Layout.Events()); len(paths) > 0 || v.metaErr != nil {
		return false
	}
	head, ok := load.ReadHead(v.fs, v.Layout, layout.Boot(), v.Live)
	if !ok || head.State.Lineage != v.Meta.Lineage {
		return false
	}
	m := load.Result{State: head.State, Lineage: head.State.Lineage, Source: "state.json", Last: head.State.Seq}
	if err := v.consult(&m); err != nil || m.State != head.State || len(v.Report.Findings) > 0 {
		return false
	}
	v.Head = head
	v.conclude(m)
	return v.Refs == nil && !v.changed && (v.Live || !githistory.MayGrow(v.Head))
}

// read reads the state from whichever source knows most of it.
func (v *View) read(known bool) error {
	meta, boot, end := v.Meta, layout.Boot(), journal.Place{}
	if known {
		end = load.KnownEnd(v.fs, v.Layout, boot, v.Live)
	}
	m, err := load.LoadFrom(v.fs, v.Layout, meta.Lineage, boot, end, &v.Report)
	if err != nil {
		return v.orOwner(fmt.Errorf("reading the state: %w", err))
	}
	if err := v.consult(&m); err != nil {
		return v.orOwner(err)
	}
	if !v.Live { // else both may change at any moment
		reportJournal(m, &v.Report)
	}
	if m.State == nil && m.Barred {
		if owner := v.Barred(); owner != nil {
			return owner
		}
	}
	if m.State == nil {
		if !v.Live && isBegun(v.fs, v.Layout, m, v.storeErr) {
			return needFresh(v.Layout)
		}
		m.State, m.Source = &state.State{Lineage: meta.Lineage}, "new"
	}
	v.Head, v.Journal = m.State.Summary(), m.Found
	v.conclude(m)
	v.grow()
	return nil
}

// Barred asks for the files of hank's own that this user may not use: another
// one's, as a run of root leaves them, or those that their modes close; nil: there
// are none.
func (v *View) Barred() *finding.DecisionError {
	var barred *finding.DecisionError
	if !v.Live {
		errors.As(layout.CheckOwner(v.Layout), &barred)
	}
	return barred
}

// orOwner returns an error of reading, or whose the file is that may not be read.
func (v *View) orOwner(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		if owner := v.Barred(); owner != nil {
			return owner
		}
	}
	return err
}

// conclude goes through what an opening does once it has the state, in its order.
func (v *View) conclude(m load.Result) {
	v.State = m.State
	v.ForeignJournal = m.Apart
	v.Report.Source = m.Source
	v.Holder, _ = lock.ReadLock(v.fs, v.Layout.Lock())
	for _, o := range layout.Obstacles(v.fs, v.Layout) {
		o.Report(&v.Report)
	}
	v.block(v.askAboutPlace(m))
	if v.Live {
		v.State, _ = v.Layout.RebasePaths(m.State)
	} else {
		v.block(v.storeLost())
		v.block(restoring(v.Meta.Replaced(v.Layout, v.State, ofThisBoot), v.State, v.Head.Done == v.Head.Planned))
		v.foresee(v.history)
		v.block(v.blockedRedo())
	}
	if v.Blocked == nil {
		v.lookAtWorkspace()
	}
}

// block reports what the user must decide before anything else; the first question is the one that is asked.
func (v *View) block(e *finding.DecisionError) {
	if v.Blocked == nil && e != nil {
		v.Blocked = e
		v.Report.Add(finding.Blocked, "%v", e)
		for _, r := range v.Repairs {
			if r.run != nil { // no run continues before that
				v.Report.Replace(r.finding(true).What, r.finding(true).Deferred())
			}
		}
	}
}

// askAboutPlace asks what is to become of files that this user may not use, and of what
// is in the place of the workspace.
func (v *View) askAboutPlace(m load.Result) *finding.DecisionError {
	var e *finding.DecisionError
	if m.Barred || errors.Is(v.metaErr, fs.ErrPermission) {
		e = v.Barred()
	}
	if e == nil && !v.Live {
		e = v.Meta.Supplanted(v.Layout, v.State, ofThisBoot)
	}
	if e == nil {
		e = blockedWorkspace(v.Layout, v.Meta, v.metaErr)
	}
	return restoring(e, v.State, v.Head.Done == v.Head.Planned)
}

func ofThisBoot(r *state.Run) bool { return execution.IsOfBoot(r, layout.Boot()) }

// storeLost asks what becomes of a store that is lost, or that this user may not use.
func (v *View) storeLost() *finding.DecisionError {
	if v.storeErr == nil {
		return nil
	}
	if barred := v.Barred(); barred != nil {
		return barred
	}
	return lostStore(v.Layout, v.State, v.storeErr)
}

// Gone reports whether the workspace is not there, so that the next command would make an empty one.
func (v *View) Gone() bool {
	_, err := os.Lstat(v.Layout.Workspace)
	return errors.Is(err, fs.ErrNotExist)
}

// lookAtWorkspace says what shows of the workspace at a glance: that it is gone, or
// that it is another directory than the one that the last codon left.
func (v *View) lookAtWorkspace() {
	switch now, err := layout.DirAt(v.Layout.Workspace); {
	case v.Live:
	case v.Gone():
		missingWorkspace(v.Layout).report(&v.Report)
	case err == nil && v.Head.Planned > 0 && v.Meta.WorkspaceDir != nil && v.Meta.Root == v.Layout.Root && now.Inode != v.Meta.WorkspaceDir.Inode: // the number of a volume may change with a boot
		next := "`hank run` compares it with the last checkpoint, and asks only where it differs"
		if r := v.State.Newest(); r != nil && r.Live() != nil {
			next = "what is in it counts as what the interrupted codon has left"
		}
		v.Report.Add(finding.Note, "the workspace %s is not the directory that hank last had there; %s", v.Layout.Workspace, next)
	}
}

// consult asks git for what the other sources do not know. While a runtime
// is running its journal is always behind its branches for a moment.
func (v *View) consult(m *load.Result) error {
	if v.Live && m.State != nil && !m.Foreign {
		return nil
	}
	store, err := v.openStore()
	var damaged *checkpoint.DamagedError
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged):
		v.storeErr = err // whoever needs checkpoints says so
	case err != nil:
		return err
	}
	v.store = store
	if m.Foreign && v.Live {
		m.State, err = (githistory.History{Store: store, Rep: &v.Report}).Adopt(m.State)
		return err
	}
	v.history, err = consultGit(m, store, &v.Report)
	return err
}

// plan adds what the next opening repairs.
func (v *View) plan(repairs []Repair) {
	for _, r := range repairs {
		if r.run != nil && r.run.Paused != nil && v.isBack(r.run) {
			r = pausedNoMore(r)
		}
		v.Repairs = append(v.Repairs, r)
		if r.refs != nil {
			v.Refs = r.refs
		}
		if r.next != nil {
			v.State, v.Head, v.changed = r.next, r.next.Summary(), true
		}
		switch f := r.finding(true); {
		case r.Found == "":
		case v.Blocked != nil:
			v.Report.Insert(f.Deferred())
		default:
			v.Report.Insert(f)
		}
	}
}

// beginning is how long an empty directory of hank's own may be one that was just made.
const beginning = 200 * time.Millisecond

// holdsOrBegins reports whether somebody holds the execution. A directory without
// anything in it is looked at until it has something, or is locked, for it may
// just have been made.
func (v *View) holdsOrBegins() bool {
	for end := time.Now().Add(beginning); ; time.Sleep(5 * time.Millisecond) {
		live := lock.IsHeld(v.Layout) || v.heldByHankweave()
		_, err := v.fs.Lstat(v.Layout.Hankweave())
		if live || err != nil || time.Now().After(end) || layout.ExistsIn(v.fs, v.Layout.Root) {
			return live
		}
	}
}

// heldByHankweave reports whether the lock file is a Hankweave's that may live.
func (v *View) heldByHankweave() bool {
	h, err := lock.ReadLock(v.fs, v.Layout.Lock())
	if err != nil || !h.Foreign() {
		return false
	}
	alive, _ := h.Alive()
	return alive
}

// Unfinished reports whether a change of the workspace was interrupted.
func (v *View) Unfinished() bool { return v.State.Intent != nil && !v.Live }

// pausedNoMore is what becomes of a paused run when the reason for its pause is gone.
func pausedNoMore(r Repair) Repair {
	r.Ahead, r.Because = "", ""
	r.Will = "what it was paused for is no more, and the next command makes the codon's checkpoint"
	return r
}

// LookAgain replaces what is said of a run that was paused because a file could not be
// recorded, where a look at the whole workspace meets no such file any more: the next
// command makes the codon's checkpoint. Nothing on disk is changed.
func (v *View) LookAgain(ctx context.Context) {
	r, live := v.State.Newest(), v.Unrecorded()
	if v.Blocked != nil || v.Gone() || live == nil || r.Paused == nil || !strings.HasPrefix(r.Paused.Detail, checkpoint.CannotRecord) {
		return
	}
	store, err := v.Store()
	if err != nil {
		return
	}
	defer store.Close()
	if _, err := v.LateQuestion(ctx, store); err != nil {
		return
	}
	for i := range v.Repairs {
		if v.Repairs[i].run == r {
			v.Repairs[i] = pausedNoMore(v.Repairs[i])
			v.Report.Replace(fmt.Sprintf("%s: %s", v.Repairs[i].Found, r.Paused.Detail), v.Repairs[i].finding(true))
		}
	}
}

// Unreadable is the file that a run was paused for because it cannot be read, where
// that is still so; empty: there is none. Only the user can say what becomes of it.
func (v *View) Unreadable() string {
	r := v.State.Newest()
	if v.Live || r == nil || r.Live() == nil || r.Paused == nil {
		return ""
	}
	detail, _ := strings.CutPrefix(r.Paused.Detail, checkpoint.CannotRecord)
	quoted, err := strconv.QuotedPrefix(detail)
	if err != nil {
		return ""
	}
	name, _ := strconv.Unquote(quoted)
	root, err := os.OpenRoot(v.Layout.Workspace)
	if err != nil {
		return ""
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would wait
	if err == nil {
		_ = f.Close()
	}
	if !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return name
}

// isBack reports whether a run was paused because a codon had left something else in
// the place of its workspace, and the workspace is there now.
func (v *View) isBack(r *state.Run) bool {
	return v.Blocked == nil && !v.Gone() && r == v.State.Newest() && v.Unrecorded() != nil &&
		strings.HasPrefix(r.Paused.Detail, "the workspace "+v.Layout.Workspace+" ")
}

// Crashed reports whether a run that says running is over without having said so.
func (v *View) Crashed(r *state.Run) bool {
	if r.Status != state.StatusRunning || r.Paused != nil || v.Live {
		return false
	}
	over, _ := v.over(r)
	return over
}

// LastSign is when the attempt that the newest run has left counts as ended.
func (v *View) LastSign() state.Time {
	left, _ := lock.ReadLock(v.fs, v.Layout.Lock())
	return load.LastSign(v.fs, v.Layout, v.State.Seq, time.Now(), v.State.Newest(), left)
}

// over asks what the next opening will, while nobody holds the execution.
func (v *View) over(r *state.Run) (bool, string) {
	return isOver(r, lock.IsTrusted(v.Layout), layout.IsCopy(v.fs, v.Meta, v.Layout.Root))
}

// openStore opens the checkpoint store for reading: the stat cache is used and not written.
func (v *View) openStore() (*checkpoint.Store, error) {
	store, err := checkpoint.Open(checkpoint.Options{FS: v.fs, Dir: v.Layout.Store(), CacheFile: v.Layout.StatCache(), BootID: layout.Boot(), ReadOnly: true})
	if err != nil && layout.InTheWay(v.fs, filepath.Dir(v.Layout.Store())) != nil { // it goes to quarantine
		err = &fs.PathError{Op: "lstat", Path: v.Layout.Store(), Err: syscall.ENOENT}
	}
	return store, err
}

func (v *View) closeStore() {
	if v.store != nil {
		_ = v.store.Close() // it was only read
		v.store = nil
	}
}

// Store opens the checkpoint store for reading.
func (v *View) Store() (*checkpoint.Store, error) {
	store, err := v.openStore()
	if errors.Is(err, fs.ErrNotExist) && v.Live && (v.State == nil || v.Creating()) {
		return nil, &CreatingError{v.Layout.Root}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, needStore(v.Layout, err)
	}
	return store, err
}

// HasCheckpoint reports whether the store of the execution has a commit.
func (v *View) HasCheckpoint(sha state.SHA) bool {
	store, err := v.openStore()
	if err != nil {
		return false
	}
	defer store.Close()
	return store.Has(checkpoint.SHA(sha))
}

// HankName is the name that the hank of the execution gives itself; empty if it has none.
func (v *View) HankName() string { return v.programOutline().Name }

// Extent is how many codons the plan comes to.
func (v *View) Extent() plan.Extent {
	var next *plan.Entry
	if at := v.Head.Done - v.Head.From; at >= 0 && at < len(v.Head.State.ExecutionPlan()) {
		next = &v.Head.State.ExecutionPlan()[at].Entry
	}
	done := v.Head.Done
	if e := v.awaited(); e != nil { // its loop may continue
		next, done = e, done-1
	}
	return v.programOutline().Extent(v.Head.Planned, done, next)
}

// Items are the codons and loops of the frozen program, as far as it can be read.
func (v *View) Items() []plan.Item { return v.programOutline().Items }

// programOutline is the frozen program, as far as it can be read at a glance; before the first
// run has frozen one, the hank that it would freeze.
func (v *View) programOutline() plan.Outline {
	if v.outline != nil {
		return *v.outline
	}
	v.outline = &plan.Outline{}
	if v.State.Program == "" {
		if text, err := vfs.ReadFile(v.fs, v.Meta.HankPath); err == nil && v.Head.Planned == 0 {
			*v.outline = plan.OutlineOf(text)
		}
		return *v.outline
	}
	store, err := v.Store()
	if err != nil {
		return *v.outline // whoever needs checkpoints says so
	}
	defer store.Close()
	*v.outline = githistory.ProgramOutline(store, v.State.Program)
	return *v.outline
}

// Validate checks the state against itself, the run directories and the store.
func (v *View) Validate() consistency.Validation {
	w := consistency.World{}
	if entries, err := os.ReadDir(v.Layout.Runs()); err == nil {
		w.RunDirs = []string{}
		for _, e := range entries {
			if e.IsDir() {
				w.RunDirs = append(w.RunDirs, e.Name())
			}
		}
	}
	if store, err := v.Store(); err == nil {
		defer store.Close()
		verifier := store.Verifier(context.Background())
		w.Lacks = func(sha state.SHA) string {
			lost, _ := verifier.Lacks(checkpoint.SHA(sha))
			return lost
		}
	}
	return consistency.Validate(v.State, w)
}

// OnlyOfOrigin reports whether all that was set aside is whole, and of the execution
// that this is a copy of.
func (v *View) OnlyOfOrigin() bool {
	names := v.Layout.Quarantined()
	for _, name := range names {
		why, err := os.ReadFile(filepath.Join(v.Layout.Quarantine(), name+".why"))
		if err != nil || !strings.HasSuffix(strings.TrimSpace(string(why)), execution.ErrOfOrigin.Error()) {
			return false
		}
	}
	return len(names) > 0
}
