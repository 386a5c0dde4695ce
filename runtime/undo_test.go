//go:build unix

package runtime

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/state"
)

// outside is a hank whose second codon fails until a file outside of the
// workspace is there.
func outside(t *testing.T) (s *stage, allow func()) {
	t.Helper()
	ok := filepath.Join(t.TempDir(), "ok")
	s = stageOf(t, fmt.Sprintf(`{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log; test -e %s"},
	  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo c >>log"}
	]}`, ok))
	return s, func() { put(t, filepath.Dir(ok), "ok", "") }
}

func TestAnUndoBringsBackThatACodonHasFailed(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, allow := outside(t)
	s.must(ModeRun, exitcode.Failed)
	dirty, runs := s.tree(), len(s.view().State.Runs)
	for _, over := range []string{"nothing", "an undo of the undo", "a run"} {
		s.mustRollback("a")
		switch over {
		case "an undo of the undo":
			s.mustUndo()
			sameTree(t, "taken back", s.tree(), dirty)
			s.mustUndo() // there again
			if got := content(t, s.workspace(), "log"); got != "a\n" {
				t.Fatalf("the undo taken back: %q", got)
			}
		case "a run":
			s.must(ModeRun, exitcode.Failed)
			runs++
		}
		s.mustUndo()
		sameTree(t, "taken back over "+over, s.tree(), dirty)
		v := s.view()
		if r := v.State.RunAtPosition(); r == nil || r.Status != state.StatusFailed || r.Codon(r.Len()-1).CodonID != "b" {
			t.Fatalf("taken back over %s: behind %+v", over, r)
		}
		res := s.must(ModeRun, exitcode.Failed)
		if res.Codon != "b" || !strings.Contains(res.Message, "failed in an earlier run") || len(s.view().State.Runs) != runs {
			t.Errorf("over %s, run: %s, %d runs", over, res.Message, len(s.view().State.Runs))
		}
		sameTree(t, "and run over "+over, s.tree(), dirty)
	}
	allow()
	s.must(ModeRetry, exitcode.Done)
	if got := content(t, s.workspace(), "log"); got != "a\nb\nc\n" {
		t.Errorf("tried again, the log is %q", got)
	}
	s.fsck()
}

