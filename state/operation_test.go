package state

import (
	"fmt"
	"strings"
	"testing"
)

// An operation is recorded with its act, survives the text of the state, and keeps its
// answer; its id belongs to no other one.
func TestOperationsAreRecordedWithTheirActs(t *testing.T) {
	t.Parallel()
	move := Operation{ID: "m", Command: "rollback", Arguments: "sha256:1", Time: epoch}
	runs := Operation{ID: "r", Command: "retry", Arguments: "sha256:2", Time: epoch}
	s := apply(t, &State{Lineage: "l"}, InitialCheckpointSet{SHA: "1"}, PlanSet{Entries: entriesJSON(t, 2)},
		IntentOpened{Intent{ID: "i", Kind: "rollback", Safety: "5", Owned: "5", To: "1", Operation: &move}})
	if o, run := s.Operation("m"); o == nil || run != nil || s.Intent.Operation != o {
		t.Fatalf("under way: %v, %v", o, run)
	}
	given := apply(t, s, IntentClosed{ID: "i", Cancelled: true})
	if o, _ := given.Operation("m"); o != nil {
		t.Errorf("of a move that was given up: %v", o)
	}
	s = apply(t, s, IntentClosed{ID: "i"})
	if o, _ := s.Operation("m"); o == nil || o.Safety != "5" || o.Answered {
		t.Fatalf("complete: %v", o)
	}
	move.Answered, move.ExitCode, move.Answer = true, 0, `{"a":1}`
	run := &Run{RunID: "run", GitBranch: "run-run", Status: StatusRunning, StartTime: epoch, Operation: &runs, StartingConditions: StartingConditions{Type: StartFresh, InitialCheckpointSHA: "1"}}
	s = apply(t, s, OperationAnswered{move}, RunStarted{run}, RunFailed{RunID: "run", EndTime: epoch, Reason: EndUntil})
	runs.Answered, runs.ExitCode, runs.Answer = true, 8, `{"b":2}`
	s = apply(t, s, OperationAnswered{runs})
	for _, of := range []*State{s, rebased(t, s)} {
		back, err := Unmarshal(text(t, of))
		if err != nil {
			t.Fatal(err)
		}
		if o, _ := back.Operation("m"); o == nil || !o.Answered || o.Answer != `{"a":1}` {
			t.Errorf("the move: %+v", o)
		}
		if o, r := back.Operation("r"); o == nil || r == nil || o.ExitCode != 8 || o.Answer != `{"b":2}` {
			t.Errorf("the run: %+v", o)
		}
	}
	other := runs
	other.Arguments = "sha256:3"
	before := text(t, s)
	for what, tr := range map[string]Transition{
		"an answer": OperationAnswered{other},
		"a move":    IntentOpened{Intent{ID: "j", Kind: "retry", Safety: "5", Owned: "5", To: "1", Operation: &other}},
		"a run":     RunStarted{&Run{RunID: "run2", Status: StatusRunning, Operation: &other}},
	} {
		_, err := Apply(s, s.Seq+1, tr)
		isRefused(t, what, err, `operation "r" is another one`)
	}
	if string(before) != string(text(t, s)) {
		t.Error("what was refused has changed the state")
	}
}

func rebased(t *testing.T, s *State) *State {
	r, err := s.Rebase("x")
	if err != nil {
		t.Fatal(err)
	}
	return apply(t, s, r)
}

// A limited number of operations is remembered: the newest.
func TestTheNewestOperationsAreRemembered(t *testing.T) {
	t.Parallel()
	s := &State{Lineage: "l"}
	for i := range mostOperations + 3 {
		s = apply(t, s, OperationAnswered{Operation{ID: fmt.Sprint("o", i), Command: "skip", Answered: true}})
	}
	if n := len(s.Operations); n != mostOperations || s.Operations[0].ID != "o3" {
		t.Errorf("%d, from %s on", n, s.Operations[0].ID)
	}
	hidden := Redact(OperationAnswered{Operation{ID: "secret", Command: "run", Answer: "a secret"}}, func(text string) string { return strings.ReplaceAll(text, "secret", "***") })
	if o := hidden.(OperationAnswered).Operation; o.ID != "secret" || o.Answer != "a ***" {
		t.Errorf("%+v", o)
	}
}
