//go:build unix

package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hank/checkpoint"
	"hank/internal/advice"
	"hank/internal/flock"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/state"
)

// Between a codon's start and its end a real directory in the place of the workspace
// is taken for it, with its lock; the journal goes on meanwhile.
func TestACodonMayReplaceItsWorkspace(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(t *testing.T, l layout.Layout){
		"by a new one": func(t *testing.T, l layout.Layout) { remove(t, l.Workspace); ok(t, os.Mkdir(l.Workspace, 0o755)) },
		"by a rename": func(t *testing.T, l layout.Layout) {
			ok(t, os.Mkdir(l.Root+"/new", 0o755))
			remove(t, l.Workspace)
			ok(t, os.Rename(l.Root+"/new", l.Workspace))
		},
		"and is still there": func(t *testing.T, l layout.Layout) {
			ok(t, os.Rename(l.Workspace, l.Workspace+".old"))
			ok(t, os.Mkdir(l.Workspace, 0o755))
		},
	} {
		data := t.TempDir()
		a := begin(t, filepath.Join(t.TempDir(), "x"), 4, CreateOptions{Data: data})
		ok(t, a.start())
		ok(t, a.x.Watch())
		l := a.x.Layout
		if err := a.play(attempt{upto: state.CompletingSentinels}); !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		replace(t, l)
		ok(t, a.x.Note("x", 1))
		put(t, filepath.Join(l.Workspace, "work"), []byte("new"))
		ok(t, Finish(a.ctx, a.x, a.run, "", a.x.State().Newest().Live().Conclude(a.x.Now()), checkpoint.Selection{All: true}))
		done := a.x.State().Newest().Codon(0)
		tree := must(a.x.Tree(done.Checkpoint()))(t)
		if !a.x.Store.HasFile(tree, "work") || !strings.Contains(strings.Join(done.Notes, ""), "directory was replaced") {
			t.Errorf("%s: %+v", name, done)
		}
		dir := must(flock.OpenDir(l.Workspace))(t)
		if err := flock.Exclusive(dir); !errors.Is(err, flock.ErrHeld) {
			t.Errorf("%s: the new folder is not locked: %v", name, err)
		}
		ok(t, dir.Close())
		if to, err := os.Readlink(l.Data()); err != nil || to != data {
			t.Errorf("%s: the data are not linked: %q, %v", name, to, err)
		}
		remove(t, l.Workspace)
		ok(t, os.Mkdir(l.Workspace, 0o755))
		var decision *finding.DecisionError
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
	was := must(layout.DirAt(path))(t)
	check := func(what string, f layout.DirID) {
		t.Helper()
		_, blocked := f.Succeeds(path)
		if what == "" && blocked != nil || what != "" && (blocked == nil || !strings.Contains(blocked.Error(), what)) {
			t.Errorf("%q: %v", what, blocked)
		}
	}
	changed := func(change func(*layout.DirID)) layout.DirID { f := was; f.Inode++; change(&f); return f }
	check("", was)
	check("", changed(func(*layout.DirID) {}))
	check("of another user", changed(func(f *layout.DirID) { f.Owner++ }))
	check("on another volume", changed(func(f *layout.DirID) { f.Device++ }))
	check("in another place", changed(func(f *layout.DirID) { f.Path, f.Place = other, other }))
	remove(t, path)
	ok(t, os.Symlink(other, path))
	check("a link to "+other, was)
	check("", must(layout.DirAt(path))(t)) // one that was a link from the beginning
	remove(t, other)
	check("leads to no directory", was)
	remove(t, path)
	check("was deleted", was)
	put(t, path, []byte("x"))
	check("replaced by a file", was)
}

// Where a directory was recorded, a link that comes in its place while no codon is
// running is followed by nobody: readers and openings say so alike, and what it
// leads to stays as it is. One that was given from the beginning is followed.
func TestALinkInThePlaceOfTheWorkspaceIsNotFollowed(t *testing.T) {
	t.Parallel()
	root, foreign := filepath.Join(t.TempDir(), "x"), t.TempDir()
	a := history(t, root, 12, CreateOptions{Data: t.TempDir()})
	a.close()
	l := layout.LayoutOf(root)
	put(t, filepath.Join(foreign, "mine"), []byte("mine"))
	refused := func(path string, words ...string) {
		t.Helper()
		before := hash(t, foreign)
		var decision *finding.DecisionError
		_, err := Open(context.Background(), root, execution.Options{FS: fast})
		for _, look := range []func(string) (*View, error){Read, ReadSummary} {
			v := must(look(root))(t)
			if v.Blocked == nil || !errors.As(err, &decision) || v.Blocked.Error() != decision.Error() {
				t.Fatalf("the reader says %v, the opening %v", v.Blocked, err)
			}
			for _, want := range words {
				if !strings.Contains(v.Blocked.Error()+" "+v.Blocked.Command, want) {
					t.Errorf("%q is not in: %v (%s)", want, v.Blocked, v.Blocked.Command)
				}
			}
		}
		if hash(t, foreign) != before {
			t.Error("what the link leads to was touched")
		}
	}
	aside := filepath.Join(root, "aside")
	ok(t, os.Rename(l.Workspace, aside))
	ok(t, os.Symlink(foreign, l.Workspace))
	refused(l.Workspace, "a link to "+foreign, "rm "+l.Workspace+" && mkdir "+l.Workspace+" && hank r")
	remove(t, l.Workspace)
	ok(t, os.Symlink("aside", l.Workspace))
	refused(l.Workspace, "a link to "+aside, "rm "+l.Workspace+" && mv "+aside+" "+l.Workspace+" && hank run")
	remove(t, l.Workspace)
	ok(t, os.Rename(aside, l.Workspace))
	ok(t, reopen(t, root).Close())

	base := t.TempDir()
	root = filepath.Join(base, "y")
	given, target := filepath.Join(base, "given"), filepath.Join(base, "target")
	ok(t, errors.Join(os.Mkdir(target, 0o755), os.Symlink(target, given)))
	history(t, root, 12, CreateOptions{Workspace: given}).close()
	ok(t, reopen(t, root).Close())
	ok(t, errors.Join(os.Rename(target, target+"2"), os.Remove(given), os.Symlink(target+"2", given)))
	ok(t, reopen(t, root).Close()) // the same directory
	ok(t, errors.Join(os.Remove(given), os.Symlink(foreign, given)))
	refused(given, "a link to "+foreign)
}

// Another real directory is no question by itself, and the directory of another user is
// no other directory.
func TestWhatReadersSayOfAnotherFolder(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "x")
	a := begin(t, root, 2, CreateOptions{})
	ok(t, a.start())
	ok(t, a.upto(1))
	ok(t, a.x.Close())
	l := layout.LayoutOf(root)
	owned := func(by uint32) {
		m := must(layout.ReadMeta(root))(t)
		m.WorkspaceDir.Owner = by
		ok(t, layout.WriteMeta(fast, l.Meta(), m))
	}
	owned(uint32(os.Geteuid()) + 1) // and this user may use it
	if v := must(Read(root))(t); v.Blocked != nil || strings.Contains(fmt.Sprint(v.Report), "another folder") {
		t.Errorf("a folder that this user may use: %+v", v.Report)
	}
	ok(t, os.Rename(l.Workspace, l.Workspace+".old"))
	ok(t, os.Mkdir(l.Workspace, 0o755))
	v := must(Read(root))(t)
	says(t, "another folder", v.Report, "is not the directory that hank last had there; `hank run` compares it with the last checkpoint, and asks only where it differs")
	if v.Blocked != nil {
		t.Errorf("it is blocked: %v", v.Blocked)
	}

	a = begin(t, filepath.Join(t.TempDir(), "y"), 2, CreateOptions{})
	root, l = a.x.Layout.Root, a.x.Layout
	ok(t, a.start())
	if err := a.play(attempt{upto: state.Running}); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	ok(t, a.x.Close()) // a crash, as far as the state tells
	owned(uint32(os.Geteuid()) + 1)
	var decision *finding.DecisionError
	v = must(Read(root))(t)
	_, err := Open(context.Background(), root, execution.Options{FS: fast})
	if v.Blocked == nil || !errors.As(err, &decision) || v.Blocked.Error() != decision.Error() {
		t.Fatalf("the reader says %v, the opening %v", v.Blocked, err)
	}
	for _, want := range []string{"belongs to another user now", "sudo chown -R", "cp -R "} {
		if !strings.Contains(decision.Error(), want) || strings.Contains(decision.Error(), "replaced") {
			t.Errorf("%q: %v", want, decision)
		}
	}
}

// What is advised for a directory that another user has does what it says when it is
// typed: the copy stands in its place, and the directory beside it.
func TestTheCopyThatIsAdvisedTakesThePlaceOfTheFolder(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(path string) string{
		"replaced": layout.TakeOver,
		"estranged": func(path string) string {
			return advice.Render(layout.DirID{}.Estranged(path, layout.DirID{}, "hank run").Options[1], "")
		},
	} {
		path := filepath.Join(t.TempDir(), "agent root")
		ok(t, os.Mkdir(path, 0o755))
		ok(t, os.WriteFile(filepath.Join(path, "f"), nil, 0o600))
		said, _, _ := strings.Cut(command(path), " && hank run")
		if out, err := exec.Command("sh", "-c", said).CombinedOutput(); err != nil {
			t.Fatalf("%s: %s: %v: %s", name, said, err, out)
		}
		for _, dir := range []string{path, path + ".aside"} {
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() != "f" {
				t.Errorf("%s: %s: %v, %v", name, dir, entries, err)
			}
		}
		if !strings.Contains(command(path), " && hank run") {
			t.Errorf("%s: %s", name, command(path))
		}
	}
}
