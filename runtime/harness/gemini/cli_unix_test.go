//go:build unix

package gemini

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/modelserver"
	"hank/internal/short"
	"hank/runtime/harness"
	"hank/runtime/harness/internal/harnesstest"
)

var update = flag.Bool("update", false, "record the transcripts in testdata anew; needs the real agent (scripts/install-agents)")

func TestTheLockFilePinsTheAgent(t *testing.T) {
	t.Parallel()
	if !harness.AtLeast(agent.Pinned(t), oldest...) {
		t.Errorf("the pinned version is %q", agent.Pinned(t))
	}
}

// TestRealAgent runs the pinned Gemini command line against the stand-in server, in every
// way in which it can end.
func TestRealAgent(t *testing.T) { agent.Live(t, scenarios, *update) }

// TestRealAgentWritesAndRemembers looks at what the verdict does not show: the
// file, what the model was told in the second turn, and the live observations.
func TestRealAgentWritesAndRemembers(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := agent.Remembers(t, scenarios["two turns of one session, the second with another system prompt"],
		"SessionStarted Message ToolUse ToolResult Message Result", 3)
	turns := s.Server.Turns()
	for i, want := range map[int]string{0: "FIRST-SYSTEM-PROMPT", len(turns) - 1: "OTHER @types/node SYSTEM-PROMPT"} {
		if system := turns[i].System; !strings.Contains(system, want) || strings.Contains(system, "Import failed") {
			t.Errorf("request %d has a system prompt without %q", i, want)
		}
		if !strings.Contains(turns[i].System, "# Core Mandates") {
			t.Errorf("request %d has not the agent's own system prompt", i)
		}
	}
}

// A prompt is no command of the agent, and the effort reaches the model. All that the agent
// prints is read: by itself it would end before that, and its result would be lost.
func TestRealAgentTakesWhatItIsGivenAndPrintsMuch(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := agent.Stage(t, scenario{Script: []modelserver.Turn{run("seq 1 300000; env | grep NODE_OPTIONS; true"), harnesstest.Done("Counted.")}})
	req := request(t, func(r *harness.Request) {
		r.Prompt, r.Model, r.Effort = "/help me, @nobody", agent.Model, "low"
		r.Workspace, r.Temp, r.Environ = s.Workspace, s.Temp, append(s.Environ, nodeOptions+"=--no-warnings")
	})
	if err := os.WriteFile(filepath.Join(s.Workspace, "nobody-else.txt"), []byte("SECRET"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, _ := command(t, req)
	played := harnesstest.Run(t, Harness{}, req, c, nil)
	if !played.Verdict.Success || len(played.Transcript) < 1<<20 {
		t.Errorf("after %d bytes: %+v", len(played.Transcript), played.Verdict.Failure)
	}
	s.MustBeTold("/help me, @nobody")
	for _, turn := range s.Server.Turns() {
		if body := string(turn.Body); !strings.Contains(body, `"thinkingBudget":1024`) || strings.Contains(body, "SECRET") {
			t.Errorf("a request is %.2000s", body)
		}
	}
	turns := s.Server.Turns()
	if last := string(turns[len(turns)-1].Body); !strings.Contains(last, nodeOptions+"=--no-warnings") || strings.Contains(last, "setBlocking") {
		t.Error("a command has other options of Node than the user")
	}
}
