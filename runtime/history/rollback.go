package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/restore"
	"hank/internal/secret"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/plan/config"
	"hank/recovery"
	"hank/recovery/emptydirs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/runtime/exitcode"
	"hank/runtime/opening"
	"hank/runtime/usergit"
	"hank/state"
)

// RollbackOptions say where to go back to.
type RollbackOptions struct {
	Execution string
	To        string // see ResolveTarget; empty is last-success
	Undo      bool   // undo the last rollback or retry
	Paths     []string
	Delete    bool // of Paths, what the target has not goes
	BreakLock string
	// CheckpointCap holds from now on; not set leaves it as it is.
	CheckpointCap config.Size
	Say           func(string)
	Work          execution.Work // shows what takes its time
	// Confirm is asked before anything is changed; nil is a yes.
	Confirm func(Preview) bool
	// Operation is what the caller gave an ID; nil: nothing. Answer is then what it is
	// answered, as a value for JSON.
	Operation *state.Operation
	Answer    func(*RolledBack) any

	since time.Time // see execution.Move
}

// kind is what the move is called.
func (o *RollbackOptions) kind() string {
	switch {
	case len(o.Paths) > 0:
		return "restore"
	case o.Undo:
		return "undo"
	}
	return "rollback"
}

// previewSchema is the version of what --json prints of a rollback.
const previewSchema = 1

// Preview is what a rollback would do.
type Preview struct {
	Schema  int           `json:"schema"`
	Target  Target        `json:"target"`
	Plan    *restore.Plan `json:"-"`
	Add     []PathChange  `json:"add"`
	Change  []PathChange  `json:"change"`
	Delete  []PathChange  `json:"delete"`
	Keep    int           `json:"kept"` // files that stay because no checkpoint tracked them
	Blocked []PathChange  `json:"blocked,omitempty"`
	// InTheWay is what the system does not let be removed or written: it is going
	// to stay as it is, or has stayed.
	InTheWay []PathChange `json:"inTheWay,omitempty"`
	// Unarchived are those of Add that only the archive has; it keeps its copy.
	Unarchived []Unarchived `json:"unarchived,omitempty"`
	// MakeDirs and RemoveDirs are empty directories that come and go, with a / at the end.
	MakeDirs   []PathChange `json:"makeDirs,omitempty"`
	RemoveDirs []PathChange `json:"removeDirs,omitempty"`
	// Superseded are the checkpoints that come after the target on the lineage path:
	// left, not lost.
	Superseded []Target  `json:"superseded"`
	CostKept   state.USD `json:"costKept"` // what the attempts that led to the target cost
	CostLeft   state.USD `json:"costLeft"` // what all others cost
	// ReplayedKept and ReplayedLeft are the parts of these that were not paid.
	ReplayedKept state.USD `json:"replayedCostKept,omitzero"`
	ReplayedLeft state.USD `json:"replayedCostLeft,omitzero"`
	// HeadMoved is the HEAD that the project's own git had at the checkpoint, if
	// it has another one now. hank does not move it.
	HeadMoved string `json:"projectHead,omitempty"`
	// Undoes is the move that an undo undoes.
	Undoes *Undone `json:"undoes,omitempty"`
	// Refused is why the move would be refused as it is; nil: it would not be.
	Refused error `json:"-"`
	// unasked are those of Blocked that only Delete would delete.
	unasked []string
}

// Undone is a move that is undone.
type Undone struct {
	Kind string     `json:"kind"` // rollback, undo, retry, restart
	Time state.Time `json:"time"`
	From Target     `json:"from"` // where the execution stood
	To   Target     `json:"to"`
	// branch: it is the rollback with which hank run --from has begun a branch.
	branch bool
}

func (u *Undone) String() string {
	at := u.Time.Local().Format("2006-01-02 15:04:05")
	what := fmt.Sprintf("the %s of %s", u.Kind, at)
	if run := u.byRun(); run != "" {
		what = fmt.Sprintf("that %s on %s", run, at)
	}
	switch {
	case u.From.SHA == u.To.SHA:
		return fmt.Sprintf("undoes %s; the checkpoint was %s before and after", what, u.From)
	case u.Kind == "undo": // a word for it depends on how many came before
		return fmt.Sprintf("undoes %s: from %s back to %s", what, u.To, u.From)
	}
	return fmt.Sprintf("undoes %s, from %s to %s", what, u.From, u.To)
}

