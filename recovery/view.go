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
	Head   state.Head // of State
	Report Report
	Holder *LockInfo // who says to hold it; see Live
	Live   bool      // a runtime is at work
	// Blocked is what a person must do about the workspace before anything else;
	// nil: nothing. It is in Report, too.
	Blocked *DecisionError
	// ForeignJournal: the journal is Hankweave's; see ReadForeignEvents.
	ForeignJournal bool

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

// ReadMeta reads execution-meta.json.
func ReadMeta(root string) (Meta, error) { return readMeta(vfs.OS, Layout{Root: root}.Meta()) }

// Read looks at an execution. A state that cannot be read at all is a
// *DecisionError.
func Read(root string) (*View, error) {
	v, err := look(root)
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
	v, err := look(root)
	if err != nil {
		return nil, err
	}
	if v.glance() {
		return v, nil
	}
	return Read(root)
}

// look sees what does not depend on the state.
func look(root string) (*View, error) {
	if mark, cut := importing(vfs.OS, root); cut {
		return nil, importCut(root, mark)
	}
	v := &View{Report: Report{reading: true}}
	v.Layout = Layout{Root: root}
	v.Live = v.holdsOrBegins()
	meta, metaErr := ReadMeta(root)
	v.Layout.Workspace = resolveWorkspace(meta, root) // checkOwner names it
	if metaErr != nil && !(v.Live && errors.Is(metaErr, fs.ErrNotExist)) && !(errors.Is(metaErr, fs.ErrPermission) && v.Barred() != nil) {
		v.Report.add(Mended, "execution-meta.json could not be read (%v); the next run writes it anew", metaErr)
	}
	meta.doubt(&v.Report)
	v.Meta, v.Layout = meta, Layout{Root: root, Workspace: resolveWorkspace(meta, root)}
	v.metaErr = metaErr
	return v, nil
}

// glance takes the state from the head. It is false if there is anything to be
// said that takes the whole state.
func (v *View) glance() bool {
	if paths, _ := irregular(vfs.OS, v.Layout.Events()); len(paths) > 0 || v.metaErr != nil {
		return false
	}
	head, ok := readHead(vfs.OS, v.Layout, boot(), v.Live)
	if !ok || head.State.Lineage != v.Meta.Lineage {
		return false
	}
	m := memory{state: head.State, lineage: head.State.Lineage, source: "state.json", last: head.State.Seq}
	if err := v.consult(&m); err != nil || m.state != head.State || len(v.Report.Findings) > 0 {
		return false
	}
	v.Head = head
	v.conclude(m)
	return true
}

// read reads the state from whichever memory knows most of it.
func (v *View) read() error {
	meta := v.Meta
	m, err := recall(vfs.OS, v.Layout, meta.Lineage, boot(), &v.Report)
	if err != nil {
		return v.orOwner(fmt.Errorf("reading the state: %w", err))
	}
	if m.unsaved && !v.Live {
		v.Report.add(Mended, "state.json is gone; the next command writes it anew from the journal")
	}
	if err := v.consult(&m); err != nil {
		return v.orOwner(err)
	}
	if m.state == nil && m.barred {
		if owner := v.Barred(); owner != nil {
			return owner
		}
	}
	if m.state == nil {
		if (m.traces || v.began()) && !v.Live {
			return needFresh(v.Layout)
		}
		m.state, m.source = &state.State{Lineage: meta.Lineage}, "new"
	}
	v.Head = m.state.Head()
	v.conclude(m)
	return nil
}

