package report

import (
	"os"
	"path/filepath"
	"strings"
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
		{"just long enough", 190 * time.Second, 190 * time.Second, true, true},
		{"not quite", 170 * time.Second, 170 * time.Second, true, false},
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

// The last event is dated by what it says, and not by when its file was written to.
func TestTheLastEventIsDatedByItself(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "events.jsonl")
	const first, second = `{"seq":1,"timestamp":"2026-01-02T03:04:05.678Z"}` + "\n", `{"seq":2,"timestamp":"2026-01-02T03:05:05Z","data":"`
	for _, c := range []struct{ text, want string }{
		{first, "2026-01-02T03:04:05.678Z"},
		{first + second + strings.Repeat("x", 20<<10) + "\"}\n", "2026-01-02T03:05:05Z"},
		{first + second, "2026-01-02T03:04:05.678Z"}, // which is being written
		{"", ""}, {"rubbish\n", ""},
	} {
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ""
		if at := lastEventAt(name); at != nil {
			got = at.Format(time.RFC3339Nano)
		}
		if got != c.want {
			t.Errorf("the last event is of %q, want %q", got, c.want)
		}
	}
	if lastEventAt(name+"x") != nil {
		t.Error("a file that is not there has an event")
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
