package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hank/plan/diagnostic"
	"hank/plan/loop"
)

// splice applies what Grow decided, as a transition of the state does.
func splice(entries []Entry, last, drop int, add []Entry) []Entry {
	return slices.Concat(entries[:last+1], add, entries[last+1+drop:])
}

// anyProgram draws a sound program of up to four codons and loops.
func anyProgram(t *rapid.T) *Program {
	var items []string
	n := 0
	codon := func() string { n++; return shellCodon(fmt.Sprintf("c%d", n)) }
	for range rapid.IntRange(1, 4).Draw(t, "items") {
		if rapid.Bool().Draw(t, "codon") {
			items = append(items, codon())
			continue
		}
		var codons []string
		for range rapid.IntRange(1, 3).Draw(t, "codons") {
			codons = append(codons, codon())
		}
		most := rapid.IntRange(1, 3).Draw(t, "limit")
		end := rapid.SampledFrom([]string{
			untilFull, limit(most), fmt.Sprintf(`{"type": "plateau", "limit": %d, "vote": "tree"}`, most),
			fmt.Sprintf(`{"type": "any", "limit": %d, "of": [{"type": "command", "until": "true"}, {"type": "contextExceeded"}]}`, most),
		}).Draw(t, "end")
		items = append(items, loopOf(fmt.Sprintf("l%d", n), end, codons...))
	}
	p, ds := Load(folder(map[string]string{"hank.json": hankOf(items...)}), "hank.json")
	if p == nil {
		t.Fatalf("the hank must load:\n%s", diagnostic.Text(ds))
	}
	return p
}

func anyOutcome(t *rapid.T) Outcome {
	return Outcome{
		Status:          rapid.SampledFrom([]Status{Completed, Completed, Completed, Failed, Skipped}).Draw(t, "status"),
		FailureIgnored:  rapid.Bool().Draw(t, "ignored"),
		ContextExceeded: rapid.IntRange(0, 4).Draw(t, "full") == 0,
		BudgetExceeded:  rapid.IntRange(0, 8).Draw(t, "spent") == 0,
		Decision:        rapid.SampledFrom([]loop.Decision{loop.Continue, loop.Continue, loop.Stop, ""}).Draw(t, "verdict"),
	}
}

func idsOf(entries []Entry) []CodonID {
	ids := []CodonID{}
	for _, e := range entries {
		ids = append(ids, e.CodonID)
	}
	return ids
}

func known(outcomes map[CodonID]Outcome) func(CodonID) (Outcome, bool) {
	return func(id CodonID) (Outcome, bool) { o, ok := outcomes[id]; return o, ok }
}

// The plan that a run has grown is the plan that its outcomes derive, at every
// moment, so a rollback to any moment finds the plan of that moment again.
func TestGrownAndDerivedPlansAreEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := anyProgram(t)
		entries := p.Initial()
		outcomes := map[CodonID]Outcome{}
		for i := 0; i < len(entries) && i < 40; i++ {
			if rapid.IntRange(0, 30).Draw(t, "gap") == 0 {
				continue // an entry without outcome, as foreign executions can have
			}
			o := anyOutcome(t)
			outcomes[entries[i].CodonID] = o
			drop, add := p.Grow(entries, i, o)
			if p.AwaitsVerdict(entries[i], entries[i+1:], o) {
				if drop != 0 || len(add) > 0 {
					t.Fatalf("the plan has changed before the verdict on %s", entries[i].CodonID)
				}
				o.Decision = rapid.SampledFrom([]loop.Decision{loop.Continue, loop.Stop}).Draw(t, "late verdict")
				if outcomes[entries[i].CodonID] = o; p.AwaitsVerdict(entries[i], entries[i+1:], o) {
					t.Fatalf("%s has its verdict and waits for one", entries[i].CodonID)
				}
				drop, add = p.Grow(entries, i, o)
			}
			entries = splice(entries, i, drop, add)
			if again, more := p.Grow(entries, i, o); again != 0 || len(more) != 0 {
				t.Fatalf("asked again, Grow drops %d and adds %v", again, idsOf(more))
			}
			if derived := p.Derive(known(outcomes)); !reflect.DeepEqual(derived, entries) {
				t.Fatalf("after %v:\ngrown   %v\nderived %v", outcomes, idsOf(entries), idsOf(derived))
			}
		}
		seen := map[CodonID]bool{}
		for _, e := range entries {
			if seen[e.CodonID] || e.Codon == nil {
				t.Fatalf("%s stands in the plan twice, or has no codon", e.CodonID)
			}
			seen[e.CodonID] = true
		}
	})
}

