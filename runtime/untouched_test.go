//go:build unix

package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/state"
)

// A file that was ignored at a checkpoint, and that no codon has made, stays
// when one goes there from where it is not ignored.
func TestAnIgnoreRuleThatComesAndGoesTakesNoFileAlong(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, c := range map[string]struct{ first, second string }{
		"the rule appears":    {`echo a >a`, `echo "*.ign" >.gitignore`},
		"the rule disappears": {`echo "*.ign" >.gitignore`, `rm .gitignore`},
		"in a folder":         {`mkdir sub; echo a >sub/a`, `echo "u*" >sub/.gitignore; mkdir -p sub/deep`},
		"a folder as a whole": {`mkdir sub; echo a >a`, `echo "/sub/" >.gitignore`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, fmt.Sprintf(`{"hank": [
			  {"id": "c0", "name": "0", "model": "shell", "continuationMode": "fresh", "promptText": %q},
			  {"id": "c1", "name": "1", "model": "shell", "continuationMode": "fresh", "promptText": %q},
			  {"id": "c2", "name": "2", "model": "shell", "continuationMode": "fresh", "promptText": "echo c2 >c2"}
			]}`, c.first, c.second))
			s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
			work := s.workspace()
			if name == "the rule disappears" { // the person's file is there, ignored, when c1 takes the rule away
				put(t, work, "u.ign", "secret\n")
				put(t, work, "sub/u.ign", "secret too\n")
			}
			s.must(ModeRun, exitcode.Done)
			put(t, work, "u.ign", "secret\n")
			put(t, work, "sub/u.ign", "secret too\n")
			for _, to := range []string{"c0", "c1", "initial"} {
				before := s.tree()
				for range 2 {
					s.mustRollback(to)
					if name != "the rule disappears" || to == "c0" {
						if !onDisk(work, "u.ign") && (name == "the rule appears" || name == "the rule disappears") || !onDisk(work, "sub/u.ign") {
							t.Errorf("rolled back to %s, a file that no codon has made is gone", to)
						}
					}
					s.mustUndo()
					sameTree(t, "taken back from "+to, s.tree(), before)
					s.mustUndo()
					s.mustUndo()
					sameTree(t, "taken back thrice from "+to, s.tree(), before)
				}
			}
			s.mustRollback("c0")
			s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter, o.KeepTree = 1, true })
			if got := content(t, work, "sub/u.ign"); got != "secret too\n" {
				t.Errorf("run again: %q", got)
			}
			s.mustUndo() // over the run in between
			if !onDisk(work, "u.ign") || content(t, work, "sub/u.ign") != "secret too\n" {
				t.Error("an undo over a run has taken a person's file along")
			}
			s.fsck()
		})
	}
}

// uncovered is a stage on which a rollback has taken an ignore rule away, so that a
// file that was ignored is visible, and no checkpoint has it.
func uncovered(t *testing.T) *stage {
	t.Helper()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "cat mine.log >seen; echo b >>mine.log"}
	]}`)
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	put(t, s.workspace(), ".gitignore", "*.log\n")
	put(t, s.workspace(), "mine.log", "a person's\n")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = true })
	s.mustRollback("a")
	if onDisk(s.workspace(), ".gitignore") || content(t, s.workspace(), "mine.log") != "a person's\nb\n" {
		t.Fatalf("nothing was uncovered: %v", s.tree())
	}
	return s
}

// What the first codon after a move was the first to look at, the move has not brought:
// it stays when the move is undone.
func TestAnUndoLeavesTheFilesThatACodonBehindItsMoveHasTracked(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["a"], "promptText": "echo a >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "mkdir new; ls >seen"},
	  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo hidden/ >.gitignore"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	put(t, s.workspace(), "hidden/mine", "a person's\n")
	if err := os.MkdirAll(filepath.Join(s.workspace(), "hidden", "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := s.tree()
	s.mustRollback("a")
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	if got := content(t, s.workspace(), "hidden/mine"); got != "a person's\n" || onDisk(s.workspace(), ".gitignore") {
		t.Fatalf("the rollback has not uncovered the file: %v", s.tree())
	}
	s.mustUndo()
	sameTree(t, "taken back", s.tree(), before)
	s.sameFolders("taken back", "hidden/empty", "new")
	s.mustUndo()
	s.mustUndo()
	sameTree(t, "taken back thrice", s.tree(), before)
	s.sameFolders("taken back thrice", "hidden/empty", "new")
}

// The same where no codon had looked at all files before the move.
func TestAnUndoLeavesTheFilesThatTheFirstToLookTracksBehindItsMove(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["a"], "promptText": "echo a >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": [".gitignore"],
	    "promptText": "test -e ../again || echo hidden/ >.gitignore"},
	  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "cat hidden/mine >seen"}
	]}`)
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 2 })
	put(t, s.workspace(), "hidden/mine", "a person's\n")
	before := s.tree()
	s.mustRollback("a")
	put(t, s.root, "again", "")
	s.must(ModeRun, exitcode.Done)
	if got := content(t, s.workspace(), "seen"); got != "a person's\n" || onDisk(s.workspace(), ".gitignore") {
		t.Fatalf("the rollback has not uncovered the file: %v", s.tree())
	}
	s.mustUndo()
	sameTree(t, "taken back", s.tree(), before)
	s.mustUndo()
	s.mustUndo()
	sameTree(t, "taken back thrice", s.tree(), before)
}

