//go:build unix

package codex

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hank/internal/modelserver"
	"hank/runtime/harness"
	"hank/runtime/harness/internal/harnesstest"
)

var update = flag.Bool("update", false, "record the transcripts in testdata anew; needs the real agent (scripts/install-agents)")

const root = "../../.."

// cli is the pinned Codex command line.
func cli(t *testing.T) string { return harnesstest.CLI(t, root, Name) }

func pinned(t *testing.T) string { return harnesstest.Pinned(t, root, Name, "@openai/codex") }

func TestTheLockFilePinsTheAgent(t *testing.T) {
	t.Parallel()
	if !harness.AtLeast(pinned(t), oldest...) {
		t.Errorf("the pinned version is %q", pinned(t))
	}
}

// stage is where the real agent runs: folders, server and preflight.
type stage struct {
	t                     *testing.T
	server                *modelserver.Server
	check                 harness.Check
	environ               []string
	user                  string // the home of the user, which the agent leaves alone
	workspace, home, temp string
	session               string
	transcript            []byte
}

func newStage(t *testing.T, sc scenario) *stage {
	server := modelserver.New(t, sc.script...)
	s := &stage{t: t, server: server, user: t.TempDir(), workspace: t.TempDir(), home: t.TempDir(), temp: t.TempDir()}
	s.environ = append(server.OpenAIEnviron(), "PATH="+os.Getenv("PATH"), "HOME="+s.user, executableVariable+"="+cli(t))
	if sc.keyless {
		s.environ = slices.DeleteFunc(s.environ, func(kv string) bool { return strings.HasPrefix(kv, keyVariable+"=") })
	}
	s.check = Harness{}.Check(context.Background(), s.environ)
	if s.check.Version != pinned(t) || s.check.LoggedIn == sc.keyless || (s.check.Problem != "") != sc.keyless {
		t.Fatalf("Check = %+v", s.check)
	}
	return s
}

// run starts the agent as the keeper would.
func (s *stage) run(st step) harnesstest.Played {
	t := s.t
	req := harness.Request{
		Prompt: "Do " + st.name + ".", SystemPrompt: st.system, Model: "gpt-5.5", Provider: "openai",
		Session: s.session, Attempt: st.name,
		Workspace: s.workspace, Home: s.home, Temp: s.temp,
		AutoCompact: st.compact, Environ: s.environ, Agent: s.check,
	}
	if st.session != "" {
		req.Session = st.session
	}
	var err error
	if req.SessionTokens, err = (Harness{}).SessionTokens(req); err != nil {
		t.Fatal(err)
	}
	command, err := Harness{}.Command(req)
	if err != nil {
		t.Fatal(err)
	}
	// The agent's own retries take half a minute.
	few := []string{"-c", "model_providers.hank.request_max_retries=1", "-c", "model_providers.hank.stream_max_retries=1"}
	command.Args = slices.Insert(command.Args, 2, few...)
	played := harnesstest.Run(t, Harness{}, req, command, func(ctx context.Context, signal func(syscall.Signal) error) {
		if st.stop == 0 {
			return
		}
		select {
		case <-s.server.Stalled():
		case <-ctx.Done():
			t.Fatal("the agent never asked the server")
		}
		if err := signal(st.stop); err != nil {
			t.Fatal(err)
		}
	})
	s.transcript = played.Transcript
	return played
}

