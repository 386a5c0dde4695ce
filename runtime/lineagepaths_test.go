//go:build unix

package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"hank/internal/race"
	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/internal/testkit"
	"hank/state"
)

// directories are the directories of the workspace that have nothing in them.
func (s *stage) folders() []string {
	s.t.Helper()
	work, empty := s.workspace(), []string{}
	err := filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == work {
			return err
		}
		entries, err := os.ReadDir(path)
		if rel, _ := filepath.Rel(work, path); len(entries) == 0 {
			empty = append(empty, rel)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return empty
}

func (s *stage) sameFolders(when string, want ...string) {
	s.t.Helper()
	if got := s.folders(); !slices.Equal(got, want) {
		s.t.Errorf("%s: the empty folders are %q, want %q", when, got, want)
	}
}

// head is where the newest run's branch leads.
func (s *stage) head() state.SHA { return s.view().State.Newest().Head }

// A file that was in the archive at a checkpoint stays there, whatever another
// lineage path has done to its name.
func TestWhatALineagePathHadArchivedStaysArchived(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["x"], "archiveOnSuccess": ["d/**"], "promptText": "mkdir -p d; date +%N >d/f; echo 0 >x"},
	  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "promptText": "echo 1 >x"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	done, first := s.head(), s.tree()
	s.mustRollback("initial")
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	s.must(ModeRun, exitcode.Done) // whose first deed is the archive
	second := s.tree()
	if len(first) != 1 || len(second) != 1 {
		t.Fatalf("not archived: %v, %v", first, second)
	}
	for range 2 {
		s.mustRollback(string(done))
		sameTree(t, "at the end of the first lineage path", s.tree(), first)
		s.mustUndo()
		sameTree(t, "taken back", s.tree(), second)
	}
	s.must(ModeRun, exitcode.Done)
	s.fsck()
}

