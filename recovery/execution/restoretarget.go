package execution

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/match"
	"hank/checkpoint/restore"
	"hank/internal/vfs"
	"hank/recovery/emptydirs"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
)

// RestoreTarget is what the workspace becomes when it goes back to a checkpoint, or
// forward to one when that is undone. It follows from the state, the store
// and the archive alone, so that a move that was interrupted ends as it began.
type RestoreTarget struct {
	// Tree is the checkpoint's, and for paths that it did not look at:
	//   - what the first codon after it that did look at them had found;
	//   - what codons after it have moved to the archive, where no checkpoint
	//     had it. The archive keeps its copy.
	// It may be in the store's pending pack only.
	Tree checkpoint.SHA
	// Empty are the checkpoint's empty directories, and, of those that it did not look
	// at, what the first codon after it that did had found.
	Empty []string
	// Returning are files that come back from the archive.
	Returning []layout.Archived
	// looked is all that the checkpoint and those codons look at.
	looked checkpoint.Selection
	// archived are the archived copies, by their paths in the workspace, of files
	// that had come back and go again.
	archived map[string][]string
	// brought is what the move has brought that the checkpoint was made before; nil if
	// that is of no move.
	brought *RestoreTarget
	// looks are those of the codons that were asked for what the checkpoint did
	// not look at.
	looks []firstLook
	store *checkpoint.Store
}

// firstLook is what a codon that was the first to look at some paths has found there.
type firstLook struct {
	tree checkpoint.SHA
	at   func(path string) bool
}

// NewRestoreTarget works out what going to a checkpoint means for the workspace of a
// state. position is where the execution will be; nil leaves it, and with
// it the archive.
func NewRestoreTarget(ctx context.Context, l layout.Layout, s *state.State, store *checkpoint.Store, to state.SHA, position *state.Position) (*RestoreTarget, error) {
	info, err := store.CommitInfo(checkpoint.SHA(to))
	if err != nil {
		return nil, fmt.Errorf("the checkpoint %.12s cannot be read: %w", to, err)
	}
	b := &RestoreTarget{Tree: info.Tree, Empty: emptydirs.In(info.Message), store: store, archived: map[string][]string{}}
	if b.brought, err = broughtBy(s, store, info); err != nil {
		return nil, err
	}
	if err := b.addUntracked(s, to, s.LineagePath, math.MaxUint64); err != nil || position == nil {
		return b, err
	}
	return b, b.addArchived(ctx, l, s, to, *position)
}

// addUntracked adds what codons after the checkpoint found of the files that they
// were the first to look at. Every codon starts from a checkpoint that looked
// at all that its own will. The codons of the present lineage path are asked first, then
// those of the others, the newest first: only what led on from the checkpoint can tell
// what was there. A codon that started from a checkpoint of after an event is not asked.
func (b *RestoreTarget) addUntracked(s *state.State, to state.SHA, present func() []state.LineageEntry, until uint64) error {
	looked := Taken(s, b.store, to)
	defer func() { b.looked = looked }()
	if Covers(looked, Tracked(s, "")) {
		return nil
	}
	led := &Descent{Store: b.store, From: checkpoint.SHA(to), Known: map[checkpoint.SHA]bool{}}
	asked := map[*state.Codon]bool{}
	for _, steps := range lineagePaths(s, present()) {
		for _, step := range steps {
			base, sel := step.Codon.BaseCheckpoint, Tracked(s, step.Codon.CodonID)
			if asked[step.Codon] || base == "" || Covers(looked, sel) {
				continue
			}
			asked[step.Codon] = true
			info, err := b.store.CommitInfo(checkpoint.SHA(base))
			if checkpoint.IsMissing(err) || err == nil && !led.Reaches(info) {
				continue
			}
			if err != nil {
				return fmt.Errorf("the checkpoint %.12s cannot be read: %w", base, err)
			}
			if until < math.MaxUint64 && number(info) > until {
				continue
			}
			before, now := looked.Matcher(), sel.Matcher()
			first := func(path string) bool { return now(path) && !before(path) }
			if b.Tree, err = checkpoint.Overlay(b.store.DB, b.Tree, info.Tree, first); err != nil {
				return err
			}
			b.looks = append(b.looks, firstLook{info.Tree, first})
			for _, name := range emptydirs.In(info.Message) {
				if first(name) {
					b.Empty = append(b.Empty, name)
				}
			}
			looked = union(looked, sel)
		}
	}
	return nil
}

