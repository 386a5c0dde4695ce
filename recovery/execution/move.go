package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/match"
	"hank/checkpoint/restore"
	"hank/internal/advice"
	"hank/internal/failpoint"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
)

// Never lists what no checkpoint holds, relative to the workspace; the execution's
// own folders are told by what they are: see Layout.OpenWorkspace.
var Never = []string{layout.DataName}

// Snapshot scans the workspace and puts what a selection takes into the
// store's pending pack. parent is the checkpoint whose files stay recorded
// while they match. Where there is no room for what is new: *DecisionError.
func (x *Execution) Snapshot(ctx context.Context, sel checkpoint.Selection, parent state.SHA, include ...string) (*checkpoint.Snapshot, error) {
	if err := x.Held(); err != nil {
		return nil, err
	}
	if err := x.onWorkspace(); err != nil {
		return nil, err
	}
	if x.Monitor.WasDeleted() { // else what is stored now would go to a store that is deleted
		if err := x.Inspect(); err != nil {
			return nil, err
		}
	}
	left, full := x.room()
	sel.Never = Never
	if parent != "" && !x.Store.Has(checkpoint.SHA(parent)) { // lost, and parted from
		parent = ""
	}
	progress, end := x.Opts.Work.Begin("reading the workspace for a checkpoint")
	defer end()
	snap, err := x.Store.Snapshot(ctx, checkpoint.SnapshotRequest{
		Workspace: x.Workspace, Selection: sel, Base: checkpoint.SHA(parent), MustInclude: include, Room: max(left, 1), Progress: progress,
	})
	if err != nil {
		x.Store.Abort()
	}
	if errors.Is(err, checkpoint.ErrNoRoom) {
		return nil, full
	}
	return snap, err
}

// Tree returns the tree of a commit.
func (x *Execution) Tree(sha state.SHA) (checkpoint.SHA, error) {
	if sha == "" {
		return "", errors.New("no checkpoint is named")
	}
	info, err := x.Store.CommitInfo(checkpoint.SHA(sha))
	return info.Tree, err
}

// Moved is what a move did.
type Moved struct {
	Safety state.SHA // the checkpoint of what was there before
	Report *restore.RestoreReport
}

// MoveTree plans a move and applies the plan.
func (x *Execution) MoveTree(ctx context.Context, m Move) (*Moved, error) {
	defer x.Store.HoldTrees()()
	p, err := x.PlanMove(ctx, m)
	if err != nil {
		return nil, err
	}
	return x.Apply(ctx, p)
}

// Apply brings the workspace to a checkpoint, as planned, so that it can be undone and
// that a crash at any moment leaves it finished or untouched:
//
//  1. A safety checkpoint of everything visible and of whatever else stands in
//     the way, on a recovery branch.
//  2. The intent is recorded, durably, with what it will mean.
//  3. The difference is applied. What has changed since the plan was made stops it
//     before anything is touched. A crash here is finished by the next opening, which
//     makes the same plan from the intent; what was changed by then gets a checkpoint of
//     its own before.
//  4. Where that has changed ignore rules, what is visible now gets a checkpoint,
//     for what they had hidden is no edit.
//  5. The intent is closed, durably, and its position takes effect.
func (x *Execution) Apply(ctx context.Context, p *MovePlan) (*Moved, error) {
	defer x.Store.HoldTrees()()
	intent, err := x.Safeguard(ctx, p)
	if err != nil {
		return nil, err
	}
	failpoint.Hit("move.safe")
	if p.Stay {
		err := x.Record(append([]state.Transition{state.IntentOpened{Intent: *intent}}, x.Closing(intent, nil)...)...)
		return &Moved{Safety: intent.Safety, Report: &restore.RestoreReport{Plan: &restore.Plan{}}}, err
	}
	if err := x.Record(state.IntentOpened{Intent: *intent}); err != nil {
		return nil, err
	}
	failpoint.Hit("move.intended")
	report, touched, err := x.carryOut(ctx, intent, p)
	if err == nil {
		return &Moved{Safety: intent.Safety, Report: report}, nil
	}
	if touched || x.Broken != nil {
		return nil, leftOpen(intent, err)
	}
	if IsClosed(err) {
		err = NeedOpen(intent.To, err)
	}
	return nil, errors.Join(err, x.Record(state.IntentClosed{ID: intent.ID, Cancelled: true})) // the intent is taken back
}

