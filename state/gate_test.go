package state

import (
	"errors"
	"strings"
	"testing"

	"hank/plan"
)

// asked is a request of the rich state's run.
func asked(number int, status GateStatus) Gate {
	g := Gate{Number: number, Gate: "ok#1", CodonID: "c", LoopID: "l", Checkpoint: SHA(strings.Repeat("e", 40)), Lineage: "l", RunID: "r", Time: epoch, Status: status,
		Asked: &plan.Gate{ID: "ok", When: plan.After, Kind: plan.Reply, Summary: "Good?", Artifact: "a/b", ExpiresAfter: 60}}
	if status != GatePending {
		g.Answer = &GateAnswer{Time: epoch, By: StartedBy{User: "u", Host: "h"}, Reply: "words"}
	}
	return g
}

// A request takes one answer, and none while a codon runs; what refuses it changes
// nothing.
func TestAGateTakesOneAnswerWhileNothingRuns(t *testing.T) {
	t.Parallel()
	quiet := func(s *State) { s.Runs[0].live = nil }
	yes := GateAnswered{1, GateApproved, GateAnswer{Time: epoch, Reply: "yes"}}
	wrong := func(change func(*Gate)) GateRequested {
		g := asked(3, GatePending)
		change(&g)
		return GateRequested{g}
	}
	for name, c := range map[string]struct {
		s *State
		t Transition
	}{
		"answered while a codon runs":    {rich(t), yes},
		"asked while a codon runs":       {rich(t), GateRequested{asked(3, GatePending)}},
		"answered before":                {rich(t, quiet), GateAnswered{2, GateApproved, GateAnswer{Time: epoch}}},
		"no such request":                {rich(t, quiet), GateAnswered{9, GateApproved, GateAnswer{Time: epoch}}},
		"no answer":                      {rich(t, quiet), GateAnswered{1, GatePending, GateAnswer{Time: epoch}}},
		"a number that there is already": {rich(t, quiet), GateRequested{asked(2, GatePending)}},
		"an answer with the request":     {rich(t, quiet), GateRequested{asked(3, GateApproved)}},
		"another run":                    {rich(t, quiet), wrong(func(g *Gate) { g.RunID = "q" })},
		"nothing is judged":              {rich(t, quiet), wrong(func(g *Gate) { g.Checkpoint = "" })},
		"nothing is asked":               {rich(t, quiet), wrong(func(g *Gate) { g.Asked = nil })},
		"closed while it waits":          {rich(t, quiet), GateClosed{1}},
		"released, and not held":         {rich(t, func(s *State) { s.Hold = nil }), HoldReleased{Time: epoch}},
	} {
		_, err := Apply(c.s, c.s.Seq+1, c.t)
		var refused *IllegalMoveError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := rich(t, quiet)
	for i, move := range []Transition{yes, GateClosed{2}, GateRequested{asked(3, GatePending)}, HoldReleased{Time: epoch}} {
		next, err := Apply(s, s.Seq+1, move)
		if err != nil {
			t.Fatal(i, err)
		}
		s = next
		back, err := Unmarshal(text(t, s))
		if err != nil || string(text(t, back)) != string(text(t, s)) {
			t.Fatalf("after %s: %v\n%s", move.Type(), err, text(t, s))
		}
	}
	if r := s.gateRequest(1); r.Status != GateApproved || r.Answer.Reply != "yes" || !s.gateRequest(2).Closed || s.NextGate() != 4 || s.Hold != nil {
		t.Errorf("%+v, hold %v", s.Gates, s.Hold)
	}
	for _, again := range []Transition{yes, GateClosed{2}, HoldReleased{Time: epoch}} {
		if _, err := Apply(s, s.Seq+1, again); err == nil {
			t.Errorf("%s is possible twice", again.Type())
		}
	}
}

// What a person says may hold a secret.
func TestWordsAtAGateAreMasked(t *testing.T) {
	t.Parallel()
	hide := func(text string) string { return strings.ReplaceAll(text, "key", "***") }
	answer := Redact(GateAnswered{1, GateApproved, GateAnswer{Reply: "the key"}}, hide).(GateAnswered)
	hold := Redact(HoldSet{Hold{Reason: "the key"}}, hide).(HoldSet)
	if answer.Answer.Reply != "the ***" || hold.Hold.Reason != "the ***" {
		t.Errorf("%q, %q", answer.Answer.Reply, hold.Hold.Reason)
	}
}

// A codon that was completed and has failed at its gate since is the next one; where a
// position keeps its work, that work counts.
func TestACodonThatFailedAtItsGateIsNotSettled(t *testing.T) {
	t.Parallel()
	sha := func(digit string) SHA { return SHA(strings.Repeat(digit, 40)) }
	end := epoch
	record := func(id CodonID, base, sha SHA) *Codon {
		return &Codon{CodonID: id, StartTime: epoch, EndTime: &end, Status: Completed, ExitCode: new(int), FinalCost: new(USD), FinalTokens: new(Tokens), CompletionCheckpoint: sha, BaseCheckpoint: base, Attempt: 1}
	}
	s := apply(t, &State{Lineage: "l"}, InitialCheckpointSet{SHA: sha("0")}, PlanSet{Entries: entriesJSON(t, 3)},
		RunStarted{&Run{RunID: "r", GitBranch: "run-r", Status: StatusRunning, StartTime: epoch}})
	first, second := s.ExecutionPlan()[0].CodonID, s.ExecutionPlan()[1].CodonID
	play := func(s *State, c *Codon) *State {
		t.Helper()
		begun := &Codon{CodonID: c.CodonID, StartTime: epoch, Status: Preparing, BaseCheckpoint: c.BaseCheckpoint, Attempt: c.Attempt}
		if c.Status == Failed {
			return apply(t, s, CodonStarted{"r", begun}, CodonTransitioned{"r", c})
		}
		running := begun.Start().Spawn(1, "log", "").Work("s")
		return apply(t, s, CodonStarted{"r", begun}, CodonTransitioned{"r", begun.Start()}, CodonTransitioned{"r", begun.Start().Spawn(1, "log", "")}, CodonTransitioned{"r", running}, CodonTransitioned{"r", c})
	}
	s = play(play(s, record(first, sha("0"), sha("1"))), record(second, sha("1"), sha("2")))
	if s.Next() != 2 || s.Base != sha("2") {
		t.Fatalf("next %d, base %s", s.Next(), s.Base)
	}
	no := (&Codon{CodonID: second, StartTime: epoch, Status: Preparing, BaseCheckpoint: sha("1"), Attempt: 1}).Fail(epoch, 1, FailureReason{Type: FailUnknown, Class: GateClass})
	failed := play(s, no)
	last := failed.LastSettled()
	if failed.Next() != 1 || failed.Base != sha("1") || last == nil || last.Codon.CodonID != first {
		t.Errorf("next %d, base %s, last %+v", failed.Next(), failed.Base, last)
	}
	if there := failed.CurrentPosition(); *there.AfterCodon != first || there.RestartAt != second || there.CheckpointSHA != sha("1") {
		t.Errorf("it stands at %+v", there)
	}
	kept := *failed
	kept.Position = &Position{RunID: "r", AfterCodon: &second, CheckpointSHA: sha("2")}
	if kept.Next() != 2 {
		t.Errorf("after a rollback to the work that was judged, %d is next", kept.Next())
	}
	ignored := *no
	ignored.FailureIgnored = true
	if s = play(s, &ignored); s.Next() != 2 || s.Base != sha("2") {
		t.Errorf("ignored: next %d, base %s", s.Next(), s.Base)
	}
}
