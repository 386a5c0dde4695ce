//go:build unix

package codon

import (
	"slices"
	"testing"
	"time"
)

func TestWhatIsUsedIsRecordedOnceASecond(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	var p pace
	var recorded []time.Duration
	for _, step := range []struct {
		at  time.Duration
		new bool
	}{{0, false}, {100, true}, {300, true}, {400, false}, {1000, false}, {1100, false}, {1350, false}, {5000, true}, {5900, true}, {5950, true}, {6100, false}} {
		at := step.at * time.Millisecond
		p.owed = p.owed || step.new
		if now := start.Add(at); p.due(now) {
			p.done(now)
			recorded = append(recorded, step.at)
		}
	}
	if want := []time.Duration{100, 1100, 5000, 6100}; !slices.Equal(recorded, want) {
		t.Errorf("recorded at %d ms, want %d", recorded, want)
	}
}
