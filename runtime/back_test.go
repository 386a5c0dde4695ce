//go:build unix

package runtime

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/internal/testkit"
	"hank/state"
)

// late is a hank whose second codon tracks files that were there before it,
// some of them made by the first one, and changes them.
const late = `{"hank": [
  {"id": "zero", "name": "Zero", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["kept/**"], "promptText": "mkdir -p kept; echo 0 >kept/a"},
  {"id": "one", "name": "One", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["kept/**"],
   "promptText": "set -eu\nmkdir -p more third\necho 1 >kept/a\necho one >more/made\necho one >third/made"},
  {"id": "two", "name": "Two", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["more/**"],
   "promptText": "set -eu\ntest \"$(cat more/made)\" = one\necho 2 >kept/a\necho two >more/made\necho two >more/early\nrm more/gone\necho two >more/new\ntest -e ok"},
  {"id": "three", "name": "Three", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["third/*"], "promptText": "echo three >third/made; echo three >third/new"}
]}`

func TestFilesThatACodonBeginsToTrackComeBackAsItFoundThem(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, late)
	work := t.TempDir()
	s.opts.Workspace = work
	put(t, work, "more/early", "early\n")
	put(t, work, "more/gone", "gone\n")
	check := func(when string, kept string, third string) {
		t.Helper()
		for path, want := range map[string]string{"kept/a": kept, "more/made": "one\n", "more/early": "early\n", "more/gone": "gone\n", "third/made": third} {
			if !onDisk(work, path) || content(t, work, path) != want {
				t.Errorf("%s: %s is not as it was, %q", when, path, want)
			}
		}
		for _, path := range []string{"more/new", "third/new"} {
			if onDisk(work, path) {
				t.Errorf("%s: %s is still there", when, path)
			}
		}
	}
	s.must(ModeRun, exitcode.Failed)
	s.must(ModeRetry, exitcode.Failed) // it would not find what one has made, if that had gone
	s.mustRollback("one")
	check("a rollback over a failure", "1\n", "one\n")
	s.must(ModeRun, exitcode.Failed)
	put(t, work, "ok", "")
	s.must(ModeRetry, exitcode.Done)
	final := s.tree()
	s.mustRollback("one")
	check("a rollback to the codon before", "1\n", "one\n")
	s.mustUndo()
	sameTree(t, "taken back", s.tree(), final)
	s.mustRollback("zero")
	check("a rollback further back", "0\n", "one\n")
	s.must(ModeRun, exitcode.Done)
	sameTree(t, "run on", s.tree(), final)
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "two" })
	sameTree(t, "two again", s.tree(), final)
	s.fsck()

	kinds := map[state.CodonID]int{}
	for _, c := range s.view().State.Newest().Codons() {
		kinds[c.CodonID]++
	}
	if kinds["two"] != 1 || kinds["three"] != 1 {
		t.Errorf("the last run: %v", kinds)
	}
}

// A file that nobody tracks yet is nobody's, even if a codon further on in the
// plan would track it.
func TestARollbackLeavesAloneWhatACodonToComeWouldTrack(t *testing.T) {
	t.Parallel()
	s := stageOf(t, late)
	s.must(ModeRun, exitcode.Failed)
	s.mustRollback("zero")
	if work := s.workspace(); !onDisk(work, "third/made") || !onDisk(work, "more/made") {
		t.Error("a file that no codon had tracked was deleted")
	}
}

