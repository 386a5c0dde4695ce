package edits

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/match"
	"hank/checkpoint/restore"
	"hank/checkpoint/worktree"
	"hank/internal/vfs"
	"hank/recovery/emptydirs"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/history"
	"hank/state"
)

// leftByHankweave reports whether the tree is what a codon has left that failed
// under Hankweave without a checkpoint: its work, and no edit.
func (c Comparison) leftByHankweave() bool {
	last := history.LastRecord(c.State)
	return last != nil && !last.Settled() && last.ErrorCheckpoint == "" && c.byHankweave(execution.Head(c.State))
}

// Comparison finds what the user has changed in a workspace. It writes nothing.
type Comparison struct {
	State     *state.State
	Store     *checkpoint.Store
	Layout    layout.Layout
	Workspace *checkpoint.Workspace
}

// LeftAt is the checkpoint that the workspace was left at by codons, or by an
// answer of the user. What they had changed before a move that was undone is
// in its safety checkpoint alone, and was not asked about: there, where a run
// ended, and before a move to elsewhere, the checkpoint before it counts.
func (c Comparison) LeftAt(elsewhere bool) state.SHA {
	s := c.State
	head := execution.Head(s)
	saved := execution.SavedAt(c.Store, head)
	switch run := s.RunAtPosition(); {
	case elsewhere, saved == head:
		return saved
	case s.Position == nil:
		return head
	case run == nil:
		return c.beforeUndos(s.Position).CheckpointSHA
	case execution.IsManual(c.Store, saved): // kept by an answer after the run's end
		return saved
	case run.Head != "":
		return run.Head
	case run.StartingConditions.Source != nil:
		return run.StartingConditions.Source.CheckpointSHA
	}
	return saved
}