// Files that a codon begins to track come back as the target's own lineage path
// found them.
func TestFilesComeBackAsTheirOwnLineagePathFoundThem(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["x"], "promptText": "date +%N >u; echo 0 >x; cp u ../was"},
	  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["x"], "promptText": "cp u x"},
	  {"id": "c2", "name": "2", "model": "shell", "continuationMode": "fresh", "promptText": "echo c2 >u"}
	]}`)
	var ends []state.SHA
	var found []string
	for range 3 {
		s.must(ModeRun, exitcode.Done)
		ends, found = append(ends, s.last("c1").CompletionCheckpoint), append(found, content(t, s.root, "was"))
		s.mustRollback("initial")
	}
	for _, i := range []int{0, 2, 1, 0} {
		before := s.tree()
		s.mustRollback(string(ends[i]))
		if u, x := content(t, s.workspace(), "u"), content(t, s.workspace(), "x"); u != found[i] || x != found[i] {
			t.Errorf("lineage path %d found %q: u is %q and x is %q", i, found[i], u, x)
		}
		after := s.tree()
		s.mustUndo()
		sameTree(t, "taken back", s.tree(), before)
		s.mustUndo()
		sameTree(t, "there again", s.tree(), after)
	}
	s.must(ModeRun, exitcode.Done)
	s.fsck()
}

func TestAnUndoLeavesTheFoldersThatWereThere(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, c := range map[string]struct {
		first, second  string
		before, inside []string // empty directories at the end, and at c0
	}{
		"ignored at the end":        {`echo 1 >x`, `mkdir -p build/logs build/cache; echo build/ >.gitignore`, []string{"build/cache", "build/logs"}, []string{"build/cache", "build/logs"}},
		"ignored at the checkpoint": {`echo e/ >.gitignore; mkdir -p e/a f`, `rm .gitignore; rmdir e/a f; mkdir e/b g`, []string{"e/b", "g"}, []string{"e/b", "f"}},
		"brought and ignored":       {`mkdir -p f/g h`, `rmdir f/g f h; echo 'f/' >.gitignore`, []string{}, []string{"f/g", "h"}},
		"under what is written":     {`mkdir -p d/e; echo 1 >d/e/f`, `rm -r d; mkdir -p d/e; echo d/ >.gitignore`, []string{"d/e"}, []string{}},
		"where a file was":          {`echo 1 >d`, `rm d; mkdir -p d/e; echo d/ >.gitignore`, []string{"d/e"}, []string{}},
		"where a file comes":        {`mkdir -p d/e`, `rm -r d; echo 1 >d`, []string{}, []string{"d/e"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, `{"hank": [
			  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "promptText": "`+c.first+`"},
			  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "promptText": "`+c.second+`"}
			]}`)
			s.must(ModeRun, exitcode.Done)
			end := s.tree()
			s.sameFolders("at the end", c.before...)
			for i := range 2 {
				s.mustRollback("c0")
				s.sameFolders("back", c.inside...)
				s.mustUndo()
				s.sameFolders("taken back", c.before...)
				sameTree(t, "taken back", s.tree(), end)
				if i == 0 {
					s.mustUndo()
					s.sameFolders("the undo taken back", c.inside...)
					s.mustUndo()
					s.sameFolders("taken back thrice", c.before...)
				}
			}
		})
	}
}

// An ignored directory that an undo has made again, and that the redo takes away, is
// there again when that is undone.
func TestAFolderThatARedoTakesAwayComesBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "promptText": "mkdir -p build/p; echo 1 >build/p/q"},
	  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "promptText": "rm build/p/q; echo build/ >.gitignore"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	s.mustRollback("c0") // which fills build/p
	if err := os.RemoveAll(filepath.Join(s.workspace(), "build")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.mustUndo()
		s.sameFolders("at the end", "build/p")
		s.mustUndo()
		s.sameFolders("as the person left it")
	}
}

// An empty directory that no codon tracked stays, as a file does.
func TestAFolderThatNoCodonTrackedStays(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["x", "kept/**"], "promptText": "echo 0 >x; mkdir -p kept/a"},
	  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["x", "kept/**"], "promptText": "echo 1 >x; mkdir -p other/a kept/b"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	end := s.folders()
	s.mustRollback("c0")
	s.sameFolders("back", "kept/a", "other/a")
	s.mustUndo()
	s.sameFolders("taken back", end...)
	if err := os.Mkdir(filepath.Join(s.workspace(), "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.mustRollback("c0")
	s.mustUndo()
	s.sameFolders("with a person's", "kept/a", "kept/b", "mine", "other/a")
}

// Nobody is asked about empty directories, so --restore, which answers about files, takes
// none away.
func TestTheAnswerRestoreLeavesThePersonsFolders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tracked string
		prepare func(*stage)
		mode    Mode
	}{
		"at a run's end":                  {"", func(*stage) {}, ModeRun},
		"behind a rollback":               {"", func(s *stage) { s.must(ModeRun, exitcode.Failed); s.mustRollback("c0") }, ModeRun},
		"behind a codon that tracks less": {`"checkpointedFiles": ["x"], `, func(s *stage) { s.must(ModeRun, exitcode.Failed); s.mustRollback("c0") }, ModeRun},
		"before a retry":                  {"", func(s *stage) { s.must(ModeRun, exitcode.Failed) }, ModeRetry},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, `{"hank": [
			  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", `+c.tracked+`"promptText": "mkdir -p e; echo 0 >x"},
			  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "promptText": "test -e ../good"}
			]}`)
			s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
			c.prepare(s)
			put(t, s.workspace(), "x", "edited\n")
			put(t, s.workspace(), "new/y", "added\n")
			for _, name := range []string{"mine/deep", "new/empty"} {
				if err := os.MkdirAll(filepath.Join(s.workspace(), name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			put(t, s.root, "good", "\n")
			s.must(c.mode, exitcode.Decision)
			s.must(c.mode, exitcode.Done, func(o *command) { o.Restore = true })
			if x := content(t, s.workspace(), "x"); x != "0\n" {
				t.Errorf("x is %q", x)
			}
			s.sameFolders("put back", "e", "mine/deep", "new/empty")
		})
	}
}

// What the user has added since a codon's end is not the codon's to archive, also
// where an undo brings it back; so no later rollback takes it from the archive.
func TestWhatAPersonAddsIsNotArchivedBehindAnUndo(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "archiveOnSuccess": ["d/*"], "promptText": "mkdir d; echo 0 >d/made"},
	  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "promptText": "echo 1 >x"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	s.mustRollback("c0")
	put(t, s.workspace(), "d/mine", "mine\n")
	s.mustRollback("initial")
	s.mustUndo()
	s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = true })
	if work := s.workspace(); !onDisk(work, "d/mine") || onDisk(work, "d/made") || onDisk(s.root, "rigArchive/c0/d/mine") {
		t.Errorf("the workspace: %v", s.tree())
	}
	s.mustRollback("c0")
	s.must(ModeRun, exitcode.Done)
}

// An empty directory that a codon begins to track comes back as that codon found it,
// as a file does.
func TestAnEmptyFolderThatACodonBeginsToTrackComesBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["d/**"], "promptText": "mkdir -p build/p build/q d/e; echo 0 >d/x"},
	  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["out"], "promptText": "rmdir d/e; echo 1 >out"},
	  {"id": "c2", "name": "2", "model": "shell", "continuationMode": "fresh", "promptText": "rmdir build/q; mkdir build/r"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	end := []string{"build/p", "build/r"}
	s.sameFolders("at the end", end...)
	for _, to := range []struct {
		target string
		there  []string
	}{{"c1", []string{"build/p", "build/q"}}, {"c0", []string{"build/p", "build/q", "d/e"}}, {"initial", nil}} {
		for range 2 {
			s.mustRollback(to.target)
			if to.there != nil {
				s.sameFolders("back at "+to.target, to.there...)
			}
			s.mustUndo()
			s.sameFolders("taken back from "+to.target, end...)
		}
	}
	s.must(ModeRetry, exitcode.Stopped, func(o *command) { o.Codon, o.StopAfter = "c1", 1 })
	s.sameFolders("c1 done again", "build/p", "build/q")
	s.must(ModeRun, exitcode.Done)
	s.fsck()
}

// An empty directory that the user has made between two runs is no codon's to take
// away: neither another attempt at the codon behind it does, nor the start of a run.
// A run that began no codon has a checkpoint of its end, which names the folders that are
// there: they are a person's still.
func TestAFolderThatAPersonMakesBeforeARejectionStays(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, c := range []struct{ moved, edited bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		s := stageOf(t, `{"hank": [
		  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "promptText": "mkdir -p e; echo 0 >x"},
		  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "promptText": "mkdir -p f; echo 1 >x",
		    "gate": {"id": "g", "kind": "approve", "when": "after", "summary": "Good?"}}
		]}`)
		s.must(ModeRun, exitcode.Waiting)
		if c.moved {
			s.mustRollback("c0")
			s.mustRollback("c1")
		}
		if err := os.MkdirAll(filepath.Join(s.workspace(), "mine", "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
		if c.edited {
			put(t, s.workspace(), "x", "edited\n")
		}
		if _, err := AnswerGate(t.Context(), s.root, gate.Answer{Gate: "g", Status: state.GateRejected}, ""); err != nil {
			t.Fatal(err)
		}
		s.must(ModeRun, exitcode.Failed, func(o *command) { o.Restore = c.edited })
		s.must(ModeRetry, exitcode.Waiting)
		s.sameFolders(fmt.Sprintf("%+v", c), "e", "f", "mine/deep")
	}
}

func TestAFolderThatAPersonMakesBetweenRunsStays(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "promptText": "echo 0 >x; mkdir -p kept/a"},
	  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "onFailure": "retry", "retryConfig": {"maxAttempts": 1, "delayMs": 1},
	    "promptText": "mkdir -p left; echo 1 >>../tried; test -e ../good"}
	]}`)
	mkdir := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(s.workspace(), name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	mkdir("mine/deep")
	s.must(ModeRun, exitcode.Failed)
	s.sameFolders("after two attempts", "kept/a", "left", "mine/deep")
	mkdir("more")
	s.must(ModeRetry, exitcode.Failed)
	s.sameFolders("after a retry", "kept/a", "left", "mine/deep", "more")
	put(t, s.root, "good", "\n")
	s.must(ModeRetry, exitcode.Done)
	end := s.folders()
	s.sameFolders("in the end", "kept/a", "left", "mine/deep", "more")
	s.mustRollback("c0")
	s.mustUndo()
	s.sameFolders("after an undo", end...)
}

