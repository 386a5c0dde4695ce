//go:build unix

package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// What comes into the workspace's place between two codons was not put there by
// one: the run stops before the next, and the opening that follows asks.
func TestAWorkspaceThatIsReplacedBetweenTwoCodonsStopsTheRun(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log"}
	]}`)
	ws := filepath.Join(s.root, "agentRoot")
	res, err := s.run(ModeRun, func(o *command) {
		o.Appended = func(e journal.Event, _ *state.State) {
			if e.Type == "codon.completed" {
				testkit.Must(t, os.Rename(ws, ws+".mine"))
				testkit.Must(t, os.Mkdir(ws, 0o755))
			}
		}
	})
	if verdict.CodeOf(err) != exitcode.Decision || !strings.Contains(err.Error(), "replaced while no codon was running") {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := s.records(); len(got) != 1 {
		t.Errorf("records: %v", got)
	}
	if _, err = s.run(ModeRun); verdict.CodeOf(err) != exitcode.Decision || !strings.Contains(err.Error(), "--keep-tree") {
		t.Errorf("the next run: %v", err)
	}
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Restore = true })
	if got := content(t, ws, "log"); got != "a\nb\n" {
		t.Errorf("log is %q", got)
	}
}
