//go:build unix

package runtime

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/internal/race"
	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
	"hank/runtime/gc"
	"hank/runtime/history"
	"hank/runtime/internal/testkit"
	"hank/runtime/session"
	"hank/state"
)

func init() {
	testkit.Parts["gc"] = func(args []string) error {
		_, err := gc.Collect(context.Background(), args[0], ancient(), nil)
		return err
	}
}

// threeLives is an execution whose first run nothing needs any more: its second
// one is where the last rollback came from.
func threeLives(t *testing.T) (s *stage, old *state.Run) {
	t.Helper()
	s = stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "date +%N >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "date +%N >b"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	for range 2 {
		s.mustRollback("initial")
		s.must(ModeRun, exitcode.Done)
	}
	runs := s.view().State.Runs
	return s, runs[len(runs)-1]
}

// keepSession gives a run a session, as an agent would have left it.
func (s *stage) keepSession(run state.RunID) {
	s.t.Helper()
	x, err := recovery.Open(s.t.Context(), s.root, execution.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer x.Close()
	home := s.t.TempDir()
	put(s.t, home, "session", "what an agent has said in "+string(run))
	if _, err := session.Keep(s.t.Context(), x, run, "session: kept", session.Files{Root: home, Names: []string{"session"}}); err != nil {
		s.t.Fatal(err)
	}
}

// collected checks that the old run's checkpoints are gone, and nothing else.
func (s *stage) collected(old *state.Run, cost state.USD) {
	s.t.Helper()
	v := s.view()
	run := v.State.Run(old.RunID)
	if run == nil || run.Removed == nil || run.Len() != old.Len() || v.State.TotalCost() != cost {
		s.t.Fatalf("of the removed run is known: %+v", run)
	}
	if found := v.Validate(); !found.Valid || len(found.Warnings) > 0 {
		s.t.Errorf("the state is %+v", found)
	}
	if heads := s.git("for-each-ref", "--format=%(refname)"); strings.Contains(heads, string(old.RunID)) || strings.Count(heads, "/run-") != 2 || strings.Count(heads, "/recovery/") != 1 {
		s.t.Errorf("there are the branches %s", heads)
	}
	if lost := s.git("fsck", "--strict", "--full", "--no-progress", "--unreachable"); lost != "" {
		s.t.Errorf("what nothing leads to is still there: %s", lost)
	}
	_, err := s.rollback(history.RollbackOptions{To: "sha:" + string(old.Head)})
	var gone *history.TargetError
	if !errors.As(err, &gone) || gone.Removed == nil {
		s.t.Errorf("a rollback to it says %v", err)
	}
}

func TestGCRemovesWhatNothingNeeds(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, old := threeLives(t)
	s.keepSession(old.RunID)
	cost := s.view().State.TotalCost()
	there := s.tree()
	if list, err := gc.ListGarbage(context.Background(), s.view(), gc.Policy{Now: time.Now(), OlderThan: time.Hour}); err != nil ||
		slices.ContainsFunc(list, func(g gc.Garbage) bool { return g.Remove && g.Kind != gc.Index && g.Kind != gc.Temporary }) {
		t.Fatalf("what is young may go: %+v, %v", list, err)
	}
	before := everything(t, s.root)
	if _, err := gc.ListGarbage(context.Background(), s.view(), ancient()); err != nil {
		t.Fatal(err)
	}
	sameTree(t, "after a dry run", everything(t, s.root), before)
	gone, err := gc.Collect(context.Background(), s.root, ancient(), nil)
	if err != nil || !slices.ContainsFunc(gone, func(g gc.Garbage) bool { return g.Store && g.Bytes > 0 }) {
		t.Fatalf("went: %+v, %v", gone, err)
	}
	s.collected(old, cost)
	sameTree(t, "the workspace", s.tree(), there)

	// Git alone knows it too.
	for _, name := range []string{s.view().Layout.State(), s.view().Layout.State() + ".bak", s.view().Layout.Events()} {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	s.must(ModeRun, exitcode.Done)
	if run := s.view().State.Run(old.RunID); run == nil || run.Removed == nil || run.Len() != 2 {
		t.Errorf("rebuilt from git, the removed run is %+v", run)
	}
	s.fsck()
}

func TestAfterGCTheLastRollbackCanBeTakenBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, _ := threeLives(t)
	runs := s.view().State.Runs
	want := s.treeIn(runs[1].Head)
	if _, err := gc.Collect(context.Background(), s.root, ancient(), nil); err != nil {
		t.Fatal(err)
	}
	s.mustUndo()
	sameTree(t, "the rollback taken back", s.tree(), want)
	if _, err := gc.Collect(context.Background(), s.root, ancient(), nil); err != nil { // from a position
		t.Fatal(err)
	}
	s.mustUndo()
	s.fsck()
	if !s.view().Validate().Valid {
		t.Errorf("%+v", s.view().Validate())
	}
}

// Killed between any two of its steps, gc has done nothing, or the next one
// finishes it.
func TestGCKilledAnywhereIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for i, point := range []string{"pack.written", "pack.renamed", "pack.indexed:1", "checkpoint.packed", "ref.locked:1", "ref.written", "ref.renamed", "checkpoint.referenced",
		"transition.acknowledged", "gc.acknowledged", "ref.locked:2", "gc.unreferenced:1", "gc.unreferenced:2", "pack.indexed:2", "collect.exchanged:1", "merge.removed:1", "gc.collected"} {
		if i%race.Step > 0 {
			continue
		}
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s, old := threeLives(t)
			cost := s.view().State.TotalCost()
			cmd := exec.Command(os.Args[0], "__part", "gc", s.root)
			cmd.Env = append(os.Environ(), "HANK_FAILPOINT="+point)
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Fatalf("it was not killed: %s", out)
			}
			s.fsck()
			if v := s.view(); !v.Validate().Valid || v.Report.Has(finding.Lost) || v.Report.Has(finding.Blocked) {
				t.Fatalf("a reader finds %+v, %+v", v.Report, v.Validate())
			}
			if _, err := gc.Collect(context.Background(), s.root, ancient(), nil); err != nil {
				t.Fatal(err)
			}
			s.collected(old, cost)
			s.mustUndo()
			s.must(ModeRun, exitcode.Done)
		})
	}
}

