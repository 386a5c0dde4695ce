//go:build unix

package codex

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/runtime/harness"
)

var update = flag.Bool("update", false, "record the transcripts in testdata anew; needs the real agent (scripts/install-agents)")

func TestTheLockFilePinsTheAgent(t *testing.T) {
	t.Parallel()
	if !harness.AtLeast(agent.Pinned(t), oldest...) {
		t.Errorf("the pinned version is %q", agent.Pinned(t))
	}
}

// TestRealAgent runs the pinned Codex command line against the stand-in server, in every
// way in which it can end.
func TestRealAgent(t *testing.T) { agent.Live(t, scenarios, *update) }

// TestRealAgentWritesAndRemembers looks at what the verdict does not show: the
// file, what the model was told in the second turn, and the live observations.
func TestRealAgentWritesAndRemembers(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := agent.Remembers(t, scenarios["two turns of one session, the second with another system prompt"],
		"SessionStarted Message Message ToolUse ToolResult Message Result", 3)
	s.MustBeTold("assistant: I will write hello.txt.", "developer: FIRST-SYSTEM-PROMPT", "user: "+replaces+"OTHER-SYSTEM-PROMPT"+replaced+"Do resumed.")
}

// The agent renews a login by writing into the file, not by putting another in its place.
// Of a login of another kind that could not be tried the writing is the same.
func TestRealAgentWritesItsLoginThroughTheLink(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	user, file := login(t, aLogin)
	req := request(t, func(r *harness.Request) {
		r.Environ, r.Agent.Path = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + user}, agent.CLI(t)
	})
	c, _ := command(t, req)
	cmd := exec.Command(c.Args[0], "login", "--with-api-key")
	cmd.Env, cmd.Stdin = c.Env, strings.NewReader("renewed\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "renewed") {
		t.Errorf("the user's login is %s, %v", text, err)
	}
	command(t, req) // which would refuse a file in the place of the link
}
