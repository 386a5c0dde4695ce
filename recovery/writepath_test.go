package recovery

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"hank/checkpoint"
	"hank/internal/race"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/recovery/lock"
	"hank/state"
	"hank/state/journal"
)

// What the journal did not take is neither in memory nor told to observers, and
// nothing more is taken.
func TestWhatTheJournalDidNotTakeHasNotHappened(t *testing.T) {
	t.Parallel()
	for _, op := range []vfstest.Op{vfstest.OpWrite, vfstest.OpSync} {
		var failing atomic.Bool
		var told atomic.Int64
		fsys := vfstest.Inject(fast, func(c vfstest.Call) error {
			if failing.Load() && c.Op == op && strings.HasSuffix(c.Name, "events.jsonl") {
				return syscall.EIO
			}
			return nil
		})
		a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{Options: execution.Options{FS: fsys,
			Appended: func(journal.Event, *state.State) { told.Add(1) }, Synced: func(uint64) { told.Add(1) }}})
		before := a.x.State()
		told.Store(0)
		failing.Store(true)
		limit := state.LimitsSet{Limits: state.Limits{MaxDollars: state.Dollar}}
		if err := a.x.Record(limit); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", op, err)
		}
		failing.Store(false)
		if err := a.x.Record(limit); err == nil {
			t.Errorf("%s: something was taken after the failure", op)
		}
		if a.x.State() != before || told.Load() > 0 {
			t.Errorf("%s: limits are %v, observers were told %d times", op, a.x.State().Limits, told.Load())
		}
		_ = a.x.Close() // says the same
		if s := must(Read(a.x.Layout.Root))(t).State; s.Limits.Any() {
			t.Errorf("%s: limits are %v after it was opened again", op, s.Limits)
		}
	}
}

// Of the transitions of one call a power cut at any moment of it keeps all or none, and
// after the call all.
func TestTransitionsOfOneCallHappenTogether(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}
	ok(t, os.MkdirAll(l.Hankweave(), 0o700)) // for the locks; all else is in memory
	ok(t, os.MkdirAll(l.Workspace, 0o755))
	mem := vfstest.NewMem()
	ok(t, vfs.MkdirAll(mem, root, 0o755))
	a := begin(t, root, 3, CreateOptions{Options: execution.Options{FS: mem}})
	a.settle()
	limit := func(dollars state.USD) state.Transition {
		return state.LimitsSet{Limits: state.Limits{MaxDollars: dollars * state.Dollar}}
	}
	type moment struct {
		image *vfstest.Mem
		when  string
		done  bool
	}
	var moments []moment
	look := func(when string, done bool) {
		for i := range 50 / race.Step { // few tear a write in its middle
			percent := 51 + i*race.Step
			moments = append(moments, moment{mem.Crash(rand.New(rand.NewPCG(uint64(len(moments)), uint64(i))), percent), fmt.Sprintf("%s, %d %%", when, percent), done})
		}
	}
	a.x.StateWriter.Disk.Lock() // what is saved meanwhile is not asked here
	mem.SetHook(func(c vfstest.Call) { look("before "+c.String(), false) })
	ok(t, a.x.Record(limit(1), limit(2)))
	mem.SetHook(nil)
	look("after it", true)
	a.x.StateWriter.Disk.Unlock()
	ok(t, a.x.Close())
	seen := map[state.USD]bool{}
	for _, m := range moments {
		found := must(load.Load(m.image, l, a.x.State().Lineage, "", &finding.Report{Reading: true}))(t)
		got := found.State.Limits.MaxDollars
		seen[got] = true
		if got != 2*state.Dollar && (got != 0 || m.done) {
			t.Errorf("%s: the limit is %s", m.when, got)
		}
	}
	if len(seen) < 2 {
		t.Errorf("the power cuts are too tame: %v", seen)
	}
}

