package runtime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/recovery/execution"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/internal/testkit"
)

// partly prepares a hank of codons that track a part of a workspace in which there are files.
func partly(t *testing.T) *stage {
	t.Helper()
	work := t.TempDir()
	for _, name := range []string{"data.txt", "other/data.txt", "out/old"} {
		put(t, work, name, "of the user\n")
	}
	s := stageOf(t, `{"hank": [
	  {"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "iterationLimit", "limit": 2}, "codons": [
	    {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["out/**"],
	     "promptText": "rm -f out/old; echo a >>out/new; echo a >>data.txt"}
	  ]},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >out/b; echo b >b; echo b >>data.txt; rm other/data.txt"}
	]}`)
	s.opts.Workspace = work
	return s
}

// A file that a codon does not track has not been deleted by it.
func TestWhatACodonDoesNotTrackIsNoChange(t *testing.T) {
	t.Parallel()
	s := partly(t)
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	between := func(a, b string) string {
		d, err := history.Compare(context.Background(), s.view(), a, b)
		testkit.Must(t, err)
		defer d.Close()
		var all []string
		for _, c := range d.Changes {
			all = append(all, c.Kind.String()+" "+c.Path)
		}
		return fmt.Sprintf("%s; %d", strings.Join(all, ", "), d.LeftOut)
	}
	if got := between("a#0", ""); got != "; 0" { // what the next codon looks at
		t.Errorf("right after codon a#0: %s", got)
	}
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	if got := between("a#1", ""); got != "; 2" { // nobody knows what was there then
		t.Errorf("right after codon a#1: %s", got)
	}
	s.must(ModeRun, exitcode.Done)
	for _, c := range [][3]string{
		{"initial", "a#0", "added out/new, deleted out/old; 2"},
		{"a#0", "b", "added b, modified data.txt, deleted other/data.txt, added out/b, modified out/new; 0"},
		{"b", "a#0", "deleted out/b, modified out/new; 2"},
		{"initial", "b", "added b, modified data.txt, deleted other/data.txt, added out/b, added out/new, deleted out/old; 0"},
		{"a#1", "", "added b, modified data.txt, deleted other/data.txt, added out/b; 0"},
	} {
		if got := between(c[0], c[1]); got != c[2] {
			t.Errorf("from %s to %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
	var said []string
	for _, e := range s.told("file.updated") {
		source, _ := e["source"].(map[string]any)
		said = append(said, fmt.Sprint(source["codonId"], " ", e["action"], " ", e["path"]))
	}
	if got, want := strings.Join(said, ", "), "a#0 created out/new, a#0 deleted out/old, a#1 modified out/new, b created b, b modified data.txt, b deleted other/data.txt, b created out/b"; got != want {
		t.Errorf("events: %s, want %s", got, want)
	}
}

// Where codons have changed nothing that they track, nothing is there to be landed.
func TestWhatIsNotTrackedIsNotToBeCommitted(t *testing.T) {
	t.Parallel()
	s := partly(t)
	s.opts.Hank = stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["out/**"], "promptText": "echo a >>data.txt"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["out/**"], "promptText": "echo b >>out/new"}
	]}`).opts.Hank
	changed := func() bool {
		v := s.view()
		store, err := v.Store()
		testkit.Must(t, err)
		defer store.Close()
		return history.Changed(v.State, store)
	}
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	if changed() {
		t.Error("changed after codon a")
	}
	s.must(ModeRun, exitcode.Done)
	if !changed() {
		t.Error("not changed after codon b")
	}
}

// What you have changed where no codon looks stays, also where a move has saved it before.
func TestARetryLeavesAnEditThatNoCodonTracks(t *testing.T) {
	t.Parallel()
	s := partly(t)
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	s.mustRollback("initial")
	s.mustUndo() // to the checkpoint of all files that was made before the rollback
	work := s.workspace()
	put(t, work, "data.txt", "edited\n")
	testkit.Must(t, os.Remove(filepath.Join(work, "other/data.txt")))
	put(t, work, "mine", "added\n")
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	s.must(ModeRetry, exitcode.Stopped, func(o *command) { o.Codon, o.StopAfter = "a#1", 1 })
	// Each attempt adds a line, and no attempt tracks the file.
	if got := content(t, work, "data.txt"); got != "edited\na\n" || onDisk(work, "other/data.txt") || content(t, work, "mine") != "added\n" {
		t.Errorf("data.txt is %q; the workspace: %v", got, s.tree())
	}
	if got := content(t, work, "out/new"); got != "a\na\n" {
		t.Errorf("out/new is %q", got)
	}
}

// An iteration that the plan does not have any more has tracked what its loop does.
func TestWhatAnIterationTracksThatIsNotInThePlan(t *testing.T) {
	t.Parallel()
	s := partly(t)
	s.must(ModeRun, exitcode.Done)
	s.mustRollback("initial")
	v := s.view().State
	if v.PlanIndex("a#1") >= 0 {
		t.Fatal("the plan has the second iteration")
	}
	if got := execution.Tracked(v, "a#1"); got.All || fmt.Sprint(got.Patterns) != "[out/**]" {
		t.Errorf("a#1 tracks %+v", got)
	}
}

// What a run's last checkpoint looked at is told by the program of then, also where a codon that
// only another program has began there. What it did not look at stays.
func TestACodonOfAnotherProgramBeginsWhereARunHasEnded(t *testing.T) {
	t.Parallel()
	codon := func(id, tracks string) string {
		return fmt.Sprintf(`{"id": %q, "name": "N", "model": "shell", "continuationMode": "fresh", %s "promptText": "echo %s >>log; test -e ../go-%s"}`, id, tracks, id, id)
	}
	none := `"checkpointedFiles": [],`
	hank := func(codons ...string) string {
		return fmt.Sprintf(`{"hank": [%s, {"id": "z", "name": "Z", "model": "shell", "continuationMode": "fresh", "promptText": "true"}]}`, strings.Join(codons, ", "))
	}
	s := stageOf(t, hank(codon("a", none)))
	s.must(ModeRun, exitcode.Failed)
	end := s.view().State.Newest().Head
	put(t, s.opts.Hank, "hank.json", hank(codon("n", none), codon("a", none)))
	put(t, s.root, "go-n", "")
	s.mustRollback(string(end))
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.Adopt, o.StopAfter = true, 1 })
	if got := s.last("n").BaseCheckpoint; got != end {
		t.Fatalf("codon n began at %s, not at %s", got, end)
	}
	put(t, s.workspace(), "mine", "added\n")
	s.must(ModeRetry, exitcode.Stopped, func(o *command) { o.Codon, o.StopAfter = "n", 1 })
	if !onDisk(s.workspace(), "mine") {
		t.Errorf("the workspace: %v", s.tree())
	}
}

// A replay leaves the files of its workspace that the recorded codons did not track.
func TestAReplayLeavesWhatNoCodonHasTracked(t *testing.T) {
	t.Parallel()
	s := partly(t)
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 2 })
	again := partly(t)
	again.opts.Replay = s.root
	again.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 2 })
	work := again.workspace()
	if !onDisk(work, "data.txt") || !onDisk(work, "other/data.txt") || onDisk(work, "out/old") || content(t, work, "out/new") != "a\na\n" {
		t.Errorf("the workspace: %v", again.tree())
	}
}
