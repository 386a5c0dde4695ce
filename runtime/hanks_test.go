package runtime

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/internal/race"
	"hank/internal/short"
	"hank/plan/loop"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/live"
	"hank/state"
)

// raced are the fixtures that run with the race detector. The others go through the same
// code, most of them ten times; scripts/test runs all without it.
var raced = []string{"two-steps", "loop", "steps", "failing", "rigs", "leaky", "outputs"}

// TestEveryFixtureEndsAsItsReadmeSays runs the small hanks.
func TestEveryFixtureEndsAsItsReadmeSays(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, c := range map[string]struct {
		code    exitcode.Code
		records string
		look    func(t *testing.T, s *stage, work string)
	}{
		"minimal": {exitcode.Done, "hello:completed", func(t *testing.T, s *stage, work string) {
			if got := content(t, work, "hello.txt"); got != "hello\n" {
				t.Errorf("hello.txt: %q", got)
			}
		}},
		"two-steps": {exitcode.Done, "first:completed second:completed", func(t *testing.T, s *stage, work string) {
			if got := content(t, work, "log.txt"); got != "first\nsecond\n" {
				t.Errorf("log.txt: %q", got)
			}
			if first, second := s.last("first"), s.last("second"); first.ClaudeSessionID == "" || first.ClaudeSessionID != second.ClaudeSessionID || second.PreviousSessionID != first.ClaudeSessionID {
				t.Errorf("the sessions are %q and %q, continued from %q", first.ClaudeSessionID, second.ClaudeSessionID, second.PreviousSessionID)
			}
		}},
		"loop": {exitcode.Done, "write:completed criticise#0:completed revise#0:completed criticise#1:completed revise#1:completed criticise#2:completed revise#2:completed finish:completed", func(t *testing.T, s *stage, work string) {
			if got := content(t, work, "draft.txt"); got != "draft 3\n" {
				t.Errorf("draft.txt: %q", got)
			}
		}},
		"context-loop": {exitcode.Done, "start:completed work#0:completed note#0:completed work#1:completed note#1:completed work#2:completed after:completed", func(t *testing.T, s *stage, work string) {
			if slices.Contains(s.planIDs(), state.CodonID("note#2")) {
				t.Error("note#2 is in the plan")
			}
			if !s.last("work#2").ContextExceeded || s.last("work#1").ContextExceeded {
				t.Error("the record does not say where the context was full")
			}
		}},
		"steps": {exitcode.Done, "gather:completed build:skipped draft:failed draft:completed round#0:completed round#1:skipped round#2:completed after:completed", func(t *testing.T, s *stage, work string) {
			if got := s.last("build").SkipReason; got != `skipIf: table.csv is there, and "grep -q a,b table.csv" ended with code 0` {
				t.Errorf("build was skipped because of %q", got)
			}
			if got := content(t, work, "log.txt"); got != "gather\ndraft\nround 0\nmore 0\nround 2\nmore 2\nafter\n" {
				t.Errorf("log.txt: %q", got)
			}
		}},
		"plateau-tree":  {exitcode.Done, tenTimes("edit") + " after:completed", ended("polish", "tree: stop (2 in a row): no tracked file has changed, but for those that the rule ignores")},
		"plateau-agent": {exitcode.Done, tenTimes("look", "report") + " after:completed", ended("search", "report: stop (2 in a row): nothing is left")},
		"plateau-judge": {exitcode.Done, strings.Replace(tenTimes("work", "weigh", "tidy"), "weigh#2:completed", "weigh#2:failed", 1), ended("improve", "weigh: stop (2 in a row): iteration 9")},
		"until-command": {exitcode.Done, tenTimes("mend") + " after:completed", ended("fix", "command: stop: it ended with code 0")},
		"any-of":        {exitcode.Done, tenTimes("step"), ended("either", "command: stop: it ended with code 0")},
		"all-of":        {exitcode.Done, tenTimes("line"), ended("both", "line: stop (6 in a row); command: stop: it ended with code 0")},
		"failing": {exitcode.Failed, "good:completed bad:failed", func(t *testing.T, s *stage, work string) {
			bad := s.last("bad")
			if bad.ExitCode == nil || *bad.ExitCode != 3 || !strings.Contains(bad.FailureReason.Message, "fixed.txt is not there") {
				t.Errorf("bad: %v %+v", bad.ExitCode, bad.FailureReason)
			}
			sameTree(t, "the error checkpoint", s.treeIn(bad.ErrorCheckpoint), s.tree())
		}},
		"ignoring": {exitcode.Done, "optional:failed main:completed", func(t *testing.T, s *stage, work string) {
			if !s.last("optional").FailureIgnored {
				t.Error("the failure is not marked as ignored")
			}
		}},
		"budget": {exitcode.Failed, "thrifty:completed spender:completed late:failed", func(t *testing.T, s *stage, work string) {
			if b := s.last("spender").BudgetExceeded; b == nil || b.Limit != 1 || b.Used < 1 {
				t.Errorf("spender: %+v", b)
			}
			if got := s.last("thrifty").Cost(); got != state.Dollars(0.25) {
				t.Errorf("thrifty cost %s", got)
			}
			if late := s.last("late"); late.BudgetExceeded == nil || late.FailureReason.Class != "budget" {
				t.Errorf("late: %+v", late)
			}
		}},
		"budget-loop": {exitcode.Done, "pay#0:completed pay#1:completed pay#2:completed after:completed", func(t *testing.T, s *stage, work string) {
			if got := s.view().State.TotalCost(); got != state.Dollars(1.2) {
				t.Errorf("it cost %s", got)
			}
		}},
		"rigs": {exitcode.Done, "equipped:completed replaced:completed", func(t *testing.T, s *stage, work string) {
			if s.last("equipped").RigSetupCheckpoint == "" {
				t.Error("the rig has no checkpoint")
			}
			// What the second rig replaced is not lost.
			if !s.reachable("built from the codon with data of the project\n") {
				t.Error("what the rig replaced is in no checkpoint")
			}
		}},
		"rig-failing": {exitcode.Failed, "unequipped:failed", func(t *testing.T, s *stage, work string) {
			c := s.last("unequipped")
			if c.FailedDuring != state.Preparing || !strings.Contains(c.FailureReason.Message, "nothing to build") || onDisk(work, "started.txt") {
				t.Errorf("%+v", c)
			}
		}},
		"leaky": {exitcode.Done, "leak:completed look:completed", func(t *testing.T, s *stage, work string) {
			notes := strings.Join(s.last("leak").Notes, "\n")
			if n := strings.Count(notes, "killed leftover process"); n < 6 {
				t.Errorf("%d processes are said to have been left:\n%s", n, notes)
			}
		}},
		"outputs": {exitcode.Done, "make:completed again:completed", func(t *testing.T, s *stage, work string) {
			var texts []string
			err := filepath.WalkDir(s.opts.Output, func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					texts = append(texts, strings.ReplaceAll(content(t, filepath.Dir(path), d.Name()), "\n", " "))
				}
				return err
			})
			slices.Sort(texts)
			if got := strings.Join(texts, "|"); err != nil || got != "a b |b a |b a c |deep " {
				t.Errorf("the results are %s (%v)", got, err)
			}
		}},
		"outputs-failing": {exitcode.Failed, "make:failed", func(t *testing.T, s *stage, work string) {
			c := s.last("make")
			if c.ErrorCheckpoint == "" || !strings.Contains(c.FailureReason.Message, "no space on the shelf") {
				t.Errorf("%+v", c.FailureReason)
			}
			if s.treeIn(c.ErrorCheckpoint)["result.txt"] == "" {
				t.Error("its work is in no checkpoint")
			}
		}},
		"archive": {exitcode.Done, "draft:completed round#0:completed round#1:completed look:completed", func(t *testing.T, s *stage, work string) {
			var names []string
			_ = filepath.WalkDir(filepath.Join(s.root, layout.ArchiveName), func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					names = append(names, d.Name())
				}
				return err
			})
			slices.Sort(names)
			if got := strings.Join(names, " "); got != "one.txt round-0.txt round-1.txt scrap.txt scrap.txt two.txt" {
				t.Errorf("the archive has %s", got)
			}
		}},
		"env": {exitcode.Done, "variables:completed without:completed", func(t *testing.T, s *stage, work string) {
			const secret = "secret-value-1234"
			err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() && strings.Contains(content(t, filepath.Dir(path), d.Name()), secret) {
					t.Errorf("%s has the secret", path)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			for _, tip := range strings.Fields(s.git("for-each-ref", "--format=%(objectname)")) {
				for _, message := range strings.Split(s.git("log", "--format=%B", tip), "\n") {
					if strings.Contains(message, secret) {
						t.Errorf("a commit says the secret: %.80s", message)
					}
				}
			}
		}},
	} {
		if race.Step > 1 && !slices.Contains(raced, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fixture(t, "hanks/"+name))
			s.opts.Environ = append(s.opts.Environ, "COUNTER_DIR="+t.TempDir())
			res := s.must(ModeRun, c.code)
			if got := strings.Join(s.records(), " "); got != c.records {
				t.Errorf("records: %s\nwant     %s", got, c.records)
			}
			want := state.StatusCompleted
			if c.code != exitcode.Done {
				want = state.StatusFailed
			}
			if v := s.view(); v.State.Newest().Status != want || res.Status != want || v.State.CurrentRunID != "" {
				t.Errorf("the run is %s", v.State.Newest().Status)
			}
			if v := s.view().Validate(); len(v.Errors) > 0 {
				t.Errorf("the state is not valid: %+v", v.Errors)
			}
			c.look(t, s, s.workspace())
			s.fsck()
		})
	}
}