// leftOpen says of a move that stopped half-way how it is ended.
func leftOpen(i *state.Intent, err error) error {
	var incomplete *restore.IncompleteError
	switch {
	case !errors.As(err, &incomplete):
		return err
	case refusal(incomplete.Err):
		return NeedUnfinished(i, incomplete.Err)
	}
	return fmt.Errorf("the %s to %.12s stopped half-way: %w; remove the cause: %s then finishes it, and `hank rollback --undo --yes` takes it back", i.Kind, i.To, incomplete.Err, advice.Quote(FixCommand))
}

// NeedOpen asks for a workspace that takes no file, so that a move to a checkpoint has
// changed nothing, or would not.
func NeedOpen(to state.SHA, err error) *finding.DecisionError {
	return &finding.DecisionError{
		What:    fmt.Sprintf("the workspace cannot be brought to checkpoint %.12s: %v; it is as it was", to, WithoutAdvice(err)),
		Options: []string{"make it writable again, then give the same command again"},
		Closed:  WithoutAdvice(err),
	}
}

// FinishMove carries out an intent of which a crash has left a part. Whoever
// finds a half of it may well write to the workspace: that goes into another
// safety checkpoint, as what is there does before any move. What cannot be saved
// is moved aside. It returns all checkpoints that were made so, this time and
// before, and what could not be changed.
func (x *Execution) FinishMove(ctx context.Context, intent *state.Intent) (meanwhile []state.SHA, refused []restore.Refused, err error) {
	if meanwhile, err = x.SavedMeanwhile(intent); err != nil {
		return nil, nil, err
	}
	report, _, err := x.CarryOut(ctx, intent, intent.Safety, false)
	var blocked *restore.BlockedError
	if errors.As(err, &blocked) {
		from := intent.Safety
		saved, failed := x.saveMeanwhile(ctx, intent, meanwhile)
		if failed == nil {
			from = saved
			failpoint.Hit("move.saved")
		}
		if failed == nil && !slices.Contains(meanwhile, saved) {
			meanwhile = append(meanwhile, saved)
		}
		if x.Broken != nil || ctx.Err() != nil {
			return meanwhile, nil, failed
		}
		report, _, err = x.CarryOut(ctx, intent, from, true)
	}
	if err != nil {
		return meanwhile, nil, err
	}
	return meanwhile, report.Refused, nil
}

// WhileCut is the note of the checkpoints of what was changed while a move was
// cut short. Their parent is the move's safety checkpoint.
func WhileCut(i *state.Intent) string { return "while a " + i.Kind + " was cut short" }

// SavedMeanwhile lists those checkpoints of an intent.
func (x *Execution) SavedMeanwhile(intent *state.Intent) ([]state.SHA, error) {
	refs, _, err := x.Store.ReadableRefs("refs/heads/recovery/")
	if err != nil {
		return nil, err
	}
	var found []state.SHA
	for _, name := range slices.Sorted(maps.Keys(refs)) { // by time
		info, err := x.Store.CommitInfo(refs[name])
		if err == nil && strings.HasPrefix(info.Message, string(state.KindRecovery)+": "+WhileCut(intent)) && slices.Contains(info.Parents, checkpoint.SHA(intent.Safety)) {
			found = append(found, state.SHA(info.SHA))
		}
	}
	return found, nil
}

// saveMeanwhile is the checkpoint of all that is there now, and of whatever
// stands in the way of the intent: one of those that there are, or a new one.
func (x *Execution) saveMeanwhile(ctx context.Context, intent *state.Intent, have []state.SHA) (state.SHA, error) {
	back, err := NewRestoreTarget(ctx, x.Layout, x.State(), x.Store, intent.To, intent.Position)
	if err != nil {
		return "", err
	}
	inWay, err := back.InTheWay(x.Workspace, "")
	if err != nil {
		x.Store.Abort()
		return "", err
	}
	all, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, intent.Safety, inWay...)
	if err != nil {
		return "", forMove(intent.Kind, err)
	}
	for _, sha := range have {
		if tree, err := x.Tree(sha); err == nil && tree == all.Tree {
			x.Store.Abort()
			return sha, nil
		}
	}
	return x.Preserve(ctx, all, x.RecoveryBranch(), intent.Safety, WhileCut(intent))
}

