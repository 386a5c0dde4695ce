package runtime

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/match"
	"hank/checkpoint/restore"
	"hank/checkpoint/worktree"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
)

// comparison finds what a person has changed in a workspace. It writes nothing.
type comparison struct {
	state     *state.State
	store     *checkpoint.Store
	layout    layout.Layout
	workspace *checkpoint.Workspace
}

func (d *driver) comparison() comparison {
	return comparison{d.x.State(), d.x.Store, d.x.Layout, d.x.Workspace}
}

// askAboutEdits finds what a person has changed since the last checkpoint. It
// returns true if the tree is to be kept as it is. What is not kept is
// preserved in a checkpoint all the same.
func (d *driver) askAboutEdits(ctx context.Context, to state.SHA) (kept bool, err error) {
	head := d.comparison().leftAt(to != "")
	snap, err := d.snapshot(ctx, head)
	var changes []diff.Change
	if err == nil {
		changes, err = d.comparison().edits(head, to, snap)
	}
	if to == "" && d.x.State().Position != nil { // reached by a move, which leaves what nobody has recorded
		d.moved = true
	}
	if err == nil {
		d.unasked, err = d.comparison().foldersSince(head, snap)
		d.moved = d.moved || len(d.unasked) > 0
	}
	if err == nil && to != "" {
		var files []string
		files, err = d.comparison().uncovered(head, snap)
		d.unasked = append(d.unasked, files...)
	}
	if err != nil || len(changes) == 0 {
		d.x.Store.Abort()
		return false, err
	}
	ask, keep := editsQuestion(changes, to == "" && d.nextID() == "")
	kept, revert := d.opts.KeepTree, d.opts.Restore
	if !kept && !revert && d.opts.Ask != nil {
		switch d.opts.Ask(ask.What, []string{keep, "put the checkpoint back (your changes are kept in a checkpoint)"}) {
		case 0:
			kept = true
		case 1:
			revert = true
		}
	}
	if !kept && !revert {
		d.x.Store.Abort()
		return false, ask
	}
	if revert { // what cannot be put back is not stored once more for each answer
		if closed := restore.Writable(d.x.Workspace); closed != nil {
			d.x.Store.Abort()
			return false, execution.NeedOpen(cmp.Or(to, head), closed)
		}
	}
	if err := d.accept(); err != nil {
		d.x.Store.Abort()
		return false, err
	}
	run := d.x.State().Newest()
	t := state.CheckpointCreated{Kind: state.KindManual, Branch: d.x.RecoveryBranch(), Base: kept, Note: summary(changes)}
	if kept && run != nil && d.x.State().Position == nil { // else the tree does not stay there
		t.RunID, t.Branch = run.RunID, run.GitBranch
	}
	sha, err := d.x.Commit(ctx, execution.Commit{Title: githistory.Title{Status: state.KindManual, RunID: t.RunID, Name: summary(changes)},
		Snapshot: snap, Parents: []state.SHA{d.x.Head()}, Branch: t.Branch, Transition: t})
	if err != nil {
		return false, err
	}
	d.say("manual checkpoint %.12s holds what was changed by hand", sha)
	if revert && to == "" {
		d.moved = true
		leave, err := d.comparison().unasked(head, snap, changes)
		if err != nil {
			return false, err
		}
		moved, err := d.x.MoveTree(ctx, execution.Move{Kind: "restore", To: head, Tracked: execution.Tracked(d.x.State(), d.nextID()), Position: d.standAt(head), Leave: leave})
		if err != nil {
			return false, err
		}
		d.sayRefused(moved)
	}
	return kept, nil
}

