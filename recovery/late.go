package recovery

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/internal/vfs"
	"hank/state"
)

// Late is what a person decides about a workspace that was changed after a codon
// had ended, and before its checkpoint was made: nobody can tell the changes
// from the codon's work any more.
type Late int

// The decisions.
const (
	LateAsk  Late = iota // none: it is asked
	LateKeep             // the workspace as it is counts as the codon's work
	LateRedo             // the codon counts as interrupted
)

// endMargin is how much later than the recorded end a change must be: both are
// rounded.
const endMargin = 5 * time.Millisecond

// conclude is the final record of a codon that had ended when its runtime left,
// and what its checkpoint takes. Where the workspace has been changed since the
// end, a person decides: a *DecisionError, unless they have. redo: the codon
// runs again.
func (x *Execution) conclude(ctx context.Context, r *state.Run, at state.Time) (final *state.Codon, tracked checkpoint.Selection, redo bool, err error) {
	live := r.Live()
	final, tracked = live.Conclude(at), Tracked(x.State(), live.CodonID)
	changed, err := x.changedSince(ctx, live, tracked)
	changed = exceptPaused(r, changed)
	if err != nil || len(changed) == 0 {
		return final, tracked, false, err
	}
	what := summarizePaths(changed)
	if !final.Settled() { // what it left is done again in any case
		final.Notes = append(final.Notes, "changed after it had ended, and before its checkpoint: "+what)
		return final, tracked, false, nil
	}
	ask := lateQuestion(live, changed)
	switch x.opts.Late(ask.What) {
	case LateKeep:
		final.Notes = append(final.Notes, "changed after it had ended, and taken as its work by a person: "+what)
		return final, tracked, false, nil
	case LateRedo:
		final = live.Interrupt(at, state.InterruptedByPause, "it had ended, and the workspace was changed before its checkpoint was made; a person has decided that it runs again")
		return final, checkpoint.Selection{All: true}, true, nil
	}
	return nil, tracked, false, ask
}

// exceptPaused leaves out what a paused run was waiting for to stand still: that it
// changes is known, and it was to be recorded then.
func exceptPaused(r *state.Run, changed []string) []string {
	if r.Paused == nil {
		return changed
	}
	return slices.DeleteFunc(changed, func(name string) bool { return name == r.Paused.Changing })
}

func lateQuestion(live *state.Codon, changed []string) *DecisionError {
	return &DecisionError{
		What: fmt.Sprintf("the workspace was changed after codon %s had ended and before its checkpoint was made (%s)", live.CodonID, summarizePaths(changed)),
		Options: []string{
			"hank run --keep-tree takes the workspace as it is as the codon's work",
			"hank run --restore keeps it in a checkpoint, and runs the codon again on the workspace from before it",
		},
		Command: "hank run --keep-tree",
	}
}

// LateQuestion returns what the next opening asks about a workspace that was changed
// between a codon's end and its checkpoint; nil if it asks nothing. Nothing on disk is
// changed.
func (v *View) LateQuestion(ctx context.Context, store *checkpoint.Store) (*DecisionError, error) {
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
	selection, base := Tracked(v.State, live.CodonID), checkpoint.SHA(Head(v.State))
	selection.Never = Never
	if !store.Has(base) { // lost, and parted from
		base = ""
	}
	snap, err := store.Snapshot(ctx, checkpoint.SnapshotRequest{Workspace: ws, Selection: selection, Base: base})
	if err != nil {
		return nil, err
	}
	changed, err := changedAfterEnd(v.Layout, v.State, store, live, snap)
	if changed = exceptPaused(v.State.Newest(), changed); err != nil || len(changed) == 0 {
		return nil, err
	}
	return lateQuestion(live, changed), nil
}

// Unrecorded is the codon that has done its work and whose checkpoint the next
// opening makes; nil if there is none.
func (v *View) Unrecorded() *state.Codon {
	r := v.State.Newest()
	if r == nil || v.Live {
		return nil
	}
	live := r.Live()
	if live == nil || live.Settling == nil || live.Settling.At == nil || !isOfBoot(r, boot()) || !live.Conclude(*live.Settling.At).Settled() {
		return nil
	}
	return live
}

