//go:build unix

package recovery

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"hank/checkpoint"
	"hank/internal/race"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
)

// left is an execution as something has left it, to be put back and damaged again.
type left struct {
	*box
	tree tree
}

func (e left) putBack() {
	e.t.Helper()
	remove(e.t, e.l.Hankweave())
	remove(e.t, e.l.Workspace)
	ok(e.t, os.MkdirAll(e.l.Workspace, 0o755))
	ok(e.t, os.MkdirAll(e.l.Hankweave(), 0o700))
	e.reset()
	e.tree.put(e.t, e.l.Workspace)
}

// whatIsLeft are executions at rest, after a crash in a codon and between two, with a
// codon that has ended and has no checkpoint yet, paused, and in the middle of a move.
func whatIsLeft(t *testing.T) map[string]left {
	t.Helper()
	all := map[string]left{}
	keep := func(name, root string) {
		b := pack(t, root, "")
		all[name] = left{b, treeOf(t, b.l.Workspace)}
	}
	begun := func(name string, upto ...state.CodonStatus) *author {
		a := begin(t, filepath.Join(t.TempDir(), "x"), 12, CreateOptions{})
		ok(t, a.start())
		ok(t, a.play(attempt{}))
		for _, status := range upto {
			if err := a.play(attempt{upto: status}); !errors.Is(err, errCut) {
				t.Fatal(err)
			}
		}
		return a
	}
	whole := history(t, filepath.Join(t.TempDir(), "x"), 12, CreateOptions{})
	root := whole.x.Layout.Root
	whole.close()
	keep("at rest", root)
	for name, a := range map[string]*author{"between two codons": begun(""), "in a codon": begun("", state.Running), "before a checkpoint": begun("", state.CompletingSentinels)} {
		a.settle()
		keep(name, a.x.Layout.Root)
		a.close()
	}
	a := begun("", state.CompletingSentinels) // whose checkpoint is on its branch and not acknowledged
	live := a.x.State().Current().Live()
	final := live.Conclude(a.x.Now())
	snap := must(a.x.Snapshot(a.ctx, execution.Tracked(a.x.State(), live.CodonID), a.x.Head()))(t)
	branch := a.x.State().Current().GitBranch
	sha := must(a.x.CommitObject(a.ctx, execution.Commit{Title: githistory.Title{Status: state.KindCompleted, CodonID: live.CodonID, RunID: a.run}, Snapshot: snap,
		Parents: []state.SHA{a.x.Head()}, Branch: branch, Transition: state.CodonTransitioned{RunID: a.run, Record: final}}))(t)
	ok(t, a.x.Store.SetRef(githistory.Heads+branch, checkpoint.SHA(a.x.State().Current().Head), checkpoint.SHA(sha)))
	a.settle()
	keep("behind a branch", a.x.Layout.Root)
	_ = a.x.Close()
	a = begun("", state.Running)
	ok(t, a.x.Record(state.RunPaused{RunID: a.run, Time: a.x.Now(), Reason: state.EndError, Detail: "the disk is full"}))
	root = a.x.Layout.Root
	a.close()
	keep("paused", root)
	keep("half moved", leaveHalf(t).root)
	return all
}

