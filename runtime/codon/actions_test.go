package codon

import (
	"slices"
	"testing"
	"time"

	"hank/runtime/keeper"
)

// A flood is cut; what comes slowly never is, however long it continues.
func TestAFloodOfActionsIsCut(t *testing.T) {
	t.Parallel()
	var flood, slow actions
	now, passed := time.Unix(1e9, 0), 0
	for i := range 100_000 { // in ten seconds
		if flood.allow(now.Add(time.Duration(i) * 100 * time.Microsecond)) {
			passed++
		}
	}
	if want := actionsAtOnce + 10*actionsPerSecond; passed < want-1 || passed > want {
		t.Errorf("%d of a flood were noted, want %d", passed, want)
	}
	if flood.omitted != 100_000-passed {
		t.Errorf("%d are said to be left out", flood.omitted)
	}
	for i := range 100_000 {
		if !slow.allow(now.Add(time.Duration(i) * time.Second / actionsPerSecond)) {
			t.Fatalf("action %d was left out", i)
		}
	}
}

// A record names some of what was left running, and how many more there were.
func TestWhatWasKilledIsCounted(t *testing.T) {
	t.Parallel()
	a := &attempt{}
	a.killed(keeper.Exit{Killed: []keeper.Leftover{{PID: 7, Command: "sleep"}}, KilledTotal: 70})
	if want := []string{"killed leftover process 7 (sleep)", "killed 69 more leftover processes"}; !slices.Equal(a.notes, want) {
		t.Errorf("%q", a.notes)
	}
}
