package runtime

import (
	"testing"

	"hank/runtime/exitcode"
)

// What was in the workspace from the start stays when a hank is extended by a codon
// that tracks it, whatever is answered about an edit.
func TestAFileThatOnlyANewCodonTracksStaysInARestore(t *testing.T) {
	t.Parallel()
	hank := func(more string) string {
		return `{"hank": [
		  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["x"], "promptText": "echo a >x"}` + more + `]}`
	}
	s := stageOf(t, hank(""))
	put(t, s.workspace(), "y", "from the start\n")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Fresh = true })
	put(t, s.opts.Hank, "hank.json", hank(`,
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["y", "new"], "promptText": "true"}`))
	put(t, s.workspace(), "new", "a person's\n")
	put(t, s.workspace(), "x", "edited\n")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Adopt, o.Restore = true, true })
	if !onDisk(s.workspace(), "y") {
		t.Error("the file of the start is gone")
	}
	if !onDisk(s.workspace(), "new") {
		t.Error("the file that no question named is gone")
	}
}