// What a reader reports of an execution, whatever has interrupted it and whatever of it
// is damaged, is what the next opening does: where the state comes from, what is found,
// how each run ends, and the question where there is one. Afterwards a reader finds
// nothing that is to be repaired.
//
// By default each damage alone, the pairs that have found something, and one pair in 60;
// the long form takes all pairs.
func TestAReaderReportsWhatTheNextOpeningDoes(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	race.Without(t)
	type damage struct {
		name string
		do   func(*testing.T, left)
	}
	// One damage may have taken away what the other is of.
	take := func(path string) { _ = os.RemoveAll(path) }
	spoil := func(path, text string) { _ = os.WriteFile(path, []byte(text), 0o600) }
	junk := func(name string, path func(layout.Layout) string) damage {
		return damage{name + " junk", func(t *testing.T, e left) { spoil(path(e.l), "junk") }}
	}
	gone := func(name string, path func(layout.Layout) string) damage {
		return damage{name + " gone", func(t *testing.T, e left) { take(path(e.l)) }}
	}
	file := func(name string, path func(layout.Layout) string) damage {
		return damage{"a file for " + name, func(t *testing.T, e left) { take(path(e.l)); spoil(path(e.l), "x") }}
	}
	backup := func(l layout.Layout) string { return l.State() + ".bak" }
	events := func(l layout.Layout) string { return filepath.Join(l.Events(), "events.jsonl") }
	inStore := func(name string) func(layout.Layout) string {
		return func(l layout.Layout) string { return filepath.Join(l.Store(), filepath.FromSlash(name)) }
	}
	newestPack := func(l layout.Layout) string {
		packs, _ := filepath.Glob(filepath.Join(l.Store(), "objects", "pack", "*.pack"))
		slices.SortFunc(packs, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
		return slices.Concat(packs, []string{filepath.Join(l.Root, "none")})[0]
	}
	aRun := func(l layout.Layout) string {
		runs, _ := filepath.Glob(filepath.Join(l.Store(), "refs", "heads", "run-*"))
		if len(runs) == 0 {
			return filepath.Join(l.Store(), "refs", "heads", "main")
		}
		return runs[len(runs)-1]
	}
	anIndex := func(l layout.Layout) string { return strings.TrimSuffix(newestPack(l), ".pack") + ".idx" }
	workspace := func(l layout.Layout) string { return l.Workspace }
	damages := []damage{
		{"nothing", func(*testing.T, left) {}},
		junk("state.json", layout.Layout.State), gone("state.json", layout.Layout.State), gone("backup", backup),
		junk("journal", events), gone("journal", layout.Layout.Events), file("the journal", layout.Layout.Events),
		{"a torn journal", func(t *testing.T, e left) { spoil(events(e.l), string(e.files[events(e.l)])+`{"seq":`) }},
		{"a directory in the journal", func(t *testing.T, e left) { _ = os.MkdirAll(filepath.Join(e.l.Events(), "x"), 0o700) }},
		junk("meta", layout.Layout.Meta), gone("meta", layout.Layout.Meta), junk("head", layout.Layout.Head),
		file("runs", layout.Layout.Runs), file("the index", layout.Layout.Index), file("quarantine", layout.Layout.Quarantine),
		{"a directory for the stat cache", func(t *testing.T, e left) {
			take(e.l.StatCache())
			_ = os.MkdirAll(e.l.StatCache(), 0o700)
		}},
		gone("HEAD", inStore("HEAD")), gone("main", inStore("refs/heads/main")), junk("main", inStore("refs/heads/main")), gone("a run's branch", aRun),
		{"a branch to nothing", func(t *testing.T, e left) { spoil(aRun(e.l), strings.Repeat("ab", 20)+"\n") }},
		gone("a pack", newestPack), junk("a pack", newestPack), gone("the store", layout.Layout.Store), gone("objects", inStore("objects")),
		gone("an index", anIndex), junk("an index", anIndex), file("the references", inStore("refs")), gone("the references", inStore("refs")),
		{"all indexes gone", func(t *testing.T, e left) {
			for _, index := range must(filepath.Glob(inStore("objects/pack/*.idx")(e.l)))(t) {
				take(index)
			}
		}},
		{"a flipped index", func(t *testing.T, e left) {
			if text := slices.Clone(e.files[anIndex(e.l)]); len(text) > 1100 { // else there is no pack
				text[1100] ^= 1
				spoil(anIndex(e.l), string(text))
			}
		}},
		{"another pack's index", func(t *testing.T, e left) {
			all := must(filepath.Glob(inStore("objects/pack/*.idx")(e.l)))(t)
			if len(all) > 0 {
				spoil(anIndex(e.l), string(e.files[all[len(all)-1]]))
			}
		}},
		gone("workspace", workspace), file("the workspace", workspace),
		{"a link for the workspace", func(t *testing.T, e left) {
			take(e.l.Workspace)
			ok(t, os.Symlink(t.TempDir(), e.l.Workspace))
		}},
	}
	share := 60
	if long {
		share = 1
	}
	found := []string{"a pack junk, workspace gone", "main gone, a branch to nothing"}
	n := 0
	for name, e := range whatIsLeft(t) {
		for i := range damages {
			for j := range damages[:i+1] {
				pair := damages[j].name + ", " + damages[i].name
				if i != j && j > 0 { // else it is one alone
					if n++; (n+int(seed))%share > 0 && !slices.Contains(found, pair) {
						continue
					}
				}
				if i != j && j == 0 {
					continue
				}
				what := name + ": " + pair
				e.putBack()
				for _, d := range []damage{damages[j], damages[i]} {
					d.do(t, e)
				}
				before := hash(t, e.root)
				foreseen := foresee(vfs.OS, e.root)
				if hash(t, e.root) != before {
					t.Errorf("%s: the reader has written", what)
				}
				forked()
				x, err := Open(t.Context(), e.root, execution.Options{FS: fast})
				foreseen.came(t, what, x, err)
				if err != nil {
					continue
				}
				ok(t, x.Close())
				for _, f := range must(Read(e.root))(t).Report.Findings {
					if f.Severity != finding.Note {
						t.Errorf("%s: after the opening a reader reports %s: %s", what, f.Severity, f.What)
					}
				}
			}
		}
	}
}

// A reader reports an error that would stop the next opening, although no decision ends it.
func TestAReaderReportsAnErrorThatWouldStopAnOpening(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "x")
	history(t, root, 12, CreateOptions{}).close()
	reported := 0
	for n := 1; ; n++ {
		var fired atomic.Bool
		fail := vfstest.Nth(n, syscall.EIO, func(c vfstest.Call) bool {
			return c.Op == vfstest.OpReadDir && strings.HasSuffix(filepath.ToSlash(c.Name), "/refs")
		})
		v, err := read(vfstest.Inject(vfs.OS, func(c vfstest.Call) error {
			err := fail(c)
			fired.Store(fired.Load() || err != nil)
			return err
		}), root, false)
		if !fired.Load() {
			break
		}
		if err != nil {
			continue
		}
		says(t, "a reader", v.Report, syscall.EIO.Error())
		if v.Report.Has(finding.Warning) {
			reported++
		}
	}
	if reported == 0 {
		t.Error("no error was reported")
	}
}