// A codon that began behind an undo began from the checkpoint that was made before the
// move that was undone. Doing the codon again takes no move back: an empty directory
// that the move had made, and the user makes now, stays.
func TestAFolderThatAPersonMakesStaysBehindAnUndo(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "promptText": "echo 0 >x; mkdir n"},
	  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "promptText": "echo 1 >y; rmdir n"},
	  {"id": "c2", "name": "2", "model": "shell", "continuationMode": "fresh", "promptText": "echo 2 >z"}
	]}`)
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 2 })
	s.mustRollback("c0")
	s.sameFolders("after a rollback", "n")
	s.mustUndo()
	s.sameFolders("after an undo")
	s.must(ModeRun, exitcode.Done)
	if err := os.Mkdir(filepath.Join(s.workspace(), "n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "c2" })
	s.sameFolders("after a retry", "n")
	s.mustUndo()
	s.sameFolders("after an undo of the retry", "n")
}

// A directory that is empty because the user has removed the empty directory in it is none
// that they have made.
func TestAFolderThatAPersonHasEmptiedIsNoneOfTheirs(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "promptText": "echo 0 >x; test -e ../once || mkdir -p e/f k/l"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	for _, name := range []string{"e/f", "k/l"} {
		if err := os.Remove(filepath.Join(s.workspace(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(s.workspace(), "k/mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, s.root, "once", "\n")
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "c0" })
	s.sameFolders("after a retry", "k/mine")
	s.mustUndo()
	s.sameFolders("after an undo", "e", "k/mine")
}

func init() {
	testkit.Parts["retry"] = func(args []string) error {
		_, err := Run(context.Background(), Request{Mode: ModeRetry, Execution: args[0], Codon: state.CodonID(args[1])}, Answers{}, UI{})
		return err
	}
}

// A rollback, its undo and a retry are killed at every step, and the state is lost:
// the empty directories are those of before the move or those behind it.
func TestTheFoldersOfAKilledMoveAreThoseOfOneThatWasNotKilled(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, lost := range map[string]bool{"the state is there": false, "the state is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, `{"hank": [
			  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "promptText": "mkdir -p e/f keep gone; echo 0 >x; echo 0 >y"},
			  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "promptText": "rmdir e/f gone; echo 1 >keep/in; mkdir -p g/h; rm x y; mkdir x"}
			]}`)
			s.must(ModeRun, exitcode.Done)
			if err := os.MkdirAll(filepath.Join(s.workspace(), "mine/deep"), 0o755); err != nil {
				t.Fatal(err)
			}
			end, back, again := []string{"e", "g/h", "mine/deep", "x"}, []string{"e/f", "gone", "keep"}, []string{"e/f", "gone", "keep", "mine/deep"}
			for i, point := range []string{"move.safe", "move.intended", "restore.written", "restore.staged", "restore.renamed", "restore.deleted", "restore.synced", "move.applied", "journal.synced:4"} {
				if i%race.Step > 0 {
					continue
				}
				for _, move := range [][]string{{"rollback", "c0"}, {"rollback", ""}, {"retry", "c1"}} {
					from, to := end, back
					switch {
					case move[1] == "":
						from, to = back, end
					case move[0] == "retry":
						to = again
					}
					s.sameFolders("before "+point, from...)
					s.mustCollect()
					cmd := exec.Command(os.Args[0], "__part", move[0], s.root, move[1])
					cmd.Env = append(os.Environ(), "HANK_FAILPOINT="+point)
					if out, err := cmd.CombinedOutput(); err == nil {
						t.Fatalf("%s was not passed in %q: %s", point, move, out)
					}
					if lost {
						for _, file := range []string{s.view().Layout.State(), s.view().Layout.State() + ".bak"} {
							if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
								t.Fatal(err)
							}
						}
					}
					x, err := recovery.Open(context.Background(), s.root, execution.Options{})
					if err != nil {
						t.Fatalf("%q killed at %s: %v", move, point, err)
					}
					testkit.Must(t, x.Close())
					begun := slices.Equal(s.folders(), to)
					switch {
					case !begun:
						s.sameFolders(fmt.Sprintf("%q killed at %s", move, point), from...)
					case point == "move.safe":
						t.Errorf("%q, which was killed at %s, is done", move, point)
					}
					switch {
					case begun && move[0] == "retry":
						s.mustUndo()
					case !begun && move[0] == "rollback" && move[1] == "":
						s.mustUndo()
					case !begun && move[0] == "rollback":
						s.mustRollback("c0")
					}
				}
			}
			s.sameFolders("in the end", end...)
			s.must(ModeRun, exitcode.Done)
			s.sameFolders("behind a run", end...)
			s.fsck()
		})
	}
}
