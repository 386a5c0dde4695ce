package runtime

import "testing"

// A rollback can be taken back however many runs have begun since, and gc keeps
// what that needs.
func TestAnUndoReachesOverManyRuns(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo \"$HANK_ATTEMPT\" >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo \"$HANK_ATTEMPT\" >b"},
	  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo \"$HANK_ATTEMPT\" >c"}
	]}`)
	s.must(ModeRun, ExitDone)
	before := s.tree()
	s.mustRollback("initial")
	for range 2 {
		s.must(ModeRun, ExitStopped, func(o *Options) { o.StopAfter = 1 })
	}
	after := s.tree()
	if _, err := Collect(t.Context(), s.root, ancient(), nil); err != nil {
		t.Fatal(err)
	}
	s.mustUndo()
	sameTree(t, "the undo", s.tree(), before)
	s.mustUndo()
	sameTree(t, "the redo", s.tree(), after)
}