// What a move has brought follows from the lineage path that it began on, whichever is
// the present one when it is undone.
func TestAnUndoLeavesTheFilesThatAnotherLineagePathHad(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["a"], "promptText": "echo a >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "ls >seen"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	without := s.head()
	s.mustRollback("a")
	put(t, s.workspace(), "mine", "a person's\n")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = true })
	s.mustRollback(string(without))
	if onDisk(s.workspace(), "mine") {
		t.Fatalf("the file is there: %v", s.tree())
	}
	put(t, s.workspace(), "mine", "a person's\n")
	put(t, s.workspace(), ".gitignore", "mine\n")
	before := s.tree()
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon, o.Restore = "b", true })
	if got := content(t, s.workspace(), "mine"); got != "a person's\n" || onDisk(s.workspace(), ".gitignore") {
		t.Fatalf("the retry has not uncovered the file: %v", s.tree())
	}
	s.mustUndo()
	sameTree(t, "taken back", s.tree(), before)
	s.mustUndo()
	s.mustUndo()
	sameTree(t, "taken back thrice", s.tree(), before)
}

func TestARetryStartsFromTheFilesThatAMoveHasUncovered(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testing.T, *stage){
		"a rollback": func(*testing.T, *stage) {},
		"the answer of a person": func(t *testing.T, s *stage) {
			put(t, s.workspace(), "edit", "a person's\n")
			s.opts.Restore = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := uncovered(t)
			change(t, s)
			s.must(ModeRun, exitcode.Done)
			s.opts.Restore = false
			done := s.tree()
			s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "b" })
			sameTree(t, "done again", s.tree(), done)
			s.mustUndo()
			sameTree(t, "taken back", s.tree(), done)
		})
	}
}

// The codon that a retry does again starts from the files that the retry itself has
// uncovered, which no checkpoint had: they are in the checkpoint from before it.
func TestACodonStartsFromTheFilesThatItsOwnRetryHasUncovered(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "true"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo '*.log' >.gitignore; echo b >>b.log"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "b" })
	if got := content(t, s.workspace(), "b.log"); got != "b\nb\n" {
		t.Fatalf("b.log is %q", got)
	}
	if base := s.treeIn(s.last("b").BaseCheckpoint); base["b.log"] == "" {
		t.Errorf("the codon has started from %v, without the file that the retry had uncovered", base)
	}
}