func TestAnUndoBringsBackThatACodonWasStopped(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log; test -e ../once || sleep 120"}
	]}`)
	s.must(ModeRun, exitcode.Stopped, s.stopAt("b", codon.StopNow))
	s.mustRollback("a")
	s.mustUndo()
	put(t, s.root, "once", "")
	s.must(ModeRun, exitcode.Done) // on the tree from before it, as without the two moves
	if got := content(t, s.workspace(), "log"); got != "a\nb\n" {
		t.Errorf("the log is %q", got)
	}
}

func TestAnUndoBringsBackThatTheHankIsDone(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, allow := outside(t)
	allow()
	s.must(ModeRun, exitcode.Done)
	end, runs := s.tree(), len(s.view().State.Runs)
	s.mustRollback("a")
	s.mustUndo()
	v := s.view()
	if r := v.State.RunAtPosition(); r == nil || r.Status != state.StatusCompleted || v.State.Next() != 3 || v.State.Intent != nil || v.State.Next() != len(v.State.ExecutionPlan()) {
		t.Errorf("taken back: %+v", v.State.Position)
	}
	s.must(ModeRun, exitcode.Done)
	if n := len(s.view().State.Runs); n != runs {
		t.Errorf("%d runs, want %d", n, runs)
	}
	sameTree(t, "run", s.tree(), end)
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "c" })
	sameTree(t, "and c again", s.tree(), end)
}

// What the user had changed before a rollback was not asked about yet: it is
// when the rollback is undone.
func TestAnEditThatAnUndoBringsBackIsAskedAbout(t *testing.T) {
	t.Parallel()
	s, allow := outside(t)
	allow()
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	put(t, s.workspace(), "mine", "mine\n")
	s.must(ModeRun, exitcode.Decision)
	s.mustRollback("initial")
	s.mustUndo()
	s.must(ModeRun, exitcode.Decision)
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.Restore, o.StopAfter = true, 1 })
	if onDisk(s.workspace(), "mine") || s.treeIn(s.last("b").BaseCheckpoint)["mine"] != "" {
		t.Error("what was to be put back is still there")
	}
	s.must(ModeRun, exitcode.Done)
}

// What the user has changed behind a rollback is asked about behind an undo and a
// redo, too, and behind a second rollback that is undone. What they are not
// asked about behind the rollback, they are not then either. gc keeps what tells that.
func TestAnEditBehindARollbackIsAskedAboutWhereAnUndoLeadsBackToIt(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	undo, elsewhere := func(s *stage) { s.mustUndo() }, func(s *stage) { s.mustRollback("initial") }
	back := map[string][]func(*stage){
		"a redo":                              {undo, undo},
		"two redos":                           {undo, undo, undo, undo},
		"a rollback elsewhere":                {elsewhere, undo},
		"a rollback elsewhere, behind a redo": {undo, undo, elsewhere, undo},
	}
	for name, lead := range back {
		for i := range 4 {
			edit, tidy := i%2 == 0, i/2 == 0
			t.Run(fmt.Sprintf("%s/%v/%v", name, edit, tidy), func(t *testing.T) {
				t.Parallel()
				s := stageOf(t, `{"hank": [
				  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["*.txt"], "promptText": "echo a >a.txt"},
				  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["*"], "promptText": "echo b >b"}]}`)
				s.must(ModeRun, exitcode.Done)
				put(t, s.workspace(), "left.txt", "no codon has recorded it\n")
				s.mustRollback("a")
				if edit {
					put(t, s.workspace(), "mine.txt", "mine\n")
				}
				for _, move := range lead {
					if tidy {
						s.mustCollect()
					}
					move(s)
				}
				if tidy {
					s.mustCollect()
				}
				if !edit {
					s.must(ModeRun, exitcode.Done)
					return
				}
				s.must(ModeRun, exitcode.Decision)
				s.must(ModeRun, exitcode.Done, func(o *command) { o.Restore = true })
				if onDisk(s.workspace(), "mine.txt") || s.treeIn(s.last("b").BaseCheckpoint)["mine.txt"] != "" {
					t.Error("what was to be put back is still there")
				}
			})
		}
	}
}

// A retry whose adoption was said in one command, and that was asked about edits in the
// next, is undone as one that was said at once.
func TestACommandThatAsksHasAdoptedNothing(t *testing.T) {
	t.Parallel()
	hank := func(word string) string {
		return `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo ` + word + ` >>log"}]}`
	}
	s := stageOf(t, hank("old"))
	s.must(ModeRun, exitcode.Done)
	old := s.view().State
	put(t, s.workspace(), "mine", "mine\n")
	put(t, s.opts.Hank, "hank.json", hank("new"))
	s.must(ModeRetry, exitcode.Decision, func(o *command) { o.Codon, o.Adopt = "a", true })
	if now := s.view().State; now.Program != old.Program || now.HankHash != old.HankHash {
		t.Error("a command that has only asked has adopted a hank")
	}
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon, o.Adopt, o.Restore = "a", true, true })
	if s.view().State.Program == old.Program {
		t.Error("nothing was adopted")
	}
	s.mustUndo()
	if now := s.view().State.Program; now != old.Program {
		t.Errorf("after the undo the program is %.8s, and was %.8s", now, old.Program)
	}
}

