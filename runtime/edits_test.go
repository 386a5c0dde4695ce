package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/internal/prompt"
	"hank/internal/short"
	"hank/recovery/finding"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// rigged fails until the workspace has the file ok. Rig and codon append to
// files, so that a tree that was not restored shows.
const rigged = `{"hank": [
  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log; echo half >half; test -e \"$OK\"",
   "rigSetup": [{"type": "command", "command": {"run": "echo rig >>rig.log"}}]},
  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo c >>log"}
]}`

// failing is a stage of rigged that has failed at b; open lets b succeed.
func failing(t *testing.T) (s *stage, open func()) {
	t.Helper()
	s = stageOf(t, rigged)
	gate := filepath.Join(t.TempDir(), "ok")
	s.opts.Environ = append(s.opts.Environ, "OK="+gate)
	s.must(ModeRun, exitcode.Failed)
	return s, func() { put(t, filepath.Dir(gate), "ok", "") }
}

func TestRunAfterAFailureDoesNothing(t *testing.T) {
	t.Parallel()
	s, open := failing(t)
	open()
	tree, records := s.tree(), s.records()
	for range 2 {
		res := s.must(ModeRun, exitcode.Failed)
		if res.Codon != "b" || !strings.Contains(res.Next, "retry") {
			t.Errorf("it says %+v", res)
		}
	}
	sameTree(t, "run again", s.tree(), tree)
	if got := s.records(); len(got) != len(records) {
		t.Errorf("something has run: %v", got)
	}
}

func TestRetryRestoresTheTreeFromBeforeTheCodon(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, c := range map[string]struct {
		change func(*command)
		log    string
		rig    string
	}{
		"with its rig":        {func(*command) {}, "a\nb\nc\n", "rig\n"},
		"behind its rig":      {func(o *command) { o.FromRigSetup = true }, "a\nb\nc\n", "rig\n"},
		"of an older codon":   {func(o *command) { o.Codon = "a" }, "a\nb\nc\n", "rig\n"},
		"of the failed by id": {func(o *command) { o.Codon = "b" }, "a\nb\nc\n", "rig\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, open := failing(t)
			dirty := s.tree()
			s.must(ModeRetry, exitcode.Failed, c.change) // not mended yet
			sameTree(t, "failed again", s.tree(), dirty)
			open()
			s.must(ModeRetry, exitcode.Done, c.change)
			work := s.workspace()
			if got := content(t, work, "log"); got != c.log {
				t.Errorf("log: %q, want %q", got, c.log)
			}
			if got := content(t, work, "rig.log"); got != c.rig {
				t.Errorf("rig.log: %q, want %q", got, c.rig)
			}
			s.fsck()
		})
	}
}

func TestARetryOfADoneHankCanBeTakenBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, open := failing(t)
	open()
	s.must(ModeRetry, exitcode.Done)
	done := s.tree()
	s.must(ModeRetry, exitcode.Stopped, func(o *command) { o.Codon, o.StopAfter = "a", 1 })
	if got := content(t, s.workspace(), "log"); got != "a\n" {
		t.Errorf("log: %q", got)
	}
	s.mustUndo()
	sameTree(t, "taken back", s.tree(), done)
	if res := s.must(ModeRun, exitcode.Done); res.Done != 3 {
		t.Errorf("%+v", res)
	}
}

func TestARetryThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, fixture(t, "hanks/two-steps"))
	s.must(ModeRetry, exitcode.Usage) // there is no execution
	s.must(ModeRun, exitcode.Done)
	for _, change := range []func(*command){
		func(*command) {}, // nothing has failed
		func(o *command) { o.Codon = "nobody" },
		func(o *command) { o.Codon, o.FromRigSetup = "first", true }, // it has no rig
	} {
		before := s.tree()
		s.must(ModeRetry, exitcode.Usage, change)
		sameTree(t, "refused", s.tree(), before)
	}
}