// So does a retry: what the user has made where a rollback has led, and no codon up to
// there tracks, nobody is asked about, though the next codon would track it.
func TestARetryLeavesAloneWhatACodonToComeWouldTrack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["x", "y"], "promptText": "rm -f y; echo 0 >x"},
	  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "promptText": "echo 1 >z; mkdir -p e"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	s.mustRollback("c0")
	put(t, s.workspace(), "mine", "a person's\n")
	testkit.Must(t, os.Mkdir(filepath.Join(s.workspace(), "folder"), 0o755))
	s.must(ModeRetry, exitcode.Stopped, func(o *command) { o.Codon, o.StopAfter = "c0", 1 })
	if !onDisk(s.workspace(), "mine") {
		t.Errorf("a file that no codon had tracked was deleted: %v", s.tree())
	}
	s.sameFolders("after a retry", "folder")
	put(t, s.workspace(), "y", "added\n")
	s.must(ModeRetry, exitcode.Decision, func(o *command) { o.Codon = "c0" })
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon, o.Restore = "c0", true })
	if onDisk(s.workspace(), "y") {
		t.Error("an answered --restore left what a codon tracks")
	}
}

// What was there before the first codon and is gone when a codon first looks for
// it was not there: a rollback leaves it gone. Where nobody can tell, it stays.
func TestAFileThatWasThereFirstStaysUnlessACodonFoundItGone(t *testing.T) {
	t.Parallel()
	const hank = `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["x"], "promptText": "rm -f gone; echo 0 >x"},
	  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["gone", "first"], "promptText": "echo 1 >gone; echo 1 >first"}
	]}`
	for name, lost := range map[string]bool{"the codon's start is there": false, "the codon's start is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, hank)
			work := t.TempDir()
			s.opts.Workspace = work
			put(t, work, "gone", "early\n")
			put(t, work, "first", "early\n")
			s.must(ModeRun, exitcode.Done)
			end := s.tree()
			if lost {
				s.loosen()
				id := string(s.last("c1").BaseCheckpoint)
				testkit.Must(t, os.Remove(filepath.Join(s.view().Layout.Store(), "objects", id[:2], id[2:])))
			}
			s.mustRollback("c0")
			switch {
			case lost && (!onDisk(work, "gone") || !onDisk(work, "first")):
				t.Errorf("a file is gone of which nobody knows that it was not there: %v", s.tree())
			case !lost && (onDisk(work, "gone") || content(t, work, "first") != "early\n"):
				t.Errorf("the files are not as c1 found them: %v", s.tree())
			}
			s.mustUndo()
			sameTree(t, "taken back", s.tree(), end)
		})
	}
}

