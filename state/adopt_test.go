package state

import (
	"strings"
	"testing"
)

// What Hankweave leaves unsaid is filled in; what it says stays.
func TestAdopt(t *testing.T) {
	t.Parallel()
	record := func(id, status, more string) string {
		return `{"codonId":"` + id + `","status":"` + status + `","startTime":"2025-01-04T12:00:00Z"` + more + `}`
	}
	run := func(id, status, start, codons string) string {
		return `{"runId":"` + id + `","gitBranch":"run-` + id + `","status":"` + status + `","startTime":"2025-01-04T12:00:00Z","startingConditions":` + start + `,"codons":[` + codons + `]}`
	}
	entry := func(id string) string { return `{"codonId":"` + id + `","codon":{"id":"` + id + `"}}` }
	s, err := Unmarshal([]byte(`{"currentRunId":"3","executionPlan":[` + strings.Join([]string{entry("a"), entry("b"), entry("c"), entry("d")}, ",") + `],"runs":[` + strings.Join([]string{
		run("3", "crashed", `{"type":"continuation","reason":"retry","source":{"runId":"2","afterCodon":null,"checkpointSha":""}}`, record("c", "failed", `,"exitCode":-1`)),
		run("2", "completed", `{"type":"continuation","reason":"continue","source":{"runId":"1","afterCodon":"a","checkpointSha":"A"}}`,
			record("b", "failed", `,"errorCheckpoint":"B1"`)+","+record("b", "failed", `,"errorCheckpoint":"B2"`)+","+record("c", "completed", `,"completionCheckpoint":"C","x":1`)),
		run("1", "completed", `{"type":"fresh"}`, record("a", "completed", `,"completionCheckpoint":"A"`)),
	}, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := s.Marshal()
	got, err := s.Adopt("I", map[string]SHA{"main": "I", "run-2": "C"})
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := s.Marshal(); string(after) != string(before) {
		t.Error("the state that was adopted has changed")
	}
	two, three := got.Runs[1], got.Runs[0]
	for what, ok := range map[string]bool{
		"the initial checkpoint":                   got.InitialCheckpoint == "I" && got.Adopted,
		"no run is current that has ended":         got.CurrentRunID == "",
		"the base is the last settled checkpoint":  got.Base == "C",
		"the head is the branch's tip":             two.Head == "C" && three.Head == "",
		"the first codon began from the beginning": got.Runs[2].Codon(0).BaseCheckpoint == "I",
		"a failed attempt moves no base":           two.Codon(0).BaseCheckpoint == "A" && two.Codon(1).BaseCheckpoint == "A",
		"attempts are counted":                     two.Codon(0).Attempt == 1 && two.Codon(1).Attempt == 2 && two.Codon(2).Attempt == 1,
		"a failure that was passed is ignored":     !two.Codon(0).FailureIgnored && two.Codon(1).FailureIgnored,
		"a crash is one":                           three.Codon(0).Interrupted == InterruptedByCrash,
		"an unknown field stays":                   strings.Contains(string(two.Codon(2).Unknown), `"x"`),
		"a codon done again has its place":         three.StartingConditions.Source.RunID == "2" && *three.StartingConditions.Source.AfterCodon == "b",
		"the next is the one that crashed":         got.Next() == 2,
	} {
		if !ok {
			t.Errorf("not so: %s", what)
		}
	}
}
