//go:build unix

package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/request"
)

// Every right hank of fixtures/published goes through its plan without its agents.
func TestPublishedHanksRunWithoutTheirAgents(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(fixture(t, "published/manifest.json"))
	testkit.Must(t, err)
	var all []struct {
		Hank string `json:"hank"`
	}
	testkit.Must(t, json.Unmarshal(text, &all))
	ran := 0
	for _, h := range all {
		if !strings.HasPrefix(h.Hank, "right/") {
			continue
		}
		ran++
		t.Run(filepath.Base(h.Hank), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fixture(t, "published/"+h.Hank))
			s.must(ModeRun, exitcode.Done, func(c *command) { c.Replay = request.Noop })
			if last := s.view().State.CurrentPosition().CheckpointSHA; last == s.view().State.InitialCheckpoint {
				t.Error("no codon has ended")
			}
		})
	}
	if ran < 60 {
		t.Errorf("only %d hanks", ran)
	}
}
