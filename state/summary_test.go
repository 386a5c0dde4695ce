package state

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"hank/plan"
)

// facts are what a head says.
func facts(t interface{ Fatal(...any) }, h Summary) string {
	next, known := h.Next()
	text := fmt.Sprintln(h.Done, h.Planned, h.Past, h.Worked, h.Bill(), next, known, h.State.Seq, h.State.CurrentRunID, h.State.Base, h.State.Intent, h.State.Limits)
	text += fmt.Sprintf("%+v\n", h.Caveats)
	for _, r := range h.State.Runs {
		header, err := json.Marshal(r, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		text += string(header) + "\n"
		if r.Len() > 0 {
			last, err := json.Marshal(r.Codon(r.Len()-1), json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			text += string(last) + "\n"
		}
	}
	return text
}

// TestAHeadThatIsCarriedOnIsTheHeadOfTheState: or it says that it cannot be.
func TestAHeadThatIsCarriedOnIsTheHeadOfTheState(t *testing.T) {
	t.Parallel()
	entries := entriesJSON(t, 6)
	carried := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWalker(rt, entries)
		start := StartingConditions{Type: StartFresh, InitialCheckpointSHA: w.s.InitialCheckpoint}
		for range rapid.IntRange(1, 4).Draw(rt, "runs") {
			run := w.startRun(start)
			for w.s.Next() < 6 && w.s.Run(run).Paused == nil && rapid.IntRange(0, 3).Draw(rt, "go on") > 0 {
				if rapid.Bool().Draw(rt, "limit") {
					w.do(LimitsSet{Limits{MaxDollars: USD(rapid.Int64Range(0, 5e9).Draw(rt, "dollars"))}})
				}
				w.attempt(run, w.s.ExecutionPlan()[w.s.Next()].CodonID)
			}
			w.do(RunFailed{RunID: run, EndTime: epoch, Reason: EndStopped})
			start = StartingConditions{Type: StartContinuation, Reason: ReasonContinue, Source: &Position{RunID: run, CheckpointSHA: w.s.Base}}
			if last := w.s.LastSettled(); last != nil {
				start.Source.RunID, start.Source.AfterCodon = last.Run.RunID, &last.Codon.CodonID
			}
		}
		from := rapid.IntRange(0, len(w.log)).Draw(rt, "from")
		s, err := &State{Lineage: "l"}, error(nil)
		head, on := Summary{}, false
		for i := range len(w.log) + 1 {
			if i == from {
				head, on = s.Summary(), true
				head = again(rt, head)
			}
			if on {
				carried++
				if got, want := facts(rt, head), facts(rt, s.Summary()); got != want {
					rt.Fatalf("after %d transitions the head says\n%s\nand the state\n%s", i, got, want)
				}
			}
			if i == len(w.log) {
				break
			}
			if s, err = Apply(s, uint64(i+1), w.log[i]); err != nil {
				rt.Fatal(err)
			}
			if on {
				head, on = head.Apply(uint64(i+1), w.log[i])
			}
		}
	})
	if carried < 200 && !testing.Short() {
		t.Errorf("only %d heads were compared", carried)
	}
}

// again is a head whose state was written and read.
func again(t *rapid.T, h Summary) Summary {
	s, err := Unmarshal(text(t, h.State))
	if err != nil {
		t.Fatal(err)
	}
	h.State = s
	return h
}

// A head knows the records of a loop that goes round, and not what stands
// further behind in the plan than it has.
func TestAHeadFollowsALoopAndEndsWhereItKnowsNoMore(t *testing.T) {
	t.Parallel()
	s := apply(t, &State{Lineage: "l"}, InitialCheckpointSet{SHA: "1"}, PlanSet{Entries: entriesJSON(t, 3*summaryPlan)},
		RunStarted{&Run{RunID: "r", GitBranch: "run-r", Status: StatusRunning, StartTime: epoch, StartingConditions: StartingConditions{Type: StartFresh}}})
	head := s.Summary()
	if n := head.State.plan.len(); n != summaryPlan {
		t.Fatalf("the head has %d entries", n)
	}
	followed := 0
	for {
		id := s.ExecutionPlan()[s.Next()].CodonID
		rec := full(Preparing)
		rec.CodonID = id
		ok := true
		step := func(tr Transition) {
			s = apply(t, s, tr)
			if ok {
				head, ok = head.Apply(s.Seq, tr)
			}
		}
		step(CodonStarted{"r", rec})
		next := *rec
		next.Status, next.EndTime, next.SkippedDuring = Skipped, &epoch, Preparing
		step(CodonTransitioned{"r", &next})
		if !ok {
			break
		}
		if followed++; facts(t, head) != facts(t, s.Summary()) {
			t.Fatalf("after %d codons the head says\n%s\nand the state\n%s", followed, facts(t, head), facts(t, s.Summary()))
		}
	}
	if followed != summaryPlan-1 {
		t.Errorf("the head was carried on over %d codons", followed)
	}
}

// Where a codon's end does not just lead to the next entry of the plan, a head
// is not carried on, for only the past says what comes next.
func TestAHeadEndsWhereThePastDecides(t *testing.T) {
	t.Parallel()
	run := RunStarted{&Run{RunID: "r", GitBranch: "run-r", Status: StatusRunning, StartTime: epoch, StartingConditions: StartingConditions{Type: StartFresh}}}
	codon := func(id CodonID) []Transition {
		begun, ended := full(Preparing), full(Skipped)
		begun.CodonID, ended.CodonID = id, id
		return []Transition{CodonStarted{"r", begun}, CodonTransitioned{"r", ended}}
	}
	begin := apply(t, &State{Lineage: "l"}, InitialCheckpointSet{SHA: "1"}, PlanSet{Entries: entriesJSON(t, 4)}, run)
	begin = apply(t, begin, append(codon("c0"), codon("c1")...)...)
	var entries []plan.Entry
	for _, i := range []int{2, 0, 1, 3} {
		entries = append(entries, begin.plan.items[i].Entry)
	}
	reordered, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	first := CodonID("c0")
	for name, c := range map[string]struct {
		before  []Transition
		next    CodonID
		carried bool
	}{
		"the next codon stands before others that were finished": {[]Transition{PlanSet{Entries: reordered}}, "c2", true},
		"a move has led back": {[]Transition{
			IntentOpened{Intent{ID: "i", Kind: "rollback", Position: &Position{RunID: "r", AfterCodon: &first, CheckpointSHA: "2"}}}, IntentClosed{ID: "i"},
		}, "c1", false},
	} {
		s := apply(t, begin, c.before...)
		head, carried := s.Summary(), true
		for _, move := range codon(c.next) {
			s = apply(t, s, move)
			if carried {
				head, carried = head.Apply(s.Seq, move)
			}
			if carried && facts(t, head) != facts(t, s.Summary()) {
				t.Errorf("%s: the head says\n%s\nand the state\n%s", name, facts(t, head), facts(t, s.Summary()))
			}
		}
		if carried != c.carried {
			t.Errorf("%s: the head is carried on: %v", name, carried)
		}
	}
}

func apply(t *testing.T, s *State, moves ...Transition) *State {
	t.Helper()
	for _, m := range moves {
		next, err := Apply(s, s.Seq+1, m)
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	return s
}
