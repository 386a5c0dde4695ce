//go:build unix

package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/runtime/exitcode"
	"hank/runtime/gc"
)

// A rollback can be undone however many runs have begun since, and gc keeps
// what that needs.
func TestAnUndoReachesOverManyRuns(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo \"$HANK_ATTEMPT\" >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo \"$HANK_ATTEMPT\" >b"},
	  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo \"$HANK_ATTEMPT\" >c"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	before := s.tree()
	s.mustRollback("initial")
	for range 2 {
		s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	}
	after := s.tree()
	if _, err := gc.Collect(t.Context(), s.root, ancient(), nil); err != nil {
		t.Fatal(err)
	}
	s.mustUndo()
	sameTree(t, "the undo", s.tree(), before)
	s.mustUndo()
	sameTree(t, "the redo", s.tree(), after)
}

// The undo of a retry that went on with a changed hank brings the old one back.
func TestAnUndoOfARetryTakesItsAdoptionBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo old >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo old >b"}
	]}`)
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	program := s.view().State.Program
	hank := filepath.Join(s.opts.Hank, "hank.json")
	text, err := os.ReadFile(hank)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s.opts.Hank, "hank.json", strings.ReplaceAll(string(text), "old", "new"))
	s.must(ModeRetry, exitcode.Stopped, func(o *command) { o.Codon, o.StopAfter, o.Adopt = "a", 1, true })
	adopted := s.view().State.Program
	s.mustUndo()
	if now := s.view().State.Program; now != program || adopted == program {
		t.Errorf("the program is %.8s, was %.8s, and %.8s was adopted", now, program, adopted)
	}
	s.must(ModeRun, exitcode.Decision)
	s.mustUndo()
	if now := s.view().State.Program; now != adopted {
		t.Errorf("after the redo the program is %.8s, and %.8s was adopted", now, adopted)
	}
}
