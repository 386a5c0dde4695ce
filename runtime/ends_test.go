//go:build unix

package runtime

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hank/checkpoint"
	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// The user has a name where the environment does not tell it, as in a container.
func TestTheUserOfARunHasAName(t *testing.T) {
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("USER", "")
	if by := startedBy("vm", false); by.User != u.Username || by.Host != "vm" {
		t.Errorf("got %+v, want %s", by, u.Username)
	}
	t.Setenv("USER", "mary")
	if by := startedBy("vm", false); by.User != "mary" {
		t.Errorf("got %+v", by)
	}
}

// growing prepares three codons in a workspace with a file that, once started,
// grows all the time. It is large, so that it never stands still for as long as
// reading it takes.
func growing(t *testing.T, extra string) (s *stage, count string, start, stop func()) {
	t.Helper()
	count = t.TempDir()
	s = stageOf(t, fmt.Sprintf(`{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log; echo ran >>\"$COUNT/a\""%s},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log; echo ran >>\"$COUNT/b\""},
	  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo c >>log; echo ran >>\"$COUNT/c\""}
	]}`, extra))
	s.opts.Environ = append(s.opts.Environ, "COUNT="+count)
	s.opts.Workspace = t.TempDir()
	file := filepath.Join(s.opts.Workspace, "growing")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 16<<20); err != nil {
		t.Fatal(err)
	}
	start, stop = grow(t, file)
	return s, count, start, sync.OnceFunc(stop)
}

// unstable checks that a run ended because the file grew.
func unstable(t *testing.T, res *Result, err error) {
	t.Helper()
	var e *checkpoint.UnstableError
	if !errors.As(err, &e) || verdict.CodeOf(err) != exitcode.Decision || e.Path != "growing" || !strings.Contains(err.Error(), e.Remedy) {
		t.Fatalf("it ended with %d: %v", verdict.CodeOf(err), err)
	}
	if res != nil && (res.EndReason != state.EndDecision || res.Status != state.StatusFailed || res.Next != "hank run" || res.Codon != "b") {
		t.Errorf("the result is %+v", res)
	}
}

// finding is the reader's one finding.
func (s *stage) finding() finding.Finding {
	s.t.Helper()
	found := s.view().Report.Findings
	if len(found) != 1 {
		s.t.Fatalf("found %v", found)
	}
	return found[0]
}

// A codon that is done and whose checkpoint cannot be made keeps its work: the
// run is paused, not crashed, and the checkpoint alone is made when the file is
// mended, whatever command comes next.
func TestARunIsPausedUntilItsCheckpointCanBeMade(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, next := range map[string]func(*stage){
		"run":      func(s *stage) { s.must(ModeRun, exitcode.Done) },
		"resume":   func(s *stage) { s.must(ModeResume, exitcode.Done) },
		"retry":    func(s *stage) { s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "b" }) },
		"rollback": func(s *stage) { s.mustRollback("b"); s.must(ModeRun, exitcode.Done) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, count, start, stop := growing(t, "")
			defer stop()
			res, err := s.run(ModeRun, onStatus("b", state.CompletingSentinels, start))
			unstable(t, res, err)
			check := func() {
				t.Helper()
				v := s.view()
				r := v.State.Newest()
				if r.Status != state.StatusRunning || r.Paused == nil || r.Paused.Reason != state.EndDecision || !strings.Contains(r.Paused.Detail, "growing") ||
					r.Live() == nil || r.Live().CodonID != "b" || r.Live().Settling == nil || v.Crashed(r) || !v.Validate().Valid || len(v.State.Runs) != 1 {
					t.Fatalf("the run is %s, paused %+v, live %+v, %+v", r.Status, r.Paused, r.Live(), v.Validate())
				}
				f := s.finding()
				if f.Severity != finding.Blocked || !strings.Contains(f.What, `"growing"`) || !strings.Contains(f.What, "paused at codon b") || !strings.Contains(f.What, "hank run") || !strings.Contains(f.What, "which has completed its work and is not run again") {
					t.Errorf("a reader finds %+v", f)
				}
			}
			check()
			_, err = s.run(ModeRun) // it still grows
			unstable(t, nil, err)
			_, err = s.rollback(history.RollbackOptions{To: "a"})
			unstable(t, nil, err)
			check()
			stop()
			next(s)
			s.fsck()
			runs := s.view().State.Runs
			first := runs[len(runs)-1]
			if first.Status != state.StatusFailed || first.EndReason != state.EndDecision || first.Paused != nil || !strings.Contains(first.EndDetail, "growing") {
				t.Errorf("the paused run ended %s (%s: %s)", first.Status, first.EndReason, first.EndDetail)
			}
			if b := first.Codon(1); b.CodonID != "b" || b.Status != state.Completed || b.CompletionCheckpoint == "" {
				t.Errorf("its codon is %s %s", b.CodonID, b.Status)
			}
			if n := history.Crashes(s.view().State, "b"); n != 0 {
				t.Errorf("it counts as %d crashes", n)
			}
			want := "ran\n"
			if name == "retry" {
				want = "ran\nran\n"
			}
			if got := content(t, count, "b"); got != want {
				t.Errorf("the agent has run %q", got)
			}
			if got := content(t, s.opts.Workspace, "log"); got != "a\nb\nc\n" {
				t.Errorf("log: %q", got)
			}
		})
	}
}