// beforeUndos returns a position as the move has reached it that the undo after it
// leads back to, for that is where the user was last asked; without an undo, the
// position itself. An undo goes to the checkpoint that was made before the move
// that it undoes.
func (c Comparison) beforeUndos(p *state.Position) *state.Position {
	for p.Before != nil {
		last, err := c.Store.CommitInfo(checkpoint.SHA(p.Before.CheckpointSHA))
		kind, to := execution.MoveAfter(last)
		if err != nil || kind != "undo" || to != p.CheckpointSHA {
			break
		}
		at, moved := execution.StoodAt(c.Store, to), state.SHA("")
		if at == to {
			break
		}
		if safety, err := c.Store.CommitInfo(checkpoint.SHA(to)); err == nil {
			if kind, to := execution.MoveAfter(safety); kind == "undo" {
				moved = to // made before the move that has led to where it was undone
			}
		}
		if moved == "" {
			moved = execution.MovedBefore(c.Store, at, to)
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

// list lists what the user has changed since the workspace was left at a
// checkpoint, where the next run moves it to another one, or leaves it (to is
// empty).
func (c Comparison) list(head, to state.SHA, snap *checkpoint.Snapshot) ([]diff.Change, error) {
	changes, err := c.Since(head, snap)
	if err != nil || len(changes) == 0 || c.leftByHankweave() {
		return nil, err
	}
	if to != "" {
		// A crash may have come between the move that this start is about to
		// make and the run after it: the tree is there already.
		if more, err := c.Since(to, snap); err != nil || len(more) == 0 {
			return nil, err
		}
	}
	return changes, nil
}

// Since is what differs between a checkpoint and a snapshot of the workspace.
// The checkpoint may hold more than codons track; a file that it has and that
// is still there was not edited. It may have looked at less than the next one
// will; what it did not look at was not added. Nor is what an archive had taken
// when hank ended an edit, or what a move has brought back from it.
func (c Comparison) Since(sha state.SHA, snap *checkpoint.Snapshot) ([]diff.Change, error) {
	before, err := c.tree(sha)
	if err != nil || snap.Tree == before {
		return nil, err
	}
	all, err := diff.Diff(c.Store, before, snap.Tree)
	archived := c.ArchivedAt(sha)
	takes := execution.Taken(c.State, c.Store, sha).Matcher()
	if c.byHankweave(sha) {
		takes = func(string) bool { return false }
	}
	uncovered, kept, returned := c.UncoveredAt(sha, snap), c.KeptAt(sha, snap), c.returned(snap.Tree)
	return slices.DeleteFunc(all, func(at diff.Change) bool {
		return kept(at.Path) || at.Kind == diff.Added && (!takes(at.Path) || uncovered(at.Path) || returned(at.Path)) ||
			at.Kind == diff.Deleted && (archived[at.Path] || c.stillThere(at))
	}), err
}

// Unasked lists the files and the empty directories of a snapshot that a checkpoint has
// not, and that are not among what the user is asked about.
func (c Comparison) Unasked(sha state.SHA, snap *checkpoint.Snapshot, asked []diff.Change) (names []string, err error) {
	before, err := c.Store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return nil, err
	}
	all, err := diff.Diff(c.Store, before.Tree, snap.Tree)
	known := map[string]bool{}
	for _, at := range asked {
		known[at.Path] = true
	}
	for _, at := range all {
		if at.Kind == diff.Added && !known[at.Path] {
			names = append(names, at.Path)
		}
	}
	had := emptydirs.Of(before)
	for _, name := range snap.Empty {
		if !holds(had, name) {
			names = append(names, name)
		}
	}
	return names, err
}

// holds reports whether a directory is one of the empty directories, or above one: what was
// in it was removed.
func holds(empty []string, dir string) bool {
	return slices.ContainsFunc(empty, func(name string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

// uncovered lists the files of a snapshot that a checkpoint has not, and that the moves
// which have brought the workspace there have found and left: see UncoveredAt.
func (c Comparison) uncovered(sha state.SHA, snap *checkpoint.Snapshot) (names []string, err error) {
	before, err := c.tree(sha)
	if err != nil || snap.Tree == before {
		return nil, err
	}
	all, err := diff.Diff(c.Store, before, snap.Tree)
	left := c.UncoveredAt(sha, snap)
	for _, at := range all {
		if at.Kind == diff.Added && left(at.Path) {
			names = append(names, at.Path)
		}
	}
	return names, err
}

// emptyDirsSince lists the empty directories of a snapshot that a checkpoint has looked for
// and has not: the user has made them. Nobody is asked about them, since no file is
// at stake; they are what the next codon finds.
func (c Comparison) emptyDirsSince(sha state.SHA, snap *checkpoint.Snapshot) (made []string, err error) {
	if c.byHankweave(sha) { // its checkpoints name none
		return nil, nil
	}
	info, err := c.Store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return nil, err
	}
	had, takes := emptydirs.Of(info), execution.Taken(c.State, c.Store, sha).Matcher()
	for _, name := range emptydirs.Recorded(snap.Empty) {
		if takes(name) && !holds(had, name) && !restore.HasPath(c.Store.DB, info.Tree, name) {
			made = append(made, name)
		}
	}
	return made, nil
}

// UncoveredAt reports which files the moves that have brought the workspace to a
// checkpoint have found, and left, because no codon had recorded them: they were
// ignored then, or are still what the safety checkpoint has. Of the answer that put
// edits back only what was ignored counts: it was asked about all else.
func (c Comparison) UncoveredAt(sha state.SHA, snap *checkpoint.Snapshot) func(path string) bool {
	byAnswer := func(string) bool { return false }
	if safety := execution.RestoredBefore(c.Store, sha); safety != "" {
		byAnswer = c.foundBy(safety, func(string) bool { return false })
	}
	at := c.State.MovedTo()
	if at == nil { // a move to the end of a run: an import has filled the workspace
		at = c.State.Position
	}
	if at != nil && at == c.State.Position {
		at = c.beforeUndos(at)
	}
	p, _, changed := c.sinceMove(at, sha, snap)
	if p == nil {
		return byAnswer
	}
	byMove := c.foundBy(p.Before.CheckpointSHA, func(path string) bool { return !changed[path] })
	return func(path string) bool { return byMove(path) || byAnswer(path) }
}

// foundBy reports which files a move has found that no codon had recorded, by its
// safety checkpoint: they were ignored, and still are after it or were there then, or
// are the same.
func (c Comparison) foundBy(safety state.SHA, same func(path string) bool) func(path string) bool {
	before, err := c.tree(safety)
	recorded, rerr := c.tree(execution.SavedAt(c.Store, safety))
	if err != nil || rerr != nil {
		return func(string) bool { return false }
	}
	trees := checkpoint.NewFinder(c.Store.DB) // asked for each file
	hidden := match.Ignored(c.Store.DB, before, c.Workspace)
	ignored := hidden
	if left, err := c.tree(execution.LeftBy(c.Store, safety)); err == nil {
		still := match.Ignored(c.Store.DB, left, c.Workspace)
		ignored = func(path string) bool { return hidden(path) && (still(path) || trees.HasFile(left, path)) }
	}
	return func(path string) bool {
		return !trees.HasFile(recorded, path) && (ignored(path) || same(path))
	}
}

// sinceMove returns a position that a move has brought the execution to, if it
// was to the checkpoint, the tree before that move, and what has changed since
// then; nil if there is none.
func (c Comparison) sinceMove(p *state.Position, sha state.SHA, snap *checkpoint.Snapshot) (*state.Position, checkpoint.SHA, map[string]bool) {
	if p == nil || p.Before == nil || p.CheckpointSHA != sha {
		return nil, "", nil
	}
	before, err := c.tree(p.Before.CheckpointSHA)
	if err != nil {
		return nil, "", nil
	}
	changes, err := diff.Diff(c.Store, before, snap.Tree)
	if err != nil {
		return nil, "", nil
	}
	changed := map[string]bool{}
	for _, at := range changes {
		changed[at.Path] = true
	}
	return p, before, changed
}

// KeptAt reports which paths the move that has brought the workspace to a
// checkpoint could not change, and nobody has changed since.
func (c Comparison) KeptAt(sha state.SHA, snap *checkpoint.Snapshot) func(path string) bool {
	at := c.State.LastMove()
	if at != nil && at == c.State.Position && sha == c.LeftAt(false) { // an undo compares with what it has gone back to the end of
		sha = at.CheckpointSHA
	}
	if at != nil && len(at.Kept) > 0 && execution.FoundAt(c.Store, sha, at.CheckpointSHA) { // which has at these paths what the move was to bring
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

// stillThere reports whether a file that codons do not track is on disk. A directory in its
// place is none, unless it was one to git: a submodule.
func (c Comparison) stillThere(at diff.Change) bool {
	root, err := os.OpenRoot(c.Layout.Workspace)
	if err != nil {
		return false
	}
	defer root.Close()
	fi, err := root.Lstat(at.Path)
	return err == nil && (!fi.IsDir() || at.From.Mode == checkpoint.Submodule)
}

// tree is the tree of a checkpoint.
func (c Comparison) tree(sha state.SHA) (checkpoint.SHA, error) {
	info, err := c.Store.CommitInfo(checkpoint.SHA(sha))
	return info.Tree, err
}

// byHankweave reports whether a checkpoint is one of Hankweave's.
func (c Comparison) byHankweave(sha state.SHA) bool {
	return githistory.IsHankweaves(c.State, c.Store, sha)
}

// ArchivedAt lists what the archive has taken from the workspace as it was at a
// checkpoint. A manifest that cannot be read says nothing: the next archiving
// reports it.
func (c Comparison) ArchivedAt(sha state.SHA) map[string]bool {
	taken := map[string]bool{}
	manifest, err := layout.ReadManifest(vfs.OS, c.Layout.Manifest())
	if err != nil {
		return taken
	}
	for _, e := range manifest.Entries {
		if e.CheckpointSHA == string(sha) {
			taken[e.SourcePath] = true
		}
	}
	return taken
}

// returned reports of the files of a tree what a move may have brought back from the archive: they
// are as codons have archived them that were left behind.
func (c Comparison) returned(tree checkpoint.SHA) func(path string) bool {
	copies := map[string][]string{}
	if manifest, err := layout.ReadManifest(vfs.OS, c.Layout.Manifest()); err == nil && len(manifest.Entries) > 0 {
		here := map[string]bool{}
		for _, step := range c.State.LineagePath() {
			here[string(step.Codon.Checkpoint())] = true
		}
		for _, e := range manifest.Entries {
			if !here[e.CheckpointSHA] && filepath.IsLocal(filepath.FromSlash(e.ArchivePath)) {
				copies[e.SourcePath] = append(copies[e.SourcePath], filepath.Join(c.Layout.Root, filepath.FromSlash(e.ArchivePath)))
			}
		}
	}
	return func(path string) bool {
		return slices.ContainsFunc(copies[path], func(copied string) bool { return execution.IsCopy(c.Store, tree, path, copied) })
	}
}