// Nor has a base that did not become durable: where the journal should begin again and
// cannot, the state stays as it was.
func TestAStateThatNoJournalBeginsWithIsNotThePresentOne(t *testing.T) {
	t.Parallel()
	for _, op := range []vfstest.Op{vfstest.OpWrite, vfstest.OpSync, vfstest.OpRename} {
		var failing atomic.Bool
		fsys := vfstest.Inject(fast, func(c vfstest.Call) error {
			if failing.Load() && c.Op == op && strings.Contains(c.Name, "events") {
				return syscall.EIO
			}
			return nil
		})
		a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{Options: execution.Options{FS: fsys}})
		before := a.x.State()
		copied := *before
		copied.Lineage = layout.NewID(16)
		failing.Store(true)
		if err := rebase(a.x, &copied, a.x.Journal.Last()+1, "the test wants it"); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", op, err)
		}
		failing.Store(false)
		if a.x.State() != before {
			t.Errorf("%s: the state has the lineage %q, the journal has %q", op, a.x.State().Lineage, before.Lineage)
		}
		_ = a.x.Close() // reports the failure again
		if got := must(Read(a.x.Layout.Root))(t).State.Lineage; got != before.Lineage {
			t.Errorf("%s: after it was opened again the lineage is %q", op, got)
		}
	}
}

// A branch that stock git moves between two checkpoints does not take its commit with it:
// that is kept on a recovery branch, by the checkpoint or, while the monitor watches, before
// that. A commit that cannot be read is refused, or, while the monitor watches, named in full.
func TestABranchThatGitMovesBetweenTwoCheckpointsLosesNothing(t *testing.T) {
	t.Parallel()
	for name, watched := range map[string]bool{"outside a run": false, "watched": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := begin(t, t.TempDir(), 3, CreateOptions{})
			ok(t, a.start())
			ok(t, a.play(attempt{}))
			var warned []string
			a.x.Opts.Warn = func(line string) { warned = append(warned, line) }
			if watched {
				ok(t, a.x.Watch())
			}
			git := func(args ...string) string {
				t.Helper()
				c := exec.Command("git", append([]string{"--git-dir=" + a.x.Layout.Store(), "-c", "user.name=o", "-c", "user.email=o@example.com"}, args...)...)
				out, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("git %q: %v: %s", args, err, out)
				}
				return strings.TrimSpace(string(out))
			}
			branch, head := a.x.State().Run(a.run).GitBranch, string(a.x.Head())
			theirs := git("commit-tree", head+"^{tree}", "-p", head, "-m", "somebody else's")
			git("update-ref", "refs/heads/"+branch, theirs)
			ok(t, a.play(attempt{}))
			if next := string(a.x.Head()); git("rev-parse", "refs/heads/"+branch) != next || git("rev-parse", next+"^") != head {
				t.Errorf("the next checkpoint is not at the end of branch %s, behind %.12s", branch, head)
			}
			if !strings.Contains(strings.Join(warned, "\n"), theirs[:12]) {
				t.Errorf("commit %.12s is not named: %q", theirs, warned)
			}
			kept := git("for-each-ref", "--format=%(refname:short)", "--contains", theirs, "refs/heads/recovery")
			if kept == "" || !strings.Contains(strings.Join(warned, "\n"), "is kept on the branch "+kept) {
				t.Errorf("recovery branches with it: %q, told: %q", kept, warned)
			}
			git("gc", "--prune=now")
			git("cat-file", "-e", theirs)

			if watched {
				recovery := func() string {
					return git("for-each-ref", "--format=%(refname:short)", "refs/heads/recovery")
				}
				// The same commit again, and one that has fallen back, need no keeping.
				git("update-ref", "refs/heads/"+branch, theirs)
				ok(t, a.x.Inspect())
				git("update-ref", "refs/heads/"+branch, head)
				ok(t, a.play(attempt{}))
				if now := recovery(); now != kept {
					t.Errorf("recovery branches: %s; before: %s", now, kept)
				}
				// Packed references are rewritten; what was in them is not lost either.
				tip := string(a.x.Head())
				packed := git("commit-tree", tip+"^{tree}", "-p", tip, "-m", "packed")
				git("update-ref", "refs/heads/"+branch, packed)
				git("update-ref", "refs/heads/theirs", theirs)
				git("pack-refs", "--all", "--prune")
				ok(t, a.play(attempt{}))
				if git("rev-parse", "refs/heads/"+branch) != string(a.x.Head()) || git("rev-parse", "refs/heads/theirs") != theirs {
					t.Errorf("branches: %s", git("for-each-ref"))
				}
				if all := git("for-each-ref", "--contains", packed, "refs/heads/recovery"); all == "" {
					t.Error("a commit that only the packed references led to is kept on no branch")
				}
				lost := strings.Repeat("1", 40)
				put(t, filepath.Join(a.x.Layout.Store(), "refs", "heads", branch), []byte(lost+"\n"))
				ok(t, a.play(attempt{}))
				if all := strings.Join(warned, "\n"); !strings.Contains(all, lost) || git("rev-parse", "refs/heads/"+branch) != string(a.x.Head()) {
					t.Errorf("a commit that cannot be read: %s", all)
				}
			} else { // one that has fallen back needs no keeping, one that is gone neither
				before := git("for-each-ref", "refs/heads/recovery")
				git("update-ref", "refs/heads/"+branch, head)
				ok(t, a.play(attempt{}))
				git("update-ref", "-d", "refs/heads/"+branch)
				ok(t, a.play(attempt{}))
				if after := git("for-each-ref", "refs/heads/recovery"); after != before || len(warned) != 1 {
					t.Errorf("recovery branches: %s\nbefore: %s\nwarnings: %q", after, before, warned)
				}
				path := filepath.Join(a.x.Layout.Store(), "refs", "heads", branch)
				lost := strings.Repeat("1", 40)
				put(t, path, []byte(lost+"\n"))
				if err := a.play(attempt{}); err == nil || !strings.Contains(err.Error(), lost) {
					t.Errorf("a tip that cannot be read: %v", err)
				}
				if got := strings.TrimSpace(string(must(os.ReadFile(path))(t))); got != lost {
					t.Errorf("it was overwritten with %s", got)
				}
			}
			_ = a.x.Close()
			reopenOnce(t, a.x.Layout.Root)
			if !watched {
				git("merge-base", "--is-ancestor", head, string(must(Read(a.x.Layout.Root))(t).State.Newest().Head))
			}
		})
	}
}