// So it does where the checkpoint that the move went to has looked at more than the
// codon: at everything, as the initial one, and the file was ignored there.
func TestARetryStartsFromTheFilesThatAMoveToTheBeginningHasUncovered(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": [".gitignore", "*.log", "seen"],
	   "promptText": "test ! -e mine.log || { cat mine.log >seen; echo a >>mine.log; }"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": [], "promptText": "true"}
	]}`)
	put(t, s.workspace(), "other", "of the initial checkpoint alone\n")
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter, o.Fresh = 1, true })
	put(t, s.workspace(), ".gitignore", "*.log\n")
	put(t, s.workspace(), "mine.log", "a person's\n")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = true })
	s.mustRollback("initial")
	if onDisk(s.workspace(), ".gitignore") || content(t, s.workspace(), "mine.log") != "a person's\n" {
		t.Fatalf("nothing was uncovered: %v", s.tree())
	}
	s.must(ModeRun, exitcode.Done)
	done := s.tree()
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "a" })
	sameTree(t, "done again", s.tree(), done)
	put(t, s.workspace(), "other", "changed\n") // the base still has it as it was
	s.mustRollback("initial")
	if got := content(t, s.workspace(), "other"); got != "of the initial checkpoint alone\n" {
		t.Errorf("other: %q", got)
	}
	s.mustUndo()
	s.fsck()
}

// A retry directly behind the move leaves them where they are, whoever had made them,
// and starts from them: nobody is asked about them. What it asks about, --restore
// deletes.
func TestARetryBehindAMoveLeavesTheFilesThatThatHasUncovered(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, c := range map[string]struct {
		change func(*testing.T, *stage)
		left   string // in mine.log
	}{
		"at once":             {func(*testing.T, *stage) {}, "a person's\nb\n"},
		"changed by a person": {func(t *testing.T, s *stage) { put(t, s.workspace(), "mine.log", "changed\n") }, "changed\n"},
		"behind an answer": {func(t *testing.T, s *stage) {
			put(t, s.workspace(), "edit", "a person's\n")
			put(t, s.workspace(), "added.log", "mine, too\n")
			s.must(ModeRetry, exitcode.Decision, func(o *command) { o.Codon = "a" })
			s.opts.Restore = true
		}, "a person's\nb\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := uncovered(t)
			c.change(t, s)
			before := s.tree()
			s.must(ModeRetry, exitcode.Stopped, func(o *command) { o.Codon, o.StopAfter = "a", 1 })
			s.opts.Restore = false
			if got := content(t, s.workspace(), "mine.log"); got != c.left {
				t.Errorf("mine.log: %q, want %q", got, c.left)
			}
			if onDisk(s.workspace(), "edit") || onDisk(s.workspace(), "added.log") {
				t.Error("an answered --restore left what it was asked about")
			}
			s.mustUndo()
			sameTree(t, "taken back", s.tree(), before)
			for _, file := range []string{"edit", "added.log"} {
				testkit.Must(t, os.RemoveAll(filepath.Join(s.workspace(), file)))
			}
			s.must(ModeRetry, exitcode.Stopped, func(o *command) { o.Codon, o.StopAfter = "a", 1 }) // behind the undo
			s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "a" })                    // of what is tracked by now
			if got := content(t, s.workspace(), "seen"); got != c.left {
				t.Errorf("the next codon has found %q, want %q", got, c.left)
			}
			s.fsck()
		})
	}
}

// What stands where the codon's beginning has something else is replaced, and is in the
// checkpoint of before.
func TestARetryReplacesAnUncoveredFileWhereItsBeginningHasAnother(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "rm -f d.log; mkdir d.log; echo in >d.log/x"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "cat d.log/x >seen; rm -r d.log; echo b >b"},
	  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo c >c"}
	]}`)
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 2 })
	put(t, s.workspace(), ".gitignore", "*.log\n")
	put(t, s.workspace(), "d.log", "a person's\n")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = true })
	s.mustRollback("b")
	if content(t, s.workspace(), "d.log") != "a person's\n" {
		t.Fatalf("nothing was uncovered: %v", s.tree())
	}
	before := s.tree()
	s.must(ModeRetry, exitcode.Stopped, func(o *command) { o.Codon, o.StopAfter = "b", 1 })
	if got := content(t, s.workspace(), "seen"); got != "in\n" {
		t.Errorf("the codon has found %q", got)
	}
	s.mustUndo()
	sameTree(t, "taken back", s.tree(), before)
	s.fsck()
}

