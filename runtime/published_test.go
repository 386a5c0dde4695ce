//go:build unix

package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/internal/jsonchange"
	"hank/internal/short"
	"hank/plan/config"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
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

// What hank validate accepts begins to run and comes to its end: of a rich hank each value
// is replaced by others and each member removed, and of those that are valid a part is run.
// HANK_LONG=1 runs all.
func TestAChangedHankThatIsValidRuns(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	from := fixture(t, "published/right/rich")
	text, err := os.ReadFile(filepath.Join(from, "hank.json"))
	testkit.Must(t, err)
	every, valid := 48, 0
	if os.Getenv("HANK_LONG") != "" {
		every = 1
	}
	write := func(dir string, hank []byte) {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, "hank.json"), hank, 0o644))
	}
	judged := t.TempDir()
	testkit.Must(t, os.CopyFS(judged, os.DirFS(from)))
	others := []any{0, 1, "x", "a b/ü", []any{}, map[string]any{}}
	testkit.Must(t, jsonchange.Each(text, others, false, func(what string, changed []byte) {
		write(judged, changed)
		p, _, err := hankfile.Load(judged, config.Layers{})
		testkit.Must(t, err)
		if p == nil {
			return
		}
		if valid++; valid%every != 0 {
			return
		}
		dir := t.TempDir()
		testkit.Must(t, os.CopyFS(dir, os.DirFS(from)))
		write(dir, changed)
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			newStage(t, dir).must(ModeRun, exitcode.Done, func(c *command) { c.Replay = request.Noop })
		})
	}))
	if valid < 100 {
		t.Errorf("only %d changed hanks are valid", valid)
	}
}