// A tag that somebody has moved is put back, and what it was moved to is called what it
// is: of an annotated tag the commit is kept, of a file there is none.
func TestAnAnnotatedTagThatSomebodyMovesIsCalledOne(t *testing.T) {
	t.Parallel()
	a := begin(t, t.TempDir(), 3, CreateOptions{})
	ok(t, a.start())
	ok(t, a.play(attempt{}))
	git := func(input string, args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"--git-dir=" + a.x.Layout.Store(), "-c", "user.name=o", "-c", "user.email=o@example.com"}, args...)...)
		c.Stdin = strings.NewReader(input)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	head := string(a.x.Head())
	git("", "tag", "-a", "-m", "mine", "mark", head)
	mine := git("", "rev-parse", "refs/tags/mark")
	var warned []string
	a.x.Opts.Warn = func(line string) { warned = append(warned, line) }
	ok(t, a.x.Watch())
	theirs := git("", "commit-tree", head+"^{tree}", "-p", head, "-m", "somebody else's")
	git("", "tag", "-f", "-a", "-m", "of mine", "other", theirs)
	git("", "tag", "-f", "-a", "-m", "theirs", "mark", "other") // a tag of a tag
	tag := git("", "rev-parse", "refs/tags/mark")
	ok(t, a.x.Inspect())
	kept := git("", "for-each-ref", "--format=%(refname:short)", "--contains", theirs, "refs/heads/recovery")
	all := strings.Join(warned, "\n")
	for _, want := range []string{tag + " is an annotated tag of commit " + theirs[:12], "is kept on the branch " + kept} {
		if kept == "" || !strings.Contains(all, want) || strings.Contains(all, "cannot be read") {
			t.Errorf("no %q on branch %q in: %s", want, kept, all)
		}
	}
	blob := git("text", "hash-object", "-w", "--stdin")
	git("", "update-ref", "refs/tags/mark", blob)
	ok(t, a.x.Inspect())
	if all := strings.Join(warned, "\n"); !strings.Contains(all, blob+" is a blob and not a commit") {
		t.Error(all)
	}
	if now := git("", "rev-parse", "refs/tags/mark"); now != mine {
		t.Errorf("the tag is at %s, and was at %s", now, mine)
	}
	a.close()
}