// The question names what the user has changed. An answer to it changes nothing else.
func TestAnAnswerLeavesTheFilesThatAMoveHasUncovered(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := uncovered(t)
	put(t, s.workspace(), "edit", "a person's\n")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Restore = true })
	if onDisk(s.workspace(), "edit") {
		t.Error("the edit is still there")
	}
	if got := content(t, s.workspace(), "seen"); got != "a person's\nb\n" {
		t.Errorf("the codon has found %q", got)
	}
}

// What the user adds or changes behind such a move is asked about, also where the rule
// that is gone would have hidden it. What the move itself has uncovered is not.
func TestAnEditBehindAMoveIsAskedAboutWhereAnIgnoreRuleWas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(*testing.T, *stage)
		left map[string]string // behind the answer --restore; empty: it is not there
	}{
		"a file that is added": {func(t *testing.T, s *stage) { put(t, s.workspace(), "added.log", "mine, too\n") },
			map[string]string{"added.log": "", "mine.log": "a person's\nb\nb\n"}},
		"also when gc has freed what nothing needs": {func(t *testing.T, s *stage) {
			s.mustCollect()
			put(t, s.workspace(), "added.log", "mine, too\n")
		}, map[string]string{"added.log": "", "mine.log": "a person's\nb\nb\n"}},
		"behind a move that was taken back, and made again": {func(t *testing.T, s *stage) {
			s.mustUndo()
			s.must(ModeRun, exitcode.Done)
			s.mustRollback("a")
			put(t, s.workspace(), "added.log", "mine, too\n")
		}, map[string]string{"added.log": "", "mine.log": "a person's\nb\nb\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := uncovered(t)
			c.edit(t, s)
			s.must(ModeRun, exitcode.Decision)
			s.must(ModeRun, exitcode.Done, func(o *command) { o.Restore = true })
			for file, want := range c.left {
				switch {
				case want == "" && onDisk(s.workspace(), file):
					t.Errorf("%s is still there", file)
				case want != "" && content(t, s.workspace(), file) != want:
					t.Errorf("%s: %q, want %q", file, content(t, s.workspace(), file), want)
				}
			}
			s.fsck()
		})
	}
}

// So it is where the move was killed before it could say so, and finished by the next
// command. What is added between the two counts as found by the move, unless that had
// looked already.
func TestAnEditBehindAMoveThatWasKilledIsAskedAboutWhereAnIgnoreRuleWas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		point   string
		between bool // whether the file is added before the next command
	}{
		"before it has looked":               {"move.applied", false},
		"behind that":                        {"move.uncovered", false},
		"behind that, and the file is added": {"move.uncovered", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := uncovered(t)
			s.mustUndo()
			cmd := exec.Command(os.Args[0], "__part", "rollback", s.root, "a")
			cmd.Env = append(os.Environ(), "HANK_FAILPOINT="+c.point)
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Fatalf("%s was not passed: %s", c.point, out)
			}
			if onDisk(s.workspace(), ".gitignore") {
				t.Fatal("the rule is still there")
			}
			if c.between {
				put(t, s.workspace(), "added.log", "mine, too\n")
			}
			x, err := recovery.Open(context.Background(), s.root, execution.Options{})
			if err != nil {
				t.Fatal(err)
			}
			testkit.Must(t, x.Close())
			put(t, s.workspace(), "added.log", "mine, too\n")
			s.must(ModeRun, exitcode.Decision)
			testkit.Must(t, os.Remove(filepath.Join(s.workspace(), "added.log")))
			s.must(ModeRun, exitcode.Done)
			if got := content(t, s.workspace(), "seen"); got != "a person's\nb\n" {
				t.Errorf("the codon has found %q", got)
			}
			s.fsck()
		})
	}
}

// Whatever codons and the user do to files and to ignore rules: a rollback that
// is undone leaves every byte and mode as it was, and no move touches a file
// that no codon's checkpoint ever had and that is ignored, now or in the target,
// unless the target needs its place. HANK_LONG tries many, from HANK_SEED on.
func TestEveryMoveCanBeTakenBackWhateverIsIgnored(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	first, lives := uint64(1), uint64(4)
	if os.Getenv("HANK_LONG") != "" {
		lives = 300
	}
	if seed, err := strconv.ParseUint(os.Getenv("HANK_SEED"), 10, 64); err == nil {
		first = seed
	}
	for seed := first; seed < first+lives; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			newWanderer(t, seed).wander()
		})
	}
}