func TestEachAutomaticRetryStartsFromTheSameTree(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := newStage(t, fixture(t, "hanks/retrying"))
	count := t.TempDir()
	s.opts.Environ = append(s.opts.Environ, "COUNTER_DIR="+count)
	began := time.Now()
	s.must(ModeRun, exitcode.Done)
	if took := time.Since(began); took < 20*time.Millisecond {
		t.Errorf("two waits of at least 10 ms took %s", took)
	}
	if got := strings.Join(s.records(), " "); got != "before:completed flaky:failed flaky:failed flaky:completed after:completed" {
		t.Errorf("records: %s", got)
	}
	if got := content(t, s.workspace(), "log.txt"); got != "before\nflaky\nafter\n" {
		t.Errorf("log: %q", got)
	}
	base := s.last("before").CompletionCheckpoint
	for _, c := range s.view().State.Newest().Codons()[1:4] {
		if c.BaseCheckpoint != base {
			t.Errorf("attempt %d began at %s, want %s", c.Attempt, c.BaseCheckpoint, base)
		}
	}
}

// What the user does between two runs is asked about, and never lost.
func TestAPersonsEditsAreAskedAboutAndKept(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	const edit, added = "what a person wrote\n", "a new file of a person\n"
	situations := map[string]struct {
		prepare func(t *testing.T) *stage
		mode    Mode
	}{
		"after a failure": {func(t *testing.T) *stage { s, open := failing(t); open(); return s }, ModeRetry},
		"after a rollback": {func(t *testing.T) *stage {
			s, open := failing(t)
			open()
			s.must(ModeRetry, exitcode.Done)
			s.mustRollback("a")
			return s
		}, ModeRun},
		"after a stop": {func(t *testing.T) *stage {
			s := stageOf(t, rigged)
			s.opts.Environ = append(s.opts.Environ, "OK=/dev/null")
			s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
			return s
		}, ModeRun},
	}
	for name, situation := range situations {
		for answer, change := range map[string]func(*command){
			"keep":        func(o *command) { o.KeepTree = true },
			"restore":     func(o *command) { o.Restore = true },
			"say keep":    func(o *command) { o.Ask = func(prompt.Question) int { return 0 } },
			"say restore": func(o *command) { o.Ask = func(prompt.Question) int { return 1 } },
		} {
			t.Run(name+"/"+answer, func(t *testing.T) {
				t.Parallel()
				s := situation.prepare(t)
				work := s.workspace()
				put(t, work, "log", edit)
				put(t, work, "added", added)
				before, records := s.tree(), s.records()

				_, err := s.run(situation.mode)
				var decision *finding.DecisionError
				if !errors.As(err, &decision) || verdict.CodeOf(err) != exitcode.Decision || !strings.Contains(err.Error(), "log") {
					t.Fatalf("nobody was asked: %v", err)
				}
				s.must(situation.mode, exitcode.Decision, func(o *command) {
					o.Ask = func(q prompt.Question) int { // the user looks before deciding nothing
						var shown strings.Builder
						if q.Diff == nil || q.Diff(&shown) != nil || !strings.Contains(shown.String(), "--- a/log\n+++ b/log\n") {
							t.Errorf("%s: the diff shows %q", q.Text, shown.String())
						}
						return prompt.Cancelled
					}
				})
				sameTree(t, "undecided", s.tree(), before)
				if got := s.records(); len(got) != len(records) {
					t.Errorf("undecided, and yet something has run: %v", got)
				}

				s.must(situation.mode, exitcode.Done, change)
				want := "a\nb\nc\n"
				if kept := strings.HasSuffix(answer, "keep"); kept {
					want = edit + "b\nc\n"
				}
				if got := content(t, work, "log"); got != want {
					t.Errorf("log: %q, want %q", got, want)
				}
				if got := onDisk(work, "added"); got != strings.HasSuffix(answer, "keep") {
					t.Errorf("the added file is there: %v", got)
				}
				for _, text := range []string{edit, added} {
					if !s.reachable(text) {
						t.Errorf("%q is in no checkpoint", text)
					}
				}
				s.fsck()
			})
		}
	}
}