// Before says when the workspace was as the undo makes it.
func (u *Undone) Before() string {
	return "before " + cmp.Or(u.byRun(), "the "+u.Kind)
}

// byRun says what hank run has done; empty for the move of another command.
func (u *Undone) byRun() string {
	switch {
	case u.Kind == "restart":
		return "hank run began a codon again"
	case u.branch:
		return "hank run --from began a branch"
	}
	return ""
}

// undone says what an undo that goes to a safety checkpoint undoes; nil if
// the checkpoint does not tell.
func undone(s *state.State, store Resolver, safety state.SHA) *Undone {
	info, err := store.CommitInfo(checkpoint.SHA(safety))
	if err != nil {
		return nil
	}
	kind, to := execution.MoveAfter(info)
	if kind == "" {
		return nil
	}
	began := func(from *state.Position) bool {
		return from != nil && from.Branch && from.Before != nil && from.Before.CheckpointSHA == safety
	}
	branch := began(s.Position) || slices.ContainsFunc(s.Runs, func(r *state.Run) bool { return began(r.StartingConditions.Source) })
	return &Undone{kind, Describe(info).Time, TargetOf(s, store, execution.EndedAt(store, safety)), TargetOf(s, store, execution.EndedAt(store, to)), branch}
}

// Unarchived is a file that comes back from the archive.
type Unarchived struct {
	Path        string        `json:"path"`
	ArchivePath string        `json:"archivePath"` // relative to the execution
	CodonID     state.CodonID `json:"codonId"`     // who archived it
}

// PathChange is a path that a rollback touches.
type PathChange struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
}

// RolledBack is what a rollback did.
type RolledBack struct {
	Preview
	Safety state.SHA `json:"safetyCheckpoint"` // everything that was there before
	// TakenBack: an interrupted move was, and nothing else was done.
	TakenBack bool `json:"takenBack,omitzero"`
	// Repeats is the operation that was carried out before: nothing else is set but
	// Safety.
	Repeats *state.Operation `json:"-"`
}

// ErrDeclined says that the user said no.
var ErrDeclined = errors.New("nothing was changed")

// CleanPaths returns paths in the workspace as checkpoints have them.
func CleanPaths(paths []string) ([]string, error) {
	clean := make([]string, len(paths))
	for i, p := range paths {
		clean[i] = path.Clean(filepath.ToSlash(p))
		if !utf8.ValidString(p) {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("the name %q is not UTF-8, and hank cannot record it as the path of a move; name the directory that it is in, which is restored with all that it holds", p)}
		}
		if p == "" || clean[i] != "." && !fs.ValidPath(clean[i]) || strings.ContainsRune(p, 0) {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("%q is no path in the workspace; name files and directories relative to it", p)}
		}
	}
	return clean, nil
}

// Rollback brings workspace and position back to a checkpoint. What was there
// before is in a safety checkpoint, so that Undo brings it back.
func Rollback(ctx context.Context, o RollbackOptions) (*RolledBack, error) {
	root, err := Locate(o.Execution)
	if err != nil {
		return nil, err
	}
	done, finish, err := o.before(root)
	if done != nil || err != nil {
		return done, err
	}
	unfinished := recovery.AskUnfinished
	if o.Undo && !finish {
		unfinished = recovery.UndoUnfinished
		if err := o.confirmUnfinished(ctx, root); err != nil {
			return nil, err
		}
	}
	x, err := opening.Open(ctx, root, execution.Options{Command: "hank rollback", BreakLock: o.BreakLock, CheckpointCap: o.CheckpointCap.Limit(), Unfinished: unfinished, Work: o.Work,
		Warn: func(line string) { secret.Say(o.Say, line) }})
	if err != nil {
		return nil, err
	}
	for _, f := range x.Report.Findings {
		secret.Say(o.Say, fmt.Sprintf("%s: %s", f.Severity.Word(), f.What))
	}
	if done, _, err := o.repeated(x.State()); done != nil || err != nil {
		return done, errors.Join(err, x.Close())
	}
	switch {
	case o.Undo && x.GivenUp != nil:
		return nil, errors.Join(x.GivenUp, x.Close())
	case x.Undone: // what was to be undone
		err := x.KeepCap()
		return &RolledBack{Preview: Preview{Schema: state.SchemaVersion, Target: standing(x.State())}, TakenBack: true}, errors.Join(err, x.Close())
	}
	done, err = rollback(ctx, x, o)
	return done, errors.Join(err, x.Close())
}