// wanderer goes to and fro in an execution, and edits files in between.
type wanderer struct {
	*stage
	*rand.Rand
	log    []string
	edited bool // since the last move or run: hank may ask
}

var (
	wanderFiles = []string{"a", "b.ign", "c.tmp", "d/a", "d/b.ign", "d/e/c.tmp", "e"}
	wanderRules = []string{"*.ign", "*.tmp", "d/", "/e", "*\n!a\n!.gitignore", "!b.ign", "d/e", "a"}
)

// change is a shell command that changes one file or rule.
func (w *wanderer) change() string {
	name := wanderFiles[w.IntN(len(wanderFiles))]
	folder := []string{"", "", "d/"}[w.IntN(3)]
	switch w.IntN(9) {
	case 0, 1:
		return fmt.Sprintf("printf '%s\\n' >%s.gitignore", strings.ReplaceAll(wanderRules[w.IntN(len(wanderRules))], "\n", `\n`), folder)
	case 2:
		return fmt.Sprintf("rm -f %s.gitignore", folder)
	case 3:
		return "rm -rf " + name
	case 4:
		return fmt.Sprintf("if test -f %[1]s; then chmod +x %[1]s; fi", name)
	case 5: // a file where the others have a directory
		return []string{"rm -rf d; echo d >d", "rm -rf d/e; mkdir -p d; echo e >d/e"}[w.IntN(2)]
	}
	return fmt.Sprintf("echo %d >>%s", w.IntN(1000), name)
}

// changes is a script of several of them; directories are there.
func (w *wanderer) changes(most int) string {
	var b strings.Builder
	for range 1 + w.IntN(most) {
		b.WriteString("if test ! -d d; then rm -f d; fi; if test ! -d d/e; then rm -f d/e; fi; mkdir -p d/e; " + w.change() + "\n")
	}
	return b.String()
}

func newWanderer(t *testing.T, seed uint64) *wanderer {
	w := &wanderer{Rand: rand.New(rand.NewPCG(seed, 0))}
	tracked := []string{"", "", `, "checkpointedFiles": ["d/**", ".gitignore"]`}[w.IntN(3)]
	var codons []string
	for i := range 3 {
		script := w.changes(4)
		w.log = append(w.log, fmt.Sprintf("c%d%s:\n%s", i, tracked, script))
		archive := []string{"", "", "", `, "archiveOnSuccess": ["d/*", "c.tmp"]`, `, "archiveOnSuccess": ["a"]`}[w.IntN(5)]
		codons = append(codons, fmt.Sprintf(`{"id": "c%d", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": %q%s%s}`, i, script, tracked, archive))
		tracked = ""
	}
	w.stage = stageOf(t, `{"hank": [`+strings.Join(codons, ",")+`]}`)
	w.opts.Workspace = t.TempDir()
	return w
}

func (w *wanderer) wander() {
	defer func() {
		if w.t.Failed() {
			w.t.Logf("it did:\n%s", strings.Join(w.log, "\n"))
		}
	}()
	w.edit()
	w.must(ModeRun, exitcode.Done)
	for range 6 {
		switch w.IntN(6) {
		case 0:
			w.edit()
		case 1:
			w.did("run, edited %v", w.edited)
			w.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = w.edited })
			w.edited = false
		case 2:
			id := state.CodonID(fmt.Sprintf("c%d", w.IntN(3)))
			keep := w.IntN(2) == 0
			w.did("retry %s, keep %v", id, keep)
			if _, err := w.run(ModeRetry, func(o *command) { o.Codon, o.KeepTree, o.Restore = id, keep, !keep }); err != nil {
				var usage *exitcode.UsageError
				if !errors.As(err, &usage) { // it has not run on the lineage path
					w.t.Fatal(err)
				}
				continue
			}
			w.edited = false
		default:
			w.edit()
			w.thereAndBack()
		}
		if w.t.Failed() {
			return
		}
	}
	w.fsck()
}

func (w *wanderer) did(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *wanderer) edit() {
	script := w.changes(3)
	w.edited = true
	w.did("edit:\n%s", script)
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = w.opts.Workspace
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
}

