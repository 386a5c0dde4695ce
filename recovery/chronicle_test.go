package recovery

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hank/checkpoint"
	"hank/internal/short"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
)

// A crash came after a commit and before its reference moved. The codon was
// closed with another commit, which carries the same number: with everything
// but git lost, the one that the reference leads to counts, whatever the clock
// said.
func TestOfTwoCommitsWithOneNumberTheReferencedOneCounts(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, back := range []time.Duration{0, time.Minute} {
		for round := range 4 { // which comes first in a pack is chance
			root := t.TempDir()
			at := time.Date(2026, 1, 1, 0, 0, round, 0, time.UTC)
			a := begin(t, root, 12, CreateOptions{Options: execution.Options{FS: fast, Now: func() time.Time { return at }}})
			ok(t, a.start())
			ok(t, a.upto(3))
			if err := a.play(attempt{upto: state.CompletingSentinels}); err != errCut {
				t.Fatal(err)
			}
			r := a.x.State().Run(a.run)
			live := r.Live()
			final := live.Conclude(a.x.Now())
			snap := must(a.x.Snapshot(a.ctx, checkpoint.Selection{All: true}, a.x.Head()))(t)
			must(a.x.CommitObject(a.ctx, execution.Commit{Title: githistory.Title{Status: state.KindCompleted, CodonID: live.CodonID, RunID: a.run},
				Snapshot: snap, Parents: []state.SHA{a.x.Head()}, Branch: r.GitBranch, Transition: state.CodonTransitioned{RunID: a.run, Record: final}}))(t)
			at = at.Add(-back)
			failed := live.Interrupt(a.x.Now(), state.InterruptedByCrash, "hank ended")
			ok(t, Finish(a.ctx, a.x, a.run, "x", failed, checkpoint.Selection{All: true}))
			want := a.x.State().Run(a.run).Head
			ok(t, a.x.Record(endOf(a.x, r, "a test ends it")))
			l := a.x.Layout
			a.close()
			loseAllButGit(t, l)
			x := reopen(t, root)
			got := x.State().Run(a.run)
			if last := got.Codon(got.Len() - 1); got.Head != want || last.Status != state.Failed {
				t.Errorf("clock set back %s: head %.12s, want %.12s; the codon is %s", back, got.Head, want, last.Status)
			}
			ok(t, x.Close())
		}
	}
}

func loseAllButGit(t *testing.T, l layout.Layout) {
	t.Helper()
	for _, path := range []string{l.State(), l.State() + ".bak", l.Events()} {
		ok(t, os.RemoveAll(path))
	}
}

// copyLive copies an execution that is open. A file that goes meanwhile makes cp fail.
func copyLive(t *testing.T, from, to string) {
	t.Helper()
	for try := 0; ; try++ {
		said, err := exec.Command("cp", "-a", from, to).CombinedOutput()
		if err == nil {
			return
		}
		if try == 9 {
			t.Fatalf("%v: %s", err, said)
		}
		ok(t, os.RemoveAll(to))
	}
}

// A copy goes its own way, also when somebody has put the original's objects
// into its store and everything but git is lost.
func TestACopyWithItsOriginalsObjectsStaysItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	a := begin(t, first, 14, CreateOptions{})
	ok(t, a.start())
	ok(t, a.upto(3))
	ok(t, a.x.StateWriter.Save(a.x.State()))
	copyLive(t, first, second)
	ok(t, a.upto(9)) // the original goes on
	original := a.x.Layout
	a.close()
	b := &author{t: t, ctx: a.ctx, program: a.program, runs: 1}
	b.x = reopen(t, second)
	b.write("log.txt", "by hand\n")
	snap := must(b.x.Snapshot(b.ctx, checkpoint.Selection{All: true}, b.x.Head()))(t)
	made := state.CheckpointCreated{Kind: state.KindManual, RunID: a.run, Branch: "run-" + string(a.run), Base: true, Note: "by hand"}
	want := must(b.x.Commit(b.ctx, execution.Commit{Title: githistory.Title{Status: state.KindManual, RunID: a.run}, Snapshot: snap,
		Parents: []state.SHA{b.x.Head()}, Branch: made.Branch, Transition: made}))(t)
	next, l := b.x.State().Next(), b.x.Layout
	b.close()
	ok(t, exec.Command("cp", "-a", filepath.Join(original.Store(), "objects")+"/.", filepath.Join(l.Store(), "objects")).Run())
	loseAllButGit(t, l)
	x := reopen(t, second)
	if s := x.State(); s.Run(a.run).Head != want || s.Next() != next {
		t.Errorf("head %.12s, want %.12s; next %d, want %d", s.Run(a.run).Head, want, s.Next(), next)
	}
	ok(t, x.Close())
}