// standing is where an execution is.
func standing(s *state.State) Target {
	here := s.CurrentPosition()
	t := Target{SHA: execution.Head(s), RunID: here.RunID, Position: here}
	if here.AfterCodon != nil {
		t.CodonID = *here.AfterCodon
	}
	return t
}

// confirmUnfinished asks before an interrupted move is undone, which opening
// the execution does.
func (o *RollbackOptions) confirmUnfinished(ctx context.Context, root string) error {
	view, err := recovery.Read(root)
	if err != nil || !view.Unfinished() || o.Confirm == nil {
		return err
	}
	p, err := PreviewRollback(ctx, *o)
	if err != nil {
		return err
	}
	if !o.Confirm(*p) {
		return ErrDeclined
	}
	o.Confirm = nil
	return nil
}

func rollback(ctx context.Context, x *execution.Execution, o RollbackOptions) (*RolledBack, error) {
	target, err := chooseTarget(x.State(), x.Store, o)
	if err != nil {
		return nil, err
	}
	defer x.Store.CacheTrees()()
	plan, preview, err := o.confirmed(ctx, x, target)
	if err != nil {
		x.Store.Abort()
		return nil, err
	}
	if o.Confirm == nil && o.Say != nil && preview.Undoes != nil {
		o.Say(preview.Undoes.String())
	}
	if plan.Operation, err = o.asOperation(preview); err != nil {
		return nil, err
	}
	completed := noteStarted(x, target, preview.Superseded, o.Paths)
	moved, err := x.PerformMove(ctx, plan)
	if err != nil {
		return nil, err
	}
	completed()
	if err := x.KeepCap(); err != nil {
		return nil, err
	}
	if note := preview.HeadNote(); note != "" && o.Confirm == nil && o.Say != nil { // else the preview had it
		o.Say(note)
	}
	noteUnarchived(x, preview.Unarchived, o.Say)
	out := x.Meta().Output
	if _, err := os.Lstat(out); err == nil && o.Say != nil && len(preview.Superseded) > 0 && len(o.Paths) == 0 {
		o.Say("note: the output files in " + term.ShortPath(out) + " stay as they are")
	}
	preview.InTheWay = inTheWay(moved.Report.Refused)
	return &RolledBack{Preview: *preview, Safety: moved.Safety}, nil
}

// confirmed returns a plan that nobody has to be asked about any more. Where the workspace
// was changed while the question was open, so that the move would do something else, it is
// asked again.
func (o *RollbackOptions) confirmed(ctx context.Context, x *execution.Execution, target Target) (*execution.MovePlan, *Preview, error) {
	src := execution.Sources{Layout: x.Layout, State: x.State(), Store: x.Store, Workspace: x.Workspace}
	var asked Preview
	for {
		plan, err := x.PlanMove(ctx, o.move(src, target))
		if err != nil {
			return nil, nil, err
		}
		preview, err := describe(plan, src, target, o)
		if err != nil {
			return nil, nil, err
		}
		if len(preview.unasked) > 0 {
			return nil, nil, preview.Refused
		}
		now := *preview
		now.Plan = nil // what it has more nobody is asked about
		if o.Confirm == nil || reflect.DeepEqual(now, asked) {
			return plan, preview, nil
		}
		x.Store.Abort() // nobody knows how long the answer takes
		if !o.Confirm(*preview) {
			return nil, nil, ErrDeclined
		}
		asked = now
	}
}

// move is the move that a rollback makes.
func (o *RollbackOptions) move(src execution.Sources, target Target) execution.Move {
	m := execution.Move{Kind: o.kind(), To: target.SHA, Tracked: TrackedAround(src.State, src.Store, target.Position), Paths: o.Paths, KeepAdded: len(o.Paths) > 0 && !o.Delete, Since: o.since}
	if len(o.Paths) == 0 {
		before := Standpoint(src.State)
		position := target.Position
		position.Reason, position.Branch, position.Before = state.ReasonRollback, false, &before
		m.Position = &position
	}
	return m
}