// editsQuestion is the question about what a person has changed, and what it is on
// a terminal to keep it.
func editsQuestion(changes []diff.Change, done bool) (ask *finding.DecisionError, keep string) {
	question, keep := fmt.Sprintf("the workspace was changed since the last checkpoint (%s)", summary(changes)), "go on with the workspace as it is"
	keepOption := "--keep-tree goes on with it as it is"
	if done {
		question, keep = "the hank is done, and "+question, "leave the workspace as it is, in a checkpoint of its own"
		keepOption = "--keep-tree leaves it as it is, in a checkpoint of its own"
	}
	return &finding.DecisionError{What: question,
		Options: []string{keepOption, "--restore puts the checkpoint back and keeps the changes in a checkpoint of their own"}}, keep
}

// askAboutResults is askAboutEdits for a hank that is done: a workspace that is gone,
// or holds something else than codons or a person have left, is not its result.
func (d *driver) askAboutResults(ctx context.Context) error {
	kept, err := d.askAboutEdits(ctx, "")
	if err != nil || !kept || d.x.State().Position == nil {
		return err
	}
	sha := d.x.State().Base
	_, err = d.x.MoveTree(ctx, execution.Move{Kind: "restore", To: sha, Tracked: execution.Tracked(d.x.State(), d.nextID()), Position: d.standAt(sha), Stay: true})
	return err
}

// leftAt is the checkpoint that the workspace was left at by codons, or by an
// answer of a person. What they had changed before a move that was taken back is
// in its safety checkpoint alone, and was not asked about: there, where a run
// ended, and before a move to elsewhere, the checkpoint before it counts.
func (c comparison) leftAt(elsewhere bool) state.SHA {
	s := c.state
	head := execution.Head(s)
	saved := execution.SavedAt(c.store, head)
	switch run := s.Standing(); {
	case elsewhere, saved == head:
		return saved
	case s.Position == nil:
		return head
	case run == nil:
		return c.beforeUndos(s.Position).CheckpointSHA
	case execution.IsManual(c.store, saved): // kept by an answer behind the run's end
		return saved
	case run.Head != "":
		return run.Head
	case run.StartingConditions.Source != nil:
		return run.StartingConditions.Source.CheckpointSHA
	}
	return saved
}

// beforeUndos returns a position as the move has reached it that the undo behind it
// leads back to, for that is where a person was last asked; without an undo, the
// position itself. An undo goes to the checkpoint that was made before the move
// that it takes back.
func (c comparison) beforeUndos(p *state.Position) *state.Position {
	for p.Before != nil {
		last, err := c.store.CommitInfo(checkpoint.SHA(p.Before.CheckpointSHA))
		kind, to := execution.MoveAfter(last)
		if err != nil || kind != "undo" || to != p.CheckpointSHA {
			break
		}
		at, moved := execution.StoodAt(c.store, to), state.SHA("")
		if at == to {
			break
		}
		if safety, err := c.store.CommitInfo(checkpoint.SHA(to)); err == nil {
			if kind, to := execution.MoveAfter(safety); kind == "undo" {
				moved = to // made before the move that has led to where it was taken back
			}
		}
		if moved == "" {
			moved = execution.MovedBefore(c.store, at, to)
		}
		reached := *p
		reached.CheckpointSHA, reached.Before = at, nil
		if moved != "" {
			reached.Before = &state.Position{CheckpointSHA: moved}
		}
		p = &reached
	}
	return p
}

// standAt is the present position with another checkpoint; nil if that is its
// own.
func (d *driver) standAt(sha state.SHA) *state.Position {
	s := d.x.State()
	if s.Position == nil || s.Position.CheckpointSHA == sha {
		return nil
	}
	at, before := *s.Position, d.standpoint(s)
	at.CheckpointSHA, at.Before = sha, &before
	at.Program, at.HankHash = "", "" // of the undo that has led here; an answer keeps the present program
	return &at
}

