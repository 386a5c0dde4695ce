package execution

import (
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/recovery/githistory"
	"hank/state"
)

// Commits reads commits.
type Commits interface {
	CommitInfo(checkpoint.SHA) (checkpoint.Info, error)
}

// behind is the nearest checkpoint, from sha to the root, that is of none of the kinds.
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

// SavedAt is where the execution was when a checkpoint was made for a
// recovery branch; any other checkpoint is itself.
func SavedAt(store Commits, sha state.SHA) state.SHA {
	return behind(store, sha, state.KindRecovery)
}

// StoodAt is where the execution was when the safety checkpoint of a move was
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

// EndedAt is the checkpoint that the last step of the plan has left, from one
// that was made of the same place later: for a recovery branch, at the end of a
// run, or of what the user has changed.
func EndedAt(store Commits, sha state.SHA) state.SHA {
	return behind(store, sha, state.KindRecovery, state.KindExit, state.KindManual)
}

// IsManual reports whether a checkpoint is of what the user has changed.
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

// Descent tells which commits have From among their ancestors, or are it. Known is what
// it has found out so far; it must not be nil.
type Descent struct {
	Store Commits
	From  checkpoint.SHA
	Known map[checkpoint.SHA]bool
}

// Reaches reports whether From is the commit, or among its ancestors by first parents.
func (d *Descent) Reaches(info checkpoint.Info) bool {
	var passed []checkpoint.SHA
	found, known := false, false
	for ; !known; info, known = parent(d.Store, info) {
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
func parent(store Commits, info checkpoint.Info) (of checkpoint.Info, last bool) {
	if len(info.Parents) == 0 {
		return info, true
	}
	of, err := store.CommitInfo(info.Parents[0])
	return of, err != nil
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

// rulesDiffer reports whether two trees have other ignore rules, as far as it can be
// told.
func rulesDiffer(store *checkpoint.Store, a, b checkpoint.SHA) bool {
	changes, err := diff.Diff(store, a, b)
	return err == nil && slices.ContainsFunc(changes, func(c diff.Change) bool { return path.Base(c.Path) == ".gitignore" })
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

// madeAt is the journal's number for the event of a checkpoint; 0: none is known.
func madeAt(store *checkpoint.Store, sha checkpoint.SHA) uint64 {
	info, err := store.CommitInfo(sha)
	if err != nil {
		return 0
	}
	r, _, _ := githistory.ReadRecord(info) // one that cannot be read has no number
	return r.Seq
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

// Leading are the safety checkpoints of the moves that have led to where a state
// is, or that a move from there may lead back to. They tell what the moves have
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
		if info, err := store.CommitInfo(checkpoint.SHA(to)); err == nil { // after an undo
			if kind, undone := MoveAfter(info); kind == "undo" {
				safeties = append(safeties, undone)
			}
		}
		lead(at)
	}
	for _, sha := range append(s.PositionCheckpoints(), Head(s)) {
		lead(sha)
		lead(SavedAt(store, sha))
	}
	return safeties
}