// tenTimes are the records of ten iterations of some codons.
func tenTimes(ids ...string) string {
	var records []string
	for n := range 10 {
		for _, id := range ids {
			records = append(records, fmt.Sprintf("%s#%d:completed", id, n))
		}
	}
	return strings.Join(records, " ")
}

// ended looks whether a loop has a verdict on each of its iterations, and the last is
// this one.
func ended(id state.CodonID, reason string) func(t *testing.T, s *stage, work string) {
	return func(t *testing.T, s *stage, work string) {
		judged := s.judged(id)
		for n, j := range judged {
			if j.Iteration != n || j.Changed == nil || j.Tree == "" || len(j.Votes) == 0 || (j.Decision == loop.Stop) != (n == 9) {
				t.Errorf("iteration %d: %+v", n, j)
			}
		}
		if n := len(judged); n != 10 || judged[n-1].Reason != reason {
			t.Errorf("%d verdicts, the last is %+v, want %q", n, judged[max(0, n-1)], reason)
		}
		if told := s.told("loop.iteration.completed"); len(told) != 10 || told[9]["terminationReason"] != "verdict" {
			t.Errorf("the iterations are told as %v", told)
		}
	}
}

// judged are the verdicts on the iterations of a loop that hold.
func (s *stage) judged(id state.CodonID) (all []*state.Judgement) {
	for _, step := range s.view().State.LineagePath() {
		if at := step.Codon.LoopContext; at != nil && at.LoopID == id && step.Codon.Settled() {
			if j := step.Run.Judgement(step.Codon); j != nil {
				all = append(all, j)
			}
		}
	}
	return all
}

