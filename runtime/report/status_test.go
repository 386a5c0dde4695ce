package report

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hank/recovery"
	"hank/recovery/layout"
	"hank/state"
)

// An agent that has said nothing for longer than the limit, neither in its
// transcript nor in the journal, is silent; one that is gone is not.
func TestAnAgentThatSaysNothingIsSilent(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "states", "running.json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := state.Unmarshal(text)
	if err != nil {
		t.Fatal(err)
	}
	run := s.Run(s.CurrentRunID)
	for _, try := range []struct {
		name            string
		journal, script time.Duration // since when nothing was written
		live, silent    bool
	}{
		{"both old", 5 * time.Minute, 4 * time.Minute, true, true},
		{"a young transcript", 5 * time.Minute, time.Minute, true, false},
		{"a young journal", time.Minute, 4 * time.Minute, true, false},
		{"no live run", 5 * time.Minute, 4 * time.Minute, false, false},
	} {
		v := &recovery.View{Layout: layout.Layout{Root: t.TempDir()}, State: s, Live: try.live}
		log := v.Layout.Resolve(run.Live().ClaudeLogPath)
		if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(log, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if err := os.Chtimes(log, now, now.Add(-try.script)); err != nil {
			t.Fatal(err)
		}
		event := now.Add(-try.journal)
		said := Status{LastEvent: &event}
		if said.ofRun(v, run); said.Silent != try.silent {
			t.Errorf("%s: silent is %v", try.name, said.Silent)
		}
	}
}

// What is missing is said once, and what is to be done about it before the next command.
func TestTheRemedyIsNotTheReason(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"api.anthropic.com refuses the key or the login: HTTP 401; set ANTHROPIC_API_KEY to one that is accepted": "set ANTHROPIC_API_KEY to one that is accepted",
		"the claude command is not on the PATH": "the claude command is not on the PATH",
	} {
		if got := remedyIn(message); got != want {
			t.Errorf("%q: %q", message, got)
		}
	}
}
