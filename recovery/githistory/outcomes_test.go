package githistory

import (
	"fmt"
	"strings"
	"testing"

	"hank/plan"
	"hank/plan/loop"
	"hank/state"
)

// records is a state whose only run has these records: a#0 is settled, a#0! is not.
func records(t *testing.T, ids ...string) *state.State {
	t.Helper()
	var codons []string
	for _, id := range ids {
		id, open := strings.CutSuffix(id, "!")
		status := `"status":"completed","endTime":"2026-01-01T00:00:00.000Z","exitCode":0,"finalCost":0,"finalTokens":{"inputTokens":0,"outputTokens":0,"cacheCreationTokens":0,"cacheReadTokens":0},"completionCheckpoint":"` + strings.Repeat("a", 40) + `"`
		if open {
			status = `"status":"preparing"`
		}
		around := ""
		if _, n, looped := strings.Cut(id, "#"); looped {
			around = fmt.Sprintf(`,"loopContext":{"loopId":"l","iteration":%s,"codonIndexInLoop":0}`, n)
		}
		codons = append(codons, fmt.Sprintf(`{"codonId":%q,"startTime":"2026-01-01T00:00:00.000Z",%s%s}`, id, status, around))
	}
	s, err := state.Unmarshal([]byte(`{"runs":[{"runId":"r","runFolder":"/x","gitBranch":"run-r","startingConditions":{"type":"fresh"},"status":"running","startTime":"2026-01-01T00:00:00.000Z","serverPid":1,"codons":[` +
		strings.Join(codons, ",") + `]}],"currentRunId":"r","executionPlan":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// program has a loop of a and b, and a codon behind it.
var program = []plan.Item{
	{Loop: &plan.Loop{ID: "l", Codons: []plan.Codon{{ID: "a"}, {ID: "b"}}}},
	{Codon: &plan.Codon{ID: "z"}},
}

// Where the verdict on an iteration is lost, or none was needed when it ended, what came
// after it tells whether the loop continued. Only the last iteration may be undecided. A codon
// that the program does not have any more has not ended the loop.
func TestWhatCameAfterAnIterationTellsItsVerdict(t *testing.T) {
	t.Parallel()
	for ids, want := range map[string]map[plan.CodonID]loop.Decision{
		"a#0":                {"a#0": ""},
		"a#0 b#0":            {"a#0": "", "b#0": ""},
		"a#0 b#0 a#1 b#1":    {"a#0": "", "b#0": loop.Continue, "a#1": "", "b#1": ""},
		"a#0 b#0 a#1!":       {"b#0": loop.Continue},
		"a#0 b#0 a#1 b#1 z":  {"b#0": loop.Continue, "b#1": loop.Stop},
		"a#0 b#0 a#1 b#1 z!": {"b#0": loop.Continue, "b#1": loop.Stop},
		"z a#0":              {"z": "", "a#0": ""},
		"a#0 b#0 n":          {"b#0": ""},
		"a#0 b#0 n!":         {"b#0": ""},
		"a#0 b#0 n z":        {"b#0": loop.Stop},
		"a#0 b#0 n#0 a#1":    {"b#0": loop.Continue},
		"a#0 b#0 n#1!":       {"b#0": loop.Continue},
	} {
		outcome := Outcomes(program, records(t, strings.Fields(ids)...))
		for id, decision := range want {
			if o, ended := outcome(id); !ended || o.Decision != decision {
				t.Errorf("%s: %s has ended %v with the verdict %q, want %q", ids, id, ended, o.Decision, decision)
			}
		}
		if _, ended := outcome("n"); ended {
			t.Errorf("%s: a codon that the program does not have has an outcome", ids)
		}
	}
}
