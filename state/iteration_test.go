package state

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"hank/plan"
	"hank/plan/loop"
)

// looping is a state whose run has ended so many iterations of a loop of one codon.
func looping(t *testing.T, iterations int) *State {
	t.Helper()
	s := &State{Lineage: "l", CurrentRunID: "r", Runs: []*Run{{RunID: "r", GitBranch: "run-r", Status: StatusRunning, StartTime: epoch}}}
	for n := range iterations {
		c := full(Completed)
		c.CodonID, c.LoopContext = plan.IterationID("a", n), &plan.LoopContext{LoopID: "l", Iteration: n}
		s.Runs[0].done = s.Runs[0].done.append(c)
	}
	return s
}

func judged(n int, d loop.Decision) IterationJudged {
	return IterationJudged{RunID: "r", Judgement: &Judgement{CodonID: plan.IterationID("a", n), LoopID: "l", Iteration: n, Time: epoch, Verdict: loop.Verdict{Decision: d, Reason: fmt.Sprintf("reason %d", n)}}}
}

// An iteration has one verdict, which comes after its end and is never another one.
func TestAnIterationIsJudgedOnce(t *testing.T) {
	t.Parallel()
	s := looping(t, 3)
	for n := range 3 {
		s = apply(t, s, judged(n, loop.Continue))
	}
	for n := range 3 {
		for _, d := range []loop.Decision{loop.Continue, loop.Stop} {
			_, err := Apply(s, s.Seq+1, judged(n, d))
			refused(t, "a second verdict", err, "has its verdict")
		}
		if j := s.Runs[0].Judgement(s.Runs[0].Codon(n)); j == nil || j.Iteration != n {
			t.Errorf("iteration %d: %+v", n, j)
		}
	}
	for want, tr := range map[string]IterationJudged{
		"has not ended": judged(3, loop.Stop),
		"no verdict":    judged(2, ""),
		"there is no run": func() IterationJudged {
			j := judged(2, loop.Stop)
			j.RunID = "x"
			return j
		}(),
		"is not of iteration": func() IterationJudged {
			j := judged(2, loop.Stop)
			j.Judgement.LoopID = "other"
			return j
		}(),
	} {
		_, err := Apply(s, s.Seq+1, tr)
		refused(t, want, err, want)
	}
	live := apply(t, looping(t, 1))
	live.Runs[0].live = full(Running)
	_, err := Apply(live, live.Seq+1, judged(0, loop.Stop))
	refused(t, "while a codon is live", err, "codon c is running")
}

// Verdicts are in state.json, and read back from it, by both ways of reading.
func TestVerdictsSurviveTheTextOfTheState(t *testing.T) {
	t.Parallel()
	s := looping(t, 2)
	s.plan = newList([]*PlanEntry{})
	s = apply(t, s, judged(0, loop.Continue), judged(1, loop.Stop))
	written := text(t, s)
	doc, err := parse(written)
	if err != nil {
		t.Fatal(err)
	}
	slow, err := doc.state()
	if err != nil {
		t.Fatal(err)
	}
	fast, err := unmarshalOwn(written)
	if err != nil {
		t.Fatal(err)
	}
	for how, back := range map[string]*State{"slowly": slow, "fast": fast} {
		if js := back.Runs[0].judged.items; len(js) != 2 || js[1].Decision != loop.Stop || js[1].Reason != "reason 1" {
			t.Errorf("read %s: %+v", how, js)
		}
		if again := text(t, back); !bytes.Equal(again, written) {
			t.Errorf("read %s and written again it is\n%s", how, again)
		}
	}
	if before := text(t, looping(t, 2)); strings.Contains(string(before), "iterations") {
		t.Errorf("a run without verdicts has a list of them:\n%s", before)
	}
}

// The newest verdict is found without looking through all of a loop of ten thousand
// iterations, and taking one in does not touch those before it.
func TestAVerdictCostsTheSameInALongLoop(t *testing.T) {
	t.Parallel()
	const n = 10_000
	s := looping(t, n)
	for i := range n - 1 {
		s.Runs[0].judged = s.Runs[0].judged.append(judged(i, loop.Continue).Judgement)
	}
	taken := 0
	for step := range s.Backward() {
		if taken++; step.Codon.LoopContext.Iteration < n-1 {
			break
		}
	}
	if taken != 2 {
		t.Errorf("%d records were looked at to find the iteration before the last", taken)
	}
	poison := s.Runs[0].judged.items[:n-2] // whoever looks at them goes too far back
	for i := range poison {
		poison[i] = nil
	}
	if j := s.Runs[0].Judgement(s.Runs[0].Codon(n - 1)); j != nil {
		t.Errorf("the last iteration has the verdict %+v", j)
	}
	if j := s.Runs[0].Judgement(s.Runs[0].Codon(n - 2)); j == nil {
		t.Error("the verdict on the iteration before is not found")
	}
}

// The way back is the lineage path, newest first, through runs that continue others.
func TestBackwardIsTheLineagePathBackward(t *testing.T) {
	t.Parallel()
	a := CodonID("a#1")
	s := looping(t, 3)
	s.Runs[0].Status = StatusFailed
	s.Runs = append([]*Run{{RunID: "n", Status: StatusRunning, StartTime: epoch, StartingConditions: StartingConditions{Source: &Position{RunID: "r", AfterCodon: &a}}, done: newList([]*Codon{full(Completed)})}}, s.Runs...)
	for name, position := range map[string]*Position{"": nil, "at a position": {RunID: "r", AfterCodon: &a}, "at the beginning": {RunID: "r"}} {
		s.Position = position
		want := s.LineagePath()
		for step := range s.Backward() {
			if len(want) == 0 || want[len(want)-1] != step {
				t.Fatalf("%s: %s is not the next of %d", name, step.Codon.CodonID, len(want))
			}
			want = want[:len(want)-1]
		}
		if len(want) > 0 {
			t.Errorf("%s: %d are left", name, len(want))
		}
	}
}

func refused(t *testing.T, what string, err error, why string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%s: %v, want that %s", what, err, why)
	}
}