// Observers are told of a sync after it, and of events that are not synced yet only that
// they were appended.
func TestObserversAreToldOfASyncAfterIt(t *testing.T) {
	t.Parallel()
	var appended, synced atomic.Uint64
	a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{Options: execution.Options{FS: fast,
		Appended: func(e journal.Event, _ *state.State) { appended.Store(e.Seq) }, Synced: synced.Store}})
	before := a.x.Journal.Last()
	limit := state.LimitsSet{Limits: state.Limits{MaxDollars: state.Dollar}}
	ok(t, a.x.RecordLater(limit))
	ok(t, a.x.Note("test.note", nil))
	if appended.Load() != before+2 || synced.Load() != before {
		t.Errorf("behind event %d two are appended: told of %d, and of a sync up to %d", before, appended.Load(), synced.Load())
	}
	ok(t, a.x.Sync())
	if synced.Load() != before+2 {
		t.Errorf("synced up to %d: told of %d", before+2, synced.Load())
	}
	ok(t, a.x.Record(limit))
	if appended.Load() != before+3 || synced.Load() != before+3 {
		t.Errorf("event %d is recorded: told of %d, and of a sync up to %d", before+3, appended.Load(), synced.Load())
	}
	ok(t, a.x.Close())
}

// A checkpoint carries the number that its transition gets in the journal, whatever else
// is in there, and what comes before that is synced when its branch moves: else a crash
// would leave a checkpoint with a number that does not come next. A transition that is
// not possible leaves no commit.
func TestACheckpointHasTheNumberOfItsTransition(t *testing.T) {
	t.Parallel()
	var watching atomic.Bool
	var calls []string
	fsys := vfstest.Inject(fast, func(c vfstest.Call) error {
		name := filepath.ToSlash(c.Name)
		if watching.Load() && (c.Op == vfstest.OpSync && strings.HasSuffix(name, "events.jsonl") || c.Op == vfstest.OpRename && strings.Contains(name, "refs/heads/")) {
			calls = append(calls, string(c.Op))
		}
		return nil
	})
	a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{Options: execution.Options{FS: fsys}})
	a.write("log.txt", "more\n")
	commit := func(tr state.Transition) (state.SHA, error) {
		snap := must(a.x.Snapshot(a.ctx, execution.Tracked(a.x.State(), ""), a.x.Head()))(t)
		return a.x.Commit(a.ctx, execution.Commit{Title: githistory.Title{Status: state.KindManual}, Snapshot: snap, Parents: []state.SHA{a.x.Head()}, Branch: "main", Transition: tr})
	}
	ok(t, a.x.Note("test.note", nil)) // has a number, and changes no state
	ok(t, a.x.RecordLater(state.LimitsSet{Limits: state.Limits{MaxDollars: state.Dollar}}))
	ok(t, a.x.Note("test.note", nil))
	watching.Store(true)
	sha := must(commit(state.CheckpointCreated{Kind: state.KindManual, Branch: "main", Base: true}))(t)
	watching.Store(false)
	if got := strings.Join(calls, " "); got != "sync rename sync" {
		t.Errorf("the journal and the branch: %s", got)
	}
	info := must(a.x.Store.CommitInfo(checkpoint.SHA(sha)))(t)
	record, found, err := githistory.ReadRecord(info)
	if err != nil || !found || record.Seq != a.x.State().Seq || record.Seq != a.x.Journal.Last() {
		t.Errorf("it has the number %d, and its transition %d of %d (%v)", record.Seq, a.x.State().Seq, a.x.Journal.Last(), err)
	}
	packs := func() int {
		list := must(filepath.Glob(filepath.Join(a.x.Layout.Store(), "objects", "pack", "*.pack")))(t)
		return len(list)
	}
	before := packs()
	a.write("log.txt", "still more\n")
	var illegal *state.IllegalMoveError
	if _, err := commit(state.CheckpointCreated{Kind: state.KindManual, Branch: "run-x", RunID: "x"}); !errors.As(err, &illegal) || packs() != before {
		t.Errorf("a checkpoint of no run: %v, %d packs instead of %d", err, packs(), before)
	}
	ok(t, a.x.Close())
}

