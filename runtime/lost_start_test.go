package runtime

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hank/internal/failpoint"
	"hank/internal/prompt"
	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/runtime/verdict"
	"hank/state"
)

// A codon was interrupted, and then all checkpoints are lost. The user accepts that,
// but the codon cannot be done again on the tree from before it: hank asks, and
// does it on the tree as it is.
func TestACodonWhoseStartIsLostIsAskedAbout(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, again := range map[string]func(*command){
		"told":  func(o *command) { o.KeepTree = true },
		"asked": func(o *command) { o.Ask = func(prompt.Question) int { return 0 } },
	} {
		for _, mode := range []Mode{ModeRun, ModeRetry} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				s := stageOf(t, `{"hank": [
				  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
				  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log; [ $(wc -l <log) -gt 2 ] || sleep 600",
				   "rigSetup": [{"type": "command", "command": {"run": "mkdir rig"}}]}
				]}`)
				s.must(ModeRun, exitcode.Stopped, s.stopAt("b", codon.StopNow))
				for !strings.Contains(content(t, s.workspace(), "log"), "b") { // else it was stopped before it
					s.must(ModeRun, exitcode.Stopped, s.stopAt("b", codon.StopNow))
				}
				if err := os.RemoveAll(s.view().Layout.Store()); err != nil {
					t.Fatal(err)
				}
				s.must(mode, exitcode.Decision)
				x, err := recovery.Open(t.Context(), s.opts.Execution, execution.Options{ReplaceStore: true})
				if err == nil {
					err = x.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
				put(t, s.workspace(), "by-hand", "kept\n")
				before := s.tree()
				for _, change := range []func(*command){func(*command) {}, func(o *command) { o.Restore = true }} {
					if _, err := s.run(mode, change); verdict.CodeOf(err) != exitcode.Decision || !strings.Contains(err.Error(), "from before codon b") || !strings.Contains(err.Error(), "--keep-tree") {
						t.Errorf("it ended with %d: %v", verdict.CodeOf(err), err)
					}
				}
				if !maps.Equal(s.tree(), before) {
					t.Error("the tree has changed")
				}
				s.must(mode, exitcode.Done, again)
				if got := content(t, s.workspace(), "log"); got != "a\nb\nb\n" {
					t.Errorf("log: %q", got)
				}
				if !s.reachable("kept\n") {
					t.Error("what a person added is in no checkpoint")
				}
				s.fsck()
			})
		}
	}
}

// loosen gives each object of the store a file of its own, so that one can be
// lost alone.
func (s *stage) loosen() {
	s.t.Helper()
	store := s.view().Layout.Store()
	packs, err := filepath.Glob(filepath.Join(store, "objects", "pack", "*"))
	if err != nil || len(packs) == 0 {
		s.t.Fatal(packs, err)
	}
	aside := s.t.TempDir()
	for _, pack := range packs {
		if err := os.Rename(pack, filepath.Join(aside, filepath.Base(pack))); err != nil {
			s.t.Fatal(err)
		}
		if filepath.Ext(pack) != ".pack" {
			continue
		}
		cmd := exec.Command("sh", "-c", `git --git-dir="$0" unpack-objects -q <"$1"`, store, filepath.Join(aside, filepath.Base(pack)))
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("%v: %s", err, out)
		}
	}
}

// loose is the file of what a codon's checkpoint holds at a path.
func (s *stage) loose(codon state.CodonID, path string) string {
	s.t.Helper()
	id := strings.TrimSpace(s.git("rev-parse", string(s.last(codon).CompletionCheckpoint)+":"+path))
	return filepath.Join(s.view().Layout.Store(), "objects", id[:2], id[2:])
}

// What a store has lost and the workspace still has, be it ignored by now, is
// stored again, and no question is asked.
func TestALostObjectThatTheWorkspaceHasIsNoLoss(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, rule := range []string{"other", "same"} {
		s := stageOf(t, `{"hank": [
		  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log; echo whole >same"},
		  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log; echo \"$RULE\" >.gitignore; test -e \"$OK\""}
		]}`)
		ok := filepath.Join(t.TempDir(), "ok")
		s.opts.Environ = append(s.opts.Environ, "OK="+ok, "RULE="+rule)
		s.must(ModeRun, exitcode.Failed)
		s.loosen()
		if err := os.Remove(s.loose("a", "same")); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Dir(ok), "ok", "")
		s.must(ModeRetry, exitcode.Done)
		if got := content(t, s.workspace(), "log") + content(t, s.workspace(), "same"); got != "a\nb\nwhole\n" {
			t.Errorf("it holds %q", got)
		}
		s.fsck()
	}
}

