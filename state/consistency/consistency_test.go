package consistency

import (
	"errors"
	"strings"
	"testing"

	"hank/state"
)

func TestEachKindOfIssueIsFound(t *testing.T) {
	t.Parallel()
	sha := strings.Repeat("b", 40)
	s, err := state.Unmarshal([]byte(`{
  "runs": [
    {"runId": "new", "runFolder": "", "gitBranch": "", "startingConditions": {"type": "continuation", "source": {"runId": "gone", "checkpointSha": "` + sha + `"}}, "status": "running",
     "startTime": "2026-01-02T03:04:05Z", "serverPid": 0, "codons": [{"codonId": "a", "startTime": "2026-01-02T03:04:05Z", "status": "running"}]},
    {"runId": "old", "runFolder": "", "gitBranch": "", "startingConditions": {"type": "fresh"}, "status": "running", "startTime": "2026-01-02T03:04:05Z", "serverPid": 0, "codons": []}
  ],
  "currentRunId": "none",
  "executionPlan": [{"codonId": "z", "codon": {"id": "z"}}]
}`))
	if err != nil {
		t.Fatal(err)
	}
	v := Validate(s, World{RunDirs: []string{"lost"}, Lacks: func(state.SHA) string { return "it" }, Costs: map[state.RunID]state.USD{"new": 5}})
	found := map[IssueType]bool{}
	for _, i := range append(v.Errors, v.Warnings...) {
		found[i.Type] = true
	}
	for _, want := range []IssueType{MissingRun, InvalidCodon, OrphanedFolder, MissingCheckpoint, CostMismatch, UnclosedRun, UnplannedCodon} {
		if !found[want] {
			t.Errorf("%s was not reported", want)
		}
	}
	if v.Valid {
		t.Error("a state with errors is not valid")
	}
	if c := Corrupted(errors.New("x")); c.Valid || c.Errors[0].Type != CorruptedData {
		t.Error("Corrupted must report corrupted_data")
	}
}