// An edit that came back by an undo is as much of an edit as before.
func TestAnEditThatAnUndoBroughtBackIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	for name, undo := range map[string]func(*stage){
		"once":   func(s *stage) { s.mustUndo() },
		"thrice": func(s *stage) { s.mustUndo(); s.mustUndo(); s.mustUndo() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, open := failing(t)
			work := s.workspace()
			put(t, work, "log", "edited\n")
			put(t, work, "added", "added\n")
			s.must(ModeRetry, exitcode.Failed, func(o *command) { o.Restore = true })
			undo(s)
			before := s.tree()
			if before["added"] == "" || content(t, work, "log") != "edited\n" {
				t.Fatalf("taken back: %v", before)
			}
			open()
			s.must(ModeRetry, exitcode.Decision)
			sameTree(t, "undecided", s.tree(), before)
			s.must(ModeRetry, exitcode.Done, func(o *command) { o.KeepTree = true })
			if got := content(t, work, "log") + content(t, work, "added"); got != "edited\nb\nc\nadded\n" {
				t.Errorf("log and added: %q", got)
			}
		})
	}
}

// A file that the user has replaced with an empty directory is gone as one that they have
// deleted.
func TestAFileThatIsAFolderNowIsAskedAbout(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a; echo b >b"}]}`)
	s.must(ModeRun, exitcode.Done)
	left := s.tree()
	testkit.Must(t, os.Remove(filepath.Join(s.workspace(), "a")))
	testkit.Must(t, os.Mkdir(filepath.Join(s.workspace(), "a"), 0o755))
	s.must(ModeRun, exitcode.Decision)
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Restore = true })
	sameTree(t, "put back", s.tree(), left)
	s.fsck()
}

// The rollback that was undone went to where the execution stood, and has
// found the files there: they are the user's all the same.
func TestARollbackToTheSamePlaceThatWasTakenBackHidesNoAddedFile(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"once": false, "and another one before": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"}]}`)
			s.must(ModeRun, exitcode.Done)
			left := s.tree()
			if again {
				put(t, s.workspace(), "earlier", "removed by an answer\n")
				s.must(ModeRun, exitcode.Done, func(o *command) { o.Restore = true })
			}
			put(t, s.workspace(), "a", "edited\n")
			put(t, s.workspace(), "added", "added\n")
			edited := s.tree()
			s.mustRollback(string(s.view().State.Newest().Head))
			sameTree(t, "rolled back", s.tree(), left)
			s.mustUndo()
			sameTree(t, "taken back", s.tree(), edited)
			s.must(ModeRun, exitcode.Decision)
			s.must(ModeRun, exitcode.Done, func(o *command) { o.Restore = true })
			sameTree(t, "put back", s.tree(), left)
		})
	}
}