// What led to the checkpoint at which the execution stands stays on a branch,
// whichever run made it.
func TestGCKeepsTheBranchOfWhereTheExecutionStands(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "date +%N >b", "rigSetup": [{"type": "command", "command": {"run": "date +%N >rig", "workingDirectory": "project"}}]}
	]}`)
	s.must(ModeRun, exitcode.Done)
	s.mustRollback("a")
	s.must(ModeRun, exitcode.Done)
	rig := s.last("b").RigSetupCheckpoint
	for range 2 {
		s.mustRollback("a")
		s.must(ModeRun, exitcode.Done)
	}
	s.mustRollback(string(rig))
	there := s.tree()
	if _, err := gc.Collect(context.Background(), s.root, ancient(), nil); err != nil {
		t.Fatal(err)
	}
	if found := s.git("branch", "--contains", string(rig)); found == "" {
		t.Error("the execution stands at a checkpoint that no branch leads to")
	}
	sameTree(t, "after gc", s.tree(), there)
	s.must(ModeRun, exitcode.Done)
	s.fsck()
}

// So does what led to it where its run's branch has gone before, and a recovery
// branch was what still led to it.
func TestGCKeepsARecoveryBranchThatAloneLeadsToWhereTheExecutionStands(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, old := threeLives(t)
	runs := ancient()
	runs.Only = []gc.Kind{gc.Timelines}
	if _, err := gc.Collect(t.Context(), s.root, runs, nil); err != nil {
		t.Fatal(err)
	}
	s.mustRollback("sha:" + string(old.Head))
	s.mustCollect()
	s.mustCollect()
	if s.git("for-each-ref", "--contains", string(old.Head)) == "" {
		t.Error("the execution stands at a checkpoint that no branch leads to")
	}
	s.must(ModeRun, exitcode.Done)
	s.fsck()
}
