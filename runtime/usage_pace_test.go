//go:build unix

package runtime

import (
	"testing"

	"hank/internal/short"
	"hank/state"
)

// What an agent says right after something else is recorded too while it works, so
// that a kill loses nothing of it.
func TestTheLastUsageIsRecordedWhileTheAgentWorks(t *testing.T) {
	t.Parallel()
	short.Skip(t)
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