// CarryOut applies an intent that is recorded to a workspace that is saved in the
// checkpoint from, and closes it. What is not in from and stands in the way is
// moved aside, or stops it. touched: the workspace is not as it was.
func (x *Execution) CarryOut(ctx context.Context, intent *state.Intent, from state.SHA, moveAside bool) (report *restore.RestoreReport, touched bool, err error) {
	defer x.Store.HoldTrees()()
	p, err := x.planIntent(ctx, intent, from)
	if err != nil {
		x.Store.Abort()
		return nil, false, err
	}
	p.request.MoveAside = moveAside
	return x.carryOut(ctx, intent, p)
}

func (x *Execution) carryOut(ctx context.Context, intent *state.Intent, p *MovePlan) (report *restore.RestoreReport, touched bool, err error) {
	defer x.Store.Abort() // what the target alone has is in no checkpoint
	req := p.request
	var end func()
	req.Progress, end = x.Opts.Work.Begin("bringing files back")
	report, err = restore.Restore(ctx, req)
	end()
	if err != nil {
		var incomplete *restore.IncompleteError
		return nil, errors.As(err, &incomplete) && incomplete.Touched, err
	}
	closed, err := x.restoreFolders(p)
	if err != nil {
		return nil, true, err
	}
	report.Refused = withFolders(report.Refused, closed)
	failpoint.Hit("move.applied")
	x.saveUncovered(ctx, intent, p.Target.Tree)
	return report, true, x.Record(x.Closing(intent, KeptPaths(report.Refused))...)
}

// saveUncovered makes a checkpoint of all that is visible behind a move that has
// changed ignore rules: see [LeftBy]. It is best effort, since no content is at stake:
// whoever comes next saves what is there. Where a crash has come behind an earlier
// one, that one is closer to the move.
func (x *Execution) saveUncovered(ctx context.Context, intent *state.Intent, reached checkpoint.SHA) {
	x.Store.Abort()
	safety, err := x.Store.CommitInfo(checkpoint.SHA(intent.Safety))
	note := leftNote(safety)
	if err != nil || note == "" || !rulesDiffer(x.Store, safety.Tree, reached) || LeftBy(x.Store, intent.Safety) != "" {
		return
	}
	snap, err := x.Snapshot(ctx, checkpoint.Selection{All: true}, intent.To)
	if err != nil {
		return
	}
	if !rulesDiffer(x.Store, safety.Tree, snap.Tree) {
		x.Store.Abort()
		return
	}
	_, _ = x.Preserve(ctx, snap, x.RecoveryBranch(), intent.Safety, note)
	failpoint.Hit("move.uncovered")
}

// rulesDiffer reports whether two trees have other ignore rules, as far as it can be
// told.
func rulesDiffer(store *checkpoint.Store, a, b checkpoint.SHA) bool {
	changes, err := diff.Diff(store, a, b)
	return err == nil && slices.ContainsFunc(changes, func(c diff.Change) bool { return path.Base(c.Path) == ".gitignore" })
}

// leftNote is the note of the checkpoint of what a move has left, by its safety
// checkpoint; empty for any other checkpoint.
func leftNote(safety checkpoint.Info) string {
	kind, to := MoveAfter(safety)
	if kind == "" {
		return ""
	}
	return "behind " + kind + " to " + string(to)
}

// LeftBy is the checkpoint of all that was visible when a move that has changed ignore
// rules was done, by its safety checkpoint, which is its parent; empty if there is none.
func LeftBy(store *checkpoint.Store, safety state.SHA) state.SHA {
	info, err := store.CommitInfo(checkpoint.SHA(safety))
	note := leftNote(info)
	if err != nil || note == "" {
		return ""
	}
	refs, _, err := store.ReadableRefs(githistory.Heads + "recovery/")
	if err != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(refs)) { // by time
		left, err := store.CommitInfo(refs[name])
		title, _, _ := strings.Cut(left.Message, "\n")
		if err == nil && title == string(state.KindRecovery)+": "+note && slices.Contains(left.Parents, info.SHA) {
			return state.SHA(left.SHA)
		}
	}
	return ""
}

