package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
)

// A moved execution is the same one, with its paths where it is now.
func TestAMovedExecutionFindsItself(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root, to := filepath.Join(base, "a"), filepath.Join(base, "b")
	data := t.TempDir()
	a := history(t, root, 12, CreateOptions{Data: data})
	before := a.close()
	ok(t, os.Rename(root, to))
	v := must(Read(to))(t)
	x := reopen(t, to)
	for _, s := range []*state.State{v.State, x.State()} {
		for i, r := range s.Runs {
			if r.RunFolder != x.Layout.RunDir(r.RunID) {
				t.Errorf("run %d is said to be in %s", i, r.RunFolder)
			}
		}
		if s.Lineage != before.Lineage || s.TotalCost() != before.TotalCost() {
			t.Error("it has become another execution")
		}
	}
	says(t, "moved", x.Report, "was moved here from "+root)
	ok(t, x.Close())
	// Without the meta, which knows where it was, the paths are right as well.
	ok(t, os.Rename(to, root))
	remove(t, layout.Layout{Root: root}.Meta())
	x = reopen(t, root)
	if r := x.State().Runs[0]; r.RunFolder != x.Layout.RunDir(r.RunID) {
		t.Errorf("the run is said to be in %s", r.RunFolder)
	}
	if x.Meta().ReadOnlySourceDataPath != data {
		t.Errorf("the data are said to be in %q", x.Meta().ReadOnlySourceDataPath)
	}
	ok(t, x.Close())
	x = reopen(t, root)
	if len(x.Report.Findings) > 0 {
		t.Errorf("the next opening still finds %+v", x.Report)
	}
	ok(t, x.Close())
	// Another path to the same directory is no move.
	ok(t, os.Symlink(root, to))
	x = reopen(t, to)
	if len(x.Report.Findings) > 0 {
		t.Errorf("through a link: %+v", x.Report)
	}
	ok(t, x.Close())
}

// A copied execution goes its own way, says so, and what it was before the
// copy comes back from its checkpoints alone.
func TestACopiedExecutionGetsALineageOfItsOwn(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	base := t.TempDir()
	root, to := filepath.Join(base, "a"), filepath.Join(base, "b")
	before := history(t, root, 12, CreateOptions{}).close()
	ok(t, exec.Command("cp", "-a", root, to).Run())
	x := reopen(t, to)
	says(t, "copied", x.Report, "is a copy of "+root)
	if x.State().Lineage == before.Lineage || x.Meta().Lineage != x.State().Lineage {
		t.Error("the copy has the lineage of its original")
	}
	for _, more := range []bool{false, true} {
		if more {
			x = reopen(t, to)
			a := &author{t: t, ctx: context.Background(), x: x, program: program(t, 12), runs: 70}
			ok(t, a.start())
			ok(t, a.exit(state.EndStopped))
		}
		want := told(t, x.State())
		ok(t, x.Close())
		b := pack(t, to, want)
		b.settled("the copy")
		for _, path := range []string{b.l.State(), b.l.State() + ".bak", b.l.Events()} {
			remove(t, path)
		}
		says(t, "the copy, from git", b.recovers("the copy, from git"), "rebuilt from the checkpoints")
	}
	x = reopen(t, root)
	if len(x.Report.Findings) > 0 || x.State().Lineage != before.Lineage {
		t.Errorf("the original: %+v", x.Report)
	}
	ok(t, x.Close())
}