// Every checkpoint of every fixture is what was on disk at that moment: run on
// from each, the hank ends with the same tree.
func TestEveryCheckpointOfEveryFixtureIsAPlaceToGoOnFrom(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, name := range []string{"two-steps", "context-loop", "rigs", "archive", "outputs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fixture(t, "hanks/"+name))
			s.must(ModeRun, exitcode.Done)
			want := s.tree()
			delete(want, "session.txt") // a new session has a new name
			for _, sha := range s.commits() {
				s.mustRollback(string(sha))
				sameTree(t, "back", s.tree(), s.treeIn(sha))
				s.must(ModeRun, exitcode.Done)
				got := s.tree()
				delete(got, "session.txt")
				sameTree(t, "run on from "+s.git("log", "-1", "--format=%s", string(sha)), got, want)
			}
		})
	}
}

func TestALiveRunIsControlledFromOutside(t *testing.T) {
	t.Parallel()
	for command, c := range map[string]struct {
		code    exitcode.Code
		records string
		log     string
	}{
		"stop":             {exitcode.Stopped, "before:completed wait:failed", "before\nwait\n"},
		"skip":             {exitcode.Done, "before:completed wait:skipped after:completed", "before\nwait\nafter\n"},
		"stop-after-codon": {exitcode.Stopped, "before:completed wait:completed", "before\nwait\n"},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fixture(t, "hanks/waiting"))
			gate := t.TempDir()
			s.opts.Environ = append(s.opts.Environ, "GATE_DIR="+gate)
			told := make(chan error, 1)
			s.must(ModeRun, c.code, onStatus("wait", state.Running, func() {
				go func() {
					for !onDisk(gate, "started") { // its script has written
						time.Sleep(time.Millisecond)
					}
					ctx := context.Background()
					status, err := live.Control(ctx, s.root, "status")
					if err == nil && !strings.Contains(string(status.Status), `"wait"`) {
						t.Errorf("the live run says %s", status.Status)
					}
					if answer, err := live.Control(ctx, s.root, "nonsense"); err == nil && answer.OK {
						t.Error("nonsense was done")
					}
					if err == nil {
						_, err = live.Control(ctx, s.root, command)
					}
					if command == "stop-after-codon" {
						err = os.WriteFile(filepath.Join(gate, "open"), nil, 0o600)
					}
					told <- err
				}()
			}))
			if err := <-told; err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.records(), " "); got != c.records {
				t.Errorf("records: %s, want %s", got, c.records)
			}
			if got := content(t, s.workspace(), "log.txt"); got != c.log {
				t.Errorf("log: %q, want %q", got, c.log)
			}
			if _, err := live.Control(context.Background(), s.root, "stop"); err == nil {
				t.Error("a run that has ended was stopped")
			}
			if c.code == exitcode.Stopped {
				put(t, gate, "open", "")
				s.must(ModeRun, exitcode.Done)
				if got := content(t, s.workspace(), "log.txt"); got != "before\nwait\nafter\n" {
					t.Errorf("run on, the log is %q", got)
				}
			}
		})
	}
}

func TestAReplayEndsWithTheSameTree(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, name := range []string{"two-steps", "loop", "context-loop", "rigs", "retrying", "steps", "budget-loop", "plateau-agent", "any-of"} {
		if race.Step > 1 && name != "two-steps" && name != "rigs" { // the others play more of the same
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fixture(t, "hanks/"+name))
			s.opts.Environ = append(s.opts.Environ, "COUNTER_DIR="+t.TempDir())
			s.must(ModeRun, exitcode.Done)
			again := newStage(t, fixture(t, "hanks/"+name))
			again.opts.Replay = s.root
			before := everything(t, s.root)
			again.must(ModeRun, exitcode.Done)
			sameTree(t, "played", again.tree(), s.tree())
			if got, want := again.view().State.TotalCost(), s.view().State.TotalCost(); got != want {
				t.Errorf("the replay counts %s, want %s", got, want)
			}
			if got := again.last(again.planIDs()[0]).Harness; got != "replay" {
				t.Errorf("the harness is %s", got)
			}
			if !maps.Equal(everything(t, s.root), before) {
				t.Error("playing it has changed the recording")
			}
		})
	}
}