// LateAtOnce is LateQuestion as far as the workspace's folder alone tells: names have
// come or gone in it since.
func (v *View) LateAtOnce() *DecisionError {
	live := v.Unrecorded()
	if live == nil {
		return nil
	}
	fi, err := os.Stat(v.Layout.Workspace)
	if err != nil || !fi.ModTime().After(live.Settling.At.Add(endMargin)) {
		return nil
	}
	return lateQuestion(live, []string{"./"})
}

// changedSince lists what was changed after the recorded end of a codon, of the
// files that its checkpoint takes. Nothing of the codon lives.
func (x *Execution) changedSince(ctx context.Context, live *state.Codon, sel checkpoint.Selection) ([]string, error) {
	if live.Settling.At == nil {
		return nil, nil // an older hank recorded it
	}
	snap, err := x.Snapshot(ctx, sel, x.Head())
	if err != nil {
		if live.Settling.Status != state.Completed {
			return nil, nil // it is closed without a checkpoint: see Finish
		}
		return nil, err
	}
	defer x.Store.Abort()
	return changedAfterEnd(x.Layout, x.State(), x.Store, live, snap)
}

// changedAfterEnd is changedSince for a workspace that was scanned.
func changedAfterEnd(l Layout, s *state.State, store *checkpoint.Store, live *state.Codon, snap *checkpoint.Snapshot) ([]string, error) {
	files, err := diff.Diff(store, "", snap.Tree)
	if err != nil {
		return nil, err
	}
	before, err := store.CommitInfo(checkpoint.SHA(cmp.Or(live.BaseCheckpoint, s.InitialCheckpoint)))
	if err != nil {
		before = checkpoint.Info{} // lost: nothing is known of it
	}
	was := func(c diff.Change) bool { return store.HasExecutable(before.Tree, c.Path) }
	return changedFiles(l.Workspace, files, snap.Empty, was, live.Settling.At.Add(endMargin))
}

// changedFiles lists those of the files that were changed after an instant, and
// the folders in which names came or went without one of these showing it.
//
// A change of mode alone, as the remedy for an unreadable file is one, is none
// unless it concerns the bit that checkpoints hold: its file has neither new
// content nor a new name.
func changedFiles(workspace string, files []diff.Change, empty []string, executable func(diff.Change) bool, since time.Time) ([]string, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folders := map[string]bool{".": false} // whether names came or went
	look := func(dir string) {
		for ; ; dir = path.Dir(dir) {
			if _, seen := folders[dir]; seen && dir != "." {
				return
			}
			fi, err := root.Lstat(dir)
			folders[dir] = err == nil && fi.IsDir() && fi.ModTime().After(since)
			if dir == "." {
				return
			}
		}
	}
	look(".")
	for _, dir := range empty {
		look(dir)
	}
	var found []string
	told := map[string]bool{} // folders of which a file is named, at whatever depth
	for _, c := range files {
		look(path.Dir(c.Path))
		fi, err := root.Lstat(c.Path)
		if err != nil {
			continue // kept under another name
		}
		id, ok := vfs.IdentityOf(fi)
		if !ok || !time.Unix(0, id.CTime).After(since) {
			continue
		}
		modeOnly := !time.Unix(0, id.MTime).After(since) && !folders[path.Dir(c.Path)]
		if modeOnly && (c.To.Mode == filemode.Executable) == executable(c) {
			continue
		}
		found = append(found, c.Path)
		for dir := c.Path; dir != "."; {
			dir = path.Dir(dir)
			told[dir] = true
		}
	}
	for dir, changed := range folders {
		if changed && !told[dir] {
			found = append(found, dir+"/")
		}
	}
	slices.Sort(found)
	return found, nil
}

// summarizePaths names the first few paths.
func summarizePaths(paths []string) string {
	const most = 5
	names := make([]string, 0, most+1)
	for _, p := range paths[:min(most, len(paths))] {
		if dir, isDir := strings.CutSuffix(p, "/"); isDir {
			names = append(names, fmt.Sprintf("names in the folder %q", dir))
			continue
		}
		names = append(names, fmt.Sprintf("%q", p))
	}
	if more := len(paths) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
