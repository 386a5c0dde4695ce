package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/plan"
	"hank/recovery"
	"hank/state"
)

// Limits above which the first checkpoint of a folder wants a person's yes.
const (
	hugeFiles = 200_000
	hugeBytes = 5 << 30
)

// begin makes the checkpoint of the untouched workspace, if there is none.
func (d *driver) begin(ctx context.Context) error {
	if d.x.State().InitialCheckpoint != "" {
		return nil
	}
	everything := checkpoint.Selection{All: true}
	if err := d.askAboutHuge(everything); err != nil {
		return err
	}
	snap, err := d.x.Snapshot(ctx, everything, "")
	if err != nil {
		return err
	}
	sha, err := d.x.Commit(ctx, recovery.Commit{
		Title: recovery.Title{Status: state.KindInitial}, Snapshot: snap, Branch: "main",
		Transition: state.InitialCheckpointSet{},
	})
	if err == nil {
		d.say("initial checkpoint %.12s: %d files", sha, snap.Files)
	}
	return err
}

// askAboutHuge refuses to swallow a home directory by accident.
func (d *driver) askAboutHuge(sel checkpoint.Selection) error {
	if d.opts.Yes {
		return nil
	}
	sel.Never = recovery.Never
	size, err := checkpoint.Estimate(d.x.Workspace, sel)
	if err != nil {
		return err
	}
	huge := HugeFolder{Path: d.x.Layout.Workspace, Files: int64(size.Files), Bytes: size.Bytes}
	home, _ := os.UserHomeDir()
	switch {
	case home != "" && sameFolder(home, huge.Path):
		huge.Why = "it is your home directory"
	case size.Files > hugeFiles:
		huge.Why = fmt.Sprintf("it has over %d files", hugeFiles)
	case size.Bytes > hugeBytes:
		huge.Why = "it has over 5 GB"
	default:
		return nil
	}
	for _, f := range size.Largest {
		huge.Largest = append(huge.Largest, Folder{Path: f.Path, Files: int64(f.Files), Bytes: f.Bytes, Ignore: f.Ignore})
	}
	if d.opts.ConfirmHuge != nil && d.opts.ConfirmHuge(huge) {
		return nil
	}
	return &recovery.DecisionError{What: fmt.Sprintf("the first checkpoint of %s would be large: %s", huge.Path, huge.Why),
		Options: []string{"--yes takes it", "put what is not needed into .gitignore (hank names the largest folders)"}}
}

func sameFolder(a, b string) bool {
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}

// chooseProgram settles which program the run follows: the author's at first,
// then the frozen one. When they differ a person decides.
func (d *driver) chooseProgram(ctx context.Context, live *plan.Program, loadErr error) error {
	s := d.x.State()
	if s.Program == "" {
		if live == nil {
			return loadErr
		}
		return d.adopt(ctx, live)
	}
	frozen, err := d.x.LoadProgram(s.Program)
	if err != nil && live == nil {
		return fmt.Errorf("neither the frozen program nor the hank can be read: %w", errors.Join(err, loadErr))
	}
	if err != nil {
		d.say("%v; the hank as it is now takes its place", err)
		return d.adopt(ctx, live)
	}
	d.program = frozen
	changes, err := d.changed(frozen, live, loadErr)
	if err != nil {
		return err
	}
	if len(changes) == 0 || d.opts.Frozen {
		return d.replan()
	}
	const question = "the hank has changed since this execution froze it"
	for _, c := range changes {
		d.say("  %s", c)
	}
	adopt := d.opts.Adopt
	if !adopt && d.opts.Ask != nil {
		switch d.opts.Ask(question, []string{"go on with the new one", "go on with the frozen one"}) {
		case 0:
			adopt = true
		case 1:
			return d.replan()
		}
	}
	if !adopt && live == nil {
		return &recovery.DecisionError{What: question + " (" + strings.Join(changes, "; ") + ")",
			Options: []string{"--frozen goes on as before", "mend the hank, see: hank validate, and --adopt then goes on with it"}}
	}
	if !adopt {
		return &recovery.DecisionError{What: question + " (" + strings.Join(changes, "; ") + ")",
			Options: []string{"--adopt goes on with the new one", "--frozen goes on as before"}}
	}
	if live == nil {
		return loadErr
	}
	return d.adopt(ctx, live)
}

// changed says, per codon, in what the author's hank differs from the frozen
// one. A hank that is gone or broken by now differs as a whole.
func (d *driver) changed(frozen, live *plan.Program, loadErr error) ([]string, error) {
	if live == nil {
		if errors.Is(loadErr, os.ErrNotExist) {
			d.say("the hank %s is gone; the frozen one is used", d.x.Meta().HankPath)
			return nil, nil
		}
		if loadErr == nil {
			return nil, nil
		}
		return []string{"the hank has errors now: " + loadErr.Error()}, nil
	}
	if programHash(live) == d.x.State().HankHash {
		return nil, nil
	}
	return describeChanges(frozen, live), nil
}

