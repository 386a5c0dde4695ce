package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/checkpoint"
	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/lock"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/state"
)

// commits lists what Rollback can go to: the initial checkpoint and all of a
// run's, oldest first.
func (s *stage) commits() []state.SHA {
	s.t.Helper()
	v := s.view()
	var out []state.SHA
	branch := v.State.Newest().GitBranch
	for _, line := range slices.Backward(strings.Fields(s.git("rev-list", "--topo-order", branch))) {
		out = append(out, state.SHA(line))
	}
	return out
}

func TestEveryCheckpointOfAFinishedRunComesBackByteForByte(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := quickstart(t)
	s.must(ModeRun, exitcode.Done)
	final := s.tree()
	commits := s.commits()
	if len(commits) < 12 {
		t.Fatalf("only %d checkpoints", len(commits))
	}
	for _, sha := range commits {
		before := s.tree()
		disk := everything(t, s.root)
		preview, err := history.PreviewRollback(context.Background(), history.RollbackOptions{Execution: s.root, To: string(sha)})
		if err != nil {
			t.Fatalf("preview of %s: %v", sha, err)
		}
		if now := everything(t, s.root); !maps.Equal(disk, now) {
			t.Fatalf("the preview of %s has changed the disk", sha)
		}
		done := s.mustRollback(string(sha))
		if got, want := fmt.Sprint(done.Add, done.Change, done.Delete, done.Keep, done.CostKept, done.CostLeft), fmt.Sprint(preview.Add, preview.Change, preview.Delete, preview.Keep, preview.CostKept, preview.CostLeft); got != want {
			t.Errorf("%s: the preview said %s, and the rollback did %s", sha, want, got)
		}
		sameTree(t, "rolled back to "+string(sha), s.tree(), s.treeIn(sha))
		s.mustUndo()
		sameTree(t, "taken back from "+string(sha), s.tree(), before)
		s.mustUndo() // the undo, in turn
		sameTree(t, "the undo taken back", s.tree(), s.treeIn(sha))
	}
	s.mustRollback(string(commits[len(commits)-1]))
	sameTree(t, "back at the end", s.tree(), final)
	s.must(ModeRun, exitcode.Done)
	s.fsck()
}

// From wherever one continues, the hank ends as if nothing had been. The long
// form, with HANK_LONG set, tries every checkpoint.
func TestARollbackFollowedByRunEndsLikeAnUndisturbedRun(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := quickstart(t)
	s.must(ModeRun, exitcode.Done)
	want, plan := s.tree(), s.planIDs()
	commits := s.commits()
	for i, sha := range commits {
		if os.Getenv("HANK_LONG") == "" && i%8 != 0 && i != 4 && i != 5 { // these two are around an archive
			continue
		}
		s.mustRollback(string(sha))
		s.must(ModeRun, exitcode.Done)
		sameTree(t, fmt.Sprintf("run on from checkpoint %d, %s", i, s.git("log", "-1", "--format=%s", string(sha))), s.tree(), want)
		if got := s.planIDs(); !slices.Equal(got, plan) {
			t.Fatalf("run on from checkpoint %d: the plan is %v, want %v", i, got, plan)
		}
	}
	s.fsck()
}

func (s *stage) planIDs() []state.CodonID {
	s.t.Helper()
	var out []state.CodonID
	for _, e := range s.view().State.ExecutionPlan() {
		out = append(out, e.CodonID)
	}
	return out
}

func TestARollbackCutsTheLoopBackAndItGrowsAgain(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := newStage(t, fixture(t, "hanks/loop"))
	s.must(ModeRun, exitcode.Done)
	want := s.tree()
	for _, to := range []struct {
		target string
		plan   string
	}{
		{"criticise#1", "write criticise#0 revise#0 criticise#1 revise#1 finish"},
		{"revise#1:completed", "write criticise#0 revise#0 criticise#1 revise#1 criticise#2 revise#2 finish"},
		{"write", "write criticise#0 revise#0 finish"},
		{"initial", "write criticise#0 revise#0 finish"},
	} {
		s.mustRollback(to.target)
		if got := strings.Trim(fmt.Sprint(s.planIDs()), "[]"); got != to.plan {
			t.Errorf("rolled back to %s the plan is %s, want %s", to.target, got, to.plan)
		}
		s.must(ModeRun, exitcode.Done)
		sameTree(t, "run on from "+to.target, s.tree(), want)
		s.must(ModeRun, exitcode.Done) // nothing left: it says so and does nothing
	}
}