// FoundSince returns the tree of a checkpoint with what the codons up to another one, or
// until now, have found of the files that they were the first to look at, in the pending pack,
// and all that the checkpoint and they look at.
func FoundSince(s *state.State, store *checkpoint.Store, from, to state.SHA) (tree checkpoint.SHA, looked checkpoint.Selection, err error) {
	info, err := store.CommitInfo(checkpoint.SHA(from))
	if err != nil {
		return "", looked, err
	}
	until := uint64(math.MaxUint64)
	if to != "" {
		later, err := store.CommitInfo(checkpoint.SHA(to))
		if err != nil {
			return "", looked, err
		}
		until = number(later)
	}
	b := &RestoreTarget{Tree: info.Tree, store: store}
	err = b.addUntracked(s, from, s.LineagePath, until)
	return b.Tree, b.looked, err
}

// number is that of the event which a checkpoint was made with; 0 if it has no record.
func number(info checkpoint.Info) uint64 {
	record, _, _ := githistory.ReadRecord(info) // one of a newer hank has stopped the start
	return record.Seq
}

// broughtBy is what the move has brought that a checkpoint was made before; nil if that is
// of no move, or if what it went to is gone. Codons that began after it have no part in
// it: what they were the first to look at the move has left as it was.
func broughtBy(s *state.State, store *checkpoint.Store, safety checkpoint.Info) (*RestoreTarget, error) {
	went := wentTo(safety.Message)
	if went == "" {
		return nil, nil
	}
	info, err := store.CommitInfo(checkpoint.SHA(went))
	if checkpoint.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the checkpoint %.12s cannot be read: %w", went, err)
	}
	b := &RestoreTarget{Tree: info.Tree, Empty: emptydirs.In(info.Message), store: store}
	return b, b.addUntracked(s, went, func() []state.LineageEntry { return ledTo(s, store, safety) }, number(safety))
}

// ledTo is the lineage path that the execution was on when a checkpoint was made: of each
// run the codons up to the last one whose own checkpoint led to it.
func ledTo(s *state.State, store Commits, safety checkpoint.Info) (steps []state.LineageEntry) {
	led := map[state.SHA]bool{}
	for at, last := safety, false; !last; at, last = parent(store, at) {
		led[state.SHA(at.SHA)] = true
	}
	for _, run := range slices.Backward(s.Runs) {
		n := run.Len()
		for n > 0 && !led[run.Codon(n-1).Checkpoint()] {
			n--
		}
		for i := range n {
			steps = append(steps, state.LineageEntry{Run: run, Codon: run.Codon(i)})
		}
	}
	return steps
}

// lineagePaths are the present lineage path and those that end with the other runs, newest
// first; what is a part of one that came before is left out.
func lineagePaths(s *state.State, present []state.LineageEntry) [][]state.LineageEntry {
	all, on := [][]state.LineageEntry{}, map[*state.Codon]bool{}
	add := func(steps []state.LineageEntry) {
		for _, step := range steps {
			on[step.Codon] = true
		}
		all = append(all, steps)
	}
	add(present)
	for _, r := range s.Runs {
		if n := r.Len(); n > 0 && !on[r.Codon(n-1)] {
			add(s.LineagePathTo(r, r.Codon(n-1)))
		}
	}
	return all
}