func inTheWay(refused []restore.Refused) (list []PathChange) {
	for _, r := range refused {
		list = append(list, PathChange{r.Path, r.Why})
	}
	return list
}

// noteUnarchived says what has come back from the archive.
func noteUnarchived(x *execution.Execution, files []Unarchived, say func(string)) {
	type restored struct {
		CodonID       state.CodonID `json:"codonId"`
		RestoredPaths []string      `json:"restoredPaths"`
		Status        string        `json:"status"`
	}
	for len(files) > 0 {
		e := restored{CodonID: files[0].CodonID, Status: "completed"}
		for len(files) > 0 && files[0].CodonID == e.CodonID {
			e.RestoredPaths, files = append(e.RestoredPaths, files[0].Path), files[1:]
		}
		_ = x.Note("rollback.archiveRestore", e)
		if say != nil {
			say(fmt.Sprintf("back from %s, which keeps its copy (codon %s): %s", layout.ArchiveName, e.CodonID, strings.Join(e.RestoredPaths, ", ")))
		}
	}
}

// TrackedAround is what codon checkpoints take up to where the execution
// is, or up to where it goes if that is further on. At what comes after
// nobody has looked.
func TrackedAround(s *state.State, store *checkpoint.Store, to state.Position) checkpoint.Selection {
	there := *s
	there.Position = &to
	var sel checkpoint.Selection
	add := func(more checkpoint.Selection) {
		sel.All, sel.Patterns = sel.All || more.All, append(sel.Patterns, more.Patterns...)
	}
	for _, at := range []*state.State{s, &there} {
		if steps := at.LineagePath(); len(steps) > 0 {
			add(execution.Tracked(s, steps[len(steps)-1].Codon.CodonID))
		}
		if at.Position == nil {
			continue
		}
		// It may stand inside of a codon: after its rig, or at its failure.
		if sha := execution.SavedAt(store, at.Position.CheckpointSHA); sha != s.InitialCheckpoint {
			add(execution.Taken(s, store, sha))
		}
	}
	return sel
}

func lastOfPlan(s *state.State) state.CodonID {
	if plan := s.ExecutionPlan(); len(plan) > 0 {
		return plan[len(plan)-1].CodonID
	}
	return ""
}

// target is what is gone back to, where it is no undo.
func (o *RollbackOptions) target() string { return cmp.Or(o.To, "last-success") }

// chooseTarget resolves what is to be gone back to. To take a rollback back
// is to go to where it came from.
func chooseTarget(s *state.State, store Resolver, o RollbackOptions) (Target, error) {
	if !o.Undo {
		return ResolveTarget(s, store, o.target())
	}
	if i := s.Intent; i != nil { // seen by a reader: an interrupted move is undone first
		here := s.CurrentPosition()
		return Target{SHA: i.Safety, Kind: state.KindRecovery, RunID: here.RunID, Position: here}, nil
	}
	before := s.Undoable()
	if before == nil {
		return Target{}, &exitcode.UsageError{Why: "there is no rollback to undo; every state that a rollback left still exists: `hank checkpoints`"}
	}
	t := Target{SHA: before.CheckpointSHA, Kind: state.KindRecovery, RunID: before.RunID, Position: *before}
	if before.AfterCodon != nil {
		t.CodonID = *before.AfterCodon
	}
	return t, nil
}

// LookUp finds where a rollback would go back to, and whether the paths of a restore are
// there or here. It takes no lock and changes nothing on disk.
func LookUp(ctx context.Context, o RollbackOptions) (t Target, err error) {
	if len(o.Paths) > 0 {
		p, err := PreviewRollback(ctx, o)
		if err != nil {
			return Target{}, err
		}
		return p.Target, nil
	}
	err = o.lookingUp(func(s *state.State, store *checkpoint.Store) error {
		t, err = chooseTarget(s, store, o)
		return err
	})
	return t, err
}

// lookingUp opens what names of targets are looked up in.
func (o *RollbackOptions) lookingUp(look func(*state.State, *checkpoint.Store) error) error {
	root, err := Locate(o.Execution)
	if err != nil {
		return err
	}
	view, err := recovery.Read(root)
	if err != nil {
		return err
	}
	store, err := view.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	return look(view.State, store)
}

