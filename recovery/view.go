package recovery

import (
	"cmp"
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
	"hank/checkpoint/packdb"
	"hank/internal/advice"
	"hank/internal/secret"
	"hank/internal/term"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/recovery/lock"
	"hank/state"
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
	if r == nil || v.Live {
		return nil
	}
	live := r.Live()
	if live == nil || live.Settling == nil || live.Settling.At == nil || !execution.IsOfBoot(r, layout.Boot()) || !live.Conclude(*live.Settling.At).Settled() {
		return nil
	}
	return live
}

// LateAtOnce is LateQuestion as far as the workspace's folder alone tells: names have
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
			v.Report.Add(finding.Warning, "%s is in the checkpoints, and files of this name hold secrets; keep exports of them private, or change those secrets and begin a new execution with the line /%s in .gitignore", path, path)
		}
	}
}

// Weigh looks how much the checkpoints take. Where that is most of their cap, it
// is a finding, too.
func (v *View) Weigh() execution.Weight {
	w := execution.Weight{Cap: execution.Cap(v.Meta)}
	store, err := v.Store()
	if err != nil {
		return w // whoever needs checkpoints says so
	}
	defer store.Close()
	if w.Bytes = store.PackBytes(); w.Heavy() {
		v.Report.Add(finding.Warning, "the checkpoints take %s of their cap of %s, where the run pauses; `hank run --checkpoint-cap SIZE` sets another, `hank gc` shows what could go", term.Bytes(w.Bytes), term.Bytes(w.Cap))
	}
	return w
}

// View is an execution as a reader sees it: no lock is taken and nothing is
// written. What an opening would mend is in Report, and is computed again by
// the next one.
type View struct {
	Layout layout.Layout
	Meta   layout.Meta
	State  *state.State
	Head   state.Head // of State
	Report finding.Report
	// Repairs are what the next opening does, in its order; what of them is worth a
	// finding is in Report.
	Repairs []Repair
	Holder  *lock.LockInfo // who says to hold it; see Live
	Live    bool           // a runtime is at work
	// Blocked is what a person must do about the workspace before anything else;
	// nil: nothing. It is in Report, too.
	Blocked *finding.DecisionError
	// ForeignJournal: the journal is Hankweave's; see ReadForeignEvents.
	ForeignJournal bool

	fs       vfs.FS
	metaErr  error // why Meta could not be read
	storeErr error // why the checkpoints could not be used
}

// Creating reports whether the execution is being created now: a runtime holds it,
// and its first checkpoint is not made yet.
func (v *View) Creating() bool {
	return v.Live && !v.ForeignJournal && v.State.InitialCheckpoint == "" && len(v.State.Runs) == 0
}

// CreatingError says that an execution has no checkpoints yet, because it is just
// being created.
type CreatingError struct{ Root string }

func (e *CreatingError) Error() string {
	return "the execution " + e.Root + " is being created and has no checkpoints yet; ask again in a moment"
}

// Read looks at an execution. A state that cannot be read at all is a
// *DecisionError.
func Read(root string) (*View, error) { return read(vfs.OS, root) }

func read(fsys vfs.FS, root string) (*View, error) {
	v, err := look(fsys, root)
	if err != nil {
		return nil, err
	}
	if err := v.read(); err != nil {
		return nil, err
	}
	return v, nil
}

// Glance is Read for those who ask where an execution stands, and not how it
// got there: State may be that of a head, see state.Head. It costs nearly the
// same however long the history is, as long as the files are those that hank
// has left in this boot; else it is Read.
func Glance(root string) (*View, error) {
	v, err := look(vfs.OS, root)
	if err != nil {
		return nil, err
	}
	if v.glance() {
		return v, nil
	}
	return Read(root)
}

