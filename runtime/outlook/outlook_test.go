package outlook

import (
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"hank/plan"
	"hank/plan/config"
	"hank/recovery/githistory"
	"hank/runtime/history"
	"hank/state"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// story is the history of a hank of which codons have cost something.
type story struct {
	tb interface {
		Helper()
		Fatal(...any)
	}
	p *plan.Program
	s *state.State
}

func newStory(tb interface {
	Helper()
	Fatal(...any)
}, hank string) *story {
	tb.Helper()
	p, found := plan.LoadWith(fstest.MapFS{"hank.json": {Data: []byte(`{"hank": [` + hank + `]}`)}}, "hank.json", config.Layers{})
	if p == nil {
		tb.Fatal(found)
	}
	st := &story{tb, p, &state.State{Lineage: "l"}}
	entries, err := history.EncodeEntries(p.Initial())
	if err != nil {
		tb.Fatal(err)
	}
	st.record(state.InitialCheckpointSet{SHA: sha})
	st.record(state.PlanSet{Program: sha, Entries: entries})
	st.record(state.RunStarted{Run: &state.Run{RunID: "r", GitBranch: "run-r", Status: state.StatusRunning, StartTime: state.At(start)}})
	return st
}

const sha = "1111111111111111111111111111111111111111"

func (st *story) record(t state.Transition) {
	st.tb.Helper()
	next, err := state.Apply(st.s, st.s.Seq+1, t)
	if err != nil {
		st.tb.Fatal(err)
	}
	st.s = next
}

// spend runs the next codon, which costs so many cents, and settles it or fails.
func (st *story) spend(cents int64, fails bool) {
	st.tb.Helper()
	at := st.s.ExecutionPlan()[st.s.Next()]
	c := &state.Codon{CodonID: at.CodonID, LoopContext: at.LoopContext, StartTime: state.At(start), Status: state.Preparing, Attempt: 1}
	st.record(state.CodonStarted{RunID: "r", Record: c})
	for _, next := range []func() *state.Codon{
		func() *state.Codon { return c.Start() }, func() *state.Codon { return c.Spawn(7, "log", "") }, func() *state.Codon { return c.Work("s") },
	} {
		c = next()
		st.record(state.CodonTransitioned{RunID: "r", Record: c})
	}
	st.record(state.CostsUpdated{RunID: "r", CodonID: c.CodonID, Cost: state.USD(cents) * state.Dollar / 100})
	final := st.s.Run("r").Live().Complete(state.At(start), true)
	if final.CompletionCheckpoint = sha; fails {
		final = st.s.Run("r").Live().Fail(state.At(start), 1, state.FailureReason{Type: state.FailUnknown})
		final.ErrorCheckpoint = sha
	}
	st.record(state.CodonTransitioned{RunID: "r", Record: final})
	entries, err := history.EncodeEntries(st.p.Derive(githistory.Outcomes(st.p.Hank.Items, st.s)))
	if err != nil {
		st.tb.Fatal(err)
	}
	st.record(state.PlanSet{Program: sha, Entries: entries})
}

const (
	first = `{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "true"}, `
	rest  = `, {"id": "z", "name": "Z", "model": "shell", "continuationMode": "fresh", "promptText": "true"}`
	loop5 = `{"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "iterationLimit", "limit": 5}, "codons": [{"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "true"}]}`
	open  = `{"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "contextExceeded"}, "codons": [{"id": "b", "name": "B", "model": "sonnet", "continuationMode": "continue-previous", "promptText": "x"}]}`
)

func TestTheRestCostsWhatIterationsHaveCost(t *testing.T) {
	t.Parallel()
	st := newStory(t, first+loop5+rest)
	if e := of(st.s, st.p.Hank.Items); e != nil {
		t.Errorf("nothing has run: %+v", e)
	}
	st.spend(10, false)
	if e := of(st.s, st.p.Hank.Items); e != nil {
		t.Errorf("nothing of what is left has run: %+v", e)
	}
	st.spend(100, false)
	e := of(st.s, st.p.Hank.Items)
	if want := "about $4.00 more for 4 codons (by 1 codon; how much it varies is not known); 1 codon that has not run yet is not in it"; e == nil || e.Text() != want {
		t.Fatalf("%+v, want %s", e, want)
	}
	st.spend(150, true) // which counts for the iteration
	if e := of(st.s, st.p.Hank.Items); e.Likely != 250*state.Dollar/100 {
		t.Errorf("after an attempt that has failed: %+v", e)
	}
	st.spend(50, false)
	e = of(st.s, st.p.Hank.Items)
	if want := "about $4.50 more for 3 codons ($3.00 to $6.00, by what 2 codons cost); 1 codon that has not run yet is not in it"; e.Text() != want {
		t.Errorf("%s, want %s", e.Text(), want)
	}
	st.spend(1, false)
	st.spend(1, false)
	st.spend(1, false)
	if e := of(st.s, st.p.Hank.Items); e != nil {
		t.Errorf("before the last codon: %+v", e)
	}
	st.spend(1, false)
	if e := of(st.s, st.p.Hank.Items); e != nil {
		t.Errorf("at the end: %+v", e)
	}
}

func TestALoopWithoutALimitHasACostForEachIteration(t *testing.T) {
	t.Parallel()
	st := newStory(t, `{"id": "a", "name": "A", "model": "sonnet", "continuationMode": "fresh", "promptText": "x"}, `+open)
	st.spend(10, false)
	st.spend(123, false)
	e := of(st.s, st.p.Hank.Items)
	if e == nil || e.PerIteration != 120*state.Dollar/100 || !e.AtMost {
		t.Fatalf("%+v", e)
	}
}

// Whatever was spent, the bounds are around the estimate, and no figure has more than two
// digits.
func TestAnEstimateIsBetweenItsBoundsAndRough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		st := newStory(rt, loop5)
		for range rapid.IntRange(1, 4).Draw(rt, "iterations") {
			st.spend(rapid.Int64Range(0, 100_000).Draw(rt, "cents"), false)
		}
		e := of(st.s, st.p.Hank.Items)
		if e == nil {
			return
		}
		if e.Least > e.Likely || e.Likely > e.Most {
			rt.Fatalf("%+v", e)
		}
		for _, u := range []state.USD{e.Least, e.Likely, e.Most} {
			for u > 0 && u%10 == 0 {
				u /= 10
			}
			if u > 99 {
				rt.Fatalf("%+v has more than two digits", e)
			}
		}
	})
}