// Barred asks for the files of hank's own that this user may not use: another
// one's, as a run of root leaves them, or those that their modes close; nil: there
// are none.
func (v *View) Barred() *DecisionError {
	var barred *DecisionError
	if !v.Live {
		errors.As(checkOwner(v.Layout), &barred)
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
func (v *View) conclude(m memory) {
	v.State, _ = v.Layout.rehouse(m.state)
	v.ForeignJournal = m.apart
	v.Report.Source = m.source
	v.Holder, _ = readLock(vfs.OS, v.Layout.Lock())
	if m.barred || errors.Is(v.metaErr, fs.ErrPermission) {
		v.Blocked = v.Barred()
	}
	if v.Blocked == nil && !v.Live {
		v.Blocked = v.Meta.supplanted(v.Layout, v.State, func(r *state.Run) bool { return isOfBoot(r, boot()) })
	}
	if v.Blocked == nil {
		v.Blocked = blockedWorkspace(v.Layout, v.Meta, v.metaErr)
	}
	if v.Blocked == nil && !v.Live {
		v.Blocked = v.Meta.replaced(v.Layout, v.State, func(r *state.Run) bool { return isOfBoot(r, boot()) })
	}
	if v.Blocked != nil {
		if v.Head.Done == v.Head.Planned { // a run would have nothing to do
			v.Blocked.Command = strings.Replace(v.Blocked.Command, "hank run --restore", "hank rollback --to last-success --yes", 1)
		}
		v.Report.add(Blocked, "%v", v.Blocked)
	} else if v.Blocked = cmp.Or(v.blockedIntent(), v.blockedRedo()); v.Blocked != nil {
		v.Report.add(Blocked, "%v", v.Blocked)
	} else {
		v.lookAtWorkspace()
	}
	for _, dir := range v.Layout.ownFolders() {
		if why := inTheWay(vfs.OS, dir); why != nil {
			v.Report.add(Mended, "%s: %v; the next command puts it into quarantine", filepath.Base(dir), why)
		}
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
	switch now, err := folderAt(v.Layout.Workspace); {
	case v.Live || v.Head.Planned == 0:
	case v.Gone():
		v.Report.add(Warning, "the workspace %s is gone; its files are in the checkpoints: hank doctor names the command that brings them back", v.Layout.Workspace)
	case err == nil && v.Meta.Folder != nil && v.Meta.Root == v.Layout.Root && now.Inode != v.Meta.Folder.Inode: // the number of a volume may change with a boot
		next := "hank run compares it with the last checkpoint, and asks only where it differs"
		if r := v.State.Newest(); r != nil && r.Live() != nil {
			next = "what is in it counts as what the interrupted codon has left"
		}
		v.Report.add(Note, "the workspace %s is another folder than hank last had there; %s", v.Layout.Workspace, next)
	}
}

// consult asks git for what the other memories do not know. While a runtime
// is at work its journal is always behind its branches for a moment.
func (v *View) consult(m *memory) error {
	if v.Live && m.state != nil && !m.foreign {
		return nil
	}
	store, err := v.Store()
	if err != nil && m.foreign {
		m.state, _ = m.state.Adopt("", nil)
	}
	var damaged *checkpoint.DamagedError
	var decision *DecisionError
	var creating *CreatingError
	if errors.As(err, &decision) || errors.As(err, &damaged) || errors.As(err, &creating) {
		v.storeErr = err
		return nil // whoever needs checkpoints says so
	}
	if err != nil {
		return err
	}
	defer store.Close()
	if m.foreign {
		if m.state, err = (chronicle{store, &v.Report}).adopt(m.state); err != nil || v.Live {
			return err
		}
	}
	a, err := (chronicle{store, &v.Report}).advise(*m)
	if err != nil {
		return fmt.Errorf("comparing the state with the checkpoints: %w", err)
	}
	m.take(a, &v.Report)
	for _, w := range a.evict {
		v.Report.add(Mended, "checkpoint %.12s on %s was never acknowledged; the next command keeps it on a recovery branch", w.sha, w.branch)
	}
	if m.state == nil {
		return nil // there is nothing to compare with
	}
	for _, l := range a.lost {
		if a.misled(store, m.state, l) {
			v.Report.add(Mended, "branch %s leads to checkpoint %.12s, which is not there; the next command puts it back", l.branch, l.sha)
			continue
		}
		if !ofHistory(l.branch) {
			continue
		}
		v.Report.add(Lost, "checkpoint %.12s, the newest of branch %s, cannot be read (%s)", l.sha, l.branch, cause(l.why))
	}
	if a.forward == nil {
		return nil
	}
	t, err := a.forward.record.transition(a.forward.sha)
	if err != nil {
		return nil // it will be evicted
	}
	if next, err := state.Apply(m.state, a.forward.record.Seq, t); err == nil {
		m.state = next
		v.Report.add(Mended, "checkpoint %.12s was complete when hank ended; the next command acknowledges it", a.forward.sha)
	}
	return nil
}

// beginning is how long a folder of hank's own that is empty may be one that
// somebody has just made and not locked yet.
const beginning = 200 * time.Millisecond

// holdsOrBegins reports whether somebody holds the execution. A folder without
// anything in it is looked at until it has something, or is locked, for it may
// just have been made.
func (v *View) holdsOrBegins() bool {
	for end := time.Now().Add(beginning); ; time.Sleep(5 * time.Millisecond) {
		live := isHeld(v.Layout) || v.heldByHankweave()
		if live || time.Now().After(end) || exists(vfs.OS, v.Layout.Root) {
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
	h, err := readLock(vfs.OS, v.Layout.Lock())
	if err != nil || !h.foreign() {
		return false
	}
	alive, _ := h.alive()
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
			v.Report.add(Note, "run %s is running as far as can be seen: %s", r.RunID, why)
			continue
		}
		what, next := "between two codons", "hank run goes on from there"
		switch live := r.Live(); {
		case live == nil:
		case live.Settling != nil && isOfBoot(r, boot()):
			what, next = fmt.Sprintf("when codon %s had ended", live.CodonID), "the next command makes its checkpoint"
		default:
			what, next = fmt.Sprintf("while codon %s was %s", live.CodonID, live.Status), "hank run goes on from before it"
		}
		f := Finding{Mended, fmt.Sprintf("run %s has crashed %s (%s); %s", r.RunID, what, why, next), next}
		if v.Blocked != nil {
			f = f.Held()
		}
		v.Report.insert(f)
	}
	if v.Unfinished() && v.Blocked == nil {
		i := v.State.Intent
		v.Report.add(Warning, "a %s to %.12s was interrupted and is unfinished; %s finishes it, as the next command that changes something does", i.Kind, i.To, fixCommand)
	}
}

// Unfinished reports whether a change of the workspace was interrupted.
func (v *View) Unfinished() bool { return v.State.Intent != nil && !v.Live }

// paused says of a run that its runtime has left why, and what comes next.
func (v *View) paused(r *state.Run) {
	severity, what := Blocked, "between two codons"
	switch live := r.Live(); {
	case live != nil && live.Settling != nil:
		what = fmt.Sprintf("at codon %s, which has done its work and does not run again", live.CodonID)
	case live != nil:
		what = fmt.Sprintf("at codon %s (%s), which hank run does again", live.CodonID, live.Status)
	}
	if r.Paused.Reason != state.EndDecision {
		severity = Mended
	}
	if v.isBack(r) {
		v.Report.add(Mended, pausedNoMore, r.RunID, what)
		return
	}
	v.Report.add(severity, "run %s is paused %s: %s", r.RunID, what, r.Paused.Detail)
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
		if f.Severity == Blocked && f.What == was {
			v.Report.Findings[i] = Finding{Severity: Mended, What: fmt.Sprintf(pausedNoMore, r.RunID, what), next: "the next command makes the codon's checkpoint"}
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
		trusted = flockTrusted(dir)
		_ = dir.Close() // it was only looked at
	}
	return isOver(r, trusted)
}

// Store opens the checkpoint store for reading: the stat cache is used, and left
// as it is.
func (v *View) Store() (*checkpoint.Store, error) {
	store, err := checkpoint.Open(checkpoint.Options{Dir: v.Layout.Store(), CacheFile: v.Layout.StatCache(), BootID: boot(), ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) && v.Live && (v.State == nil || v.Creating()) {
		return nil, &CreatingError{v.Layout.Root}
	}
	if errors.Is(err, fs.ErrNotExist) || err != nil && inTheWay(vfs.OS, filepath.Dir(v.Layout.Store())) != nil {
		lost := "is gone"
		if damaged := new(checkpoint.DamagedError); errors.As(err, &damaged) {
			lost = "is damaged: " + damaged.Why
		}
		return nil, &DecisionError{What: "the checkpoint store " + v.Layout.Store() + " " + lost, Options: []string{"put it back from a copy", "hank doctor --fix starts a new one"}, Command: fixCommand}
	}
	return store, err
}

// StoreLost asks what is to become of an execution whose checkpoint store is gone, or
// lacks what makes it one; nil if that is not so, as far as opening it tells.
func (v *View) StoreLost() *DecisionError {
	var decision *DecisionError
	var damaged *checkpoint.DamagedError
	switch {
	case v.Live || v.State.InitialCheckpoint == "" && len(v.State.Runs) == 0: // it need not hold anything
	case errors.As(v.storeErr, &decision):
		return decision
	case errors.As(v.storeErr, &damaged):
		return &DecisionError{What: damaged.Path + " is damaged: " + damaged.Why, Options: []string{"put it back from a copy", fixCommand + " starts a new checkpoint store"}, Command: fixCommand}
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
		if err != nil || !strings.HasSuffix(strings.TrimSpace(string(why)), errOfOrigin.Error()) {
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