// late is what a person has decided, or decides on a terminal, about a codon
// whose workspace was changed between its end and its checkpoint.
func (o Options) late(mode Mode) func(question string) execution.Late {
	return func(question string) execution.Late {
		switch {
		case o.KeepTree || mode == ModeResume && !o.Restore:
			return execution.LateKeep
		case o.Restore:
			return execution.LateRedo
		case o.Ask == nil:
			return execution.LateAsk
		}
		switch o.Ask(question, []string{"take the workspace as it is as the codon's work", "keep it in a checkpoint, and run the codon again on the workspace from before it"}) {
		case 0:
			return execution.LateKeep
		case 1:
			return execution.LateRedo
		}
		return execution.LateAsk
	}
}

// askAboutLoss returns true if the checkpoint that the tree is to go back to is
// lost, and a person wants to go on with the tree as it is: what of it is the
// codon's own work nobody knows.
func (d *driver) askAboutLoss(ctx context.Context, m move) (bool, error) {
	if m.to == "" {
		return false, nil
	}
	left, err := recovery.IsLeft(ctx, d.x, m.to)
	if err != nil || left {
		return false, err
	}
	ask := lostStart(m.to, m.codon)
	if d.opts.KeepTree || !d.opts.Restore && d.opts.Ask != nil &&
		d.opts.Ask(ask.What, []string{"do the codon on the workspace as it is, which may have a part of its work", "leave it"}) == 0 {
		return true, nil
	}
	return false, ask
}

// lostStart is the question about a lost checkpoint from which a codon was to be
// done again.
func lostStart(sha state.SHA, c *state.Codon) *finding.DecisionError {
	where := "before"
	if sha == c.RigSetupCheckpoint {
		where = "behind the rig of"
	}
	return &finding.DecisionError{
		What: fmt.Sprintf("checkpoint %.12s, from %s codon %s, is lost, so the workspace cannot go back to it", sha, where, c.CodonID),
		Options: []string{
			"--keep-tree does the codon on the workspace as it is, which may have a part of its work",
			"hank rollback --to TARGET goes back to a checkpoint that is left (hank checkpoints lists them)",
		},
		Command: "hank run --keep-tree",
	}
}

// StartLost returns the question that the next hank run asks because the
// checkpoint from before the codon that it does again is not in the store; nil if
// it asks none. Files that are lost the workspace may still have; a commit it has
// not.
func StartLost(s *state.State, store *checkpoint.Store) *finding.DecisionError {
	c := recovery.Redone(s)
	if c == nil || s.Next() == len(s.ExecutionPlan()) || store.Has(checkpoint.SHA(c.BaseCheckpoint)) {
		return nil
	}
	return lostStart(c.BaseCheckpoint, c)
}

// snapshot looks at the workspace, which was at a checkpoint, as far as codon
// checkpoints do.
func (d *driver) snapshot(ctx context.Context, head state.SHA) (*checkpoint.Snapshot, error) {
	return d.x.Snapshot(ctx, execution.Tracked(d.x.State(), d.nextID()), head)
}

// edits lists what a person has changed since the workspace was left at a
// checkpoint, where the next run moves it to another one, or leaves it (to is
// empty).
func (c comparison) edits(head, to state.SHA, snap *checkpoint.Snapshot) ([]diff.Change, error) {
	changes, err := c.since(head, snap)
	if err != nil || len(changes) == 0 || c.leftByHankweave() {
		return nil, err
	}
	if to != "" {
		// A crash may have come between the move that this start is about to
		// make and the run behind it: the tree is there already.
		if more, err := c.since(to, snap); err != nil || len(more) == 0 {
			return nil, err
		}
	}
	return changes, nil
}