// record keeps the transcript in testdata, without what names this machine.
func (s *stage) record(name string) {
	text := string(s.transcript)
	for _, dir := range []struct{ path, scrubbed string }{
		{s.workspace, "/workspace"}, {s.home, "/home"}, {s.temp, "/tmp/attempt"},
	} {
		text = strings.ReplaceAll(text, dir.path, dir.scrubbed)
	}
	text = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(text, "127.0.0.1:1")
	if err := os.WriteFile(filepath.Join("testdata", name+".jsonl"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// TestRealAgent runs the pinned Codex command line against the stand-in server, in every
// way in which it can end.
func TestRealAgent(t *testing.T) {
	cli(t)
	for name, sc := range scenarios {
		if sc.long && !*update && os.Getenv("HANK_LONG") == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, sc)
			for _, st := range sc.steps {
				played := s.run(st)
				if *update {
					s.record(st.name)
				}
				if played.Exit.Code != st.want.exit {
					t.Errorf("%s: the agent's exit status is %d, want %d", st.name, played.Exit.Code, st.want.exit)
				}
				st.want.hold(t, st.name, played.Verdict, false)
				if t.Failed() {
					t.Logf("%+v\n%s", played.Verdict.Failure, played.Transcript)
				}
				if s.session != "" && played.Verdict.Session != s.session {
					t.Errorf("%s: the session became %s, want %s still", st.name, played.Verdict.Session, s.session)
				}
				s.session = played.Verdict.Session
			}
			if litter := harnesstest.Names(t, s.user); len(litter) > 0 {
				t.Errorf("the agent wrote %v into the user's home", litter)
			}
		})
	}
}

// TestRealAgentWritesAndRemembers looks at what the verdict does not show: the
// file, what the model was told in the second turn, and the live observations.
func TestRealAgentWritesAndRemembers(t *testing.T) {
	t.Parallel()
	sc := scenarios["two turns of one session, the second with another system prompt"]
	s := newStage(t, sc)

	first := s.run(sc.steps[0])
	if got := harnesstest.Names(t, s.workspace); !slices.Equal(got, []string{"hello.txt"}) {
		t.Errorf("the workspace holds %v, want hello.txt alone", got)
	}
	if text, _ := os.ReadFile(filepath.Join(s.workspace, "hello.txt")); string(text) != "hello\n" {
		t.Errorf("hello.txt holds %q", text)
	}
	if want := (harness.SessionStarted{ID: first.Verdict.Session, Model: "gpt-5.5"}); len(first.Seen) == 0 || first.Seen[0] != want {
		t.Errorf("the first observation is %+v, want %+v", first.Seen, want)
	}
	// When a request is told of is a matter of chance; each is, and the turn.
	if got, want := kinds(first.Seen), "SessionStarted Message Message ToolUse ToolResult Message Result, 3 Usage"; got != want {
		t.Errorf("the observations are %s, want %s", got, want)
	}

	s.session = first.Verdict.Session
	second := s.run(sc.steps[1])
	if second.Verdict.Session != s.session {
		t.Errorf("the second turn ran in session %s, want %s", second.Verdict.Session, s.session)
	}
	turns := s.server.Turns()
	last := turns[len(turns)-1]
	var told strings.Builder
	for _, m := range last.Messages {
		told.WriteString(m.Role + ": " + m.Text + "\n")
	}
	for _, part := range []string{"Do write.", "assistant: I will write hello.txt.", "assistant: Written.", "Do resumed.", "developer: FIRST-SYSTEM-PROMPT", "user: " + replaces + "OTHER-SYSTEM-PROMPT" + replaced + "Do resumed."} {
		if !strings.Contains(told.String(), part) {
			t.Errorf("the model was not told %q in the second turn, but:\n%s", part, told.String())
		}
	}
}

// The agent renews a login by writing into the file, not by putting another in its place.
// Of a login of another kind that could not be tried the writing is the same.
func TestRealAgentWritesItsLoginThroughTheLink(t *testing.T) {
	t.Parallel()
	user, file := login(t, aLogin)
	req := request(t, func(r *harness.Request) {
		r.Environ, r.Agent.Path = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + user}, cli(t)
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

// kinds are the kinds of observations, those of use counted.
func kinds(seen []harness.Observation) string {
	var all []string
	used := 0
	for _, o := range seen {
		if _, is := o.(harness.Usage); is {
			used++
			continue
		}
		all = append(all, strings.TrimPrefix(fmt.Sprintf("%T", o), "harness."))
	}
	return fmt.Sprintf("%s, %d Usage", strings.Join(all, " "), used)
}