// Closing is what closes an intent that was carried out. A position that has a
// program, which is that of a move that is taken back, brings it back with the
// plan that it gives there. A program that cannot be read any more stays away.
func (x *Execution) Closing(intent *state.Intent, kept []string) []state.Transition {
	closed := []state.Transition{state.IntentClosed{ID: intent.ID, Kept: kept}}
	s, p := x.State(), intent.Position
	if p == nil || p.Program == "" || p.Program == s.Program {
		return closed
	}
	there := *s
	there.Position = p
	program, err := x.LoadProgram(p.Program)
	var entries []byte
	if err == nil {
		entries, err = json.Marshal(githistory.Stored(program.Derive(githistory.Outcomes(&there))))
	}
	if err != nil {
		x.Opts.Warn(fmt.Sprintf("the hank of before the %s cannot be read (%v); the present one stays", intent.Kind, err))
		return closed
	}
	return append([]state.Transition{state.PlanSet{Program: p.Program, HankHash: p.HankHash, Entries: entries}}, closed...)
}

// Removable tells which files, of those that a checkpoint has not, going back
// to it may delete: those that checkpoints track, which is what the tree owned
// holds. Two kinds stay, for nobody knows that they were not there:
//
//   - one that was there before the first codon, and that neither the checkpoint
//     nor a codon behind it looked for, was very likely there too;
//   - one that the ignore rules of the checkpoint leave out.
//
// A checkpoint that was made before a move has seen whatever stood at the paths
// that the move was to write. What the move has written there, and the
// checkpoint has not, goes again.
func (b *RestoreTarget) Removable(s *state.State, ws *checkpoint.Workspace, owned checkpoint.SHA, to state.SHA) (func(path string) bool, error) {
	store := b.store
	target, err := store.CommitInfo(checkpoint.SHA(to))
	if err != nil {
		return nil, fmt.Errorf("the checkpoint %.12s cannot be read: %w", to, err)
	}
	takes, ignored := Taken(s, store, to).Matcher(), match.Ignored(store.DB, target.Tree, ws)
	first := func(string) bool { return false }
	if s.InitialCheckpoint != "" {
		initial, err := store.CommitInfo(checkpoint.SHA(s.InitialCheckpoint))
		switch {
		case checkpoint.IsMissing(err): // with the store of before: any file may have been there first
			first = func(string) bool { return true }
		case err != nil:
			return nil, fmt.Errorf("the initial checkpoint cannot be read: %w", err)
		default:
			first = func(path string) bool { return store.HasFile(initial.Tree, path) }
		}
	}
	was, sawNone := first, b.sawNone(ws)
	first = func(path string) bool { return was(path) && !sawNone(path) }
	if s.Adopted && githistory.ByHankweave(store, to) { // whose checkpoints leave links out
		files := takes
		takes = func(path string) bool { return files(path) && !store.HasLink(owned, path) }
		first = func(path string) bool { return store.HasLink(owned, path) }
	}
	brought := func(string) bool { return false }
	if went, err := store.CommitInfo(checkpoint.SHA(wentTo(target.Message))); err == nil {
		then := &RestoreTarget{Tree: went.Tree, store: store}
		if err := then.untouch(s, state.SHA(went.SHA)); err != nil {
			return nil, err
		}
		brought = func(path string) bool { return store.HasFile(then.Tree, path) }
	}
	return func(path string) bool {
		return brought(path) || store.HasFile(owned, path) && !ignored(path) && (takes(path) || !first(path))
	}, nil
}

// sawNone tells of files whether a codon behind the checkpoint was the first to
// look for them, and did not find them.
func (b *RestoreTarget) sawNone(ws *checkpoint.Workspace) func(path string) bool {
	var ignored []func(string) bool
	for _, l := range b.looks {
		ignored = append(ignored, match.Ignored(b.store.DB, l.tree, ws))
	}
	return func(path string) bool {
		for i, l := range b.looks {
			if l.at(path) && !b.store.HasFile(l.tree, path) && !ignored[i](path) {
				return true
			}
		}
		return false
	}
}

// The note of a safety checkpoint names the move that it was made before.
func beforeMove(kind string, to state.SHA) string { return "before " + kind + " to " + string(to) }

