//go:build unix

package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/short"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
)

// stuckStage is a script of a codon with an idle timeout of a second.
func stuckStage(t *testing.T, script, more string) *stage {
	t.Helper()
	text, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	return stageOf(t, `{"hank": [{"id": "a", "name": "a", "model": "shell", "continuationMode": "fresh", "shimIdleTimeout": 1, "promptText": `+string(text)+more+`}]}`)
}

// stuck are the events that an agent may be stuck.
func (s *stage) stuck() (all []codon.Stuck) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.root, ".hankweave", "events", "events.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e struct {
			Type string      `json:"type"`
			Data codon.Stuck `json:"data"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type == "codon.stuck" {
			all = append(all, e.Data)
		}
	}
	return all
}

// What is known of the silence is told with its end: in the event, on the screen, in the
// record, and to the notification command.
func TestASilenceIsReportedWithItsEvidence(t *testing.T) {
	t.Parallel()
	s := stuckStage(t, "sleep 60 & sleep 60", "")
	told := filepath.Join(t.TempDir(), "told")
	s.opts.Notify = "cat >>" + told
	s.must(ModeRun, exitcode.Failed)
	all := s.stuck()
	if len(all) != 1 || all[0].Then != "stop" || all[0].CodonID != "a" || all[0].Processes < 2 || all[0].Changed != nil || time.Since(all[0].Since) > time.Minute {
		t.Fatalf("%+v", all)
	}
	if c := s.last("a"); c.FailureReason.Class != "silent" || !strings.Contains(c.FailureReason.Message, "processes are alive") || !strings.Contains(c.FailureReason.Message, "no change seen in the workspace") {
		t.Errorf("%+v", c.FailureReason)
	}
	if said := strings.Join(s.said, "\n"); !strings.Contains(said, "a: the agent may be stuck: nothing printed for ") {
		t.Errorf("it said %s", said)
	}
	if text := content(t, told, ""); strings.Count(text, `"exitCode"`) != 2 || !strings.Contains(text, "the agent may be stuck") {
		t.Errorf("the notification command was told %s", text)
	}
}

// Where it is only to be reported, the agent goes on, and each silence is told once.
func TestASilenceIsOnlyReportedWhereTheHankSaysSo(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stuckStage(t, "touch begun; for i in 1 2; do sleep 2.2; echo $i >>work; echo $i; done", `, "onStuck": "report"`)
	s.must(ModeRun, exitcode.Done)
	if all := s.stuck(); len(all) != 2 || all[0].Then != "report" {
		t.Errorf("%+v", all)
	}
	if got := content(t, s.workspace(), "work"); got != "1\n2\n" {
		t.Errorf("the work is %q", got)
	}
}

// A silence can be tried again without any other failure being.
func TestASilenceIsTriedAgain(t *testing.T) {
	t.Parallel()
	script := "if [ ! -e $COUNTER ]; then touch $COUNTER; sleep 60; fi; touch done"
	s := stuckStage(t, script, `, "onStuck": "retry"`)
	s.opts.Environ = append(s.opts.Environ, "COUNTER="+filepath.Join(t.TempDir(), "counter"))
	s.must(ModeRun, exitcode.Done)
	if got, want := strings.Join(s.records(), " "), "a:failed a:completed"; got != want {
		t.Errorf("the records are %s, want %s", got, want)
	}
	s = stuckStage(t, "exit 3", `, "onStuck": "retry"`)
	s.must(ModeRun, exitcode.Failed)
	if got, want := strings.Join(s.records(), " "), "a:failed"; got != want {
		t.Errorf("the records are %s, want %s", got, want)
	}
}