// addArchived adds what the archive alone has of codons that are left behind, and
// notes what goes back to it. A file that is in a checkpoint is that
// checkpoint's matter.
func (b *RestoreTarget) addArchived(ctx context.Context, l layout.Layout, s *state.State, to state.SHA, position state.Position) error {
	m, err := layout.ReadManifest(vfs.OS, l.Manifest())
	if err != nil || len(m.Entries) == 0 {
		return nil // a manifest that cannot be read says nothing; the next archiving reports it
	}
	there := *s
	there.Position = &position
	// The archive comes after the checkpoint of a codon's end; a crash may have
	// come between it and the checkpoint that it makes itself.
	now, surely, then := ends(s), ends(s), ends(&there)
	delete(surely, SavedAt(b.store, s.CurrentPosition().CheckpointSHA))
	delete(then, SavedAt(b.store, to))
	last := EndedAt(b.store, to)
	seen := b.sawEverything(to)
	stays := map[string]bool{} // archived at the target: what other lineage paths have archived of it is theirs
	for _, e := range m.Entries {
		if sha := state.SHA(e.CheckpointSHA); then[sha] && (!now[sha] || sha == last) {
			stays[e.SourcePath] = true
		}
	}
	var files []checkpoint.TreeFile
	taken := map[string]bool{}
	for _, e := range m.Entries {
		sha := state.SHA(e.CheckpointSHA)
		copied := filepath.Join(l.Root, filepath.FromSlash(e.ArchivePath))
		switch {
		case !isSafe(e) || b.hadAtEnd(sha, e.SourcePath):
		case then[sha] && !surely[sha]:
			b.archived[e.SourcePath] = append(b.archived[e.SourcePath], copied)
		case now[sha] && !then[sha] && !seen && !stays[e.SourcePath] && !taken[e.SourcePath] && !b.store.HasFile(b.Tree, e.SourcePath):
			f, ok := archivedFile(e.SourcePath, copied)
			if !ok {
				continue // the user has taken it out of the archive
			}
			taken[e.SourcePath] = true
			files, b.Returning = append(files, f), append(b.Returning, e)
		}
	}
	if len(files) == 0 {
		return nil
	}
	over, err := b.store.AddTree(ctx, files)
	if err != nil {
		return fmt.Errorf("reading the archive: %w", err)
	}
	b.Tree, err = checkpoint.Overlay(b.store.DB, b.Tree, over, func(string) bool { return true })
	return err
}

// sawEverything reports whether a checkpoint was made before a move: it has seen whatever
// was in the workspace, so that nothing of the archive was.
func (b *RestoreTarget) sawEverything(sha state.SHA) bool {
	info, err := b.store.CommitInfo(checkpoint.SHA(sha))
	return err == nil && wentTo(info.Message) != ""
}

// ends are the checkpoints of the codons that led to where a state is.
func ends(s *state.State) map[state.SHA]bool {
	found := map[state.SHA]bool{}
	for _, step := range s.LineagePath() {
		if sha := step.Codon.Checkpoint(); sha != "" && step.Codon.Settled() {
			found[sha] = true
		}
	}
	return found
}

// hadAtEnd reports whether the end of the codon that archived a file had it.
func (b *RestoreTarget) hadAtEnd(sha state.SHA, path string) bool {
	info, err := b.store.CommitInfo(checkpoint.SHA(sha))
	return err == nil && b.store.HasFile(info.Tree, path)
}

// isSafe reports whether an entry is of a file between the workspace and the
// archive: anybody may have written the manifest.
func isSafe(e layout.Archived) bool {
	inArchive := strings.HasPrefix(e.ArchivePath, layout.ArchiveName+"/") && fs.ValidPath(e.ArchivePath)
	return inArchive && fs.ValidPath(e.SourcePath) && e.SourcePath != "." && !layout.Protected(e.SourcePath)
}

func archivedFile(as, copied string) (checkpoint.TreeFile, bool) {
	info, err := os.Lstat(copied)
	if err != nil || !info.Mode().IsRegular() {
		return checkpoint.TreeFile{}, false
	}
	mode := checkpoint.Regular
	if info.Mode()&0o100 != 0 {
		mode = checkpoint.Executable
	}
	return checkpoint.TreeFile{Path: as, Mode: mode, Open: func() (io.ReadCloser, int64, error) {
		f, err := os.Open(copied)
		if err != nil {
			return nil, 0, err
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, 0, err
		}
		return f, info.Size(), nil
	}}, true
}