// Of states in a row the newest is saved last, however long a save takes.
func TestTheNewestStateIsSavedLast(t *testing.T) {
	t.Parallel()
	a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{})
	a.settle()
	w := a.x.StateWriter
	w.Disk.Lock()
	for i := range state.USD(5) {
		ok(t, a.x.Record(state.LimitsSet{Limits: state.Limits{MaxDollars: (i + 1) * state.Dollar}}))
	}
	w.Disk.Unlock()
	ok(t, w.Close())
	if s := must(state.Unmarshal(must(os.ReadFile(a.x.Layout.State()))(t)))(t); s.Seq != a.x.State().Seq || s.Limits.MaxDollars != 5*state.Dollar {
		t.Errorf("event %d with %v is saved, the last is %d", s.Seq, s.Limits, a.x.State().Seq)
	}
	w.Start()
	ok(t, a.x.Close())
}

// Whatever somebody else does to state.json is noticed by the next comparison, and by the
// next save.
func TestAChangeOfTheSavedStateIsNoticed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, path string, text []byte){
		"other content of the same size": func(t *testing.T, path string, text []byte) {
			text[len(text)/2] ^= 1
			ok(t, os.WriteFile(path, text, 0o600))
		},
		"another file": func(t *testing.T, path string, text []byte) {
			put(t, path+".other", text)
			ok(t, os.Rename(path+".other", path))
		},
		"deleted": func(t *testing.T, path string, _ []byte) { remove(t, path) },
	} {
		for _, saved := range []bool{false, true} {
			a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{})
			ok(t, a.start())
			a.settle()
			ok(t, a.x.Watch())
			w, path := a.x.StateWriter, a.x.Layout.State()
			ok(t, w.Save(a.x.State()))
			_ = a.x.Noticed()
			change(t, path, must(os.ReadFile(path))(t))
			next := *a.x.State()
			if !saved {
				if err := w.Changed(); err == nil {
					t.Errorf("%s: the comparison finds nothing", name)
				}
			} else if ok(t, w.Save(&next)); !strings.Contains(strings.Join(a.x.Noticed(), "\n"), "state.json") {
				t.Errorf("%s: the save says nothing", name)
			}
			ok(t, a.x.Close())
		}
	}
}

// A save that waits while the directory is replaced is not made in the new one.
func TestAStateIsNotSavedIntoAnotherDirectory(t *testing.T) {
	t.Parallel()
	a := begin(t, filepath.Join(t.TempDir(), "x"), 3, CreateOptions{})
	a.settle()
	hankweave, w := a.x.Layout.Hankweave(), a.x.StateWriter
	w.Disk.Lock()
	ok(t, a.x.Record(state.LimitsSet{Limits: state.Limits{MaxDollars: state.Dollar}}))
	ok(t, os.Rename(hankweave, hankweave+".moved"))
	ok(t, exec.Command("cp", "-a", hankweave+".moved", hankweave).Run())
	before := hash(t, hankweave)
	w.Disk.Unlock()
	var lost *lock.LostError
	if err := w.Close(); !errors.As(err, &lost) {
		t.Errorf("the save ended with %v", err)
	}
	if hash(t, hankweave) != before {
		t.Error("it was made in a directory that is not locked")
	}
	_ = a.x.Close() // says the same
}
