//go:build unix

package opencode

import (
	"bufio"
	"bytes"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// TestRealAgent runs the pinned opencode command line against the stand-in server, in every
// way in which it can end.
func TestRealAgent(t *testing.T) { agent.Live(t, scenarios, *update) }

// TestRealAgentWritesAndRemembers looks at what the verdict does not show: the file, what
// the model was told in the second turn, and the live observations. The provider is one of
// the user's own configuration. Every request is of the conversation: none is unaccounted.
func TestRealAgentWritesAndRemembers(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	sc := scenarios["two turns of one session, the second with another system prompt"]
	sc.Prepare = configured(`{"provider":{"lab":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"{env:LAB_URL}","apiKey":"{env:LAB_API_KEY}"},"models":{"small":{}}}}}`)
	s := compatible.Remembers(t, sc, "SessionStarted Message Message ToolUse ToolResult Message Result", 2)
	s.MustBeTold("assistant: I will write hello.txt.", "tool: ")
	turns, requests := s.Server.Turns(), s.Server.Requests()
	if len(turns) != 5 || len(requests) != len(turns) {
		t.Errorf("the conversation has %d requests of %d, want 5 of 5", len(turns), len(requests))
	}
	for i, system := range []string{"FIRST-SYSTEM-PROMPT", "FIRST-SYSTEM-PROMPT", "OTHER-SYSTEM-PROMPT", "OTHER-SYSTEM-PROMPT", "OTHER-SYSTEM-PROMPT"} {
		if i < len(turns) && !strings.Contains(turns[i].System, system) {
			t.Errorf("request %d has not the system prompt %s", i, system)
		}
	}
	home, err := os.ReadDir(filepath.Join(s.Home, configDirectory, "node_modules"))
	if err != nil || len(home) > 0 {
		t.Errorf("the agent has installed %v, %v", home, err)
	}
}

// The agent renews a login by writing into the file, not by putting another in its place.
func TestRealAgentWritesItsLoginThroughTheLink(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	home := user(t, map[string]string{authFile: aLogin})
	req := request(t, func(r *harness.Request) {
		r.Environ, r.Agent.Path = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, agent.CLI(t)
		r.Workspace, r.Temp = t.TempDir(), t.TempDir()
	})
	c, _ := command(t, req)
	cmd := exec.CommandContext(t.Context(), c.Args[0], "serve", "--hostname", "127.0.0.1", "--port", "0")
	cmd.Env, cmd.Dir = c.Env, req.Workspace
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lines.Text())
	}
	put, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address+"/auth/anthropic", bytes.NewReader([]byte(`{"type":"api","key":"renewed"}`)))
	if err != nil {
		t.Fatal(err)
	}
	put.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(put)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if text, err := os.ReadFile(filepath.Join(home, authFile)); err != nil || !strings.Contains(string(text), "renewed") {
		t.Errorf("the user's login is %s, %v (%s)", text, err, answer.Status)
	}
	command(t, req) // which would refuse a file in the place of the link
}