// PreviewRollback says what a rollback would do; during a run, what it would do if there were
// none. It takes no lock and changes nothing on disk.
func PreviewRollback(ctx context.Context, o RollbackOptions) (p *Preview, err error) {
	var held error
	p, err = PreviewMove(ctx, o, func(v *recovery.View, src *execution.Sources) (Target, *execution.Move, error) {
		if v.Live {
			held = &lock.HeldError{Path: v.Layout.Root, Holder: v.Holder, Why: "a run is in progress"}
		}
		if due := o.due(v); due != nil {
			return Target{}, nil, due
		}
		target, err := chooseTarget(src.State, src.Store, o)
		if err != nil {
			return target, nil, err
		}
		move := o.move(*src, target)
		return target, &move, nil
	})
	if err != nil {
		return nil, cmp.Or(held, err)
	}
	p.Refused = cmp.Or(held, p.Refused)
	return p, nil
}

// PreviewMove says what a move would do that choose makes of what is there; without a
// move, the workspace stays as it is. It takes no lock and changes nothing on disk.
func PreviewMove(ctx context.Context, o RollbackOptions, choose func(*recovery.View, *execution.Sources) (Target, *execution.Move, error)) (p *Preview, err error) {
	err = o.reading(ctx, func(v *recovery.View, src execution.Sources) error {
		target, move, err := choose(v, &src)
		if err != nil {
			return err
		}
		if move == nil {
			p = &Preview{Schema: previewSchema, Target: target, Plan: &restore.Plan{}, Add: []PathChange{}, Change: []PathChange{}, Delete: []PathChange{}, Superseded: []Target{}}
			p.account(src.State, target)
			return nil
		}
		p, err = o.preview(ctx, src, target, *move)
		return err
	})
	return p, err
}

// WritePatch writes what a rollback would change, as git's extended format has it.
// Like PreviewRollback it only reads.
func WritePatch(ctx context.Context, o RollbackOptions, w io.Writer) error {
	return o.reading(ctx, func(v *recovery.View, src execution.Sources) error {
		if due := o.due(v); due != nil {
			return due
		}
		target, err := chooseTarget(src.State, src.Store, o)
		if err != nil {
			return err
		}
		p, err := o.preview(ctx, src, target, o.move(src, target))
		if err != nil {
			return err
		}
		changes := slices.Concat(p.Plan.Add, p.Plan.Change, p.Plan.Delete)
		slices.SortFunc(changes, func(a, b diff.Change) int { return strings.Compare(a.Path, b.Path) })
		return diff.WritePatch(w, src.Store, changes)
	})
}

// ForReader is the layout as the next command has it, for one who changes nothing: in the
// place of a workspace that is gone there is an empty directory elsewhere, until done is
// called.
func ForReader(l layout.Layout) (at layout.Layout, done func(), err error) {
	if _, err := os.Lstat(l.Workspace); !errors.Is(err, fs.ErrNotExist) {
		return l, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "hank-preview-")
	l.Workspace = dir
	return l, func() { os.RemoveAll(dir) }, err
}

// reading opens what a move is planned from, for a reader.
func (o *RollbackOptions) reading(ctx context.Context, plan func(*recovery.View, execution.Sources) error) error {
	root, err := Locate(o.Execution)
	if err != nil {
		return err
	}
	view, err := recovery.Read(root)
	if err != nil {
		return err
	}
	if view.Blocked != nil && !view.Unfinished() && !execution.IsClosed(view.Blocked) { // that is in the way as other paths are
		return view.Blocked
	}
	store, err := view.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	at, done, err := ForReader(view.Layout)
	if err != nil {
		return err
	}
	defer done()
	ws, err := at.OpenWorkspace()
	if err != nil {
		return err
	}
	defer ws.Close()
	defer store.Abort() // what the scan has found is not kept
	defer store.CacheTrees()()
	progress, end := o.Work.Begin("comparing the workspace with the checkpoint")
	defer end()
	return plan(view, execution.Sources{Layout: at, State: view.State, Store: store, Workspace: ws, Progress: progress})
}

