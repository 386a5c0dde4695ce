//go:build unix

package runtime

import (
	"slices"
	"testing"
	"time"

	"hank/state"
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

// What an agent says right after something else is recorded too while it works, so
// that a kill loses nothing of it.
func TestTheLastUsageIsRecordedWhileTheAgentWorks(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh",
	  "promptText": "echo '::hank usage {\"costUSD\":0.25}'; echo '::hank usage {\"costUSD\":0.75}'; sleep 120; echo >\"$COUNT/ended\""}]}`)
	count := t.TempDir()
	l := order{Execution: s.root, Hank: s.opts.Hank, Output: s.opts.Output}.start(t, "COUNT="+count)
	l.until(t, "event", "*", "CostsUpdated")
	l.until(t, "event", "*", "CostsUpdated")
	l.kill()
	l.wait()
	if onDisk(count, "ended") {
		t.Error("it was recorded only when the agent had ended")
	}
	if got := s.view().State.TotalCost(); got != state.Dollar {
		t.Errorf("$%s of $1 are recorded", got)
	}
}