// What the user's own rule had hidden, and the answer --restore has made visible by
// taking that rule away, stays, and is no question of the next run. gc keeps what tells
// that.
func TestWhatAnAnswerHasUncoveredIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*stage){
		"at a run's end":    func(*stage) {},
		"behind a rollback": func(s *stage) { s.mustRollback("a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"}]}`)
			s.must(ModeRun, exitcode.Done)
			prepare(s)
			put(t, s.workspace(), ".gitignore", "*.log\n")
			put(t, s.workspace(), "f.log", "mine\n")
			s.must(ModeRun, exitcode.Decision)
			s.must(ModeRun, exitcode.Done, func(o *command) { o.Restore = true })
			if work := s.workspace(); onDisk(work, ".gitignore") || !onDisk(work, "f.log") {
				t.Fatalf("put back: %v", s.tree())
			}
			s.must(ModeRun, exitcode.Done)
			s.mustCollect()
			s.must(ModeRun, exitcode.Done)
			s.mustRollback("initial")
			s.mustCollect()
			s.mustUndo()
			s.must(ModeRun, exitcode.Done)
			put(t, s.workspace(), "added", "added\n")
			s.must(ModeRun, exitcode.Decision)
		})
	}
}

// Nobody has edited anything, and nobody is asked.
func TestWhatHankItselfDoesIsNotTakenForAnEdit(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, drive := range map[string]func(t *testing.T){
		"archives": func(t *testing.T) {
			s := newStage(t, fixture(t, "hanks/archive"))
			s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
			s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
			s.must(ModeRun, exitcode.Done)
		},
		"checks before outputs": func(t *testing.T) {
			s := newStage(t, fixture(t, "hanks/outputs"))
			s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
			s.must(ModeRun, exitcode.Done)
		},
		"a check that fails after it has written": func(t *testing.T) {
			s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a",
			  "outputFiles": [{"beforeCopy": [{"type": "command", "command": {"run": "echo x >>written; test -e fixed"}}], "copy": ["a"]}]}]}`)
			s.must(ModeRun, exitcode.Failed)
			s.must(ModeRetry, exitcode.Failed)
			put(t, s.workspace(), "fixed", "")
			s.must(ModeRetry, exitcode.Decision)
			s.must(ModeRetry, exitcode.Done, func(o *command) { o.KeepTree = true })
		},
		"a rig that fails after it has written": func(t *testing.T) {
			s := newStage(t, fixture(t, "hanks/rig-failing"))
			s.must(ModeRun, exitcode.Failed)
			s.must(ModeRetry, exitcode.Failed)
			s.must(ModeRetry, exitcode.Failed)
		},
		"ignored files that a rollback uncovers": func(t *testing.T) {
			s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a; echo '*.log' >.gitignore; echo noise >made.log"},
			  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >b"}]}`)
			s.must(ModeRun, exitcode.Done)
			s.mustRollback("initial")
			if !onDisk(s.workspace(), "made.log") {
				t.Fatal("nothing was uncovered")
			}
			put(t, s.workspace(), "mine", "a person's\n")
			s.must(ModeRun, exitcode.Decision)
			if err := os.Remove(filepath.Join(s.workspace(), "mine")); err != nil {
				t.Fatal(err)
			}
			s.mustRollback("initial")
			s.mustRollback("initial") // from where it is not ignored any more
			s.must(ModeRun, exitcode.Done)
		},
		"patterns that begin to match": func(t *testing.T) {
			s := stageOf(t, choosy)
			s.opts.Workspace = t.TempDir()
			put(t, s.opts.Workspace, "more/early", "there before the codon that tracks it\n")
			s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
			s.mustRollback("one")
			if got := content(t, s.opts.Workspace, "more/early"); got != "there before the codon that tracks it\n" {
				t.Errorf("more/early: %q", got)
			}
			s.must(ModeRun, exitcode.Done)
		},
		"a start that comes to nothing": func(t *testing.T) {
			s := newStage(t, fixture(t, "hanks/waiting"))
			gate := t.TempDir()
			s.opts.Environ = append(s.opts.Environ, "GATE_DIR="+gate)
			s.must(ModeRun, exitcode.Stopped, s.stopAt("wait", codon.StopNow))
			put(t, gate, "open", "")
			// The tree is restored, and then something that is needed is missing.
			s.must(ModeRun, exitcode.Agent, func(o *command) { o.Environ = o.Environ[:len(o.Environ)-1] })
			s.must(ModeRun, exitcode.Done)
			if got := content(t, s.workspace(), "log.txt"); got != "before\nwait\nafter\n" {
				t.Errorf("log: %q", got)
			}
		},
		"an edit that was put back": func(t *testing.T) {
			s, _ := failing(t)
			put(t, s.workspace(), "log", "edited\n")
			s.must(ModeRetry, exitcode.Agent, func(o *command) { o.Restore, o.Environ = true, []string{"PATH="} }, agentless(s))
			s.must(ModeRetry, exitcode.Decision) // what is refused has moved nothing
			s.must(ModeRetry, exitcode.Failed, func(o *command) { o.Restore = true })
			s.must(ModeRetry, exitcode.Failed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drive(t)
		})
	}
}

