package state

import (
	"reflect"
	"testing"
)

// A record that is settled, and not plainly done, is named under what it is.
func TestCaveatsNameEachRecordThatIsNotPlainlyDone(t *testing.T) {
	t.Parallel()
	cut := &BudgetExceeded{}
	for name, c := range map[string]struct {
		record Codon
		want   Caveats
	}{
		"done":                          {Codon{CodonID: "c", Status: Completed}, Caveats{}},
		"skipped":                       {Codon{CodonID: "c", Status: Skipped}, Caveats{Skipped: []CodonID{"c"}}},
		"failed, which was ignored":     {Codon{CodonID: "c", Status: Failed, FailureReason: &FailureReason{Message: "why"}}, Caveats{Ignored: []Caveat{{CodonID: "c", Message: "why"}}}},
		"cut off by a budget":           {Codon{CodonID: "c", Status: Completed, BudgetExceeded: cut}, Caveats{CutOff: []Caveat{{CodonID: "c", BudgetExceeded: cut}}}},
		"at a budget when it had ended": {Codon{CodonID: "c", Status: Completed, BudgetExceeded: &BudgetExceeded{Finished: true}}, Caveats{}},
		"its model has no price":        {Codon{CodonID: "c", Status: Completed, UnpricedTokens: 5}, Caveats{Unpriced: []CodonID{"c"}}},
		"its context was full":          {Codon{CodonID: "c", Status: Completed, ContextExceeded: true}, Caveats{FullContext: []Caveat{{CodonID: "c"}}}},
	} {
		if got := (Caveats{}).with(&c.record); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