func describeChanges(frozen, live *plan.Program) []string {
	var out []string
	for _, c := range plan.Compare(frozen, live) {
		out = append(out, c.String())
	}
	if len(out) == 0 {
		out = append(out, "files that it refers to")
	}
	return out
}

// programHash is the digest of what a hank says: its files, and the models that
// its codons name. The settings around it are not part of it: a ceiling for one
// run does not make another program.
func programHash(p *plan.Program) string {
	var all strings.Builder
	for _, f := range p.Files {
		fmt.Fprintf(&all, "%s %o %s\n", f.Path, f.Mode.Perm()&0o111, f.Digest)
	}
	for _, e := range p.Initial() {
		fmt.Fprintf(&all, "%s %s\n", e.CodonID, e.Codon.Model)
	}
	return digest(all.String())
}

// adopt freezes a program and lays out its plan from what is settled.
func (d *driver) adopt(ctx context.Context, p *plan.Program) error {
	hash := programHash(p)
	sha, err := d.x.Freeze(ctx, p)
	if err != nil {
		return err
	}
	d.program = p
	entries, err := encodeEntries(p.Derive(recovery.Outcomes(d.x.State())))
	if err != nil {
		return err
	}
	if err := d.x.Record(state.PlanSet{Program: sha, HankHash: hash, Entries: entries}); err != nil {
		return err
	}
	return d.x.SetMeta(func(m *recovery.Meta) { m.HankHash = hash })
}

// replan derives the plan anew where it is not what program and outcomes make
// of it: after a rollback, or after a crash between a codon's end and the
// growth of its loop.
func (d *driver) replan() error { return Replan(d.x, d.program) }

// Replan brings an execution's plan into line with its program and what is
// settled on its thread.
func Replan(x *recovery.Execution, p *plan.Program) error {
	s := x.State()
	want := p.Derive(recovery.Outcomes(s))
	same := slices.EqualFunc(want, s.ExecutionPlan(), func(a plan.Entry, b *state.PlanEntry) bool { return a.CodonID == b.CodonID })
	if same {
		return nil
	}
	entries, err := encodeEntries(want)
	if err != nil {
		return err
	}
	return x.Record(state.PlanSet{Program: s.Program, HankHash: s.HankHash, Entries: entries})
}

// start says how a run begins.
type start struct {
	conditions state.StartingConditions
	done       *outcome // there is nothing to run
}

// chooseStart decides where to go on and brings the tree there.
//
//   - A plan that is done stays done, except for a retry of one of its codons.
//   - run redoes a codon that was cut off, on the tree from before it; a codon
//     that failed needs a person's retry.
//   - resume keeps the tree, and goes on in the agent's session.
//   - retry goes back to before the codon.
//
// Before any of this moves the tree, what a person has changed since the last
// checkpoint is found and asked about.
func (d *driver) chooseStart(ctx context.Context, mode Mode) (start, error) {
	s := d.x.State()
	if s.Newest() == nil && s.Position == nil {
		if mode != ModeRun {
			return start{}, &UsageError{"nothing has run yet; begin with: hank run"}
		}
		return start{conditions: state.StartingConditions{Type: state.StartFresh, InitialCheckpointSHA: s.InitialCheckpoint}}, nil
	}
	move, err := d.chooseMove(mode)
	if err != nil || move.done != nil {
		return start{done: move.done}, err
	}
	if mode == ModeResume && !d.opts.Restore {
		d.opts.KeepTree = true
	}
	kept, err := d.askAboutEdits(ctx, move.to)
	if err != nil {
		return start{}, err
	}
	if move.to != "" && !kept || move.position != nil {
		to := move.to
		if kept {
			to = d.x.Head() // the tree stays; only the position moves
		}
		if err := d.goBack(ctx, to, move); err != nil {
			return start{}, err
		}
	}
	return start{conditions: d.continuation(mode)}, d.checkCrashLoop()
}

// move is where a start goes back to.
type move struct {
	done     *outcome
	to       state.SHA       // empty: the tree stays
	position *state.Position // nil: the position stays
}

