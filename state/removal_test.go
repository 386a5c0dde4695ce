package state

import (
	"maps"
	"slices"
	"testing"
)

// A manual checkpoint is in no record of a codon: the position alone tells whose
// branch has it. Where the execution stands at its beginning, main leads there.
func TestARunIsNeededWhoseManualCheckpointTheExecutionStandsAt(t *testing.T) {
	t.Parallel()
	for at, want := range map[SHA][]RunID{
		"manual":  {"run-1", "run-3"},
		"initial": {"run-3"},
	} {
		s := &State{InitialCheckpoint: "initial", Runs: []*Run{
			{RunID: "run-3", Status: StatusCompleted, Head: "end-3"}, // the newest is first
			{RunID: "run-2", Status: StatusCompleted, Head: "end-2"},
			{RunID: "run-1", Status: StatusCompleted, Head: "end-1"},
		}, Position: &Position{RunID: "run-1", CheckpointSHA: at}}
		if got := slices.Sorted(maps.Keys(s.Needed())); !slices.Equal(got, want) {
			t.Errorf("at %s: needed are %v, want %v", at, got, want)
		}
	}
}