// since is what differs between a checkpoint and a snapshot of the workspace.
// The checkpoint may hold more than codons track; a file that it has and that
// is still there was not edited. It may have looked at less than the next one
// will; what it did not look at was not added. Nor is what an archive had taken
// when hank ended an edit.
func (c comparison) since(sha state.SHA, snap *checkpoint.Snapshot) ([]diff.Change, error) {
	before, err := c.tree(sha)
	if err != nil || snap.Tree == before {
		return nil, err
	}
	all, err := diff.Diff(c.store, before, snap.Tree)
	archived := c.archivedAt(sha)
	takes := execution.Taken(c.state, c.store, sha).Matcher()
	if c.byHankweave(sha) {
		takes = func(string) bool { return false }
	}
	uncovered, kept := c.uncoveredAt(sha, snap), c.keptAt(sha, snap)
	return slices.DeleteFunc(all, func(at diff.Change) bool {
		return kept(at.Path) || at.Kind == diff.Added && (!takes(at.Path) || uncovered(at.Path)) ||
			at.Kind == diff.Deleted && (archived[at.Path] || c.stillThere(at))
	}), err
}

// unasked lists the files and the empty folders of a snapshot that a checkpoint has
// not, and that are not among what a person is asked about.
func (c comparison) unasked(sha state.SHA, snap *checkpoint.Snapshot, asked []diff.Change) (names []string, err error) {
	before, err := c.store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return nil, err
	}
	all, err := diff.Diff(c.store, before.Tree, snap.Tree)
	known := map[string]bool{}
	for _, at := range asked {
		known[at.Path] = true
	}
	for _, at := range all {
		if at.Kind == diff.Added && !known[at.Path] {
			names = append(names, at.Path)
		}
	}
	had := execution.EmptyFolders(before)
	for _, name := range snap.Empty {
		if !slices.Contains(had, name) {
			names = append(names, name)
		}
	}
	return names, err
}

// uncovered lists the files of a snapshot that a checkpoint has not, and that the moves
// which have brought the workspace there have found and left: see uncoveredAt.
func (c comparison) uncovered(sha state.SHA, snap *checkpoint.Snapshot) (names []string, err error) {
	before, err := c.tree(sha)
	if err != nil || snap.Tree == before {
		return nil, err
	}
	all, err := diff.Diff(c.store, before, snap.Tree)
	left := c.uncoveredAt(sha, snap)
	for _, at := range all {
		if at.Kind == diff.Added && left(at.Path) {
			names = append(names, at.Path)
		}
	}
	return names, err
}

// foldersSince lists the empty folders of a snapshot that a checkpoint has looked for
// and has not: a person has made them. Nobody is asked about them, since no file is
// at stake; they are what the next codon finds.
func (c comparison) foldersSince(sha state.SHA, snap *checkpoint.Snapshot) (made []string, err error) {
	if c.byHankweave(sha) { // its checkpoints name none
		return nil, nil
	}
	info, err := c.store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return nil, err
	}
	had, takes := execution.EmptyFolders(info), execution.Taken(c.state, c.store, sha).Matcher()
	for _, name := range execution.KeptFolders(snap.Empty) {
		if takes(name) && !slices.Contains(had, name) && !restore.HasPath(c.store.DB, info.Tree, name) {
			made = append(made, name)
		}
	}
	return made, nil
}

// uncoveredAt tells which files the moves that have brought the workspace to a
// checkpoint have found, and left, because no codon had recorded them: they were
// ignored then, or are still what the safety checkpoint has. Of the answer that put
// edits back only what was ignored counts: it was asked about all else.
func (c comparison) uncoveredAt(sha state.SHA, snap *checkpoint.Snapshot) func(path string) bool {
	byAnswer := func(string) bool { return false }
	if safety := execution.RestoredBefore(c.store, sha); safety != "" {
		byAnswer = c.foundBy(safety, func(string) bool { return false })
	}
	at := c.state.MovedTo()
	if at == nil { // a move to the end of a run: an import has filled the workspace
		at = c.state.Position
	}
	if at != nil && at == c.state.Position {
		at = c.beforeUndos(at)
	}
	p, _, changed := c.sinceMove(at, sha, snap)
	if p == nil {
		return byAnswer
	}
	byMove := c.foundBy(p.Before.CheckpointSHA, func(path string) bool { return !changed[path] })
	return func(path string) bool { return byMove(path) || byAnswer(path) }
}