func (d *driver) chooseMove(mode Mode) (move, error) {
	s := d.x.State()
	last := lastRecord(s)
	if mode == ModeRetry {
		return d.chooseRetry(last)
	}
	if s.Next() == len(s.ExecutionPlan()) {
		return move{done: &outcome{}}, nil
	}
	if s.Position != nil {
		d.rigDone = s.Position.RigDone
		return move{}, nil
	}
	if last == nil || last.Settled() {
		return move{}, nil
	}
	if mode == ModeResume {
		d.rigDone = last.RigSetupCheckpoint != "" || last.FailedDuring != state.Preparing
		d.resumeSession = last.ClaudeSessionID
		return move{}, nil
	}
	if last.Interrupted == "" && !(retryDue(s, last) && cutOff(s.Newest())) {
		return move{done: &outcome{state.EndCodonFailed, ExitFailed, last.CodonID, "failed in an earlier run: " + last.FailureReason.Message}}, nil
	}
	here := s.Here()
	again := here
	again.CheckpointSHA, again.Reason, again.Before = last.BaseCheckpoint, state.ReasonContinue, &here
	return move{to: last.BaseCheckpoint, position: &again}, nil
}

// retryDue tells whether a codon that failed is to be tried again by its
// policy.
func retryDue(s *state.State, last *state.Codon) bool {
	i := s.PlanIndex(last.CodonID)
	if i < 0 || last.Status != state.Failed || last.FailureIgnored || last.Interrupted != "" || !last.FailureReason.Retriable {
		return false
	}
	most, _, _ := s.ExecutionPlan()[i].Codon.Retries()
	return last.Attempt <= most
}

// cutOff tells whether a run ended by a crash or on request, and not because
// of what its codons did.
func cutOff(r *state.Run) bool {
	return r.Status == state.StatusCrashed || r.EndReason == state.EndSignal || r.EndReason == state.EndStopped
}

// chooseRetry finds the record to go back to the beginning of.
func (d *driver) chooseRetry(last *state.Codon) (move, error) {
	s := d.x.State()
	target := state.Step{}
	switch {
	case d.opts.Codon != "":
		found, err := findOnThread(s, d.opts.Codon)
		if err != nil {
			return move{}, err
		}
		target = found
	case last != nil && !last.Settled():
		target = state.Step{Run: s.Newest(), Codon: last}
	default:
		return move{}, &UsageError{"no codon has failed; name the one to do again: hank retry CODON"}
	}
	record := target.Codon
	m := move{to: record.BaseCheckpoint}
	if d.opts.FromRigSetup {
		if record.RigSetupCheckpoint == "" {
			return move{}, &UsageError{fmt.Sprintf("codon %s has no rig checkpoint to go back to", record.CodonID)}
		}
		m.to, d.rigDone = record.RigSetupCheckpoint, true
	}
	if m.to == "" {
		return move{}, &UsageError{fmt.Sprintf("codon %s has no checkpoint from before it; see: hank checkpoints", record.CodonID)}
	}
	p := positionBefore(s, target)
	p.CheckpointSHA, p.Reason, p.RigDone = m.to, state.ReasonRetry, d.rigDone
	here := s.Here()
	p.Before = &here
	m.position = &p
	return m, nil
}

func lastRecord(s *state.State) *state.Codon {
	if r := s.Newest(); r != nil && r.Len() > 0 {
		return r.Codon(r.Len() - 1)
	}
	return nil
}

// goBack moves the tree, and the position with it.
func (d *driver) goBack(ctx context.Context, to state.SHA, m move) error {
	if m.position != nil {
		m.position.CheckpointSHA = to
	}
	tracked := recovery.Tracked(d.x.State(), d.nextID())
	moved, err := d.x.MoveTree(ctx, recovery.Move{Kind: "retry", To: to, Tracked: tracked, Position: m.position})
	if err != nil {
		return err
	}
	if r := moved.Report.Plan; len(r.Add)+len(r.Change)+len(r.Delete) > 0 {
		d.say("the tree is back at checkpoint %.12s (what was there is in %.12s)", to, moved.Safety)
	}
	return d.replan()
}

func (d *driver) nextID() state.CodonID {
	s := d.x.State()
	if i := s.Next(); i < len(s.ExecutionPlan()) {
		return s.ExecutionPlan()[i].CodonID
	}
	return ""
}

// continuation is how the run that is about to start says where it begins.
func (d *driver) continuation(mode Mode) state.StartingConditions {
	s := d.x.State()
	here := s.Here()
	if s.Position != nil {
		here.Before = s.Position.Before // so that the rollback can still be taken back
	}
	reason := here.Reason
	if reason == "" {
		if reason = state.ReasonContinue; mode == ModeRetry {
			reason = state.ReasonRetry
		}
	}
	return state.StartingConditions{Type: state.StartContinuation, Source: &here, Reason: reason}
}

// maxCrashes is how often in a row a codon may take the runtime down without
// a person looking at it.
const maxCrashes = 3