// A codon from whose start a file was ignored has not looked for it.
func TestAFileThatWasIgnoredWhenACodonLookedStays(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["x"], "promptText": "echo 0 >x"},
	  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": [".gitignore"], "promptText": "echo hidden >.gitignore"},
	  {"id": "c2", "name": "2", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["hidden"], "promptText": "rm .gitignore; echo 2 >hidden"}
	]}`)
	work := t.TempDir()
	s.opts.Workspace = work
	put(t, work, "hidden", "early\n")
	s.must(ModeRun, exitcode.Done)
	end := s.tree()
	s.mustRollback("c0")
	if !onDisk(work, "hidden") {
		t.Errorf("a file is gone of which nobody knows that it was not there: %v", s.tree())
	}
	s.mustUndo()
	sameTree(t, "taken back", s.tree(), end)
}

// attic is a hank that archives files that no checkpoint has.
const attic = `{"hank": [
  {"id": "one", "name": "One", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["kept/*"], "promptText": "mkdir -p kept; echo 1 >kept/a"},
  {"id": "two", "name": "Two", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["kept/*"], "archiveOnSuccess": ["draft*", "kept/b"],
   "promptText": "echo two >draft; echo run >draft.sh; chmod +x draft.sh; echo 2 >kept/b; echo secret >draft.log; echo '*.log' >.gitignore"},
  {"id": "three", "name": "Three", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["kept/*"], "archiveOnSuccess": ["draft"], "promptText": "echo three >draft; echo 3 >kept/a"}
]}`

func TestARollbackBringsBackWhatOnlyTheArchiveHas(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, attic)
	s.must(ModeRun, exitcode.Done)
	work, final := s.workspace(), s.tree()
	for _, path := range []string{"draft", "draft.sh", "kept/b"} {
		if onDisk(work, path) {
			t.Fatalf("%s was not archived", path)
		}
	}
	if !onDisk(work, "draft.log") {
		t.Fatal("an ignored file was archived")
	}
	archive := treeOn(t, layout.Layout{Root: s.root}.Archive())

	done := s.mustRollback("two") // the archive came behind its end
	if len(done.Unarchived) != 2 || done.Unarchived[0].CodonID != "two" || done.Unarchived[0].Path != "draft" || done.Unarchived[0].ArchivePath != "rigArchive/two/draft" {
		t.Errorf("said to be back: %+v", done.Unarchived)
	}
	if got := content(t, work, "draft"); got != "two\n" {
		t.Errorf("draft is %q", got)
	}
	if final["draft.sh"] != "" || s.tree()["draft.sh"][:6] != "100755" || content(t, work, "kept/b") != "2\n" {
		t.Errorf("the tree is %v", s.tree())
	}
	s.mustUndo()
	sameTree(t, "taken back", s.tree(), final)
	s.mustUndo()
	if content(t, work, "draft") != "two\n" {
		t.Error("the undo taken back: draft is gone")
	}
	s.must(ModeRun, exitcode.Done)
	sameTree(t, "run on", s.tree(), final)

	s.mustRollback("one")
	if content(t, work, "draft") != "two\n" || onDisk(work, "kept/b") {
		t.Errorf("before both archives: %v", s.tree())
	}
	put(t, work, "draft", "a person's\n")
	at := s.tree()
	s.mustUndo()
	if content(t, work, "draft") != "a person's\n" {
		t.Error("what a person wrote was taken for what the archive has")
	}
	s.mustUndo()
	sameTree(t, "with a person's file", s.tree(), at)
	for path, entry := range archive {
		if now := treeOn(t, filepath.Join(s.root, layout.ArchiveName)); now[path] != entry {
			t.Errorf("the archive's %s is %s, was %s", path, now[path], entry)
		}
	}
	s.fsck()
}

func init() {
	testkit.Parts["rollback"] = func(args []string) error {
		_, err := history.Rollback(context.Background(), history.RollbackOptions{Execution: args[0], To: args[1], Undo: args[1] == ""})
		return err
	}
}

// A rollback over archives and over codons that began to track files, and its
// undo, are killed at every step: the next command finishes them or finds
// nothing done.
func TestAKilledWayBackIsFinishedOrNotBegun(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	hank := strings.Replace(attic, `"checkpointedFiles": ["kept/*"], "archiveOnSuccess": ["draft"]`, `"checkpointedFiles": ["kept/*", "late/*"], "archiveOnSuccess": ["draft"]`, 1)
	hank = strings.Replace(hank, "echo 3 >kept/a", "echo 3 >kept/a; echo 3 >late/a; rm late/b; echo 3 >late/c", 1)
	s := stageOf(t, hank)
	work := t.TempDir()
	s.opts.Workspace = work
	put(t, work, "late/a", "a\n")
	put(t, work, "late/b", "b\n")
	s.must(ModeRun, exitcode.Done)
	end := s.tree()
	s.mustRollback("one")
	back := s.tree()
	if content(t, work, "late/a") != "a\n" || content(t, work, "late/b") != "b\n" || content(t, work, "draft") != "two\n" || onDisk(work, "late/c") {
		t.Fatalf("rolled back: %v", back)
	}
	s.mustUndo()
	sameTree(t, "taken back", s.tree(), end)
	to, from, there := "one", end, back
	for _, point := range []string{"scan.walked", "pack.renamed", "ref.renamed", "move.safe", "move.intended", "restore.started", "restore.written",
		"restore.synced", "restore.staged", "restore.aside", "restore.filled", "restore.renamed", "restore.renamed:3", "restore.deleted", "move.applied"} {
		for range 2 { // there, and as an undo from there
			cmd := exec.Command(os.Args[0], "__part", "rollback", s.root, to)
			cmd.Env = append(os.Environ(), "HANK_FAILPOINT="+point)
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("%s was not passed on the way to %q: %s", point, to, out)
			}
			x, err := recovery.Open(context.Background(), s.root, execution.Options{})
			if err != nil {
				t.Fatalf("killed at %s: %v", point, err)
			}
			testkit.Must(t, x.Close())
			switch now := s.tree(); {
			case maps.Equal(now, from):
				if to == "" {
					s.mustUndo()
				} else {
					s.mustRollback(to)
				}
			case !maps.Equal(now, there):
				sameTree(t, "killed at "+point, now, there)
			}
			sameTree(t, "after "+point, s.tree(), there)
			from, there = there, from
			if to = "one"; maps.Equal(from, back) {
				to = ""
			}
		}
	}
	s.must(ModeRun, exitcode.Done)
	sameTree(t, "run on", s.tree(), end)
	s.fsck()
}

// The user writes to a workspace in which a killed rollback has left half of its
// work: the next command finishes it, however often that is killed too, and what
// they wrote is in a checkpoint.
func TestWhatIsWrittenIntoHalfARollbackIsKept(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	const hank = `{"hank": [
  {"id": "one", "name": "One", "model": "shell", "continuationMode": "fresh", "promptText": "echo '*.log' >.gitignore; for f in a b c; do echo 1 >$f; done; echo same >u"},
  {"id": "two", "name": "Two", "model": "shell", "continuationMode": "fresh", "promptText": "echo 2 >a; rm b; rm c; mkdir -p c d; echo 2 >c/in; echo 2 >d/in; rm .gitignore; mkdir -p p/q; echo 2 >p/q/x; echo same >u"}
]}`
	for _, point := range []string{"move.intended", "restore.written", "restore.staged", "restore.aside", "restore.filled", "restore.deleted", "restore.renamed:2", "move.applied", "move.uncovered"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, hank)
			s.must(ModeRun, exitcode.Done)
			end := s.tree()
			s.mustRollback("one")
			back := s.tree()
			s.mustUndo()
			sameTree(t, "taken back", s.tree(), end)
			die := func(point string) {
				t.Helper()
				cmd := exec.Command(os.Args[0], "__part", "rollback", s.root, "one")
				cmd.Env = append(os.Environ(), "HANK_FAILPOINT="+point)
				if out, err := cmd.CombinedOutput(); err == nil {
					t.Errorf("%s was not passed: %s", point, out)
				}
			}
			die(point)
			work := s.workspace()
			testkit.Must(t, os.RemoveAll(filepath.Join(work, "c")))
			testkit.Must(t, os.Remove(filepath.Join(work, "u"))) // which is in both trees
			texts := map[string]string{"a": "a of a person\n", "b": "b of a person\n", "c/mine": "c of a person\n", "d/in": "d of a person\n", "new.log": "ignored\n", "u/deep.log": "ignored too\n"}
			for path, text := range texts {
				put(t, work, path, text)
			}
			die("move.saved")
			put(t, work, "a", "once more\n")
			die("restore.renamed")
			x, err := recovery.Open(context.Background(), s.root, execution.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if found := fmt.Sprint(x.Report.Findings); !strings.Contains(found, "was finished; what was changed since then is in ") {
				t.Errorf("the opening finds %v", found)
			}
			testkit.Must(t, x.Close())
			now := s.tree()
			delete(now, "new.log") // it was nobody's but the person's, and stays
			sameTree(t, "finished", now, back)
			if onDisk(work, "p") {
				t.Error("a folder is left that the first half has emptied")
			}
			for _, text := range append(slices.Collect(maps.Values(texts)), "once more\n") {
				if text != "ignored\n" && !s.reachable(text) {
					t.Errorf("%q is in no checkpoint", text)
				}
			}
			s.mustUndo()
			now = s.tree()
			delete(now, "new.log")
			sameTree(t, "and taken back", now, end)
			s.fsck()
		})
	}
}