func (o *RollbackOptions) preview(ctx context.Context, src execution.Sources, target Target, move execution.Move) (*Preview, error) {
	plan, err := execution.PlanMove(ctx, src, move)
	if err != nil {
		return nil, err
	}
	return describe(plan, src, target, o)
}

// describe words a plan.
func describe(move *execution.MovePlan, src execution.Sources, target Target, o *RollbackOptions) (*Preview, error) {
	s, store, back, all := src.State, src.Store, move.Target, move.Saved
	plan, err := move.Preview()
	if err != nil {
		return nil, err
	}
	empty := back.Empty
	for _, name := range o.Paths {
		there := restore.HasPath(store.DB, all.Tree, name) || len(emptydirs.Within(all.Empty, []string{name})) > 0
		switch {
		case name == ".", restore.HasPath(store.DB, back.Tree, name), len(emptydirs.Within(empty, []string{name})) > 0:
		case !there && !planTouches(plan, name):
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("%q is neither in %s nor in the workspace; to list the files of the checkpoint: git --git-dir=%s ls-tree -r --name-only %.12s",
				name, target, shell.Quote(term.ShortPath(src.Layout.Store())), target.SHA)}
		case !o.Delete:
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("%q is not in %s, so that there is nothing to bring back; --delete deletes what the workspace has there", name, target)}
		}
	}
	p := &Preview{Schema: previewSchema, Target: target, Plan: plan, Add: pathChanges(plan.Add), Change: pathChanges(plan.Change), Delete: pathChanges(plan.Delete), Keep: len(plan.Keep)}
	for _, b := range plan.Blocked {
		p.Blocked = append(p.Blocked, PathChange{b.Path, b.Why})
	}
	if len(o.Paths) > 0 && !o.Delete { // only what is where the target has something else would go
		for _, c := range plan.Delete {
			p.unasked = append(p.unasked, c.Path)
			p.Blocked = append(p.Blocked, PathChange{c.Path, "is in the way of what the checkpoint has there; --delete deletes it"})
		}
		p.Delete = []PathChange{}
	}
	p.Refused = refused(plan, p, o.Paths)
	p.InTheWay = inTheWay(plan.Refused)
	for _, a := range back.Returning {
		p.Unarchived = append(p.Unarchived, Unarchived{a.SourcePath, a.ArchivePath, a.CodonID})
	}
	if o.Undo {
		p.Undoes = undone(s, store, target.SHA)
	}
	p.Superseded = []Target{}
	p.MakeDirs, p.RemoveDirs = dirChanges(plan.MakeDirs, diff.Added), dirChanges(plan.RemoveDirs, diff.Deleted)
	if len(o.Paths) == 0 {
		p.account(s, target)
	}
	if then, now := HeadAt(s, target), usergit.Head(src.Workspace.Path(), src.Layout.Named()); then != "" && now != "" && then != now {
		p.HeadMoved = then
	}
	return p, nil
}

// refused is the error of a move for what is in its way; nil: nothing is.
func refused(plan *restore.Plan, p *Preview, paths []string) error {
	closed := slices.IndexFunc(plan.Blocked, func(b restore.Blocked) bool { return b.Path == "." })
	switch {
	case len(p.unasked) > 0:
		return needDelete(p, paths)
	case closed >= 0:
		return execution.NeedOpen(p.Target.SHA, errors.New(plan.Blocked[closed].Why))
	case len(plan.Blocked) > 0:
		return &restore.BlockedError{Blocked: plan.Blocked}
	}
	return nil
}

// needDelete asks for Delete where files are in the way of what is to be brought
// back: a file in the place of a directory, or the files of a directory in the place of a
// file.
func needDelete(p *Preview, paths []string) *finding.DecisionError {
	const show = 3
	var names []string
	for _, name := range p.unasked[:min(show, len(p.unasked))] {
		names = append(names, strconv.Quote(name))
	}
	var at []string
	for _, name := range paths {
		at = append(at, shell.Quote(name))
	}
	list, verb, them := strings.Join(names, ", "), "is", "it"
	if more := len(p.unasked) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	if len(p.unasked) > 1 {
		verb, them = "are", "them"
	}
	return &finding.DecisionError{
		What: fmt.Sprintf("%s %s in the way of what %s has there, and restore deletes nothing without --delete; nothing was changed", list, verb, p.Target),
		Options: []string{
			fmt.Sprintf("--delete puts %s into a checkpoint and deletes %s, with all that codons have added at %s and the target has not (--delete --dry-run lists it)", them, them, strings.Join(at, " ")),
			"move " + them + " away, then run the same command again",
		},
	}
}