// agentless makes the harness's check fail: there is no sh.
func agentless(*stage) func(*command) {
	return func(o *command) { o.Environ = []string{"PATH=/nonexistent"} }
}

// stopAt sends a request when a codon is running.
func (s *stage) stopAt(id state.CodonID, signal codon.Signal) func(*command) {
	requests := make(chan codon.Request, 1)
	return func(o *command) {
		o.Requests = requests
		onStatus(id, state.Running, func() { requests <- codon.Request{Signal: signal, Reason: state.EndStopped, Code: exitcode.Stopped} })(o)
	}
}

func TestResumeKeepsTheTree(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, open := failing(t)
	open()
	work := s.workspace()
	put(t, work, "by-hand", "kept without a question\n")
	s.must(ModeResume, exitcode.Done)
	if got := content(t, work, "log"); got != "a\nb\nb\nc\n" {
		t.Errorf("log: %q", got)
	}
	if !s.reachable("kept without a question\n") || !onDisk(work, "by-hand") {
		t.Error("what a person added is lost")
	}
	if got := content(t, work, "rig.log"); got != "rig\n" {
		t.Errorf("the rig has run again: %q", got)
	}
}

func init() {
	// Runs a hank, and dies as soon as a codon has failed: before it is tried
	// again.
	testkit.Parts["die-of-failure"] = func(args []string) error {
		_, err := Run(context.Background(), Request{Mode: ModeRun, Execution: args[0], Hank: args[1]}, Answers{}, UI{Appended: func(_ journal.Event, s *state.State) {
			if r := s.Current(); r != nil && r.Len() > 0 && r.Codon(r.Len()-1).Status == state.Failed {
				if self, err := os.FindProcess(os.Getpid()); err == nil {
					_ = self.Kill()
				}
				select {}
			}
		}})
		return err
	}
}

func TestACrashBetweenTwoAttemptsDoesNotEndTheTrying(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := newStage(t, fixture(t, "hanks/retrying"))
	count := t.TempDir()
	s.opts.Environ = append(s.opts.Environ, "COUNTER_DIR="+count)
	for range 2 {
		cmd := exec.Command(os.Args[0], "__part", "die-of-failure", s.root, s.opts.Hank)
		cmd.Env = append(os.Environ(), s.opts.Environ...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("it did not die: %v: %s", err, out)
		}
	}
	s.must(ModeRun, exitcode.Done)
	if got := strings.Join(s.records(), " "); got != "before:completed flaky:failed flaky:failed flaky:completed after:completed" {
		t.Errorf("records: %s", got)
	}
	if got := content(t, s.workspace(), "log.txt"); got != "before\nflaky\nafter\n" {
		t.Errorf("log: %q", got)
	}
}

func TestRunAfterAStopRedoesTheCodonOnTheTreeFromBeforeIt(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, signal := range []codon.Signal{codon.StopNow, codon.StopForce} {
		s := newStage(t, fixture(t, "hanks/waiting"))
		gate := t.TempDir()
		s.opts.Environ = append(s.opts.Environ, "GATE_DIR="+gate)
		s.must(ModeRun, exitcode.Stopped, s.stopAt("wait", signal))
		if told := s.told("codon.completed"); fmt.Sprint(told[len(told)-1]["exitStatus"]) != "map[signal:<nil> type:killed]" {
			t.Errorf("a codon that was stopped is told as %v", told[len(told)-1])
		}
		dirty := s.tree()
		put(t, gate, "open", "")
		s.must(ModeRun, exitcode.Done)
		if got := content(t, s.workspace(), "log.txt"); got != "before\nwait\nafter\n" {
			t.Errorf("log: %q", got)
		}
		s.mustUndo() // of the restore of the tree
		sameTree(t, "the unfinished work", s.tree(), dirty)
	}
}