// foundBy tells which files a move has found that no codon had recorded, by its
// safety checkpoint: they were ignored, and still are behind it or were there then, or
// are the same.
func (c comparison) foundBy(safety state.SHA, same func(path string) bool) func(path string) bool {
	before, err := c.tree(safety)
	recorded, rerr := c.tree(execution.SavedAt(c.store, safety))
	if err != nil || rerr != nil {
		return func(string) bool { return false }
	}
	hidden := match.Ignored(c.store.DB, before, c.workspace)
	ignored := hidden
	if left, err := c.tree(execution.LeftBy(c.store, safety)); err == nil {
		still := match.Ignored(c.store.DB, left, c.workspace)
		ignored = func(path string) bool { return hidden(path) && (still(path) || c.store.HasFile(left, path)) }
	}
	return func(path string) bool {
		return !c.store.HasFile(recorded, path) && (ignored(path) || same(path))
	}
}

// sinceMove returns a position that a move has brought the execution to, if it
// was to the checkpoint, the tree before that move, and what has changed since
// then; nil if there is none.
func (c comparison) sinceMove(p *state.Position, sha state.SHA, snap *checkpoint.Snapshot) (*state.Position, checkpoint.SHA, map[string]bool) {
	if p == nil || p.Before == nil || p.CheckpointSHA != sha {
		return nil, "", nil
	}
	before, err := c.tree(p.Before.CheckpointSHA)
	if err != nil {
		return nil, "", nil
	}
	changes, err := diff.Diff(c.store, before, snap.Tree)
	if err != nil {
		return nil, "", nil
	}
	changed := map[string]bool{}
	for _, at := range changes {
		changed[at.Path] = true
	}
	return p, before, changed
}

// keptAt reports which paths the move that has brought the workspace to a
// checkpoint could not change, and nobody has changed since.
func (c comparison) keptAt(sha state.SHA, snap *checkpoint.Snapshot) func(path string) bool {
	at := c.state.LastMove()
	if at != nil && at == c.state.Position && sha == c.leftAt(false) { // an undo compares with what it has gone back to the end of
		sha = at.CheckpointSHA
	}
	if at != nil && len(at.Kept) > 0 && execution.FoundAt(c.store, sha, at.CheckpointSHA) { // which has at these paths what the move was to bring
		sha = at.CheckpointSHA
	}
	p, _, changed := c.sinceMove(at, sha, snap)
	if p == nil || len(p.Kept) == 0 {
		return func(string) bool { return false }
	}
	return func(path string) bool {
		return slices.ContainsFunc(p.Kept, func(kept string) bool {
			return (kept == "." || kept == path || strings.HasPrefix(path, kept+"/")) && (!changed[path] || worktree.IsKeptAside(kept))
		})
	}
}

// stillThere tells whether a file that codons do not track is on disk. A folder in its
// place is none, unless it was one to git: a submodule.
func (c comparison) stillThere(at diff.Change) bool {
	root, err := os.OpenRoot(c.layout.Workspace)
	if err != nil {
		return false
	}
	defer root.Close()
	fi, err := root.Lstat(at.Path)
	return err == nil && (!fi.IsDir() || at.From.Mode == filemode.Submodule)
}

// tree is the tree of a checkpoint.
func (c comparison) tree(sha state.SHA) (checkpoint.SHA, error) {
	info, err := c.store.CommitInfo(checkpoint.SHA(sha))
	return info.Tree, err
}

// byHankweave tells whether a checkpoint is one of Hankweave's.
func (c comparison) byHankweave(sha state.SHA) bool {
	return githistory.IsHankweaves(c.state, c.store, sha)
}

func summary(changes []diff.Change) string {
	names := make([]string, 0, 3)
	for _, c := range changes[:min(3, len(changes))] {
		names = append(names, fmt.Sprintf("%s %q", c.Kind, c.Path))
	}
	if more := len(changes) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
