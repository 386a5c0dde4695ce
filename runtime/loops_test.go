//go:build unix

package runtime

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/short"
	"hank/plan/loop"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/live"
	"hank/state"
)

// killedAt runs the hank in a process of its own that ends at the n-th passage of a
// failpoint; false: it ended before.
func (s *stage) killedAt(point string) bool {
	s.t.Helper()
	text, err := json.Marshal(order{Execution: s.root, Hank: s.opts.Hank})
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "__part", "run", string(text))
	cmd.Env = append(os.Environ(), "HANK_FAILPOINT="+point)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	defer stdin.Close()
	_, err = cmd.CombinedOutput()
	return err != nil
}

// votes are the verdicts on a loop, without their times.
func (s *stage) votes(id state.CodonID) (all []string) {
	for _, j := range s.judged(id) {
		text, err := json.Marshal(j.Verdict)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, string(j.Tree)+" "+string(text))
	}
	return all
}

// A loop that is killed at each step of a verdict, in the middle, at its end, and again
// right after, has the same verdicts and the same end as one that nobody has killed.
func TestALoopThatIsKilledAtItsVerdictEndsAsAnother(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, id := range map[string]state.CodonID{"plateau-tree": "polish", "plateau-agent": "search", "any-of": "either", "all-of": "both"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := newStage(t, fixture(t, "hanks/"+name))
			want.must(ModeRun, exitcode.Done)
			s := newStage(t, fixture(t, "hanks/"+name))
			for _, point := range []string{"loop.ended:1", "loop.asked:1", "loop.judged:1", "loop.grown:1", "loop.ended:3", "loop.judged:4", "loop.ended:1", "loop.asked:1", "loop.judged:1"} {
				if !s.killedAt(point) {
					t.Fatalf("it was not killed at %s", point)
				}
			}
			s.must(ModeRun, exitcode.Done)
			if got, want := s.votes(id), want.votes(id); !slices.Equal(got, want) {
				t.Errorf("verdicts:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			sameTree(t, "the end", s.tree(), want.tree())
			if got, want := s.planIDs(), want.planIDs(); !slices.Equal(got, want) {
				t.Errorf("the plan is %v, want %v", got, want)
			}
			s.fsck()
		})
	}
}

// The last verdict of a hank may be all that is left to do.
func TestAVerdictThatIsLeftAtTheEndIsMade(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, point := range []string{"loop.ended:10", "loop.asked:10", "loop.judged:10"} {
		s := newStage(t, fixture(t, "hanks/any-of"))
		if !s.killedAt(point) {
			t.Fatalf("it was not killed at %s", point)
		}
		if v := s.view(); (v.AwaitsVerdict() == "either") == (point == "loop.judged:10") || (v.Extent().Codons == 15) == (point == "loop.judged:10") {
			t.Errorf("%s: loop %q awaits its verdict, and the plan comes to %s codons", point, v.AwaitsVerdict(), v.Extent())
		}
		if res := s.must(ModeRun, exitcode.Done); res.Status != state.StatusCompleted {
			t.Errorf("%s: %s", point, res.Status)
		}
		if judged := s.judged("either"); len(judged) != 10 || judged[9].Decision != loop.Stop {
			t.Errorf("%s: %d verdicts", point, len(judged))
		}
	}
}