// A copy that has lost the segment in which its own lineage begins stays itself: what is left
// of the journal is its original's, and goes no further than the copy.
func TestACopyWithoutItsNewestSegmentStaysItself(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	base := t.TempDir()
	root, to := filepath.Join(base, "a"), filepath.Join(base, "b")
	history(t, root, 12, CreateOptions{}).close()
	ok(t, exec.Command("cp", "-a", root, to).Run())
	a := &author{t: t, ctx: context.Background(), x: reopen(t, to), program: program(t, 12), runs: 70}
	ok(t, a.start())
	ok(t, a.exit(state.EndStopped))
	want := told(t, a.x.State())
	ok(t, a.x.Close())
	b := pack(t, to, want)
	b.settled("the copy")
	b = pack(t, to, want)
	newest := b.files[b.journal()]
	header := bytes.IndexByte(newest, '\n') + 1
	for name, damage := range map[string]func(){
		"deleted":          func() { remove(t, b.journal()) },
		"empty":            func() { put(t, b.journal(), nil) },
		"half a header":    func() { put(t, b.journal(), newest[:header/2]) },
		"only a header":    func() { put(t, b.journal(), newest[:header]) },
		"half of it":       func() { put(t, b.journal(), newest[:len(newest)/2]) },
		"without a header": func() { put(t, b.journal(), newest[header:]) },
		"a damaged header": func() { put(t, b.journal(), append([]byte("x"), newest...)) },
	} {
		meta := b.l.Meta()
		for _, gone := range [][]string{{}, {b.l.State() + ".bak"}, {b.l.State()}, {b.l.State(), b.l.State() + ".bak"}, {meta}, {meta, b.l.State() + ".bak"}, {meta, b.l.State()}} {
			b.reset()
			damage()
			for _, path := range gone {
				remove(t, path)
			}
			b.recovers(fmt.Sprintf("%s, without %v", name, gone))
		}
	}
}

// Whatever becomes of the directory while it is held: the next transition stops,
// and nothing is written where the directory was.
func TestALostFolderStopsAtTheNextTransition(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, lose := range map[string]func(t *testing.T, l layout.Layout){
		"deleted": func(t *testing.T, l layout.Layout) { remove(t, l.Hankweave()) },
		"moved":   func(t *testing.T, l layout.Layout) { ok(t, os.Rename(l.Root, l.Root+".moved")) },
		"replaced": func(t *testing.T, l layout.Layout) {
			ok(t, os.Rename(l.Hankweave(), l.Hankweave()+".moved"))
			ok(t, exec.Command("cp", "-a", l.Hankweave()+".moved", l.Hankweave()).Run())
		},
	} {
		for step, next := range map[string]func(a *author) error{
			"record": func(a *author) error {
				return a.x.Record(state.RunFailed{RunID: a.run, EndTime: a.x.Now(), Reason: state.EndStopped})
			},
			"note": func(a *author) error { return a.x.Note("x", 1) },
			"snapshot": func(a *author) error {
				_, err := a.x.Snapshot(a.ctx, execution.Tracked(a.x.State(), ""), a.x.Head())
				return err
			},
			"meta": func(a *author) error { return a.x.SetMeta(func(*layout.Meta) {}) },
		} {
			base := filepath.Join(t.TempDir(), "base")
			ok(t, os.Mkdir(base, 0o755))
			root := filepath.Join(base, "x")
			a := begin(t, root, 12, CreateOptions{})
			ok(t, a.start())
			ok(t, a.play(attempt{}))
			a.settle()
			lose(t, a.x.Layout)
			before := hash(t, base)
			err := next(a)
			var lost *lock.LostError
			if !errors.As(err, &lost) {
				t.Errorf("%s, %s: %v", name, step, err)
			}
			if err := a.x.Record(state.RunFailed{RunID: a.run, EndTime: a.x.Now(), Reason: state.EndStopped}); !errors.As(err, &lost) {
				t.Errorf("%s, after %s: %v", name, step, err)
			}
			_ = a.x.Close() // says the same
			if hash(t, base) != before {
				t.Errorf("%s, %s: something was written", name, step)
			}
		}
	}
}

// settle waits until the writer of state.json and the merge of packs beside the work
// have ended, so that the files on the disk can be copied one after the other.
func (a *author) settle() {
	a.t.Helper()
	a.x.Merger.Ended.Wait()
	old := a.x.StateWriter
	ok(a.t, old.Close())
	a.x.StateWriter = (&execution.StateWriter{Store: old.Store, Serial: old.Serial, Held: old.Held, Failed: old.Failed, Saved: old.Saved}).Start()
}