// removable reports which files, of those that a checkpoint has not, going back
// to it may delete: those that checkpoints track, which is what the tree owned
// holds. Two kinds stay, for nobody knows that they were not there:
//
//   - one that was there before the first codon, and that neither the checkpoint
//     nor a codon after it looked for, was very likely there too;
//   - one that the ignore rules of the checkpoint leave out.
//
// A checkpoint that was made before a move has seen whatever was at the paths
// that the move was to write. What the move has written there, and the
// checkpoint has not, goes again.
func (b *RestoreTarget) removable(s *state.State, ws *checkpoint.Workspace, owned checkpoint.SHA, to state.SHA) (func(path string) bool, error) {
	store, trees := b.store, checkpoint.NewFinder(b.store.DB) // asked for each file
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
			first = func(path string) bool { return trees.HasFile(initial.Tree, path) }
		}
	}
	was, sawNone := first, b.sawNone(trees, ws)
	first = func(path string) bool { return was(path) && !sawNone(path) }
	if s.Adopted && githistory.ByHankweave(store, to) { // whose checkpoints leave links out
		files := takes
		takes = func(path string) bool { return files(path) && !trees.HasLink(owned, path) }
		first = func(path string) bool { return trees.HasLink(owned, path) }
	}
	brought := func(path string) bool { return b.brought != nil && trees.HasFile(b.brought.Tree, path) }
	return func(path string) bool {
		return brought(path) || trees.HasFile(owned, path) && !ignored(path) && (takes(path) || !first(path))
	}, nil
}

// sawNone reports of files whether a codon after the checkpoint was the first to
// look for them, and did not find them.
func (b *RestoreTarget) sawNone(trees *checkpoint.Finder, ws *checkpoint.Workspace) func(path string) bool {
	var ignored []func(string) bool
	for _, l := range b.looks {
		ignored = append(ignored, match.Ignored(b.store.DB, l.tree, ws))
	}
	return func(path string) bool {
		for i, l := range b.looks {
			if l.at(path) && !trees.HasFile(l.tree, path) && !ignored[i](path) {
				return true
			}
		}
		return false
	}
}

// request is the restore that goes there from the tree of a safety checkpoint.
func (b *RestoreTarget) request(w *checkpoint.Workspace, from checkpoint.SHA, removable func(string) bool, paths []string) restore.RestoreRequest {
	return restore.RestoreRequest{Store: b.store, Workspace: w, From: from, To: b.Tree, Known: b.store.Cache(w), Paths: paths, LeftOut: match.LeftOut(b.store.DB),
		Removable: func(path string) bool { return removable(path) || b.mayRemove(from, path) }}
}

// conflicts are the files of the workspace that the safety checkpoint must have,
// visible or not: what the move would replace or remove where it begins from the
// tree from, what the archive has and may leave, and, if it undoes another one, what that
// has brought. What is left out of every checkpoint is not among them: the move leaves it
// where it is.
func (b *RestoreTarget) conflicts(w *checkpoint.Workspace, from checkpoint.SHA, undoes bool) ([]string, error) {
	removed := slices.Collect(maps.Keys(b.archived))
	if undoes && b.brought != nil {
		changes, err := diff.Diff(b.store, b.Tree, b.brought.Tree)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			if c.Kind == diff.Added {
				removed = append(removed, c.Path)
			}
		}
	}
	removed = slices.DeleteFunc(removed, func(path string) bool {
		info, err := os.Lstat(filepath.Join(w.Path(), filepath.FromSlash(path)))
		return err != nil || info.Mode().Type()&^fs.ModeSymlink != 0
	})
	slices.Sort(removed)
	return Conflicts(b.store, w, from, b.Tree, removed...)
}

// Conflicts is restore.Conflicts, with more paths, without what is left out of
// every checkpoint.
func Conflicts(store *checkpoint.Store, w *checkpoint.Workspace, from, to checkpoint.SHA, more ...string) ([]string, error) {
	found, err := restore.Conflicts(store, w, from, to)
	if err != nil {
		return nil, err
	}
	leftOut := match.LeftOut(store.DB)
	return slices.DeleteFunc(append(found, more...), func(path string) bool {
		return slices.ContainsFunc(leftOut, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
	}), nil
}

// mayRemove reports whether the file that a tree has at a path is one that the
// archive has, and may go from the workspace.
func (b *RestoreTarget) mayRemove(from checkpoint.SHA, path string) bool {
	return slices.ContainsFunc(b.archived[path], func(copied string) bool { return IsCopy(b.store, from, path, copied) })
}

// IsCopy reports whether a file has the content that a tree has at a path.
func IsCopy(store *checkpoint.Store, tree checkpoint.SHA, path, copied string) bool {
	have, size, err := store.ReadFile(tree, path)
	if err != nil {
		return false
	}
	defer have.Close()
	kept, err := os.Open(copied)
	if err != nil {
		return false
	}
	defer kept.Close()
	info, err := kept.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return false
	}
	same, err := vfs.SameBytes(have, kept)
	return err == nil && same
}
