package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
)

// The event of a transition says what it has led to, and says so exactly: it is what the
// records come to, without adding them up.
func TestAnEventSaysWhatHasComeOfItsTransition(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(statesDir, "completed.json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	total := s.Bill().Cost
	run := *s.Runs[0]
	next := &Run{RunID: "1800000000000-zzzzz", RunFolder: run.RunFolder, GitBranch: "run-x", Status: StatusRunning, StartTime: run.StartTime,
		StartingConditions: StartingConditions{Type: StartContinuation, Source: &Position{RunID: run.RunID, CheckpointSHA: s.Base}}}
	started := RunStarted{Run: next}
	after, err := Apply(s, s.Seq+1, started)
	if err != nil {
		t.Fatal(err)
	}
	if total == 0 {
		t.Fatal("the sample has cost nothing")
	}
	data, err = after.Event(started)
	if err != nil {
		t.Fatal(err)
	}
	var event struct {
		Resulting map[string]any `json:"resultingState"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		t.Fatal(err)
	}
	got := event.Resulting
	if got["currentRunId"] != string(next.RunID) || got["runCount"] != float64(len(s.Runs)+1) || got["currentRunCost"] != 0.0 || Dollars(got["totalCost"].(float64)) != total {
		t.Errorf("the event says %v; %d runs, %s", got, len(s.Runs)+1, total)
	}
	ended := RunCompleted{RunID: next.RunID, EndTime: run.StartTime}
	last, err := Apply(after, after.Seq+1, ended)
	if err != nil {
		t.Fatal(err)
	}
	if r := last.resulting(); r.CurrentRunID != nil || r.CurrentRunCost != 0 || r.TotalCost != total {
		t.Errorf("after the run the state is said to be %+v", r)
	}
}