// A creation that was cut short at any moment is made anew or gone on with;
// one that another process has just made is opened and not overwritten.
func TestCreationCutShortAndCreationTwice(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	before := history(t, root, 12, CreateOptions{}).close()
	x := must(Create(context.Background(), root, CreateOptions{Options: execution.Options{FS: fast}}))(t)
	if told(t, x.State()) != told(t, before) || len(x.Report.Findings) > 0 {
		t.Errorf("creating again: %+v", x.Report)
	}
	ok(t, x.Close())

	l := layout.Layout{Root: filepath.Join(t.TempDir(), "y")}
	ok(t, vfs.MkdirAll(vfs.OS, l.Events(), 0o700))
	ok(t, vfs.MkdirAll(vfs.OS, l.Runs(), 0o700))
	if layout.Exists(l.Root) {
		t.Error("empty folders count as an execution")
	}
	data := t.TempDir()
	x = must(Create(context.Background(), l.Root, CreateOptions{Options: execution.Options{FS: fast}, Data: data}))(t)
	ok(t, x.Close())
	remove(t, filepath.Join(layout.DefaultWorkspace(l.Root), layout.DataName)) // cut short before the link
	ok(t, reopen(t, l.Root).Close())
	if to, err := os.Readlink(filepath.Join(layout.DefaultWorkspace(l.Root), layout.DataName)); err != nil || to != data {
		t.Errorf("the data are not linked: %q, %v", to, err)
	}
}

// Without the meta nobody knows where a workspace outside the execution is.
func TestALostWorkspaceIsAskedFor(t *testing.T) {
	t.Parallel()
	root, workspace := filepath.Join(t.TempDir(), "x"), t.TempDir()
	before := told(t, history(t, root, 12, CreateOptions{Workspace: workspace}).close())
	remove(t, layout.Layout{Root: root}.Meta())
	_, err := Open(context.Background(), root, execution.Options{FS: fast})
	var decision *finding.DecisionError
	if !errors.As(err, &decision) || !strings.Contains(err.Error(), "--workspace") {
		t.Fatalf("opening says %v", err)
	}
	x := reopen(t, root, func(o *execution.Options) { o.Workspace = workspace })
	if told(t, x.State()) != before || x.Layout.Workspace != workspace || x.Meta().Workspace != workspace {
		t.Errorf("it works in %s", x.Layout.Workspace)
	}
	ok(t, x.Close())
	x = reopen(t, root)
	if x.Layout.Workspace != workspace {
		t.Errorf("later it works in %s", x.Layout.Workspace)
	}
	ok(t, x.Close())
	ok(t, os.Rename(workspace, workspace+".moved"))
	if _, err := Open(context.Background(), root, execution.Options{FS: fast}); !errors.As(err, &decision) {
		t.Errorf("with the workspace gone opening says %v", err)
	}
}

// An execution that was given up had been killed while it had a file aside: the
// next one on that workspace has it back before its first checkpoint.
func TestWhatAnotherExecutionHadAsideIsBackBeforeTheFirstCheckpoint(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	put(t, filepath.Join(work, ".hankweave-restore-1-0-was"), []byte("mine"))
	put(t, filepath.Join(work, ".hankweave-restore-1-1-was"), []byte("mine, too"))
	put(t, filepath.Join(work, "taken"), []byte("new"))
	blob := strings.Repeat("0", 40)
	put(t, filepath.Join(work, ".hankweave-restore-journal"), []byte("755 \x00@.hankweave-restore-1-0-was "+blob+" notes.txt\x00@.hankweave-restore-1-1-was "+blob+" taken\x00"))
	a := begin(t, filepath.Join(t.TempDir(), "x"), 12, CreateOptions{Workspace: work})
	for path, text := range map[string]string{"notes.txt": "mine", "taken": "new", "taken.hank-kept-1-1-was": "mine, too"} {
		if got, err := os.ReadFile(filepath.Join(work, path)); string(got) != text {
			t.Errorf("%s holds %q, want %q (%v)", path, got, text, err)
		}
	}
	says(t, "created", a.x.Report, `it is now "taken.hank-kept-1-1-was"`)
	a.close()
}