// An agent makes the store lose what its own codon started from: the policy's
// retry does not begin a move that cannot end, and the user has a way on.
func TestARetryByPolicyWhoseStartIsLostIsAskedAbout(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "onFailure": "retry", "retryConfig": {"maxAttempts": 1, "delayMs": 1},
	   "promptText": "echo b >>log; rm -f \"$OBJECT\"; [ $(wc -l <log) -gt 2 ]"}
	]}`)
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	s.loosen()
	s.opts.Environ = append(s.opts.Environ, "OBJECT="+s.loose("a", "log"))
	for range 2 {
		if _, err := s.run(ModeRun); verdict.CodeOf(err) != exitcode.Decision || !strings.Contains(err.Error(), "from before codon b") {
			t.Fatalf("it ended with %d: %v", verdict.CodeOf(err), err)
		}
	}
	s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = true })
	if got := content(t, s.workspace(), "log"); got != "a\nb\nb\n" {
		t.Errorf("log: %q", got)
	}
}

// --keep-tree leaves the workspace as it is also where a checkpoint of it would
// not hold all that is there.
func TestKeepingTheTreeOfALostStartRemovesNothing(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log"},
	  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo c >>log; echo x.log >.gitignore; echo precious >x.log"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	s.mustRollback("b")
	if !onDisk(s.workspace(), "x.log") {
		t.Fatal("the rollback has removed an ignored file that no checkpoint has")
	}
	s.loosen()
	if err := os.Remove(s.loose("a", "log")); err != nil {
		t.Fatal(err)
	}
	before := s.tree()
	again := func(o *command) { o.Codon, o.StopAfter = "b", 1 }
	s.must(ModeRetry, exitcode.Decision, again)
	s.must(ModeRetry, exitcode.Stopped, again, func(o *command) { o.KeepTree = true })
	after := s.tree()
	before["log"], after["log"] = "", ""
	if !maps.Equal(before, after) {
		t.Errorf("the tree was %v and is %v", before, after)
	}
	if got := content(t, s.workspace(), "log"); got != "a\nb\nb\n" {
		t.Errorf("log: %q", got)
	}
}

// A codon was interrupted: run puts back the tree from before it, unless the user
// asks for the one that is there, whatever of it the error checkpoint has by then.
func TestAnInterruptedCodonKeepsTheTreeWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for keep, want := range map[bool]string{false: "a\nb\n", true: "a\nb\nb\n"} {
		s := stageOf(t, `{"hank": [
		  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
		  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log; [ -e ../go ] || sleep 600"}
		]}`)
		s.must(ModeRun, exitcode.Stopped, s.stopAt("b", codon.StopNow))
		for !strings.Contains(content(t, s.workspace(), "log"), "b") { // else it was stopped before it
			s.must(ModeRun, exitcode.Stopped, s.stopAt("b", codon.StopNow))
		}
		put(t, filepath.Dir(s.workspace()), "go", "")
		s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree = keep })
		if got := content(t, s.workspace(), "log"); got != want {
			t.Errorf("keep %v: log %q, want %q", keep, got, want)
		}
	}
}

// A codon was interrupted, and the workspace takes no file any more: it cannot be
// put back. Readers say so, hank run asks, and both answers lead on.
func TestAClosedWorkspaceThatCannotBePutBackIsAskedAbout(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprint(keep), func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, `{"hank": [
			  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["log"], "promptText": "echo a >>log"},
			  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["log"], "promptText": "echo b >>log; test -e ../go || sleep 600"}]}`)
			s.must(ModeRun, exitcode.Stopped, s.stopAt("b", codon.StopNow))
			put(t, s.workspace(), "log", "a\nb\n") // whether the codon came to it or not
			reopen := failpoint.Refuse(s.workspace(), "", syscall.EROFS)
			defer reopen()
			before := s.tree()
			ask := func(when string) {
				t.Helper()
				v := s.view()
				if v.Blocked == nil || verdict.OfExecution(v) != verdict.Blocked || v.Blocked.Command != "hank run --keep-tree" || !strings.Contains(v.Blocked.Error(), "read-only file system") {
					t.Errorf("%s: %v, %v", when, verdict.OfExecution(v), v.Blocked)
				}
				res, err := s.run(ModeRun, func(o *command) { o.Restore = true })
				if verdict.CodeOf(err) != exitcode.Decision || !strings.Contains(fmt.Sprint(err), "make it writable again") || strings.Contains(err.Error(), "did not begin") {
					t.Errorf("%s, hank run: %v, %v", when, res, err)
				}
				sameTree(t, when, s.tree(), before)
			}
			ask("at first")
			ask("again")
			if err := os.WriteFile(filepath.Join(filepath.Dir(s.workspace()), "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			want := "a\nb\nb\n"
			if !keep {
				want = "a\nb\n"
				reopen()
				if v := s.view(); v.Blocked != nil {
					t.Errorf("writable again: %v", v.Blocked)
				}
			}
			s.must(ModeRun, exitcode.Done, func(o *command) { o.KeepTree, o.Restore = keep, !keep })
			if got := content(t, s.workspace(), "log"); got != want {
				t.Errorf("log: %q", got)
			}
		})
	}
}

// What the interrupted codon has not changed need not be put back.
func TestAClosedWorkspaceThatIsAsBeforeTheCodonIsNotBlocked(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "test -e ../go || sleep 600"}]}`)
	s.must(ModeRun, exitcode.Stopped, s.stopAt("a", codon.StopNow))
	defer failpoint.Refuse(s.workspace(), "", syscall.EROFS)()
	if v := s.view(); v.Blocked != nil {
		t.Errorf("%v", v.Blocked)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.workspace()), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.must(ModeRun, exitcode.Done)
}