// choosy is a hank that names what its checkpoints hold.
const choosy = `{"hank": [
  {"id": "one", "name": "One", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["kept/**"],
   "promptText": "set -eu\nmkdir -p kept other\necho 1 >kept/a\necho 1 >other/a\necho log >debug.log\n"},
  {"id": "two", "name": "Two", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["more/*"],
   "promptText": "set -eu\nmkdir -p more\necho 2 >kept/a\necho 2 >kept/b\necho 2 >more/b\necho 2 >other/a\necho 2 >other/b\n"}
]}`

func TestWhatNoCheckpointTracksStaysAsItIs(t *testing.T) {
	t.Parallel()
	s := stageOf(t, choosy)
	work := t.TempDir()
	s.opts.Workspace = work
	put(t, work, ".gitignore", "*.log\n")
	put(t, work, "mine.log", "a person's log\n")
	put(t, work, "more/early", "there before the codon that tracks it\n")
	s.must(ModeRun, exitcode.Done)
	final := s.tree()

	s.mustRollback("one")
	at := s.tree()
	for path, want := range map[string]string{"kept/a": "1\n", "other/a": "2\n", "other/b": "2\n", "mine.log": "a person's log\n", "debug.log": "log\n", "more/early": "there before the codon that tracks it\n"} {
		if got := content(t, work, path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{"kept/b", "more/b"} {
		if onDisk(work, path) {
			t.Errorf("%s, which a checkpoint behind the target holds, is still there", path)
		}
	}
	s.mustUndo()
	sameTree(t, "taken back", s.tree(), final)
	s.mustUndo()
	sameTree(t, "taken back twice", s.tree(), at)
	s.must(ModeRun, exitcode.Done) // nobody has edited anything
	sameTree(t, "run on", s.tree(), final)
}

func TestTargetsNameWhatTheySay(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := newStage(t, fixture(t, "hanks/rigs"))
	s.must(ModeRun, exitcode.Done)
	v := s.view()
	store, err := v.Store()
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	run := v.State.Newest()
	equipped, replaced := run.Codon(0), run.Codon(1)
	for text, want := range map[string]state.SHA{
		"initial":                  v.State.InitialCheckpoint,
		"last-success":             replaced.CompletionCheckpoint,
		"equipped":                 equipped.CompletionCheckpoint,
		"equipped:completed":       equipped.CompletionCheckpoint,
		"equipped:rig-setup":       equipped.RigSetupCheckpoint,
		"codon:replaced":           replaced.CompletionCheckpoint,
		"run:" + string(run.RunID): replaced.CompletionCheckpoint,
		"sha:" + string(equipped.RigSetupCheckpoint):    equipped.RigSetupCheckpoint,
		string(equipped.RigSetupCheckpoint)[:12]:        equipped.RigSetupCheckpoint,
		"codon:replaced:rig-setup":                      replaced.RigSetupCheckpoint,
		"sha:" + string(v.State.InitialCheckpoint)[:10]: v.State.InitialCheckpoint,
	} {
		got, err := history.ResolveTarget(v.State, store, text)
		if err != nil || got.SHA != want {
			t.Errorf("%s is %s (%v), want %s", text, got.SHA, err, want)
		}
	}
	for _, text := range []string{"nobody", "equipped:error", "codon:initial", string(v.State.Program), "sha:" + string(v.State.Program)[:12], "sha:zz", "sha:abc", "run:0-none", "deadbeef", ""} {
		_, err := history.ResolveTarget(v.State, store, text)
		var target *history.TargetError
		if !errors.As(err, &target) || len(target.Candidates) > 0 || verdict.CodeOf(err) != exitcode.Usage {
			t.Errorf("%q is taken for something: %v (code %d)", text, err, verdict.CodeOf(err))
		}
	}
	if _, err := s.rollback(history.RollbackOptions{To: "nobody"}); verdict.CodeOf(err) != exitcode.Usage {
		t.Errorf("rolling back to nobody: %v (code %d)", err, verdict.CodeOf(err))
	}
	_, err = history.ResolveTarget(v.State, twins{store}, "sha:"+string(equipped.RigSetupCheckpoint)[:6])
	var target *history.TargetError
	if !errors.As(err, &target) || len(target.Candidates) != 2 || verdict.CodeOf(err) != exitcode.Usage ||
		!strings.Contains(err.Error(), "equipped:rig-setup") || !strings.Contains(err.Error(), "initial") {
		t.Errorf("two commits with one prefix: %v", err)
	}
}

// twins finds the initial checkpoint too, whatever is asked for.
type twins struct{ *checkpoint.Store }

func (w twins) Resolve(prefix string) ([]checkpoint.SHA, error) {
	found, err := w.Store.Resolve(prefix)
	if err != nil {
		return nil, err
	}
	initial, err := w.Ref("refs/heads/main")
	return append(found, initial), err
}

func TestRollingBackToAFailureAndToItsRig(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log; echo half >half; test -e ok",
	   "rigSetup": [{"type": "command", "command": {"run": "echo rig >>rig.log"}}]}
	]}`)
	s.must(ModeRun, exitcode.Failed)
	work, failed := s.workspace(), s.last("b")
	dirty := s.tree()

	s.mustRollback("b:rig-setup")
	sameTree(t, "after the rig", s.tree(), s.treeIn(failed.RigSetupCheckpoint))
	s.mustRollback("b:error")
	sameTree(t, "at the error", s.tree(), dirty)
	s.mustRollback("last-success")
	sameTree(t, "last success", s.tree(), s.treeIn(s.last("a").CompletionCheckpoint))
	if onDisk(work, "rig.log") {
		t.Error("the rig's file is still there")
	}

	s.mustRollback("b:rig-setup")
	s.must(ModeRun, exitcode.Failed) // a rollback is the person's word: the codon is done again, without its rig
	if got := content(t, work, "rig.log"); got != "rig\n" {
		t.Errorf("the rig ran again: %q", got)
	}
	s.mustRollback("b:error")
	put(t, work, "ok", "")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = true })
	if got := content(t, work, "log"); got != "a\nb\nb\n" {
		t.Errorf("gone on from the error, the log is %q", got)
	}
}

// A checkpoint of what a codon finds that a move has left is before that codon, also where
// it is made behind the codon's rig.
func TestRollingBackToWhatACodonFoundBehindItsRig(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo k >.gitignore; echo b >k",
	   "rigSetup": [{"type": "command", "command": {"run": "echo rig >>rig.log"}}]},
	  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo c >>log"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	s.mustRollback("b:rig-setup") // which leaves k, ignored until then
	s.must(ModeRun, exitcode.Done)
	found := strings.TrimSpace(s.git("log", "--all", "--format=%H", "--grep=^tracked:b"))
	s.mustRollback(found)
	if v := s.view().State; v.Next() != 1 || v.Position.RestartAt != "b" {
		t.Errorf("before codon b, %d codons are finished, and %q is next", v.Next(), v.Position.RestartAt)
	}
	s.must(ModeRun, exitcode.Done)
}

func TestAnUndoWithoutARollbackIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, fixture(t, "hanks/two-steps"))
	s.must(ModeRun, exitcode.Done)
	before := everything(t, s.root)
	_, err := s.rollback(history.RollbackOptions{Undo: true})
	var usage *exitcode.UsageError
	if !errors.As(err, &usage) {
		t.Errorf("an undo of nothing: %v", err)
	}
	delete(before, ".")
	if _, err := s.rollback(history.RollbackOptions{To: "first", Confirm: func(history.Preview) bool { return false }}); !errors.Is(err, history.ErrDeclined) {
		t.Errorf("declined: %v", err)
	}
	for path, was := range treeOn(t, s.workspace()) {
		if got := everything(t, s.root)["agentRoot/"+path]; got != before["agentRoot/"+path] {
			t.Errorf("%s (%s) was touched", path, was)
		}
	}
}

// A restore of some paths moves neither the others nor the place in the plan.
func TestRestoringPathsTouchesNothingElse(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := newStage(t, fixture(t, "hanks/two-steps"))
	s.must(ModeRun, exitcode.Done)
	before, next := s.tree(), s.view().State.Next()
	done, err := s.rollback(history.RollbackOptions{To: "first", Paths: []string{"notes/kept.txt", "notes/removed.txt"}})
	if err != nil {
		t.Fatal(err)
	}
	first := s.treeIn(s.last("first").CompletionCheckpoint)
	want := maps.Clone(before)
	for _, p := range []string{"notes/kept.txt", "notes/removed.txt"} {
		want[p] = first[p]
	}
	sameTree(t, "restored", s.tree(), want)
	if s.view().State.Next() != next {
		t.Error("the place in the plan has moved")
	}
	sameTree(t, "the safety checkpoint", s.treeIn(done.Safety), before)
}

func TestAnExecutionThatIsHeldIsNotRolledBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := newStage(t, fixture(t, "hanks/two-steps"))
	s.must(ModeRun, exitcode.Done, func(o *command) { o.StopAfter = 0 })
	x, err := recovery.Open(context.Background(), s.root, execution.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	before := s.tree()
	_, err = s.rollback(history.RollbackOptions{To: "first"})
	var held *lock.HeldError
	if !errors.As(err, &held) || verdict.CodeOf(err) != exitcode.Held {
		t.Errorf("rolled back under a holder: %v", err)
	}
	sameTree(t, "held", s.tree(), before)
}

// A checkpoint of what the user has changed leads to the place where that was,
// wherever the answer has put it.
func TestAManualCheckpointLeadsToItsPlace(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, c := range map[string]struct {
		rollback string // before the edit
		answer   func(*command)
	}{
		"kept":                     {"", func(o *command) { o.KeepTree = true }},
		"not kept":                 {"", func(o *command) { o.Restore = true }},
		"kept behind a move":       {"a", func(o *command) { o.KeepTree = true }},
		"not kept behind a move":   {"a", func(o *command) { o.Restore = true }},
		"kept at a rig":            {"b:rig-setup", func(o *command) { o.KeepTree = true }},
		"kept where all was begun": {"initial", func(o *command) { o.KeepTree = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, `{"hank": [
			  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"},
			  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >b", "rigSetup": [{"type": "command", "command": {"run": "echo r >>r", "workingDirectory": "project"}}]}
			]}`)
			if c.rollback == "" {
				s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
			} else {
				s.must(ModeRun, exitcode.Done)
				s.mustRollback(c.rollback)
			}
			put(t, s.workspace(), "mine", "mine\n")
			was, next := s.tree(), s.view().State.Next()
			s.must(ModeRun, exitcode.Done, c.answer)
			end := s.tree()
			s.mustRollback(strings.TrimSpace(s.git("log", "--all", "--format=%H", "--grep=^manual:")))
			sameTree(t, "there", s.tree(), was)
			v := s.view().State
			if v.Next() != next || v.Position.RigDone != (c.rollback == "b:rig-setup") {
				t.Errorf("the next codon is %d, want %d: %+v", v.Next(), next, v.Position)
			}
			s.must(ModeRun, exitcode.Done)
			end["mine"] = was["mine"]
			sameTree(t, "and on", s.tree(), end)
		})
	}
}

// Where the workspace is changed while a rollback's question is open, so that the rollback
// would do something else, it is asked again.
func TestARollbackAsksAgainAboutWhatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo 1 >f"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo 2 >f"}]}`)
	s.must(ModeRun, exitcode.Done)
	var asked []string
	done, err := s.rollback(history.RollbackOptions{To: "a", Confirm: func(p history.Preview) bool {
		if len(asked) == 0 {
			put(t, s.workspace(), "meanwhile", "x")
		}
		asked = append(asked, fmt.Sprint(p.Change, p.Delete))
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"[{f modified}] []", "[{f modified}] [{meanwhile deleted}]"}; !slices.Equal(asked, want) {
		t.Errorf("it was asked about %q, want %q", asked, want)
	}
	if onDisk(s.workspace(), "meanwhile") || content(t, s.workspace(), "f") != "1\n" {
		t.Error("it did not do what was agreed to")
	}
	if got := s.git("show", string(done.Safety)+":meanwhile"); got != "x" {
		t.Errorf("the safety checkpoint has %q", got)
	}
}

// TestCommandsOfOneOperationAnswerTheSame: of several at once, one makes the move, and the one
// that comes to record its answer after another answers what the other has recorded.
func TestCommandsOfOneOperationAnswerTheSame(t *testing.T) {
	t.Parallel()
	s := newStage(t, fixture(t, "hanks/two-steps"))
	s.must(ModeRun, exitcode.Done)
	o := history.RollbackOptions{To: "first", Execution: s.root, Say: s.say,
		Answer: func(done *history.RolledBack) any { return report.MovedOf(done, true) }}
	if err := history.Identify(&o, "back", time.Now()); err != nil {
		t.Fatal(err)
	}
	done, err := s.rollback(o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.rollback(o)
	if err != nil || again.Repeats == nil {
		t.Fatalf("the same operation again: %+v, %v", again, err)
	}
	recorded, err := report.AnswerMove(t.Context(), o, again, report.Follows{Command: "hank run --frozen"})
	if err != nil {
		t.Fatal(err)
	}
	late, err := report.AnswerMove(t.Context(), o, done, report.Follows{Command: "hank run"})
	if err != nil || late.Command != recorded.Command || late.Safety != recorded.Safety {
		t.Errorf("the other command has answered %+v, and this one %+v, %v", recorded, late, err)
	}
}
