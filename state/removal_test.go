package state_test

import (
	"maps"
	"slices"
	"testing"

	"hank/state"
)

// What an undo of the last move leads back to is needed however many runs have begun since.
func TestWhatAnUndoLeadsBackToIsNeeded(t *testing.T) {
	t.Parallel()
	before := &state.Position{RunID: "run-1", CheckpointSHA: "end-1"}
	s := &state.State{InitialCheckpoint: "initial", Runs: []*state.Run{
		{RunID: "run-4", Status: state.StatusCompleted, Head: "end-4"},
		{RunID: "run-3", Status: state.StatusCompleted, Head: "end-3", StartingConditions: state.StartingConditions{Source: &state.Position{CheckpointSHA: "initial", Before: before}}},
		{RunID: "run-2", Status: state.StatusCompleted, Head: "end-2"},
		{RunID: "run-1", Status: state.StatusCompleted, Head: "end-1"},
	}, Position: &state.Position{RunID: "run-4", CheckpointSHA: "end-4"}}
	if got := s.Needed(); got["run-1"] {
		t.Error("a position without a place before it has nothing to undo")
	}
	s.Position = nil
	if got := slices.Sorted(maps.Keys(s.Needed())); !slices.Equal(got, []state.RunID{"run-1", "run-4"}) {
		t.Errorf("needed are %v", got)
	}
	if !slices.Contains(s.NeededCheckpoints(), "end-1") {
		t.Error("its checkpoint is not needed")
	}
}

// A manual checkpoint is in no record of a codon: the position alone tells whose
// branch has it. Where the execution stands at its beginning, main leads there.
func TestARunIsNeededWhoseManualCheckpointTheExecutionStandsAt(t *testing.T) {
	t.Parallel()
	for at, want := range map[state.SHA][]state.RunID{
		"manual":  {"run-1", "run-3"},
		"initial": {"run-3"},
	} {
		s := &state.State{InitialCheckpoint: "initial", Runs: []*state.Run{
			{RunID: "run-3", Status: state.StatusCompleted, Head: "end-3"}, // the newest is first
			{RunID: "run-2", Status: state.StatusCompleted, Head: "end-2"},
			{RunID: "run-1", Status: state.StatusCompleted, Head: "end-1"},
		}, Position: &state.Position{RunID: "run-1", CheckpointSHA: at}}
		if got := slices.Sorted(maps.Keys(s.Needed())); !slices.Equal(got, want) {
			t.Errorf("at %s: needed are %v, want %v", at, got, want)
		}
	}
}