// planTouches reports whether a restore is about a path or something below it.
func planTouches(p *restore.Plan, name string) bool {
	within := func(c diff.Change) bool { return c.Path == name || strings.HasPrefix(c.Path, name+"/") }
	return slices.ContainsFunc(slices.Concat(p.Add, p.Change, p.Delete), within) ||
		slices.ContainsFunc(p.Refused, func(r restore.Refused) bool { return within(diff.Change{Path: r.Path}) })
}

// HeadAt is the HEAD of the project's own git at a checkpoint: what the codon
// that started from there found, else what the codon of the checkpoint itself
// found when it began. Of one that is no codon's, such as what was saved before a
// move, nobody has written it down.
func HeadAt(s *state.State, t Target) string {
	head := ""
	for _, r := range s.Runs {
		for i := range r.Len() {
			switch c := r.Codon(i); {
			case c.BaseCheckpoint == t.SHA && c.ProjectHead != "":
				return c.ProjectHead
			case r.RunID == t.RunID && c.CodonID == t.CodonID && CheckpointOf(c, t.Kind) == t.SHA:
				head = c.ProjectHead
			}
		}
	}
	return head
}

// HeadNote tells that the user's HEAD has moved since the checkpoint; empty: it has not.
func (p *Preview) HeadNote() string {
	if p.HeadMoved == "" {
		return ""
	}
	return fmt.Sprintf("note: the HEAD of your repository was %.12s at that time; hank does not change it", p.HeadMoved)
}

func pathChanges(changes []diff.Change) []PathChange {
	out := make([]PathChange, len(changes))
	for i, c := range changes {
		out[i] = PathChange{c.Path, c.Kind.String()}
	}
	return out
}

func dirChanges(names []string, kind diff.ChangeKind) (out []PathChange) {
	for _, name := range names {
		out = append(out, PathChange{name + "/", kind.String()})
	}
	return out
}

// account says what is left behind and what is kept, in checkpoints and money.
// All that the execution has cost is in one of the two.
func (p *Preview) account(s *state.State, target Target) {
	kept := keptBy(s, target)
	for _, step := range s.LineagePath() {
		if t, ok := EndOf(s, step, ""); ok && !kept[step.Codon] {
			p.Superseded = append(p.Superseded, t)
		}
	}
	var there state.Bill
	for c := range kept {
		there = there.Plus(c.Bill())
	}
	left := s.Bill().Minus(there)
	p.CostKept, p.ReplayedKept, p.CostLeft, p.ReplayedLeft = there.Cost, there.Replayed, left.Cost, left.Replayed
}

// Stay makes it the preview of a command that leaves the position where it is.
func (p *Preview) Stay() {
	p.Superseded = []Target{}
	p.CostKept, p.ReplayedKept, p.CostLeft, p.ReplayedLeft = p.CostKept+p.CostLeft, p.ReplayedKept+p.ReplayedLeft, 0, 0
}

// keptBy returns the attempts that led to a target: those on its lineage path, the one
// whose end it is, and those that were interrupted or failed before one of these was
// begun at the same place.
func keptBy(s *state.State, target Target) map[*state.Codon]bool {
	type place struct {
		codon state.CodonID
		base  state.SHA
	}
	there, kept, places := *s, map[*state.Codon]bool{}, map[place]bool{}
	there.Position = &target.Position
	keep := func(c *state.Codon) { kept[c], places[place{c.CodonID, c.BaseCheckpoint}] = true, true }
	for _, step := range there.LineagePath() {
		keep(step.Codon)
	}
	for _, r := range s.Runs {
		for _, c := range r.Codons() {
			if c.ErrorCheckpoint != "" && c.ErrorCheckpoint == target.SHA {
				keep(c)
			}
		}
	}
	for _, r := range s.Runs {
		for _, c := range r.Codons() {
			if !c.Settled() && places[place{c.CodonID, c.BaseCheckpoint}] {
				kept[c] = true
			}
		}
	}
	return kept
}