// editable is a hank in a directory of its own, of which the first codon is done
// and the second has failed.
func editable(t *testing.T) (s *stage, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture(t, "hanks/failing"))); err != nil {
		t.Fatal(err)
	}
	s = newStage(t, dir)
	s.must(ModeRun, exitcode.Failed)
	return s, dir
}

const mended = "echo mended >good.txt\n"

func TestAHankThatWasEditedIsAskedAbout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*command)
		code   exitcode.Code
	}{
		"nobody to ask": {func(*command) {}, exitcode.Decision},
		"adopted":       {func(o *command) { o.Adopt = true }, exitcode.Done},
		"frozen":        {func(o *command) { o.Frozen = true }, exitcode.Failed},
		"said adopt":    {func(o *command) { o.Ask = func(prompt.Question) int { return 0 } }, exitcode.Done},
		"said frozen":   {func(o *command) { o.Ask = func(prompt.Question) int { return 1 } }, exitcode.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := editable(t)
			put(t, dir, "prompts/bad.sh", mended)
			put(t, dir, "hank.json", strings.Replace(content(t, dir, "hank.json"), "echo good >", "echo other >", 1)) // a codon that is done
			before, records := s.tree(), s.records()
			s.must(ModeRetry, c.code, c.change)
			switch c.code {
			case exitcode.Decision:
				sameTree(t, "undecided", s.tree(), before)
				if got := s.records(); len(got) != len(records) {
					t.Errorf("something has run: %v", got)
				}
			case exitcode.Done:
				if got := content(t, s.workspace(), "good.txt"); got != "mended\n" {
					t.Errorf("good.txt: %q", got)
				}
				s.must(ModeRun, exitcode.Done) // adopted: not asked again
			case exitcode.Failed:
				if got := content(t, s.workspace(), "good.txt"); got != "changed\n" {
					t.Errorf("good.txt: %q", got)
				}
				s.must(ModeRetry, exitcode.Decision) // frozen once is not frozen for ever
			}
		})
	}
}

func TestAHankThatIsGoneOrBroken(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, dir := editable(t)
	put(t, s.workspace(), "fixed.txt", "")
	put(t, dir, "hank.json", "{ broken")
	s.must(ModeRetry, exitcode.Decision, func(o *command) { o.KeepTree = true })
	if _, err := s.run(ModeRetry, func(o *command) { o.KeepTree, o.Adopt = true, true }); verdict.CodeOf(err) != exitcode.Invalid {
		t.Errorf("a broken hank was adopted: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.KeepTree = true })
	if got := strings.Join(s.records(), " "); got != "good:completed bad:failed bad:completed never:completed" {
		t.Errorf("records: %s", got)
	}
}

// A plan that becomes another one keeps what is settled and still in it.
func TestAnAdoptedHankGoesOnBehindWhatIsSettled(t *testing.T) {
	t.Parallel()
	s, dir := editable(t)
	put(t, dir, "hank.json", `{"hank": [
	  {"id": "good", "name": "Works", "model": "shell", "continuationMode": "fresh", "promptText": "exit 1"},
	  {"id": "between", "name": "New", "model": "shell", "continuationMode": "fresh", "promptText": "echo between >between.txt"},
	  {"id": "never", "name": "Last", "model": "shell", "continuationMode": "fresh", "promptText": "echo never >never.txt"}
	]}`)
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Adopt = true })
	if got := strings.Join(s.records(), " "); got != "good:completed bad:failed between:completed never:completed" {
		t.Errorf("records: %s", got)
	}
}
