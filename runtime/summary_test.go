//go:build unix

package runtime

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/fit"
	"hank/internal/short"
	"hank/plan"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/state"
)

// events are those of a type in the journal, which fit the schema.
func (s *stage) events(kind string) [][]byte {
	s.t.Helper()
	lines, err := os.ReadFile(filepath.Join(s.view().Layout.Events(), "events.jsonl"))
	testkit.Must(s.t, err)
	var found [][]byte
	var cases []fit.Case
	for line := range bytes.Lines(lines) {
		var e struct {
			Type string         `json:"type"`
			Data jsontext.Value `json:"data"`
		}
		testkit.Must(s.t, json.Unmarshal(line, &e))
		if e.Type != kind {
			continue
		}
		cases = append(cases, fit.Case{Schema: filepath.Join("..", "docs", "schema", "events.schema.json"), Value: slices.Clone(line)})
		found = append(found, e.Data)
	}
	misfits, err := fit.Misfits(cases)
	testkit.Must(s.t, err)
	for i, why := range misfits {
		s.t.Errorf("the event does not fit its schema: %s\n%s", why, cases[i].Value)
	}
	return found
}

func TestARunEndsWithASummaryOfItsBudgets(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := newStage(t, fixture(t, "hanks/budget-loop"))
	s.must(ModeRun, exitcode.Budget, maxCost(0.5))
	s.must(ModeRun, exitcode.Done, maxCost(5)) // its last codon wants three rounds
	var got []state.BudgetSummary
	for _, data := range s.events(state.BudgetSummaryEvent) {
		var b state.BudgetSummary
		testkit.Must(t, json.Unmarshal(data, &b))
		for i := range b.Rows {
			if b.Rows[i].Actual.TimeSeconds <= 0 || b.Totals.ActualTimeSeconds < b.Rows[i].Actual.TimeSeconds {
				t.Errorf("the times: %+v", b)
			}
		}
		got = append(got, b)
	}
	if len(got) != 2 {
		t.Fatalf("%d summaries of two runs", len(got))
	}
	first, second := got[0], got[1]
	if first.Ceiling.MaxDollars != state.Dollars(0.5) || first.Allocation != plan.Shared || first.Totals.BudgetDollars != state.Dollars(0.5) || first.Totals.ActualDollars != state.Dollars(0.8) {
		t.Errorf("the first run: %+v", first)
	}
	if len(first.Rows) != 2 || first.Rows[0].Status != "completed" || first.Rows[1].Status != "exceeded" || first.Rows[1].Budget.MaxDollars != state.Dollars(0.1) ||
		first.Rows[1].Actual.Dollars != state.Dollars(0.4) || first.Rows[1].LoopContext.Iteration != 1 || first.Rows[1].Actual.OutputTokens != 10 {
		t.Errorf("the rows of the first run: %+v", first.Rows)
	}
	if second.Totals.ActualDollars < first.Totals.ActualDollars || second.Totals.BudgetDollars != state.Dollars(5) || second.Rows[len(second.Rows)-1].CodonID != "after" {
		t.Errorf("the second run: %+v", second)
	}
	none := newStage(t, fixture(t, "hanks/minimal"))
	none.must(ModeRun, exitcode.Done)
	if found := none.events(state.BudgetSummaryEvent); len(found) > 0 {
		t.Errorf("a hank without budgets: %s", found)
	}
}