// A kill around a pause, and at every step of its end, changes nothing: the
// checkpoint alone is made, and the run has ended for its reason.
func TestAPausedRunThatIsKilledIsStillPaused(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, point := range []string{"", "checkpoint.packed:1", "checkpoint.referenced:1", "transition.acknowledged:1", "transition.acknowledged:2"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "hank.json", `{"hank": [
			  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh",
			   "promptText": "echo 'start a' >>\"$COUNTER\"; head -c 16777216 /dev/zero >growing; until [ $(wc -c <growing) -gt 25165824 ]; do sleep 0.01; done"},
			  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo 'start b' >>\"$COUNTER\""}
			]}`)
			o := order{Execution: filepath.Join(dir, "x"), Hank: dir}
			counter := "COUNTER=" + filepath.Join(dir, "counter")
			file := filepath.Join(o.layout().Workspace, "growing")
			l := o.start(t, counter)
			within(t, patience, "the file is whole", func() bool {
				fi, err := os.Stat(file)
				return err == nil && fi.Size() == 16<<20
			})
			start, stop := grow(t, file)
			stop = sync.OnceFunc(stop)
			defer stop()
			start()
			if l.until(t, "event", "*", "RunPaused"); point == "" {
				l.kill()
			}
			if code, killed := l.wait(); !killed && code != exitcode.Decision {
				t.Fatalf("it ended with %d:\n%s", code, &l.log)
			}
			o.compareSaved(t, o.fold(t))
			stop()
			if point != "" {
				l = o.start(t, counter, "HANK_FAILPOINT="+point)
				if _, killed := l.wait(); !killed {
					t.Fatalf("it was not killed:\n%s", &l.log)
				}
			}
			o.start(t, counter).end(t, exitcode.Done)
			o.clean(t)
			runs := o.fold(t).state.Runs
			if first := runs[len(runs)-1]; first.EndReason != state.EndDecision || first.Len() != 1 || first.Codon(0).Status != state.Completed {
				t.Errorf("the paused run ended %s (%s) with %d records", first.Status, first.EndReason, first.Len())
			}
			if got := starts(t, filepath.Join(dir, "counter")); got["a"] != 1 || got["b"] != 1 {
				t.Errorf("started: %v", got)
			}
		})
	}
}

