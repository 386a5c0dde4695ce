package state

import (
	"slices"
	"strings"
	"testing"

	"hank/plan"
)

// An entry is finished where its record comes after that of the entry before it.
func TestFinished(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ran, plan, finished string }{
		"nothing has run":                          {"", "a b", ""},
		"one after the other":                      {"a b", "a b c", "a b"},
		"a codon before finished ones":             {"a b c", "a x b c", "a"},
		"it has run":                               {"a b c x", "a x b c", "a x"},
		"so has one after it":                      {"a b c x b", "a x b c", "a x b"},
		"all ran again":                            {"a b c x b c", "a x b c", "a x b c"},
		"one after it did not end":                 {"a b c x -b", "a x b c", "a x"},
		"it did not end":                           {"a b c -x", "a x b c", "a"},
		"it is removed, and one failed after it":   {"a b c x -b", "a b c", "a"},
		"another is put before it":                 {"a b c x b", "a x y b c", "a x"},
		"one is not in the plan any more":          {"a b c", "a c d", "a c"},
		"finished ones have changed their places":  {"a b c", "a c b", "a c"},
		"a gate has failed the last":               {"a b !b", "a b c", "a"},
		"a gate has failed one, which was mended":  {"a b !b b", "a b c", "a b"},
		"a gate has failed one that runs again":    {"a b c x b !b", "a x b c", "a x"},
		"one that had failed at a gate runs again": {"a b !b b c", "a b c", "a b c"},
	} {
		r := &Run{RunID: "r"}
		ids, got := strings.Fields(c.plan), []string(nil)
		for _, text := range strings.Fields(c.ran) {
			k := &Codon{CodonID: CodonID(strings.TrimLeft(text, "-!")), Status: Completed}
			switch text[0] {
			case '-':
				k.Status = Failed
			case '!':
				k.Status, k.FailureReason = Failed, &FailureReason{Type: FailUnknown, Class: GateClass}
			}
			r.done = r.done.append(k)
		}
		s := &State{Runs: []*Run{r}}
		for _, k := range s.FinishedOf(len(ids), func(i int) *plan.Entry { return &plan.Entry{CodonID: CodonID(ids[i])} }) {
			got = append(got, string(k.CodonID))
		}
		if !slices.Equal(got, strings.Fields(c.finished)) {
			t.Errorf("%s: finished are %v of %v, and not %s", name, got, ids, c.finished)
		}
	}
}

// A codon of a loop that has another id now has not run in this one.
func TestFinishedIsOfTheSameLoop(t *testing.T) {
	t.Parallel()
	in := func(loop CodonID) *plan.LoopContext { return &plan.LoopContext{LoopID: loop} }
	r := &Run{RunID: "r"}
	r.done = r.done.append(&Codon{CodonID: "a#0", Status: Completed, LoopContext: in("l")})
	s := &State{Runs: []*Run{r}}
	for want, l := range map[int]*plan.LoopContext{1: in("l"), 0: in("m")} {
		entry := &plan.Entry{CodonID: "a#0", LoopContext: l}
		if got := s.FinishedOf(1, func(int) *plan.Entry { return entry }); len(got) != want {
			t.Errorf("%d entries of loop %s are finished", len(got), l.LoopID)
		}
	}
}
