package execution

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/internal/vfs"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/state"
)

// EndMargin is how much later than the recorded end a change must be: both are
// rounded.
const EndMargin = 5 * time.Millisecond

// Conclude is the final record of a codon that had ended when its runtime left,
// and what its checkpoint takes. Where the workspace has been changed since the
// end, the user decides: a *DecisionError, unless they have. redo: the codon
// runs again.
func (x *Execution) Conclude(ctx context.Context, r *state.Run, at state.Time) (final *state.Codon, tracked checkpoint.Selection, redo bool, err error) {
	live := r.Live()
	final, tracked = live.Conclude(at), Tracked(x.State(), live.CodonID)
	changed, err := x.changedSince(ctx, live, tracked)
	changed = ExceptPaused(r, changed)
	if err != nil || len(changed) == 0 {
		return final, tracked, false, err
	}
	what := summarizePaths(changed)
	if !final.Settled() { // what it left is done again in any case
		final.Notes = append(final.Notes, "changed after it had ended, and before its checkpoint: "+what)
		return final, tracked, false, nil
	}
	ask := LateQuestion(live, changed)
	switch x.Opts.Late(ask.What) {
	case LateKeep:
		final.Notes = append(final.Notes, "changed after it had ended, and taken as its work by the user: "+what)
		return final, tracked, false, nil
	case LateRedo:
		final = live.Interrupt(at, state.InterruptedByPause, "it had ended, and the workspace was changed before its checkpoint was made; the user has decided that it runs again")
		return final, checkpoint.Selection{All: true}, true, nil
	}
	return nil, tracked, false, ask
}

// ExceptPaused leaves out what a paused run was waiting for to stand still: that it
// changes is known, and it was to be recorded then.
func ExceptPaused(r *state.Run, changed []string) []string {
	if r.Paused == nil {
		return changed
	}
	return slices.DeleteFunc(changed, func(name string) bool { return name == r.Paused.Changing })
}

// LateQuestion asks what is to become of changes between the end of a codon and its
// checkpoint.
func LateQuestion(live *state.Codon, changed []string) *finding.DecisionError {
	return &finding.DecisionError{
		What: fmt.Sprintf("the workspace was changed after codon %s had ended and before its checkpoint was made (%s)", live.CodonID, summarizePaths(changed)),
		Options: []string{
			"`hank run --keep-tree` takes the workspace as it is as the codon's work",
			"`hank run --restore` keeps it in a checkpoint, and runs the codon again on the workspace as it was before it",
		},
		Command: "hank run --keep-tree", Answers: []string{"--keep-tree", "--restore"},
	}
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
			return nil, nil // it is closed without a checkpoint: see recovery.Finish
		}
		return nil, err
	}
	defer x.Store.Abort()
	return ChangedAfterEnd(x.Layout, x.State(), x.Store, live, snap)
}

// ChangedAfterEnd is changedSince for a workspace that was scanned.
func ChangedAfterEnd(l layout.Layout, s *state.State, store *checkpoint.Store, live *state.Codon, snap *checkpoint.Snapshot) ([]string, error) {
	files, err := diff.Diff(store, "", snap.Tree)
	if err != nil {
		return nil, err
	}
	before, err := store.CommitInfo(checkpoint.SHA(cmp.Or(live.BaseCheckpoint, s.InitialCheckpoint)))
	if err != nil {
		before = checkpoint.Info{} // lost: nothing is known of it
	}
	was := func(c diff.Change) bool { return store.HasExecutable(before.Tree, c.Path) }
	return changedFiles(l.Workspace, files, snap.Empty, was, live.Settling.At.Add(EndMargin))
}

// changedFiles lists those of the files that were changed after an instant, and
// the directories in which names came or went without one of these showing it.
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
	dirs := map[string]bool{".": false} // whether names came or went
	look := func(dir string) {
		for ; ; dir = path.Dir(dir) {
			if _, seen := dirs[dir]; seen && dir != "." {
				return
			}
			fi, err := root.Lstat(dir)
			dirs[dir] = err == nil && fi.IsDir() && fi.ModTime().After(since)
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
	told := map[string]bool{} // directories of which a file is named, at whatever depth
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
		modeOnly := !time.Unix(0, id.MTime).After(since) && !dirs[path.Dir(c.Path)]
		if modeOnly && (c.To.Mode == checkpoint.Executable) == executable(c) {
			continue
		}
		found = append(found, c.Path)
		for dir := c.Path; dir != "."; {
			dir = path.Dir(dir)
			told[dir] = true
		}
	}
	for dir, changed := range dirs {
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
			names = append(names, fmt.Sprintf("names in the directory %q", dir))
			continue
		}
		names = append(names, fmt.Sprintf("%q", p))
	}
	if more := len(paths) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