// After a rollback into a loop the verdicts of what is kept hold, and what comes is
// judged as it was the first time; a retry of an iteration gets a verdict of its own.
func TestARollbackKeepsTheVerdictsOfWhatItKeeps(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := newStage(t, fixture(t, "hanks/plateau-tree"))
	s.must(ModeRun, exitcode.Done)
	all, tree := s.votes("polish"), s.tree()
	s.mustRollback("edit#3")
	if got := s.votes("polish"); !slices.Equal(got, all[:4]) {
		t.Errorf("after the rollback there are %d verdicts", len(got))
	}
	if progress := content(t, s.workspace(), ".hank-progress-polish.md"); strings.Count(progress, "\n") != 4 {
		t.Errorf("the progress file has not gone back:\n%s", progress)
	}
	s.must(ModeRun, exitcode.Done)
	if got := s.votes("polish"); !slices.Equal(got, all) {
		t.Errorf("again:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
	}
	sameTree(t, "again", s.tree(), tree)
	s.must(ModeRetry, exitcode.Done, func(c *command) { c.Codon = "edit#9" })
	if got := s.votes("polish"); !slices.Equal(got, all) {
		t.Errorf("after a retry:\n%s", strings.Join(got, "\n"))
	}
}

// A loop tracks its progress file whatever its codons track, and other files not.
func TestAProgressFileIsTrackedWhateverElseIs(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [{"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "plateau", "limit": 5, "vote": "tree"}, "codons": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["out"], "promptText": "echo <%ITERATION%> >>'<%PROGRESS_FILE%>'; echo x >out; echo y >other"}]}]}`)
	s.must(ModeRun, exitcode.Done)
	for n, want := range []string{"0\n", "0\n1\n", "0\n1\n2\n"} {
		tree := s.treeIn(s.last(state.CodonID("a#" + string(rune('0'+n)))).CompletionCheckpoint)
		if len(tree) != 2 || tree[".hank-progress-l.md"] == "" || tree["out"] == "" {
			t.Fatalf("iteration %d has %v", n, tree)
		}
		s.mustRollback("a#" + string(rune('0'+n)))
		if got := content(t, s.workspace(), ".hank-progress-l.md"); got != want {
			t.Errorf("back at iteration %d it has %q", n, got)
		}
		s.must(ModeRun, exitcode.Done)
	}
	if judged := s.judged("l"); len(judged) != 3 || judged[2].Decision != loop.Stop || judged[2].Changed.Files != 0 {
		t.Errorf("%d verdicts: %+v", len(judged), judged[len(judged)-1])
	}
}

// What the command of a loop changes is recorded, so that nobody is asked about it, and
// what it starts does not outlive it. A command that takes too long, or that there is
// not, is named and counts as continue.
func TestTheCommandOfALoopIsContainedAndRecorded(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	marker := filepath.Join(t.TempDir(), "alive")
	s := stageOf(t, strings.NewReplacer("MARKER", marker).Replace(`{"hank": [
	  {"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "any", "limit": 2, "of": [
	    {"type": "command", "until": "[ \"$HANK_CODON\" = a#$HANK_ITERATION ] && echo seen >>checked; (sleep 0.4; touch MARKER) & exit 1"},
	    {"type": "command", "until": "sleep 60", "timeoutSeconds": 0.3}, {"type": "command", "until": "no-such-program-here"}]},
	   "codons": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo <%ITERATION%> >>out"}]}]}`))
	s.must(ModeRun, exitcode.Done) // it takes longer than that
	judged := s.judged("l")
	if len(judged) != 2 || judged[1].Decision != loop.Continue {
		t.Fatalf("%+v", judged)
	}
	votes := judged[0].Votes
	if votes[0].Invalid || !votes[1].Invalid || !strings.Contains(votes[1].Reason, "was stopped after") || !votes[2].Invalid || !strings.Contains(votes[2].Reason, "127") {
		t.Errorf("%+v", votes)
	}
	if got := content(t, s.workspace(), "checked"); got != "seen\nseen\n" {
		t.Errorf("the command saw %q", got)
	}
	s.must(ModeRun, exitcode.Done) // nothing is asked
	s.mustRollback("a#0")
	if onDisk(s.workspace(), "checked") {
		t.Error("what a later command did is still there")
	}
	if onDisk(filepath.Dir(marker), "alive") {
		t.Error("what the command started has outlived it")
	}
}

// judgedFor is a hank whose loop is judged by a command that takes long until GATE/open is
// there, and told sends a request when the command has begun.
func judgedFor(t *testing.T, request string) (s *stage, gate string, told chan error) {
	t.Helper()
	gate, told = t.TempDir(), make(chan error, 1)
	s = stageOf(t, strings.NewReplacer("GATE", gate).Replace(`{"hank": [
	  {"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "command", "limit": 3, "until": "[ -e GATE/open ] || [ -e GATE/started ] || { touch GATE/started; sleep 60; }"},
	   "codons": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo <%ITERATION%> >>out"}]},
	  {"id": "z", "name": "Z", "model": "shell", "continuationMode": "fresh", "promptText": "echo z >>out"}]}`))
	go func() {
		for !onDisk(gate, "started") {
			time.Sleep(time.Millisecond)
		}
		_, err := live.Control(context.Background(), s.root, request)
		told <- err
	}()
	return s, gate, told
}

// The last codon of an iteration that is rejected at its gate, with a failure that is
// ignored, leads on: the iteration is judged as it is now, however the run is killed.
func TestAnIgnoredRejectionInALoopLeadsOn(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, point := range []string{"", "gate.failed:1", "loop.judged:1"} {
		s := stageOf(t, `{"hank": [
		  {"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "command", "limit": 3, "until": "test $HANK_ITERATION -ge 1"},
		   "codons": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "onFailure": "ignore", "promptText": "echo $HANK_ITERATION >>out",
		     "gate": {"id": "g", "kind": "approve", "when": "after", "summary": "Good?"}}]},
		  {"id": "z", "name": "Z", "model": "shell", "continuationMode": "fresh", "promptText": "echo z >>out"}]}`)
		s.must(ModeRun, exitcode.Waiting)
		for _, name := range []string{"g#0", "g#1"} {
			if _, err := AnswerGate(t.Context(), s.root, gate.Answer{Gate: name, Status: state.GateRejected}, ""); err != nil {
				t.Fatalf("%s: %s: %v", point, name, err)
			}
			if name == "g#0" {
				if point != "" && !s.killedAt(point) {
					t.Errorf("%s was not reached", point)
				}
				s.must(ModeRun, exitcode.Waiting)
			}
		}
		s.must(ModeRun, exitcode.Done)
		if got, judged := content(t, s.workspace(), "out"), s.judged("l"); got != "0\n1\nz\n" || len(judged) < 2 || judged[len(judged)-1].Decision != loop.Stop {
			t.Errorf("%s: it made %q, %v, %+v", point, got, s.records(), judged)
		}
	}
}

// A verdict from before a rejection does not hold for the iteration after it, in the same run
// and in the next one; the iteration that follows is compared with the work that was rejected.
func TestARejectedIterationIsJudgedAgain(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, wait := range []bool{false, true} {
		s := stageOf(t, `{"hank": [
		  {"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "plateau", "vote": "tree", "consensus": 1, "minIterations": 2, "limit": 4},
		   "codons": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "onFailure": "ignore", "promptText": "echo x >out",
		     "gate": {"id": "g", "kind": "approve", "when": "after", "summary": "Good?"}}]}]}`)
		answered := make(chan error, 1)
		answer := func(i int) error {
			status := state.GateApproved
			if i == 1 {
				status = state.GateRejected
			}
			_, err := AnswerGate(t.Context(), s.root, gate.Answer{Gate: "g#" + strconv.Itoa(i), Status: status}, "")
			return err
		}
		if wait {
			go func() {
				for i, until := 0, time.Now().Add(time.Minute); i < 3; {
					if err := answer(i); err == nil {
						i++
					} else if time.Now().After(until) {
						answered <- err
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
				answered <- nil
			}()
			s.must(ModeRun, exitcode.Done, func(o *command) { o.Wait = true })
		} else {
			var err error
			for i := range 3 {
				s.must(ModeRun, exitcode.Waiting)
				err = errors.Join(err, answer(i))
			}
			answered <- err
			s.must(ModeRun, exitcode.Done)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
		var said []string
		for _, j := range s.judged("l") {
			said = append(said, string(j.Decision))
		}
		if got := strings.Join(said, " "); !strings.HasSuffix(got, " continue stop") || len(s.planIDs()) != 3 {
			t.Errorf("wait %v: the verdicts are %s, and the plan is %v", wait, got, s.planIDs())
		}
	}
}

// A request to stop ends the command of a loop; the next run asks it again.
func TestARunIsStoppedWhileItsLoopIsJudged(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, gate, told := judgedFor(t, "stop")
	s.must(ModeRun, exitcode.Stopped)
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	if judged := s.judged("l"); len(judged) != 0 || strings.Join(s.records(), " ") != "a#0:completed" {
		t.Errorf("%v, %+v", s.records(), judged)
	}
	put(t, gate, "open", "")
	s.must(ModeRun, exitcode.Done)
	if judged := s.judged("l"); len(judged) != 1 || judged[0].Decision != loop.Stop || content(t, s.workspace(), "out") != "0\nz\n" {
		t.Errorf("%v, %+v", s.records(), judged)
	}
}

// A request to skip ends the command of a loop, and counts as continue.
func TestTheCommandOfALoopIsSkipped(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, _, told := judgedFor(t, "skip")
	s.must(ModeRun, exitcode.Done)
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	if judged := s.judged("l"); len(judged) != 2 || judged[0].Decision != loop.Continue || !judged[0].Votes[0].Invalid || judged[1].Decision != loop.Stop {
		t.Errorf("%v, %+v", s.records(), judged)
	}
}

// The example in the documents runs as it is written.
func TestTheDocumentedLoopRuns(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	page, err := os.ReadFile("../docs/hank-json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, behind, found := strings.Cut(string(page), "<!-- A test runs this example. -->")
	_, text, more := strings.Cut(behind, "```json\n")
	text, _, whole := strings.Cut(text, "```")
	if !found || !more || !whole {
		t.Fatal("there is no example")
	}
	s := stageOf(t, text)
	s.must(ModeRun, exitcode.Done)
	judged := s.judged("polish")
	if n := len(judged); n != 5 || judged[n-1].Decision != loop.Stop || !strings.HasPrefix(judged[n-1].Reason, "tree: stop (2 in a row)") {
		t.Errorf("%d iterations: %+v", n, judged[n-1])
	}
}