func (d *driver) checkCrashLoop() error {
	next := d.nextID()
	if n := d.x.State().Crashes(next); d.opts.Unattended && n >= maxCrashes {
		return &recovery.DecisionError{What: fmt.Sprintf("codon %s has crashed hank %d times in a row", next, n),
			Options: []string{"look at it: hank doctor, hank log " + string(next), "go on by hand: hank run"}}
	}
	return nil
}

// askAboutEdits finds what a person has changed since the last checkpoint. It
// returns true if the tree is to be kept as it is. What is not kept is
// preserved in a checkpoint all the same.
func (d *driver) askAboutEdits(ctx context.Context, to state.SHA) (kept bool, err error) {
	changes, snap, err := d.edits(ctx)
	if len(changes) > 0 && to != "" {
		// A crash may have come between the move that this start is about to
		// make and the run behind it: the tree is there already.
		if more, err := d.since(to, snap); err != nil || len(more) == 0 {
			d.x.Store.Abort()
			return false, err
		}
	}
	if err != nil || len(changes) == 0 {
		d.x.Store.Abort()
		return false, err
	}
	question := fmt.Sprintf("the workspace was changed since the last checkpoint (%s)", summary(changes))
	kept, restore := d.opts.KeepTree, d.opts.Restore
	if !kept && !restore && d.opts.Ask != nil {
		switch d.opts.Ask(question, []string{"go on with the workspace as it is", "put the checkpoint back (your changes are kept in a checkpoint)"}) {
		case 0:
			kept = true
		case 1:
			restore = true
		}
	}
	if !kept && !restore {
		d.x.Store.Abort()
		return false, &recovery.DecisionError{What: question,
			Options: []string{"--keep-tree goes on with it as it is", "--restore puts the checkpoint back and keeps the changes in a checkpoint of their own"}}
	}
	head := d.x.Head()
	run := d.x.State().Newest()
	t := state.CheckpointCreated{Kind: state.KindManual, Branch: d.x.RecoveryBranch(), Base: kept, Note: summary(changes)}
	if kept && run != nil && d.x.State().Position == nil { // else the tree does not stay there
		t.RunID, t.Branch = run.RunID, run.GitBranch
	}
	sha, err := d.x.Commit(ctx, recovery.Commit{Title: recovery.Title{Status: state.KindManual, RunID: t.RunID, Name: summary(changes)},
		Snapshot: snap, Parents: []state.SHA{head}, Branch: t.Branch, Transition: t})
	if err != nil {
		return false, err
	}
	d.say("manual checkpoint %.12s holds what was changed by hand", sha)
	if restore && to == "" {
		_, err = d.x.MoveTree(ctx, recovery.Move{Kind: "restore", To: head, Tracked: recovery.Tracked(d.x.State(), d.nextID())})
	}
	return kept, err
}

// edits compares the workspace with the last checkpoint, as far as codon
// checkpoints look at it.
func (d *driver) edits(ctx context.Context) ([]checkpoint.Change, *checkpoint.Snapshot, error) {
	head := d.x.Head()
	snap, err := d.x.Snapshot(ctx, recovery.Tracked(d.x.State(), d.nextID()), head)
	if err != nil {
		return nil, nil, err
	}
	changes, err := d.since(head, snap)
	return changes, snap, err
}

// since is what differs between a checkpoint and a snapshot of the workspace.
// The checkpoint may hold more than codons track; a file that it has and that
// is still there was not edited. It may have looked at less than the next one
// will; what it did not look at was not added. Nor is what an archive had taken
// when hank ended an edit.
func (d *driver) since(sha state.SHA, snap *checkpoint.Snapshot) ([]checkpoint.Change, error) {
	before, err := d.x.Tree(sha)
	if err != nil || snap.Tree == before {
		return nil, err
	}
	all, err := checkpoint.Diff(d.x.Store, before, snap.Tree)
	archived := d.archivedAt(sha)
	takes := recovery.Taken(d.x.State(), d.x.Store, sha).Matcher()
	return slices.DeleteFunc(all, func(c checkpoint.Change) bool {
		return c.Kind == checkpoint.Added && !takes(c.Path) ||
			c.Kind == checkpoint.Deleted && (archived[c.Path] || d.stillThere(c))
	}), err
}

// stillThere tells whether a file that codons do not track is on disk.
func (d *driver) stillThere(c checkpoint.Change) bool {
	root, err := os.OpenRoot(d.x.Layout.Workspace)
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Lstat(c.Path)
	return err == nil
}

func summary(changes []checkpoint.Change) string {
	names := make([]string, 0, 3)
	for _, c := range changes[:min(3, len(changes))] {
		names = append(names, fmt.Sprintf("%s %q", c.Kind, c.Path))
	}
	if more := len(changes) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func toolInput(b []byte) any {
	var v any
	if json.Unmarshal(b, &v) != nil {
		return string(b)
	}
	return v
}