// What the user has kept once is not asked about again, wherever moves have led in
// between.
func TestAnAnswerAboutEditsHoldsAfterAnUndoLeadsBackToIt(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >b"}]}`)
	s.must(ModeRun, exitcode.Done)
	s.mustRollback("a")
	s.mustUndo() // to the end of a run, but by a move
	put(t, s.workspace(), "mine", "a person's\n")
	s.must(ModeRun, exitcode.Decision)
	s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = true })
	s.must(ModeRun, exitcode.Done)
	s.mustRollback("a")
	s.mustUndo()
	s.must(ModeRun, exitcode.Done)
	put(t, s.workspace(), "more", "a person's\n")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Restore = true })
	if onDisk(s.workspace(), "more") || !onDisk(s.workspace(), "mine") {
		t.Errorf("an answer went to before the one before it: %v", s.tree())
	}
}

func TestAnUndoBringsBackTheHankThatWasAdopted(t *testing.T) {
	t.Parallel()
	hank := func(word string) string {
		return `{"hank": [
		  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
		  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo ` + word + ` >>log"}` +
			map[bool]string{true: `, {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo c >>log"}`}[word == "new"] + `]}`
	}
	s := stageOf(t, hank("old"))
	s.must(ModeRun, exitcode.Done)
	before, end := s.view().State, s.tree()
	put(t, s.opts.Hank, "hank.json", hank("new"))
	s.mustRollback("a")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Adopt = true })
	adopted, there := s.view().State, s.tree()
	if adopted.Program == before.Program || len(adopted.ExecutionPlan()) != 3 {
		t.Fatal("nothing was adopted")
	}
	prompt := func(s *state.State) (all []string) {
		for _, e := range s.ExecutionPlan() {
			all = append(all, string(e.CodonID)+" "+e.Codon.PromptText)
		}
		return all
	}
	s.mustUndo()
	v := s.view().State
	if v.Program != before.Program || v.HankHash != before.HankHash || !slices.Equal(prompt(v), prompt(before)) || v.Next() != 2 {
		t.Errorf("taken back: program %.12s, plan %v, next %d", v.Program, prompt(v), v.Next())
	}
	sameTree(t, "taken back", s.tree(), end)
	if res := s.must(ModeRun, exitcode.Decision); !strings.Contains(res.Message, "the hank has changed") {
		t.Errorf("run: %s", res.Message)
	}
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Frozen = true })
	sameTree(t, "and run", s.tree(), end)

	s.mustUndo()
	v = s.view().State
	if v.Program != adopted.Program || v.HankHash != adopted.HankHash || !slices.Equal(prompt(v), prompt(adopted)) || v.Next() != 3 {
		t.Errorf("the undo taken back: program %.12s, plan %v, next %d", v.Program, prompt(v), v.Next())
	}
	sameTree(t, "the undo taken back", s.tree(), there)
	s.mustRollback("a") // keeps the present program
	if v = s.view().State; v.Program != adopted.Program || len(v.ExecutionPlan()) != 3 {
		t.Error("a rollback has changed the program")
	}
	s.fsck()
}

// A run that adopts a changed hank keeps it when it also restores the checkpoint
// that an undo has led to.
func TestAnAnswerAboutEditsKeepsTheAdoptedHank(t *testing.T) {
	t.Parallel()
	hank := func(word string) string {
		return `{"hank": [
		  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
		  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo ` + word + ` >>log"}]}`
	}
	s := stageOf(t, hank("old"))
	s.must(ModeRun, exitcode.Done)
	old := s.view().State.Program
	s.mustRollback("a")
	s.mustUndo()
	put(t, s.workspace(), "log", "mine\n")
	put(t, s.opts.Hank, "hank.json", hank("new"))
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Adopt, o.Restore = true, true })
	adopted := s.view().State.Program
	if adopted == old {
		t.Error("the run did not keep the hank that it adopted")
	}
	s.must(ModeRun, exitcode.Done) // asks nothing
	s.mustUndo()
	if now := s.view().State.Program; now != old {
		t.Errorf("after the undo the program is %.8s, and was %.8s", now, old)
	}
	s.mustUndo()
	if now := s.view().State.Program; now != adopted {
		t.Errorf("after the redo the program is %.8s, and %.8s was adopted", now, adopted)
	}
}
