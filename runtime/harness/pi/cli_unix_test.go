//go:build unix

package pi

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
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

// TestRealAgent runs the pinned pi command line against the stand-in server, in every
// way in which it can end.
func TestRealAgent(t *testing.T) { agent.Live(t, scenarios, *update) }

// TestRealAgentWritesAndRemembers looks at what the verdict does not show: the
// file, what the model was told in the second turn, and the live observations. The third
// turn is in another directory: by itself the agent would ask a question, or work in the
// first.
func TestRealAgentWritesAndRemembers(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	sc := scenarios["two turns of one session, the second with another system prompt"]
	s := agent.Remembers(t, sc, "SessionStarted Message Message ToolUse ToolResult Message Result", 2)
	s.MustBeTold("assistant: The file is missing.\nI will write hello.txt.")
	turns := s.Server.Turns()
	if system := turns[len(turns)-1].System; !strings.Contains(system, "OTHER-SYSTEM-PROMPT") || strings.Contains(system, "FIRST-SYSTEM-PROMPT") {
		t.Errorf("the system prompt of the second turn is %q", system)
	}

	moved := t.TempDir()
	s.Workspace = moved
	third, want := s.Run(sc.Steps[2]).Verdict, sc.Steps[2].Want
	if !third.Success || third.Text != want.Text || third.Usage.Tokens.Sum() != want.Tokens.Sum() || third.Usage.Cost != want.Cost {
		t.Errorf("in another directory: %+v, %+v", third, third.Failure)
	}
	turns = s.Server.Turns()
	if system := turns[len(turns)-1].System; !strings.Contains(system, moved) {
		t.Errorf("the agent was not told that it works in %s: %q", moved, system)
	}
}

// A login that is over is renewed by writing into the user's file, through the link, and
// not by putting another file in its place. The login is that of a provider that an
// extension of the test makes; the writing is the same for all.
func TestRealAgentWritesItsLoginThroughTheLink(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	server := modelserver.New(t, harnesstest.Done("Fine."))
	home := user(t, map[string]string{loginName: `{"lab":{"type":"oauth","access":"old","refresh":"r","expires":1},"groq":{"type":"api_key","key":"mine"}}`})
	extension := filepath.Join(t.TempDir(), "lab.mjs")
	if err := os.WriteFile(extension, []byte(`export default function (pi) {
	pi.registerProvider("lab", {
		baseUrl: "`+server.URL()+`", api: "anthropic-messages",
		models: [{ id: "small", name: "Small", reasoning: false, input: ["text"], cost: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 }, contextWindow: 100000, maxTokens: 1000 }],
		oauth: {
			name: "Lab", login: async () => { throw new Error("no") }, getApiKey: (c) => c.access,
			refreshToken: async (c) => ({ ...c, access: "renewed", expires: Date.now() + 3600000 }),
		},
	});
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	req := request(t, func(r *harness.Request) {
		r.Provider, r.Model = "lab", "small"
		r.Environ, r.Agent.Path = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, agent.CLI(t)
	})
	c, _ := command(t, req)
	c.Args = append(c.Args, "--extension", extension)
	played := harnesstest.Run(t, Harness{}, req, c, nil)
	if !played.Verdict.Success {
		t.Errorf("%+v\n%s", played.Verdict.Failure, played.Transcript)
	}
	if key := server.Turns()[0].Header.Get("X-Api-Key"); key != "renewed" {
		t.Errorf("the provider was given %q", key)
	}
	file := filepath.Join(home, ".pi", "agent", loginName)
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the user's login is %v, %v", info, err)
	}
	for _, want := range []string{"renewed", "mine"} {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("the user's login has no %q: %s, %v", want, text, err)
		}
	}
	command(t, req) // which would refuse a file in the place of the link
}

// The user's own providers are those of models.json, with their own keys and prices. Of a
// name that is a part of another the agent would take the other, and is ended for it.
func TestRealAgentTakesTheModelsOfTheUserAndNoOther(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	server := modelserver.New(t, harnesstest.Done("Fine."), harnesstest.Done("Wrong."))
	home := user(t, map[string]string{modelsName: `{"providers":{"lab":{"baseUrl":"http://127.0.0.1:1","api":"anthropic-messages","apiKey":"MY_LAB_KEY","models":[{"id":"small-2","cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}]}}}`})
	req := request(t, func(r *harness.Request) {
		r.Provider, r.Model = "lab", "small-2"
		r.Environ, r.Agent.Path = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "MY_LAB_KEY=k", "LAB_BASE_URL=" + server.URL()}, agent.CLI(t)
	})
	c, _ := command(t, req)
	played := harnesstest.Run(t, Harness{}, req, c, nil)
	if u := played.Verdict.Usage; !played.Verdict.Success || u.Priced || u.Tokens.Sum() != harnesstest.One.Sum() {
		t.Errorf("%+v, %+v\n%s", u, played.Verdict.Failure, played.Transcript)
	}
	if key := server.Turns()[0].Header.Get("X-Api-Key"); key != "k" {
		t.Errorf("the provider was given %q", key)
	}

	req.Model = "small"
	c, _ = command(t, req)
	played = harnesstest.Run(t, Harness{}, req, c, nil)
	if f := played.Verdict.Failure; f == nil || f.Rule != "model:mismatch" || !strings.Contains(f.Message, "lab/small-2") {
		t.Errorf("%+v\n%s", f, played.Transcript)
	}
	if i := slices.IndexFunc(played.Seen, func(o harness.Observation) bool { w, is := o.(harness.Retrying); return is && w.Refused != nil }); i < 0 {
		t.Errorf("the agent was not to be ended: %+v", played.Seen)
	}
}
