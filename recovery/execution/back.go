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
	"hank/checkpoint/match"
	"hank/checkpoint/restore"
	"hank/internal/vfs"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
)

// RestoreTarget is what the workspace becomes when it goes back to a checkpoint, or
// forward to one when that is taken back. It follows from the state, the store
// and the archive alone, so that a move that was cut short ends as it began.
type RestoreTarget struct {
	// Tree is the checkpoint's, and for paths that it did not look at:
	//   - what the first codon behind it that did look at them had found;
	//   - what codons behind it have moved to the archive, where no checkpoint
	//     had it. The archive keeps its copy.
	// It may be in the store's pending pack only.
	Tree checkpoint.SHA
	// Empty are the checkpoint's empty folders, and, of those that it did not look
	// at, what the first codon behind it that did had found.
	Empty []string
	// Returning are files that come back from the archive.
	Returning []layout.Archived
	// leaving are the archived copies, by their paths in the workspace, of files
	// that had come back and go again.
	leaving map[string][]string
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
// state. position is where the execution will stand; nil leaves it, and with
// it the archive.
func NewRestoreTarget(ctx context.Context, l layout.Layout, s *state.State, store *checkpoint.Store, to state.SHA, position *state.Position) (*RestoreTarget, error) {
	info, err := store.CommitInfo(checkpoint.SHA(to))
	if err != nil {
		return nil, fmt.Errorf("the checkpoint %.12s cannot be read: %w", to, err)
	}
	b := &RestoreTarget{Tree: info.Tree, Empty: emptyFolders(info.Message), store: store, leaving: map[string][]string{}}
	if err := b.untouch(s, to); err != nil || position == nil {
		return b, err
	}
	return b, b.unarchive(ctx, l, s, to, *position)
}

// untouch adds what codons behind the checkpoint found of the files that they
// were the first to look at. Every codon starts from a checkpoint that looked
// at all that its own will. The codons of the present thread are asked first,
// then those of other timelines, the newest first: only what led on from the
// checkpoint can tell what was there.
func (b *RestoreTarget) untouch(s *state.State, to state.SHA) error {
	looked := Taken(s, b.store, to)
	if Covers(looked, Tracked(s, "")) {
		return nil
	}
	led := &Descent{Store: b.store, From: checkpoint.SHA(to), Known: map[checkpoint.SHA]bool{}}
	asked := map[*state.Codon]bool{}
	for _, thread := range threads(s) {
		for _, step := range thread {
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
			before, now := looked.Matcher(), sel.Matcher()
			first := func(path string) bool { return now(path) && !before(path) }
			if b.Tree, err = checkpoint.Overlay(b.store.DB, b.Tree, info.Tree, first); err != nil {
				return err
			}
			b.looks = append(b.looks, firstLook{info.Tree, first})
			for _, name := range emptyFolders(info.Message) {
				if first(name) {
					b.Empty = append(b.Empty, name)
				}
			}
			looked = union(looked, sel)
		}
	}
	return nil
}

// threads are the present thread and those that end with the other runs, newest
// first; what is a part of one that came before is left out.
func threads(s *state.State) [][]state.Step {
	all, on := [][]state.Step{}, map[*state.Codon]bool{}
	add := func(thread []state.Step) {
		for _, step := range thread {
			on[step.Codon] = true
		}
		all = append(all, thread)
	}
	add(s.Thread())
	for _, r := range s.Runs {
		if n := r.Len(); n > 0 && !on[r.Codon(n-1)] {
			add(s.ThreadTo(r, r.Codon(n-1)))
		}
	}
	return all
}

// Descent tells which commits have one among their ancestors, or are it.
type Descent struct {
	Store Commits
	From  checkpoint.SHA
	Known map[checkpoint.SHA]bool
}

func (d *Descent) Reaches(info checkpoint.Info) bool {
	var passed []checkpoint.SHA
	found, known := false, false
	for ; !known; info, known = d.parent(info) {
		if found, known = d.Known[info.SHA]; known {
			break
		}
		passed = append(passed, info.SHA)
		if found = info.SHA == d.From; found {
			break
		}
	}
	for _, sha := range passed {
		d.Known[sha] = found
	}
	return found
}

// parent reads the first parent; last if there is none that can be read.
func (d *Descent) parent(info checkpoint.Info) (parent checkpoint.Info, last bool) {
	if len(info.Parents) == 0 {
		return info, true
	}
	parent, err := d.Store.CommitInfo(info.Parents[0])
	return parent, err != nil
}

// Covers tells whether a selection takes all that another one does. It may
// say no too often.
func Covers(a, b checkpoint.Selection) bool {
	if a.All {
		return !slices.ContainsFunc(a.Patterns, func(p string) bool { return strings.HasPrefix(p, "!") && !slices.Contains(b.Patterns, p) })
	}
	return !b.All && !slices.ContainsFunc(b.Patterns, func(p string) bool { return !strings.HasPrefix(p, "!") && !slices.Contains(a.Patterns, p) })
}

func union(a, b checkpoint.Selection) checkpoint.Selection {
	return checkpoint.Selection{All: a.All || b.All, Patterns: append(slices.Clone(a.Patterns), b.Patterns...)}
}

// unarchive adds what the archive alone has of codons that are left behind, and
// notes what goes back to it. A file that is in a checkpoint is that
// checkpoint's matter.
func (b *RestoreTarget) unarchive(ctx context.Context, l layout.Layout, s *state.State, to state.SHA, position state.Position) error {
	m, err := layout.ReadManifest(vfs.OS, l.Manifest())
	if err != nil || len(m.Entries) == 0 {
		return nil // a manifest that cannot be read says nothing; the next archiving reports it
	}
	there := *s
	there.Position = &position
	// The archive comes after the checkpoint of a codon's end; a crash may have
	// come between it and the checkpoint that it makes itself.
	now, surely, then := ends(s), ends(s), ends(&there)
	delete(surely, SavedAt(b.store, s.Here().CheckpointSHA))
	delete(then, SavedAt(b.store, to))
	last := EndedAt(b.store, to)
	seen := b.sawAll(to)
	stays := map[string]bool{} // archived at the target: what other timelines have archived of it is theirs
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
		case !sound(e) || b.held(sha, e.SourcePath):
		case then[sha] && !surely[sha]:
			b.leaving[e.SourcePath] = append(b.leaving[e.SourcePath], copied)
		case now[sha] && !then[sha] && !seen && !stays[e.SourcePath] && !taken[e.SourcePath] && !b.store.HasFile(b.Tree, e.SourcePath):
			f, ok := archivedFile(e.SourcePath, copied)
			if !ok {
				continue // a person has taken it out of the archive
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

// sawAll tells whether a checkpoint was made before a move: it has seen whatever
// was in the workspace, so that nothing of the archive was.
func (b *RestoreTarget) sawAll(sha state.SHA) bool {
	info, err := b.store.CommitInfo(checkpoint.SHA(sha))
	return err == nil && wentTo(info.Message) != ""
}

// SavedAt is where the execution stood when a checkpoint was made for a
// recovery branch; any other checkpoint is itself.
func SavedAt(store Commits, sha state.SHA) state.SHA {
	return behind(store, sha, state.KindRecovery)
}

// StoodAt is where the execution stood when the safety checkpoint of a move was
// made; any other checkpoint is itself.
func StoodAt(store Commits, safety state.SHA) state.SHA {
	info, err := store.CommitInfo(checkpoint.SHA(safety))
	if kind, _ := MoveAfter(info); err != nil || kind == "" || len(info.Parents) == 0 {
		return safety
	}
	at := info.Parents[0]
	title, _, _ := strings.Cut(info.Message, "\n")
	below, err := store.CommitInfo(at)
	if under, _, _ := strings.Cut(below.Message, "\n"); err == nil && under == title+trackedNote && len(below.Parents) > 0 {
		at = below.Parents[0]
	}
	return state.SHA(at)
}

// MovedBefore is the newest safety checkpoint of a move to a checkpoint that was
// made before another one; empty if none is left.
func MovedBefore(store *checkpoint.Store, to, other state.SHA) state.SHA {
	return readMoves(store).newest(to, madeAt(store, checkpoint.SHA(other))).safety
}

// RestoredBefore is the safety checkpoint of the newest move to a checkpoint, if that
// was a restore; empty if it was not, or is not left.
func RestoredBefore(store *checkpoint.Store, to state.SHA) state.SHA {
	if newest := readMoves(store).newest(to, math.MaxUint64); newest.kind == "restore" {
		return newest.safety
	}
	return ""
}

// moves are those whose safety checkpoints are left.
type moves []pastMove

type pastMove struct {
	safety, to state.SHA
	kind       string
	number     uint64 // the journal's for the safety checkpoint
}

func readMoves(store *checkpoint.Store) (all moves) {
	refs, _, err := store.ReadableRefs(githistory.Heads + "recovery/")
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		info, err := store.CommitInfo(refs[name])
		if kind, to := MoveAfter(info); err == nil && kind != "" {
			all = append(all, pastMove{state.SHA(info.SHA), to, kind, madeAt(store, info.SHA)})
		}
	}
	return all
}

// newest is the newest move to a checkpoint whose number is below a limit; the zero
// value if none is left.
func (all moves) newest(to state.SHA, limit uint64) (newest pastMove) {
	for _, m := range all {
		if m.to == to && m.number < limit && m.number > newest.number {
			newest = m
		}
	}
	return newest
}

// Leading are the safety checkpoints of the moves that have led to where a state
// stands, or that a move from there may lead back to. They tell what the moves have
// found there, and left without asking: that is no edit. The state itself knows only
// the last of them.
func Leading(s *state.State, store *checkpoint.Store) (safeties []state.SHA) {
	all, seen := readMoves(store), map[state.SHA]bool{}
	add := func(m pastMove) {
		if m.safety != "" {
			safeties = append(safeties, m.safety)
		}
	}
	var lead func(state.SHA)
	lead = func(to state.SHA) {
		if to == "" || seen[to] {
			return
		}
		seen[to] = true
		add(all.newest(to, math.MaxUint64))
		at := StoodAt(store, to)
		if at == to {
			return
		}
		add(all.newest(at, madeAt(store, checkpoint.SHA(to))))
		if info, err := store.CommitInfo(checkpoint.SHA(to)); err == nil { // behind an undo
			if kind, undone := MoveAfter(info); kind == "undo" {
				safeties = append(safeties, undone)
			}
		}
		lead(at)
	}
	for _, sha := range append(s.Stands(), Head(s)) {
		lead(sha)
		lead(SavedAt(store, sha))
	}
	return safeties
}

// madeAt is the journal's number for the event of a checkpoint; 0: none is known.
func madeAt(store *checkpoint.Store, sha checkpoint.SHA) uint64 {
	info, err := store.CommitInfo(sha)
	if err != nil {
		return 0
	}
	r, _, _ := githistory.ReadRecord(info) // one that cannot be read has no number
	return r.Seq
}

// IsManual reports whether a checkpoint is of what a person has changed.
func IsManual(store Commits, sha state.SHA) bool {
	return behind(store, sha, state.KindManual) != sha
}

// FoundAt reports whether a checkpoint is another one, or was made from there of what
// the next codon finds.
func FoundAt(store Commits, sha, from state.SHA) bool {
	for sha != from {
		info, err := store.CommitInfo(checkpoint.SHA(sha))
		if kind, _, _ := strings.Cut(info.Message, ":"); err != nil || state.CheckpointKind(kind) != state.KindTracked || len(info.Parents) == 0 {
			return false
		}
		sha = state.SHA(info.Parents[0])
	}
	return true
}

// EndedAt is the checkpoint that the last step of the plan has left, from one
// that was made of the same place later: for a recovery branch, at the end of a
// run, or of what a person has changed.
func EndedAt(store Commits, sha state.SHA) state.SHA {
	return behind(store, sha, state.KindRecovery, state.KindExit, state.KindManual)
}

// Commits reads commits.
type Commits interface {
	CommitInfo(checkpoint.SHA) (checkpoint.Info, error)
}

// behind is the first checkpoint on the way back that is of none of the kinds.
func behind(store Commits, sha state.SHA, kinds ...state.CheckpointKind) state.SHA {
	for {
		info, err := store.CommitInfo(checkpoint.SHA(sha))
		kind, _, _ := strings.Cut(info.Message, ":")
		if err != nil || !slices.Contains(kinds, state.CheckpointKind(kind)) || len(info.Parents) == 0 {
			return sha
		}
		sha = state.SHA(info.Parents[0])
	}
}

// ends are the checkpoints of the codons that led to where a state stands.
func ends(s *state.State) map[state.SHA]bool {
	found := map[state.SHA]bool{}
	for _, step := range s.Thread() {
		if sha := step.Codon.Checkpoint(); sha != "" && step.Codon.Settled() {
			found[sha] = true
		}
	}
	return found
}

// held tells whether the end of the codon that archived a file had it.
func (b *RestoreTarget) held(sha state.SHA, path string) bool {
	info, err := b.store.CommitInfo(checkpoint.SHA(sha))
	return err == nil && b.store.HasFile(info.Tree, path)
}

// sound tells whether an entry is of a file between the workspace and the
// archive: anybody may have written the manifest.
func sound(e layout.Archived) bool {
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

// Request is the restore that goes there from the tree of a safety checkpoint.
func (b *RestoreTarget) Request(w *checkpoint.Workspace, from checkpoint.SHA, removable func(string) bool, paths []string) restore.RestoreRequest {
	return restore.RestoreRequest{Store: b.store, Workspace: w, From: from, To: b.Tree, Known: b.store.Known(w), Paths: paths, LeftOut: match.LeftOut(b.store.DB),
		Removable: func(path string) bool { return removable(path) || b.leaves(from, path) }}
}

// InTheWay are the files of the workspace that the safety checkpoint must have,
// visible or not: what the move would replace or remove where it begins from the
// tree from, and what the archive has and may leave. What is left out of every
// checkpoint is not among them: the move leaves it where it is.
func (b *RestoreTarget) InTheWay(w *checkpoint.Workspace, from checkpoint.SHA) ([]string, error) {
	return InTheWay(b.store, w, from, b.Tree, b.Leaving(w.Path())...)
}

// InTheWay is restore.PathsInTheWay, with more paths, without what is left out of
// every checkpoint.
func InTheWay(store *checkpoint.Store, w *checkpoint.Workspace, from, to checkpoint.SHA, more ...string) ([]string, error) {
	found, err := restore.PathsInTheWay(store, w, from, to)
	if err != nil {
		return nil, err
	}
	leftOut := match.LeftOut(store.DB)
	return slices.DeleteFunc(append(found, more...), func(path string) bool {
		return slices.ContainsFunc(leftOut, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
	}), nil
}

// Leaving are the files of the workspace that may leave it: the safety
// checkpoint must have them, visible or not.
func (b *RestoreTarget) Leaving(workspace string) []string {
	var found []string
	for path := range b.leaving {
		if info, err := os.Lstat(filepath.Join(workspace, filepath.FromSlash(path))); err == nil && info.Mode().IsRegular() {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}

// leaves tells whether the file that a tree has at a path is one that the
// archive has, and may go from the workspace.
func (b *RestoreTarget) leaves(from checkpoint.SHA, path string) bool {
	return slices.ContainsFunc(b.leaving[path], func(copied string) bool {
		have, size, err := b.store.ReadFile(from, path)
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
	})
}