// Rolling back means fewer outcomes: what was grown from the dropped ones goes.
func TestFewerOutcomesCutThePlanBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := anyProgram(t)
		entries := p.Initial()
		outcomes := map[CodonID]Outcome{}
		moments := [][]Entry{entries}
		var order []CodonID
		for i := 0; i < len(entries) && i < 25; i++ {
			o := anyOutcome(t)
			outcomes[entries[i].CodonID] = o
			order = append(order, entries[i].CodonID)
			drop, add := p.Grow(entries, i, o)
			entries = splice(entries, i, drop, add)
			moments = append(moments, entries)
		}
		for n := len(order); n > 0; n-- {
			delete(outcomes, order[n-1])
			if got := p.Derive(known(outcomes)); !reflect.DeepEqual(got, moments[n-1]) {
				t.Fatalf("back to %d outcomes: %v, but it was %v", n-1, idsOf(got), idsOf(moments[n-1]))
			}
		}
	})
}

func TestLoopsEndByTheirRules(t *testing.T) {
	t.Parallel()
	two := []string{agentCodon("a", "continue-previous"), agentCodon("b", "continue-previous")}
	limited := mustLoad(t, hankOf(agentCodon("s", "fresh"), loopOf("l", limit(2), two...), shellCodon("z")))
	endless := mustLoad(t, hankOf(agentCodon("s", "fresh"), loopOf("l", untilFull, two...), shellCodon("z")))
	judged := mustLoad(t, hankOf(agentCodon("s", "fresh"), loopOf("l", `{"type": "plateau", "limit": 3, "vote": "tree"}`, two...), shellCodon("z")))
	either := mustLoad(t, hankOf(agentCodon("s", "fresh"), loopOf("l", `{"type": "any", "limit": 3, "of": [{"type": "command", "until": "true"}, {"type": "contextExceeded"}]}`, two...), shellCodon("z")))
	more, stop := Outcome{Status: Completed, Decision: loop.Continue}, Outcome{Status: Completed, Decision: loop.Stop}
	ok, full, spent := Outcome{Status: Completed}, Outcome{Status: Completed, ContextExceeded: true}, Outcome{Status: Completed, BudgetExceeded: true}
	failed, ignored, skipped := Outcome{Status: Failed}, Outcome{Status: Failed, FailureIgnored: true}, Outcome{Status: Skipped}
	for _, c := range []struct {
		name     string
		p        *Program
		outcomes map[CodonID]Outcome
		want     string
	}{
		{"nothing ran", limited, nil, "s a#0 b#0 z"},
		{"inside an iteration nothing changes", limited, map[CodonID]Outcome{"a#0": ok}, "s a#0 b#0 z"},
		{"the next iteration follows the last codon", limited, map[CodonID]Outcome{"a#0": ok, "b#0": ok}, "s a#0 b#0 a#1 b#1 z"},
		{"the limit ends the loop", limited, map[CodonID]Outcome{"a#0": ok, "b#0": ok, "a#1": ok, "b#1": ok}, "s a#0 b#0 a#1 b#1 z"},
		{"a full context does not end a limited loop", limited, map[CodonID]Outcome{"a#0": full, "b#0": full}, "s a#0 b#0 a#1 b#1 z"},
		{"a full context ends an endless loop at once", endless, map[CodonID]Outcome{"a#0": ok, "b#0": ok, "a#1": full}, "s a#0 b#0 a#1 z"},
		{"a full context in the first codon", endless, map[CodonID]Outcome{"a#0": full}, "s a#0 z"},
		{"a spent budget ends any loop", limited, map[CodonID]Outcome{"a#0": spent}, "s a#0 z"},
		{"a skipped codon advances", limited, map[CodonID]Outcome{"b#0": skipped}, "s a#0 b#0 a#1 b#1 z"},
		{"an ignored failure advances", limited, map[CodonID]Outcome{"b#0": ignored}, "s a#0 b#0 a#1 b#1 z"},
		{"a failure does not", limited, map[CodonID]Outcome{"b#0": failed}, "s a#0 b#0 z"},
		{"a failure of a spent budget keeps the plan", endless, map[CodonID]Outcome{"a#0": {Status: Failed, BudgetExceeded: true}}, "s a#0 b#0 z"},
		{"without a verdict nothing follows", judged, map[CodonID]Outcome{"a#0": ok, "b#0": ok}, "s a#0 b#0 z"},
		{"a verdict to continue", judged, map[CodonID]Outcome{"a#0": ok, "b#0": more}, "s a#0 b#0 a#1 b#1 z"},
		{"a verdict to stop", judged, map[CodonID]Outcome{"a#0": ok, "b#0": more, "b#1": stop}, "s a#0 b#0 a#1 b#1 z"},
		{"the limit, whatever the verdict", judged, map[CodonID]Outcome{"b#0": more, "b#1": more, "b#2": more}, "s a#0 b#0 a#1 b#1 a#2 b#2 z"},
		{"a verdict in the middle of an iteration is none", judged, map[CodonID]Outcome{"a#0": stop}, "s a#0 b#0 z"},
		{"a verdict on a failure is none", judged, map[CodonID]Outcome{"b#0": {Status: Failed, Decision: loop.Continue}}, "s a#0 b#0 z"},
		{"a spent budget needs no verdict", judged, map[CodonID]Outcome{"b#0": spent}, "s a#0 b#0 z"},
		{"a full context does not end a loop that does not wait for it", judged, map[CodonID]Outcome{"a#0": full, "b#0": more}, "s a#0 b#0 a#1 b#1 z"},
		{"a full context as one of any", either, map[CodonID]Outcome{"a#0": full}, "s a#0 z"},
		{"a verdict is not for loops that need none", limited, map[CodonID]Outcome{"b#0": stop}, "s a#0 b#0 a#1 b#1 z"},
		{"the third iteration", endless, map[CodonID]Outcome{"b#0": ok, "b#1": ok}, "s a#0 b#0 a#1 b#1 a#2 b#2 z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, id := range idsOf(c.p.Derive(known(c.outcomes))) {
				got = append(got, string(id))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

func TestGrowLeavesForeignEntriesAlone(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, hankOf(shellCodon("a")))
	foreign := []Entry{{Codon: &Codon{ID: "x"}, CodonID: "x#0", LoopContext: &LoopContext{LoopID: "gone"}}, {CodonID: "y"}}
	for i := -1; i <= len(foreign); i++ {
		if drop, add := p.Grow(foreign, i, Outcome{Status: Completed, BudgetExceeded: true}); drop != 0 || add != nil {
			t.Errorf("entry %d: drop %d, add %v", i, drop, add)
		}
	}
}

func TestLoopEntriesSayWhereTheyStand(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, hankOf(strings.Replace(loopOf("l", limit(2), shellCodon("a"), shellCodon("b")), `"codons"`, `"budget": {"maxTimeSeconds": 9}, "codons"`, 1)))
	e := p.Derive(known(map[CodonID]Outcome{"b#0": {Status: Completed}}))[3]
	if c := e.LoopContext; e.CodonID != "b#1" || c.LoopID != "l" || c.Iteration != 1 || c.CodonIndexInLoop != 1 || c.LoopBudget.MaxTimeSeconds != 9 || e.Codon != p.Codon("b") {
		t.Errorf("got %+v %+v", e, e.LoopContext)
	}
}

func TestFileNamesOfDifferentIdsDiffer(t *testing.T) {
	t.Parallel()
	for id, want := range map[CodonID]string{
		"review": "review", "review#0": "review#0", "a-1": "a-1", "a#1": "a#1", "A.b_c": "A.b_c", "": "%", ".": "%2E", "..": "%2E%2E",
		"a/b": "a%2Fb", "a%2Fb": "a%252Fb", "-rf": "%2Drf", "a\n": "a%0A", "ä": "%C3%A4", "x.": "x%2E", `c:\`: "c%3A%5C",
	} {
		if got := SafeFileName(id); got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.OneOf(rapid.StringMatching(`[a%./#-]{0,4}`), rapid.StringMatching(`(a|/){150,260}`), rapid.String())
		a, b := CodonID(gen.Draw(t, "a")), CodonID(gen.Draw(t, "b"))
		x, y := SafeFileName(a), SafeFileName(b)
		if (a == b) != (x == y) {
			t.Fatalf("%q and %q give %q and %q", a, b, x, y)
		}
		if x == "" || len(x) > longestFileName || strings.ContainsAny(x, "/\\\x00\n:") || x[0] == '.' || x[0] == '-' {
			t.Fatalf("%q is no safe file name", x)
		}
	})
}

// Ten thousand iterations expand at the cost of ten thousand times one: Grow looks at no
// more of the plan than the iteration that has ended, and what follows it.
func TestTenThousandIterationsExpandOneByOne(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, hankOf(loopOf("l", `{"type": "plateau", "limit": 10000, "vote": "tree"}`, shellCodon("a"), shellCodon("b")), shellCodon("z")))
	more := Outcome{Status: Completed, Decision: loop.Continue}
	plan := p.Initial()
	window := slices.Clone(plan) // what is behind the iteration does not matter
	for n := range 10_000 {
		drop, add := p.Grow(window, 1, more)
		if want := min(2, 2*(9_999-n)); drop != 0 || len(add) != want {
			t.Fatalf("after iteration %d: drop %d, add %v", n, drop, idsOf(add))
		}
		if len(add) > 0 {
			window = append(slices.Clone(add), window[2:]...)
		}
	}
	if id := window[1].CodonID; id != "b#9999" {
		t.Errorf("the last is %s", id)
	}
	asked := 0
	all := p.Derive(func(id CodonID) (Outcome, bool) { asked++; return more, true })
	if len(all) != 20_001 || asked != 20_000 {
		t.Errorf("%d entries, %d questions", len(all), asked)
	}
}

// The cost of Grow must not depend on how much history stands before the entry.
func BenchmarkGrow(b *testing.B) {
	p, _ := Load(folder(map[string]string{"hank.json": hankOf(loopOf("l", limit(1<<30), shellCodon("a")))}), "hank.json")
	for _, n := range []int{10, 100_000} {
		entries := make([]Entry, 0, n)
		for i := range n {
			entries = append(entries, p.Loop("l").iteration(i)...)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, add := p.Grow(entries, n-1, Outcome{Status: Completed}); len(add) != 1 {
					b.Fatal("must add an iteration")
				}
			}
		})
	}
}
