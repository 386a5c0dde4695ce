//go:build unix

package claude

import (
	"flag"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/runtime/harness"
)

var update = flag.Bool("update", false, "record the transcripts in testdata anew; needs the real agent (scripts/install-agents)")

func TestTheLockFilePinsTheAgent(t *testing.T) {
	t.Parallel()
	if !harness.AtLeast(agent.Pinned(t), 2, 1, 329) {
		t.Errorf("the pinned version is %q", agent.Pinned(t))
	}
}

// TestRealAgent runs the pinned Claude Code command line against the stand-in
// server, in every way in which it can end.
func TestRealAgent(t *testing.T) { agent.Live(t, scenarios, *update) }

// TestRealAgentWritesAndRemembers looks at what the verdict does not show: the
// file, what the model was told in the second turn, and the live observations.
func TestRealAgentWritesAndRemembers(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := agent.Remembers(t, scenarios["two turns of one session, the second with another system prompt"],
		"SessionStarted Message ToolUse ToolResult Message Result", 5)
	s.MustBeTold("assistant: I will write hello.txt.", "File created successfully")
	turns := s.Server.Turns()
	if last := turns[len(turns)-1]; !strings.Contains(last.System, "OTHER-SYSTEM-PROMPT") || strings.Contains(last.System, "FIRST-SYSTEM-PROMPT") {
		t.Error("the second turn was not sent with its own system prompt alone")
	}
}