// thereAndBack goes to a checkpoint, back, there and back again; sometimes it
// stays.
func (w *wanderer) thereAndBack() {
	targets := strings.Fields(w.git("log", "--all", "--invert-grep", "--grep=^program:", "--format=%H"))
	to := state.SHA(targets[w.IntN(len(targets))])
	before, safe := w.disk(), w.unrecorded(to)
	w.did("rollback to %s (%s)", to, w.git("log", "-1", "--format=%s", string(to)))
	w.mustRollback(string(to))
	there := w.disk()
	defer func() { w.edited = !maps.Equal(w.disk(), there) }()
	for path, was := range safe {
		if there[path] != was {
			w.t.Errorf("the rollback to %.12s has made %q of %s, which was %q and no codon's", to, there[path], path, was)
		}
	}
	for i := range 2 {
		w.mustUndo()
		w.same(fmt.Sprintf("taken back (%d)", i), w.disk(), before)
		if i == 0 && w.IntN(3) > 0 {
			w.mustUndo()
			w.same("the undo taken back", w.disk(), there)
		} else if w.IntN(2) == 0 {
			return
		}
		if i == 0 && w.IntN(3) == 0 {
			return
		}
		if maps.Equal(w.disk(), before) {
			w.mustUndo()
			w.same("there again", w.disk(), there)
		}
	}
}

func (w *wanderer) same(when string, got, want map[string]string) {
	if !maps.Equal(got, want) {
		w.did("%s", when)
		sameTree(w.t, when, got, want)
	}
}

// disk is every file of the workspace with its mode and bytes, and every empty
// directory.
func (w *wanderer) disk() map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(w.opts.Workspace, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(w.opts.Workspace, path)
		if err != nil || d.IsDir() {
			if in, readErr := os.ReadDir(path); err == nil && readErr == nil && len(in) == 0 {
				out[rel+"/"] = "empty"
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		out[rel] = fmt.Sprint(info.Mode()&0o111 != 0, " ", string(text))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// unrecorded are the files that a move to a checkpoint must not touch, as stock
// git sees them.
func (w *wanderer) unrecorded(to state.SHA) map[string]string {
	recorded := map[string]bool{}
	for _, line := range strings.Split(w.git("log", "--branches=run-*", "--branches=main", "--first-parent", "--format=", "--name-only", "--diff-merges=off", "--root"), "\n") {
		recorded[line] = true
	}
	for _, sha := range strings.Fields(w.git("log", "--all", "--grep=^manual:", "--format=%H")) {
		for path := range w.treeIn(state.SHA(sha)) {
			recorded[path] = true // kept by the user's answer
		}
	}
	target := w.treeIn(to)
	then := w.t.TempDir()
	work := exec.Command("sh", "-c", `git --git-dir="$1" archive "$2" | tar -x -C "$3"`, "sh", layout.Layout{Root: w.root}.Store(), string(to), then)
	if out, err := work.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	out := w.disk()
	maps.DeleteFunc(out, func(path, _ string) bool { return strings.HasSuffix(path, "/") })
	now, there := w.ignored(w.opts.Workspace, out), w.ignored(then, out)
	maps.DeleteFunc(out, func(path, _ string) bool {
		if recorded[path] || !now[path] && !there[path] {
			return true
		}
		for needed := range target {
			if needed == path || strings.HasPrefix(needed, path+"/") || strings.HasPrefix(path, needed+"/") {
				return true
			}
		}
		return false
	})
	return out
}

// ignored asks stock git about paths, under the rules that a directory has.
func (w *wanderer) ignored(dir string, paths map[string]string) map[string]bool {
	empty := w.t.TempDir()
	git := func(input string, args ...string) string {
		cmd := exec.Command("git", append([]string{"--git-dir=" + empty, "--work-tree=" + dir}, args...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			w.t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	git("", "init", "-q")
	found := map[string]bool{}
	for path := range strings.SplitSeq(git(strings.Join(slices.Sorted(maps.Keys(paths)), "\n"), "check-ignore", "--no-index", "--stdin"), "\n") {
		found[path] = true
	}
	return found
}