// Between two codons there is nothing to wait for: the run ends, and says why.
func TestADecisionBetweenTwoCodonsEndsTheRun(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, count, start, stop := growing(t, `, "archiveOnSuccess": ["gone"]`)
	defer stop()
	put(t, s.opts.Workspace, "gone", "to the archive")
	var once sync.Once
	_, err := s.run(ModeRun, func(o *command) {
		o.Appended = func(_ journal.Event, st *state.State) {
			if r := st.Current(); r != nil && r.Live() == nil && r.Len() == 1 {
				once.Do(start)
			}
		}
	})
	unstable(t, nil, err)
	r := s.view().State.Newest()
	if r.Status != state.StatusFailed || r.EndReason != state.EndDecision || r.Paused != nil || len(s.view().Report.Findings) != 0 {
		t.Errorf("the run ended %s (%s), found %v", r.Status, r.EndReason, s.view().Report.Findings)
	}
	stop()
	s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = true })
	if onDisk(s.opts.Workspace, "gone") || content(t, s.root, "rigArchive/a/gone") != "to the archive" {
		t.Error("the archive is not made")
	}
	if got := content(t, count, "a") + content(t, count, "b"); got != "ran\nran\n" {
		t.Errorf("the agents have run %q", got)
	}
}

// The exit checkpoint is what the end of the last codon has found. What the user changes
// in the moment between them is not recorded unasked: the next command finds it.
func TestWhatIsChangedBetweenTheLastCodonAndTheExitCheckpointIsAnEdit(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"}]}`)
	s.must(ModeRun, exitcode.Done, func(o *command) {
		o.Appended = func(_ journal.Event, st *state.State) {
			if r := st.Newest(); r != nil && r.Status == state.StatusCompleted && r.Head == r.Codon(0).Checkpoint() {
				put(t, s.workspace(), "log", "by hand\n")
			}
		}
	})
	r := s.view().State.Newest()
	if end := r.Codon(0).Checkpoint(); r.Head == end || !maps.Equal(s.treeIn(r.Head), s.treeIn(end)) {
		t.Fatalf("the exit checkpoint is %s of %v, the codon's %s of %v", r.Head, s.treeIn(r.Head), end, s.treeIn(end))
	}
	if _, err := s.run(ModeRun); verdict.CodeOf(err) != exitcode.Decision || !strings.Contains(err.Error(), `modified "log"`) {
		t.Errorf("nobody was asked: %v", err)
	}
	if content(t, s.workspace(), "log") != "by hand\n" {
		t.Error("the edit is gone")
	}
}