// trackedNote ends the note of the checkpoint of tracked files that is made below
// a safety checkpoint.
const trackedNote = ": tracked files"

// wentTo is where the move went that a safety checkpoint was made before, by
// its message; of any other checkpoint nothing. One of tracked files has not
// seen all that was there, and is none.
func wentTo(message string) state.SHA {
	title, _, _ := strings.Cut(message, "\n")
	note, _ := strings.CutPrefix(title, string(state.KindRecovery)+": ")
	_, to, _ := strings.Cut(note, " to ")
	if !strings.HasPrefix(note, "before ") || strings.Contains(to, ":") {
		return ""
	}
	return state.SHA(to)
}

// MoveAfter is the move that a safety checkpoint was made before: its kind, and
// where it went. Both are empty for any other checkpoint.
func MoveAfter(safety checkpoint.Info) (kind string, to state.SHA) {
	if to = wentTo(safety.Message); to == "" {
		return "", ""
	}
	_, note, _ := strings.Cut(safety.Message, ": before ")
	kind, _, _ = strings.Cut(note, " ")
	return kind, to
}

// Taken is what the checkpoint of a commit was asked to take.
func Taken(s *state.State, store *checkpoint.Store, sha state.SHA) checkpoint.Selection {
	info, err := store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return checkpoint.Selection{All: true}
	}
	s = underProgramOf(s, store, info)
	title, body, _ := strings.Cut(info.Message, "\n")
	kind, rest, _ := strings.Cut(title, ":")
	codon, _, _ := strings.Cut(rest, " ")
	for line := range strings.Lines(body) { // an id of Hankweave's may have spaces
		if id, ok := strings.CutPrefix(line, "Codon: "); ok {
			codon = strings.TrimSpace(id)
			break
		}
	}
	switch state.CheckpointKind(kind) {
	case state.KindRigSetup, state.KindCompleted, state.KindError, state.KindSkipped, state.KindArchive, state.KindTracked:
		return Tracked(s, state.CodonID(codon))
	case state.KindExit, state.KindManual: // these look ahead to the next codon
		return Tracked(s, nextAt(s, sha))
	}
	return checkpoint.Selection{All: true}
}

// underProgramOf is the state with the plan that the program of a checkpoint gives
// it, if a person has adopted another since: what a codon tracked then is what
// counts. Where that program cannot be read, the state is returned as it is.
func underProgramOf(s *state.State, store *checkpoint.Store, info checkpoint.Info) *state.State {
	r, found, err := githistory.ReadRecord(info)
	if err != nil || !found || r.Program == "" || r.Program == s.Program {
		return s
	}
	program, err := githistory.ReadProgram(store, r.Program)
	if err != nil {
		return s
	}
	entries, err := json.Marshal(githistory.Stored(program.Derive(githistory.Outcomes(s))))
	if err != nil {
		return s
	}
	then, err := state.Apply(s, s.Seq+1, state.PlanSet{Program: r.Program, HankHash: r.HankHash, Entries: entries})
	if err != nil {
		return s
	}
	return then
}

// nextAt is the codon that was the next one at the checkpoint of a run's end,
// or of what a person changed: the one that started from there, or followed the
// last one of the run; else the one that is next now.
func nextAt(s *state.State, sha state.SHA) state.CodonID {
	plan := s.ExecutionPlan()
	at := s.Next()
	for _, r := range s.Runs {
		for _, c := range r.Codons() {
			if c.BaseCheckpoint == sha {
				return c.CodonID
			}
		}
		if r.Head != sha || r.Len() == 0 {
			continue
		}
		last := r.Codon(r.Len() - 1)
		if at = s.PlanIndex(last.CodonID); at >= 0 && last.Settled() {
			at++
		}
	}
	if at < 0 || at >= len(plan) {
		return ""
	}
	return plan[at].CodonID
}