// look sees what does not depend on the state.
func look(fsys vfs.FS, root string) (*View, error) {
	if mark, cut := importing(fsys, root); cut {
		return nil, importCut(root, mark)
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

// glance takes the state from the head. It is false if there is anything to be
// said that takes the whole state.
func (v *View) glance() bool {
	if paths, _ := layout.Irregular(v.fs, v.Layout.Events()); len(paths) > 0 || v.metaErr != nil {
		return false
	}
	head, ok := load.ReadHead(v.fs, v.Layout, layout.Boot(), v.Live)
	if !ok || head.State.Lineage != v.Meta.Lineage {
		return false
	}
	m := load.Memory{State: head.State, Lineage: head.State.Lineage, Source: "state.json", Last: head.State.Seq}
	if err := v.consult(&m); err != nil || m.State != head.State || len(v.Report.Findings) > 0 {
		return false
	}
	v.Head = head
	v.conclude(m)
	return true
}

// read reads the state from whichever memory knows most of it.
func (v *View) read() error {
	meta := v.Meta
	m, err := load.Recall(v.fs, v.Layout, meta.Lineage, layout.Boot(), &v.Report)
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
		if (m.Traces || v.began()) && !v.Live {
			return needFresh(v.Layout)
		}
		m.State, m.Source = &state.State{Lineage: meta.Lineage}, "new"
	}
	v.Head = m.State.Head()
	v.conclude(m)
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

// conclude says what follows from the state.
func (v *View) conclude(m load.Memory) {
	v.State, _ = v.Layout.Rehouse(m.State)
	v.ForeignJournal = m.Apart
	v.Report.Source = m.Source
	v.Holder, _ = lock.ReadLock(v.fs, v.Layout.Lock())
	if m.Barred || errors.Is(v.metaErr, fs.ErrPermission) {
		v.Blocked = v.Barred()
	}
	if v.Blocked == nil && !v.Live {
		v.Blocked = v.Meta.Supplanted(v.Layout, v.State, func(r *state.Run) bool { return execution.IsOfBoot(r, layout.Boot()) })
	}
	if v.Blocked == nil {
		v.Blocked = blockedWorkspace(v.Layout, v.Meta, v.metaErr)
	}
	if v.Blocked == nil && !v.Live {
		v.Blocked = v.Meta.Replaced(v.Layout, v.State, func(r *state.Run) bool { return execution.IsOfBoot(r, layout.Boot()) })
	}
	if v.Blocked != nil {
		if v.Head.Done == v.Head.Planned { // a run would have nothing to do
			v.Blocked.Command = strings.Replace(v.Blocked.Command, "hank run --restore", "hank rollback --to last-success --yes", 1)
		}
		v.Report.Add(finding.Blocked, "%v", v.Blocked)
	} else if v.Blocked = cmp.Or(v.blockedIntent(), v.blockedRedo()); v.Blocked != nil {
		v.Report.Add(finding.Blocked, "%v", v.Blocked)
	} else {
		v.lookAtWorkspace()
	}
	for _, o := range layout.Obstacles(v.fs, v.Layout) {
		o.Report(&v.Report)
	}
	v.judge()
}

// Gone reports whether the workspace is not there, so that the next command would
// make an empty one.
func (v *View) Gone() bool {
	_, err := os.Lstat(v.Layout.Workspace)
	return errors.Is(err, fs.ErrNotExist)
}

// lookAtWorkspace says what shows of the workspace at a glance: that it is gone, or
// that it is another folder than the one that the last codon left.
func (v *View) lookAtWorkspace() {
	switch now, err := layout.FolderAt(v.Layout.Workspace); {
	case v.Live || v.Head.Planned == 0:
	case v.Gone():
		missingWorkspace(v.Layout).report(&v.Report)
	case err == nil && v.Meta.Folder != nil && v.Meta.Root == v.Layout.Root && now.Inode != v.Meta.Folder.Inode: // the number of a volume may change with a boot
		next := "`hank run` compares it with the last checkpoint, and asks only where it differs"
		if r := v.State.Newest(); r != nil && r.Live() != nil {
			next = "what is in it counts as what the interrupted codon has left"
		}
		v.Report.Add(finding.Note, "the workspace %s is another folder than hank last had there; %s", v.Layout.Workspace, next)
	}
}

// consult asks git for what the other memories do not know. While a runtime
// is at work its journal is always behind its branches for a moment.
func (v *View) consult(m *load.Memory) error {
	if v.Live && m.State != nil && !m.Foreign {
		return nil
	}
	store, err := v.Store()
	var damaged *checkpoint.DamagedError
	var decision *finding.DecisionError
	var creating *CreatingError
	switch {
	case errors.As(err, &decision) || errors.As(err, &damaged) || errors.As(err, &creating):
		v.storeErr = err // whoever needs checkpoints says so
	case err != nil:
		return err
	}
	if err == nil {
		defer store.Close()
	}
	if m.Foreign && v.Live {
		m.State, err = (githistory.Chronicle{Store: store, Rep: &v.Report}).Adopt(m.State)
		return err
	}
	a, err := consultGit(m, store, &v.Report)
	if err != nil || m.State == nil || store == nil { // there is nothing to compare
		return err
	}
	repairs, next, err := planBranches(store, m.State, a)
	if err != nil {
		return fmt.Errorf("comparing the branches with the state: %w", err)
	}
	v.plan(repairs)
	m.State = next
	return nil
}

// plan adds what the next opening repairs.
func (v *View) plan(repairs []Repair) {
	for _, r := range repairs {
		v.Repairs = append(v.Repairs, r)
		r.report(&v.Report)
	}
}

// beginning is how long a folder of hank's own that is empty may be one that
// somebody has just made and not locked yet.
const beginning = 200 * time.Millisecond

// holdsOrBegins reports whether somebody holds the execution. A folder without
// anything in it is looked at until it has something, or is locked, for it may
// just have been made.
func (v *View) holdsOrBegins() bool {
	for end := time.Now().Add(beginning); ; time.Sleep(5 * time.Millisecond) {
		live := lock.IsHeld(v.Layout) || v.heldByHankweave()
		if live || time.Now().After(end) || layout.ExistsIn(v.fs, v.Layout.Root) {
			return live
		}
	}
}

// began tells whether anything was ever acknowledged in the execution.
func (v *View) began() bool {
	runs, err := os.ReadDir(v.Layout.Runs())
	if err == nil && len(runs) > 0 {
		return true
	}
	_, err = os.Lstat(v.Layout.Store())
	return err == nil
}

// heldByHankweave tells whether the lock file is a Hankweave's that may live.
func (v *View) heldByHankweave() bool {
	h, err := lock.ReadLock(v.fs, v.Layout.Lock())
	if err != nil || !h.Foreign() {
		return false
	}
	alive, _ := h.Alive()
	return alive
}

// judge says of each run that claims to be running what the next opening will
// record.
func (v *View) judge() {
	for _, r := range v.State.Runs {
		if r.Status != state.StatusRunning || v.Live {
			continue
		}
		if r.Paused != nil {
			v.paused(r)
			continue
		}
		over, why := v.over(r)
		if !over {
			v.Report.Add(finding.Note, "run %s is running as far as can be seen: %s", r.RunID, why)
			continue
		}
		what, next := "between two codons", "`hank run` goes on from there"
		switch live := r.Live(); {
		case live == nil:
		case live.Settling != nil && execution.IsOfBoot(r, layout.Boot()):
			what, next = fmt.Sprintf("when codon %s had ended", live.CodonID), "the next command makes its checkpoint"
		default:
			what, next = fmt.Sprintf("while codon %s was %s", live.CodonID, live.Status), "`hank run` goes on from before it"
		}
		f := finding.Finding{Severity: finding.Mended, What: fmt.Sprintf("run %s has crashed %s (%s); %s", r.RunID, what, why, next), Next: next}
		if v.Blocked != nil {
			f = f.Held()
		}
		v.Report.Insert(f)
	}
	if v.Unfinished() && v.Blocked == nil {
		i := v.State.Intent
		v.Report.Add(finding.Warning, "a %s to %.12s was interrupted and is unfinished; %s finishes it, as the next command that changes something does", i.Kind, i.To, advice.Quote(execution.FixCommand))
	}
}

// Unfinished reports whether a change of the workspace was interrupted.
func (v *View) Unfinished() bool { return v.State.Intent != nil && !v.Live }

// paused says of a run that its runtime has left why, and what comes next.
func (v *View) paused(r *state.Run) {
	severity, what := finding.Blocked, "between two codons"
	switch live := r.Live(); {
	case live != nil && live.Settling != nil:
		what = fmt.Sprintf("at codon %s, which has done its work and does not run again", live.CodonID)
	case live != nil:
		what = fmt.Sprintf("at codon %s (%s), which `hank run` does again", live.CodonID, live.Status)
	}
	if r.Paused.Reason != state.EndDecision {
		severity = finding.Mended
	}
	if v.isBack(r) {
		v.Report.Add(finding.Mended, pausedNoMore, r.RunID, what)
		return
	}
	v.Report.Add(severity, "run %s is paused %s: %s", r.RunID, what, r.Paused.Detail)
}

const pausedNoMore = "run %s is paused %s; what it was paused for is no more, and the next command makes the codon's checkpoint"

// LookAgain replaces what is said of a run that was paused because a file could not be
// recorded, where a look at the whole workspace meets no such file any more: the next
// command makes the codon's checkpoint. Nothing on disk is changed.
func (v *View) LookAgain(ctx context.Context) {
	r, live := v.State.Newest(), v.Unrecorded()
	if v.Blocked != nil || v.Gone() || live == nil || r.Paused == nil || !strings.HasPrefix(r.Paused.Detail, packdb.CannotRecord) {
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
	what := fmt.Sprintf("at codon %s, which has done its work and does not run again", live.CodonID)
	was := fmt.Sprintf("run %s is paused %s: %s", r.RunID, what, r.Paused.Detail)
	for i, f := range v.Report.Findings {
		if f.Severity == finding.Blocked && f.What == was {
			v.Report.Findings[i] = finding.Finding{Severity: finding.Mended, What: fmt.Sprintf(pausedNoMore, r.RunID, what), Next: "the next command makes the codon's checkpoint"}
		}
	}
}

// Unreadable is the file that a run was paused for because it cannot be read, where
// that is still so; empty: there is none. Only a person can say what becomes of it.
func (v *View) Unreadable() string {
	r := v.State.Newest()
	if v.Live || r == nil || r.Live() == nil || r.Paused == nil {
		return ""
	}
	detail, _ := strings.CutPrefix(r.Paused.Detail, packdb.CannotRecord)
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

// Crashed tells whether a run that says running is over without having said so.
func (v *View) Crashed(r *state.Run) bool {
	if r.Status != state.StatusRunning || r.Paused != nil || v.Live {
		return false
	}
	over, _ := v.over(r)
	return over
}

// over asks what the next opening will, while nobody holds the execution.
func (v *View) over(r *state.Run) (bool, string) {
	trusted := false
	if dir, err := os.Open(v.Layout.Hankweave()); err == nil {
		trusted = lock.FlockTrusted(dir)
		_ = dir.Close() // it was only looked at
	}
	return isOver(r, trusted)
}

// Store opens the checkpoint store for reading: the stat cache is used, and left
// as it is.
func (v *View) Store() (*checkpoint.Store, error) {
	store, err := checkpoint.Open(checkpoint.Options{FS: v.fs, Dir: v.Layout.Store(), CacheFile: v.Layout.StatCache(), BootID: layout.Boot(), ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) && v.Live && (v.State == nil || v.Creating()) {
		return nil, &CreatingError{v.Layout.Root}
	}
	if errors.Is(err, fs.ErrNotExist) || err != nil && layout.InTheWay(v.fs, filepath.Dir(v.Layout.Store())) != nil {
		lost := "is gone"
		if damaged := new(checkpoint.DamagedError); errors.As(err, &damaged) {
			lost = "is damaged: " + damaged.Why
		}
		return nil, &finding.DecisionError{What: "the checkpoint store " + v.Layout.Store() + " " + lost, Options: []string{"put it back from a copy", "`hank doctor --fix` starts a new one"}, Command: execution.FixCommand}
	}
	return store, err
}

// StoreLost asks what is to become of an execution whose checkpoint store is gone, or
// lacks what makes it one; nil if that is not so, as far as opening it tells.
func (v *View) StoreLost() *finding.DecisionError {
	var decision *finding.DecisionError
	var damaged *checkpoint.DamagedError
	switch {
	case v.Live || v.State.InitialCheckpoint == "" && len(v.State.Runs) == 0: // it need not hold anything
	case errors.As(v.storeErr, &decision):
		return decision
	case errors.As(v.storeErr, &damaged):
		return &finding.DecisionError{What: damaged.Path + " is damaged: " + damaged.Why, Options: []string{"put it back from a copy", advice.Quote(execution.FixCommand) + " starts a new checkpoint store"}, Command: execution.FixCommand}
	}
	return nil
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
		judge := store.Judge(context.Background())
		w.HasCommit = func(sha state.SHA) bool {
			whole, err := judge.Whole(checkpoint.SHA(sha))
			return whole || err != nil
		}
		return state.Validate(v.State, w)
	}
	return state.Validate(v.State, w)
}

// OnlyOfOrigin reports whether all that was set aside is whole, and of the execution
// that this is a copy of.
func (v *View) OnlyOfOrigin() bool {
	names := v.Quarantined()
	for _, name := range names {
		why, err := os.ReadFile(filepath.Join(v.Layout.Quarantine(), name+".why"))
		if err != nil || !strings.HasSuffix(strings.TrimSpace(string(why)), execution.ErrOfOrigin.Error()) {
			return false
		}
	}
	return len(names) > 0
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