// An error of hank itself in mid-run is the reason that the run ends for, and
// no crash; the codon that was running is done again from before it.
func TestAnErrorOfHankItselfIsTheReasonOfTheEnd(t *testing.T) {
	t.Parallel()
	count := t.TempDir()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log; echo ran >>\"$COUNT/b\""}
	]}`)
	s.opts.Environ = append(s.opts.Environ, "COUNT="+count)
	res, err := s.run(ModeRun, onStatus("b", state.Preparing, func() { // a file where the transcripts are to be
		runs := layout.Layout{Root: s.root}.Runs()
		if err := errors.Join(os.RemoveAll(runs), os.WriteFile(runs, nil, 0o600)); err != nil {
			t.Error(err)
		}
	}))
	if verdict.CodeOf(err) != exitcode.IO || res.EndReason != state.EndError || res.Code != exitcode.IO || res.Codon != "b" || res.Next != "hank run" {
		t.Fatalf("it ended with %d: %v, %+v", verdict.CodeOf(err), err, res)
	}
	found := s.view().Report.Findings // the file, and what it has led to
	if f := found[len(found)-1]; len(found) != 2 || f.Severity != finding.Mended || !strings.Contains(f.What, "paused at codon b (starting), which `hank run` does again") || !strings.Contains(f.What, "transcript") {
		t.Errorf("a reader finds %+v", f)
	}
	if told := s.told("error"); len(told) != 1 || told[0]["severity"] != "fatal" || !strings.Contains(fmt.Sprint(told[0]["message"]), "transcript") {
		t.Errorf("the error is told as %v", told)
	}
	s.must(ModeRun, exitcode.Done)
	first := s.view().State.Runs[1]
	b := first.Codon(1)
	if first.Status != state.StatusFailed || first.EndReason != state.EndError || b.Status != state.Failed || b.Interrupted != state.InterruptedByPause || !strings.Contains(b.FailureReason.Message, "transcript") {
		t.Errorf("the run ended %s (%s), its codon %s: %+v", first.Status, first.EndReason, b.Status, b.FailureReason)
	}
	if got := content(t, s.workspace(), "log") + content(t, count, "b"); got != "a\nb\nran\n" {
		t.Errorf("log and count: %q", got)
	}
}

// A kill anywhere between the end of the last codon and the end of its run
// leaves the archive, the end and the exit checkpoint to the next run.
func TestARunKilledBehindItsLastCodonIsBroughtToItsEnd(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, point := range []string{
		"checkpoint.referenced:3", // the completion of b is in git, not in the journal
		"plan.done:1", "archive.copied:1", "archive.recorded:1", "archive.removed:1",
		"checkpoint.referenced:4", // the archive is in git, not in the journal
		"run.ended:1",
		"checkpoint.packed:5",     // the exit is nowhere
		"checkpoint.referenced:5", // the exit is in git, not in the journal
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "hank.json", `{"hank": [
			  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo 'start a' >>\"$COUNTER\"; echo a >log"},
			  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo 'start b' >>\"$COUNTER\"; echo b >>log; echo draft >draft; echo result >result",
			   "outputFiles": [{"copy": ["result"]}], "archiveOnSuccess": ["draft"]}
			]}`)
			o := order{Execution: filepath.Join(dir, "x"), Hank: dir, Output: filepath.Join(dir, "output")}
			counter := filepath.Join(dir, "counter")
			l := o.start(t, "COUNTER="+counter, "HANK_FAILPOINT="+point)
			if _, killed := l.wait(); !killed {
				t.Fatalf("it was not killed:\n%s", &l.log)
			}
			o.start(t, "COUNTER="+counter).end(t, exitcode.Done)
			o.clean(t)
			s := o.fold(t).state
			run := s.Newest()
			v, err := recovery.Read(o.Execution)
			if err != nil {
				t.Fatal(err)
			}
			store, err := v.Store()
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			head, err := store.CommitInfo(checkpoint.SHA(run.Head))
			if run.Status != state.StatusCompleted || err != nil || !strings.HasPrefix(head.Message, "exit:") {
				t.Errorf("the newest run is %s, its newest checkpoint %.20q, %v", run.Status, head.Message, err)
			}
			if got := starts(t, counter); got["a"] != 1 || got["b"] != 1 {
				t.Errorf("started: %v", got)
			}
			if got := content(t, o.Execution, "rigArchive/b/draft") + content(t, o.Output, "result") + content(t, o.layout().Workspace, "log"); got != "draft\nresult\na\nb\n" {
				t.Errorf("archive, output and log: %q", got)
			}
			if onDisk(o.layout().Workspace, "draft") {
				t.Error("what was archived is in the workspace")
			}
			before := o.fold(t).last
			o.start(t, "COUNTER="+counter).end(t, exitcode.Done)
			if again := o.fold(t); len(again.state.Runs) != len(s.Runs) || again.last != before {
				t.Errorf("a run of what is done did something: %d runs, then %d; event %d, then %d", len(s.Runs), len(again.state.Runs), before, again.last)
			}
		})
	}
}

// A codon that used its budget up stays failed, as onExceeded has it, and the reason stays
// the budget.
func TestABudgetThatWasUsedUpEarlierIsStillABudget(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "sleep 60",
	  "budget": {"maxTimeSeconds": 0.2, "onExceeded": "fail"}}]}`)
	for _, when := range []string{"now", "earlier"} {
		res := s.must(ModeRun, exitcode.Failed)
		if res.EndReason != state.EndBudget || res.Next != "hank retry --adopt" || res.Codon != "a" || strings.Contains(res.Message, "earlier") != (when == "earlier") {
			t.Errorf("%s: %+v", when, res)
		}
	}
}