// Safeguard makes the checkpoints that a plan needs, and its intent. One is enough where
// what checkpoints track is all that there is. What only a safety checkpoint has recorded
// is not tracked when it is ignored.
func (x *Execution) Safeguard(ctx context.Context, p *MovePlan) (*state.Intent, error) {
	parent, branch, note := x.Head(), x.RecoveryBranch(), beforeMove(p.Kind, p.To)
	preserve := x.Preserve
	if restore.Writable(x.Workspace) != nil { // the move may be refused again, as the same one was before
		preserve = x.preserveOnce
	}
	owned, err := parent, error(nil)
	same := p.Saved.Tree == p.owned.Tree && slices.Equal(p.Saved.Empty, p.owned.Empty)
	if !same {
		if owned, err = preserve(ctx, p.owned, branch, parent, note+trackedNote); err != nil {
			return nil, err
		}
	}
	safety, err := preserve(ctx, p.Saved, branch, owned, note)
	if err != nil {
		return nil, err
	}
	if same {
		owned = safety
	}
	intent := &state.Intent{ID: layout.NewID(8), Kind: p.Kind, Safety: safety, Owned: owned, To: p.To, Paths: p.Paths, KeepAdded: p.KeepAdded}
	if p.Position != nil {
		position := *p.Position
		if position.Before != nil {
			before := *position.Before
			before.CheckpointSHA = safety
			position.Before = &before
		}
		intent.Position = &position
	}
	return intent, nil
}

// Replace is a tree that has at some paths what another one has there, and nothing
// where that has nothing.
func (x *Execution) Replace(ctx context.Context, tree, by checkpoint.SHA, at func(path string) bool) (checkpoint.SHA, error) {
	empty, err := x.Store.AddTree(ctx, nil)
	if err != nil {
		return "", err
	}
	rest, err := checkpoint.Overlay(x.Store.DB, empty, tree, func(path string) bool { return !at(path) })
	if err != nil {
		return "", err
	}
	return checkpoint.Overlay(x.Store.DB, rest, by, at)
}

// Head is the checkpoint that the workspace was last at: see [Head].
func (x *Execution) Head() state.SHA { return Head(x.State()) }

// Head is the checkpoint that the workspace was last at: the newest on the
// branch of the newest run, or where the next run starts.
func Head(s *state.State) state.SHA {
	if s.Position != nil {
		return s.Position.CheckpointSHA
	}
	if r := s.Newest(); r != nil && r.Head != "" {
		return r.Head
	}
	return cmp.Or(s.Base, s.InitialCheckpoint)
}

// RecoveryBranch returns a new name for a branch that keeps what would
// otherwise be lost.
func (x *Execution) RecoveryBranch() string {
	return "recovery/" + x.Opts.Now().UTC().Format("20060102T150405Z") + "-" + layout.NewID(3)
}

// Preserve makes a recovery checkpoint of a snapshot.
func (x *Execution) Preserve(ctx context.Context, snap *checkpoint.Snapshot, branch string, parent state.SHA, note string) (state.SHA, error) {
	return x.Commit(ctx, Commit{
		Title:      githistory.Title{Status: state.KindRecovery, Name: note},
		Snapshot:   snap,
		Parents:    []state.SHA{parent},
		Branch:     branch,
		Transition: state.CheckpointCreated{Kind: state.KindRecovery, Branch: branch, Note: note},
	})
}

// preserveOnce is Preserve, but for a recovery branch that has the same checkpoint at
// its end, or right before that, already.
func (x *Execution) preserveOnce(ctx context.Context, snap *checkpoint.Snapshot, branch string, parent state.SHA, note string) (state.SHA, error) {
	refs, err := x.Store.Refs(githistory.Heads + "recovery/")
	if err != nil {
		return "", err
	}
	same := func(info checkpoint.Info) bool {
		title, _, _ := strings.Cut(info.Message, "\n")
		return info.Tree == snap.Tree && slices.Equal(info.Parents, []checkpoint.SHA{checkpoint.SHA(parent)}) &&
			strings.HasSuffix(title, " "+note) && slices.Equal(EmptyFolders(info), KeptFolders(snap.Empty))
	}
	for _, tip := range refs {
		for range 2 {
			info, err := x.Store.CommitInfo(tip)
			if err != nil {
				break // lost, or there is none before it
			}
			if same(info) {
				return state.SHA(info.SHA), nil
			}
			if len(info.Parents) == 0 {
				break
			}
			tip = info.Parents[0]
		}
	}
	return x.Preserve(ctx, snap, branch, parent, note)
}

// now is the present time in the state's precision.
func (x *Execution) Now() state.Time { return state.At(x.Opts.Now().Round(time.Millisecond)) }
