//go:build unix

package recovery

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/checkpoint"
	"hank/internal/flock"
	"hank/state"
)

// Between a codon's start and its end a real folder in the place of the workspace
// is taken for it, with its lock; the journal goes on meanwhile.
func TestACodonMayReplaceItsWorkspace(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(t *testing.T, l Layout){
		"by a new one": func(t *testing.T, l Layout) { remove(t, l.Workspace); ok(t, os.Mkdir(l.Workspace, 0o755)) },
		"by a rename": func(t *testing.T, l Layout) {
			ok(t, os.Mkdir(l.Root+"/new", 0o755))
			remove(t, l.Workspace)
			ok(t, os.Rename(l.Root+"/new", l.Workspace))
		},
		"and is still there": func(t *testing.T, l Layout) {
			ok(t, os.Rename(l.Workspace, l.Workspace+".old"))
			ok(t, os.Mkdir(l.Workspace, 0o755))
		},
	} {
		data := t.TempDir()
		a := begin(t, filepath.Join(t.TempDir(), "x"), 4, CreateOptions{Data: data})
		ok(t, a.start())
		ok(t, a.x.Guard())
		l := a.x.Layout
		if err := a.play(attempt{upto: state.CompletingSentinels}); !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		replace(t, l)
		ok(t, a.x.Note("x", 1))
		put(t, filepath.Join(l.Workspace, "work"), []byte("new"))
		ok(t, a.x.Finish(a.ctx, a.run, "", a.x.State().Newest().Live().Conclude(a.x.Now()), checkpoint.Selection{All: true}))
		done := a.x.State().Newest().Codon(0)
		tree := must(a.x.Tree(done.Checkpoint()))(t)
		if !a.x.Store.HasFile(tree, "work") || !strings.Contains(strings.Join(done.Notes, ""), "folder was replaced") {
			t.Errorf("%s: %+v", name, done)
		}
		dir := must(flock.OpenFolder(l.Workspace))(t)
		if err := flock.Exclusive(dir); !errors.Is(err, flock.ErrHeld) {
			t.Errorf("%s: the new folder is not locked: %v", name, err)
		}
		ok(t, dir.Close())
		if to, err := os.Readlink(l.Data()); err != nil || to != data {
			t.Errorf("%s: the data are not linked: %q, %v", name, to, err)
		}
		remove(t, l.Workspace)
		ok(t, os.Mkdir(l.Workspace, 0o755))
		var decision *DecisionError
		if _, err := a.x.Snapshot(a.ctx, checkpoint.Selection{All: true}, a.x.Head()); !errors.As(err, &decision) {
			t.Errorf("%s: replaced when no codon was running: %v", name, err)
		}
		if err := a.x.CheckWorkspace(); !errors.As(err, &decision) || decision.Command != "hank run" {
			t.Errorf("%s: before the next codon: %v", name, err)
		}
		ok(t, a.x.Record(state.RunFailed{RunID: a.run, EndTime: a.x.Now(), Reason: state.EndDecision}))
		ok(t, a.x.Close())
		ok(t, os.RemoveAll(l.Workspace+".old"))
	}
}

// What is a link, of another owner, on another volume, elsewhere or nowhere does
// not stand for the workspace.
func TestWhatMayStandForAWorkspace(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	path, other := filepath.Join(base, "ws"), filepath.Join(base, "other")
	ok(t, errors.Join(os.Mkdir(path, 0o755), os.Mkdir(other, 0o755)))
	was := must(folderAt(path))(t)
	check := func(what string, f Folder) {
		t.Helper()
		_, blocked := f.succeeds(path)
		if what == "" && blocked != nil || what != "" && (blocked == nil || !strings.Contains(blocked.Error(), what)) {
			t.Errorf("%q: %v", what, blocked)
		}
	}
	changed := func(change func(*Folder)) Folder { f := was; f.Inode++; change(&f); return f }
	check("", was)
	check("", changed(func(*Folder) {}))
	check("of another user", changed(func(f *Folder) { f.Owner++ }))
	check("on another volume", changed(func(f *Folder) { f.Device++ }))
	check("in another place", changed(func(f *Folder) { f.Path, f.Place = other, other }))
	remove(t, path)
	ok(t, os.Symlink(other, path))
	check("a link to "+other, was)
	check("", must(folderAt(path))(t)) // one that was a link from the beginning
	remove(t, other)
	check("leads to no folder", was)
	remove(t, path)
	check("was deleted", was)
	put(t, path, []byte("x"))
	check("replaced by a file", was)
}
