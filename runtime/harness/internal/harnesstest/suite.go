package harnesstest

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hank/internal/modelserver"
	"hank/internal/short"
	"hank/runtime/harness"
	"hank/state"
)

// Agent is what the scenarios of one agent have in common.
type Agent struct {
	Harness    harness.Harness
	Package    string // of npm
	Root       string // the way from the test to the root of the repository
	Model      string
	Provider   string
	Executable string // the variable that names the program
	// Environ are the variables that lead the agent to a server, its key among them. Key is
	// the name of that one.
	Environ func(*modelserver.Server) []string
	Key     string
	Command func(*Stage, *harness.Command) // lets the agent give up sooner; may be nil
	Scrub   func(text string, dir, scrubbed string) string
	Priced  bool // the agent reports money, at the end of its work
	// PricedEach is set if it reports money with each request instead.
	PricedEach bool
}

// Scenario is a conversation with the real agent, and what its reader must make of it.
// The same is asked of the transcripts in testdata, which the scenario has recorded.
type Scenario struct {
	Script  []modelserver.Turn
	Prepare func(*Stage) // before the first step; may be nil
	Keyless bool         // there are no credentials
	Long    bool         // with the real agent only if HANK_LONG is set, and for a recording
	Steps   []Step
}

// Step is one start of the agent. From the second on it continues the session.
type Step struct {
	Name    string // of the transcript
	Session string // instead of the step before's
	System  string // system prompt
	Compact bool
	Stop    syscall.Signal // sent when the server's stream has stalled, and Printed is printed
	Printed string         // an agent can ask for its next answer before it tells of the last one
	// Again reports whether what happened is not what the step is about, because the
	// machine was slow: the step is done once more then, up to five times. May be nil.
	Again func(harness.Verdict) bool
	Want  Want
}

// Want is what a verdict must say.
type Want struct {
	Class     string // of the failure; empty means success
	Rule      string
	Type      state.FailureType
	Retriable bool
	Text      string // not compared if empty
	NoResult  bool
	NoSession bool
	Exceeded  bool
	Denied    string
	// Tokens and Cost are what the turn has used. If it is Unsaid, that is nowhere in a
	// transcript, but in the agent's own files.
	Tokens state.Tokens
	Cost   state.USD
	Unsaid bool
	// Guessed is what a transcript tells of the tokens, where that is an estimate.
	Guessed state.Tokens
	// Unseen is set if the agent calls the failure a success, and only its own files show it.
	Unseen bool
	// Up to Cut times what CutTokens and CutCost say comes on top: whether the agent saw it
	// before the answer was cut is chance.
	Cut       int
	CutTokens state.Tokens
	CutCost   state.USD
	Exit      int  // -1: died by the signal that was sent
	Resets    bool // the failure says when a limit ends
}

// Done is a turn with a text, which costs One.
func Done(text string) modelserver.Turn { return modelserver.Turn{Text: text} }

// One is what a turn counts that says nothing of it.
var One = state.Tokens{Input: modelserver.DefaultUsage.Input, Output: modelserver.DefaultUsage.Output}

// Refuses is a scenario of one step, whose every request the server refuses, so that
// nothing is paid.
func Refuses(step string, e modelserver.Error, want Want) Scenario {
	return Scenario{Script: []modelserver.Turn{{Error: e, Repeat: true}}, Steps: []Step{{Name: step, Want: want}}}
}

// hold compares a verdict with what is wanted. recorded says that there was nothing to
// read but the transcript.
func (w Want) hold(t *testing.T, step string, v harness.Verdict, priced, recorded bool) {
	t.Helper()
	check := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s is %v, want %v", step, what, got, want)
		}
	}
	if recorded && w.Unseen {
		w = Want{Text: w.Text, Tokens: w.Tokens, Cost: w.Cost, Unsaid: w.Unsaid}
	}
	check("success", v.Success, w.Class == "")
	check("result seen", v.ResultSeen, !w.NoResult)
	check("context exceeded", v.ContextExceeded, w.Exceeded)
	check("refused tools", strings.Join(v.Denied, " "), w.Denied)
	if recorded && w.Unsaid {
		w.Tokens = state.Tokens{}
	}
	if recorded && w.Guessed.Sum() > 0 {
		w.Tokens = w.Guessed
	}
	for n := 0; n < w.Cut && v.Usage.Tokens.Sum() > w.Tokens.Sum(); n++ {
		w.Tokens, w.Cost = w.Tokens.Add(w.CutTokens), w.Cost+w.CutCost
	}
	check("tokens", v.Usage.Tokens, w.Tokens)
	check("cost", v.Usage.Cost, w.Cost)
	check("priced", v.Usage.Priced, priced)
	check("a session", v.Session != "", !w.NoSession)
	if w.Text != "" {
		check("text", v.Text, w.Text)
	}
	if v.Failure == nil {
		check("failure", w.Class, "")
		return
	}
	check("class", v.Failure.Class, w.Class)
	check("rule", v.Failure.Rule, w.Rule)
	check("type", v.Failure.Type, w.Type)
	check("retriable", v.Failure.Retriable, w.Retriable)
	check("the end of a limit given", v.Failure.ResetsAt != nil, w.Resets)
	check("message given", v.Failure.Message != "", true)
}

// priced reports whether the cost of a turn is to be the agent's own figure.
func (a Agent) priced(w Want) bool { return a.Priced && !w.NoResult || a.PricedEach && w.Cost > 0 }

// CLI is the path of the agent's pinned command line.
func (a Agent) CLI(t *testing.T) string { return CLI(t, a.Root, a.Harness.Name()) }

// Pinned is the version that the lock file names.
func (a Agent) Pinned(t *testing.T) string { return Pinned(t, a.Root, a.Harness.Name(), a.Package) }

// Stage is where the real agent runs: folders, server and preflight.
type Stage struct {
	T                     *testing.T
	Server                *modelserver.Server
	Environ               []string
	User                  string // the home of the user, which an agent with a key leaves alone
	Workspace, Home, Temp string
	Session               string // that the next step continues
	agent                 Agent
	check                 harness.Check
	spent                 state.USD
}

// checks are what preflight found of agents that have a key, by their names. To tell its
// version can take an agent as long as a turn.
var checks sync.Map

// Stage makes the folders, starts the server of a scenario, and looks for the agent.
func (a Agent) Stage(t *testing.T, sc Scenario) *Stage {
	t.Helper()
	s := &Stage{T: t, agent: a, Server: modelserver.New(t, sc.Script...), User: t.TempDir(), Workspace: t.TempDir(), Home: t.TempDir(), Temp: t.TempDir()}
	s.Environ = append(a.Environ(s.Server), "PATH="+os.Getenv("PATH"), "HOME="+s.User, a.Executable+"="+a.CLI(t))
	if sc.Keyless {
		s.Environ = slices.DeleteFunc(s.Environ, func(kv string) bool { return strings.HasPrefix(kv, a.Key+"=") })
	}
	if checked, is := checks.Load(a.Harness.Name()); is && !sc.Keyless {
		s.check = checked.(harness.Check)
	} else {
		s.check = a.Harness.Check(context.Background(), s.Environ)
		if s.check.Version != a.Pinned(t) || s.check.LoggedIn == sc.Keyless || s.check.Problem != "" && !sc.Keyless {
			t.Fatalf("Check = %+v", s.check)
		}
		if !sc.Keyless {
			checks.Store(a.Harness.Name(), s.check)
		}
	}
	if sc.Prepare != nil {
		sc.Prepare(s)
	}
	return s
}

// Run starts the agent as the keeper would, for one step.
func (s *Stage) Run(st Step) Played {
	s.T.Helper()
	req := harness.Request{
		Prompt: "Do " + st.Name + ".", SystemPrompt: st.System, Model: s.agent.Model, Provider: s.agent.Provider,
		Session: s.Session, SessionCost: s.spent, Attempt: st.Name,
		Workspace: s.Workspace, Home: s.Home, Temp: s.Temp,
		AutoCompact: st.Compact, Environ: s.Environ, Agent: s.check,
	}
	if st.Session != "" {
		req.Session = st.Session
	}
	if m, is := s.agent.Harness.(harness.Metered); is {
		var err error
		if req.SessionTokens, err = m.SessionTokens(req); err != nil {
			s.T.Fatal(err)
		}
	}
	command, err := s.agent.Harness.Command(req)
	if err != nil {
		s.T.Fatal(err)
	}
	if s.agent.Command != nil {
		s.agent.Command(s, &command)
	}
	played := Run(s.T, s.agent.Harness, req, command, func(ctx context.Context, p Process) {
		if st.Stop == 0 {
			return
		}
		select {
		case <-s.Server.Stalled():
		case <-ctx.Done():
			s.T.Fatal("the agent never asked the server")
		}
		if err := p.Printed(ctx, st.Printed); err != nil {
			s.T.Fatalf("the agent never printed %s: %v", st.Printed, err)
		}
		if err := p.Signal(st.Stop); err != nil {
			s.T.Fatal(err)
		}
	})
	s.Session = played.Verdict.Session
	s.spent += played.Verdict.Usage.Cost
	return played
}

var serverAddress = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// record keeps a transcript in testdata, without what names this machine.
func (s *Stage) record(name string, transcript []byte) {
	text := string(transcript)
	for _, dir := range []struct{ path, scrubbed string }{
		{s.Workspace, "/workspace"}, {s.Home, "/home"}, {s.Temp, "/tmp/attempt"},
	} {
		text = strings.ReplaceAll(text, dir.path, dir.scrubbed)
		if s.agent.Scrub != nil {
			text = s.agent.Scrub(text, dir.path, dir.scrubbed)
		}
	}
	text = serverAddress.ReplaceAllString(text, "127.0.0.1:1")
	if err := os.WriteFile(filepath.Join("testdata", name+".jsonl"), []byte(text), 0o644); err != nil {
		s.T.Fatal(err)
	}
}

// Live plays the scenarios with the pinned command line against the stand-in server.
// With update each transcript is recorded anew.
func (a Agent) Live(t *testing.T, scenarios map[string]Scenario, update bool) {
	short.Skip(t)
	a.CLI(t)
	for name, sc := range scenarios {
		if sc.Long && !update && os.Getenv("HANK_LONG") == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := a.Stage(t, sc)
			for _, st := range sc.Steps {
				session := s.Session
				played := s.Run(st)
				for tries := 1; st.Again != nil && st.Again(played.Verdict) && tries < 5; tries++ {
					t.Logf("%s: once more", st.Name)
					s.Session = session
					played = s.Run(st)
				}
				if update {
					s.record(st.Name, played.Transcript)
				}
				if played.Exit.Code != st.Want.Exit {
					t.Errorf("%s: the agent's exit status is %d, want %d", st.Name, played.Exit.Code, st.Want.Exit)
				}
				st.Want.hold(t, st.Name, played.Verdict, a.priced(st.Want), false)
				if session != "" && s.Session != session {
					t.Errorf("%s: the session became %s, want %s still", st.Name, s.Session, session)
				}
				if t.Failed() {
					t.Logf("%+v\n%s", played.Verdict.Failure, played.Transcript)
				}
			}
			if litter := Names(t, s.User); len(litter) > 0 {
				t.Errorf("the agent wrote %v into the user's home", litter)
			}
		})
	}
}

// Replay holds the reader against what the real agent printed in the scenarios.
func (a Agent) Replay(t *testing.T, scenarios map[string]Scenario) {
	known := map[string]bool{}
	for name, sc := range scenarios {
		for _, st := range sc.Steps {
			known[st.Name+".jsonl"] = true
			t.Run(name+"/"+st.Name, func(t *testing.T) {
				verdict, _ := Read(t, a.Harness, filepath.Join("testdata", st.Name+".jsonl"))
				st.Want.hold(t, st.Name, verdict, a.priced(st.Want), true)
			})
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !f.IsDir() && !known[f.Name()] {
			t.Errorf("testdata/%s belongs to no scenario", f.Name())
		}
	}
}

// Kinds are the kinds of observations in their order, those of use left out and counted:
// when they come is a matter of chance.
func Kinds(seen []harness.Observation) (kinds string, used int) {
	var all []string
	for _, o := range seen {
		if _, is := o.(harness.Usage); is {
			used++
			continue
		}
		all = append(all, strings.TrimPrefix(reflect.TypeOf(o).String(), "harness."))
	}
	return strings.Join(all, " "), used
}

// Remembers plays two steps of a scenario and looks at what verdicts do not show: the
// first writes hello.txt and nothing else, and is seen live as kinds and used of Kinds say;
// the second continues the session, and the model is told what happened before. Then the
// files of the session are brought back to the end of the first, and the second is played
// again: the agent remembers nothing of what came after.
func (a Agent) Remembers(t *testing.T, sc Scenario, kinds string, used int) *Stage {
	t.Helper()
	sc.Script = append(slices.Clone(sc.Script), Done(forgotten))
	s := a.Stage(t, sc)
	first := s.Run(sc.Steps[0])
	if got := Names(t, s.Workspace); !slices.Equal(got, []string{"hello.txt"}) {
		t.Errorf("the workspace holds %v, want hello.txt alone", got)
	}
	if text, _ := os.ReadFile(filepath.Join(s.Workspace, "hello.txt")); string(text) != "hello\n" {
		t.Errorf("hello.txt holds %q", text)
	}
	if want := (harness.SessionStarted{ID: first.Verdict.Session, Model: a.Model}); len(first.Seen) == 0 || first.Seen[0] != want {
		t.Errorf("the first observation is %+v, want %+v", first.Seen, want)
	}
	if got, n := Kinds(first.Seen); got != kinds || n != used {
		t.Errorf("the observations are %s and %d of use, want %s and %d", got, n, kinds, used)
	}
	kept := s.keep(first.Verdict.Session)
	second := s.Run(sc.Steps[1]).Verdict
	if second.Session != first.Verdict.Session {
		t.Errorf("the second turn ran in session %s, want %s", second.Session, first.Verdict.Session)
	}
	told := []string{"Do " + sc.Steps[0].Name + ".", "assistant: " + first.Verdict.Text, "Do " + sc.Steps[1].Name + "."}
	s.MustBeTold(told...)

	s.bringBack(first.Verdict.Session, kept)
	again := s.Run(sc.Steps[1]).Verdict
	if !again.Success || again.Session != first.Verdict.Session || again.Text != forgotten {
		t.Errorf("brought back to the end of the first turn, the session ended as %+v", again)
	}
	if !reflect.DeepEqual(again.Usage.Tokens, One) {
		t.Errorf("brought back, the turn has used %+v, want %+v", again.Usage.Tokens, One)
	}
	s.MustBeTold(told...)
	if text := s.told(); strings.Contains(text, "assistant: "+second.Text) || strings.Count(text, told[2]) != 1 {
		t.Errorf("the agent remembers what came after:\n%s", text)
	}
	return s
}

// forgotten is what the model says when a session was brought back, and where a scenario has
// a third answer, too.
const forgotten = "Third answer."

// keep reads the files of a session.
func (s *Stage) keep(session string) map[string][]byte {
	s.T.Helper()
	kept := map[string][]byte{}
	root, names := s.sessionFiles(session)
	if len(names) == 0 {
		s.T.Fatalf("session %s is in no file", session)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			s.T.Fatal(err)
		}
		kept[name] = text
	}
	return kept
}

// bringBack makes the files of a session what they were, and no other ones.
func (s *Stage) bringBack(session string, kept map[string][]byte) {
	s.T.Helper()
	root, names := s.sessionFiles(session)
	for _, name := range names {
		if err := os.Remove(filepath.Join(root, name)); err != nil {
			s.T.Fatal(err)
		}
	}
	for name, text := range kept {
		if err := os.WriteFile(filepath.Join(root, name), text, 0o600); err != nil {
			s.T.Fatal(err)
		}
	}
}

func (s *Stage) sessionFiles(session string) (root string, names []string) {
	s.T.Helper()
	h, is := s.agent.Harness.(harness.Remembering)
	if !is {
		s.T.Fatalf("%s does not say where its sessions are", s.agent.Harness.Name())
	}
	root, names, err := h.SessionFiles(harness.Request{Home: s.Home, Workspace: s.Workspace, Temp: s.Temp, Environ: s.Environ, Agent: s.check}, session)
	if err != nil {
		s.T.Fatal(err)
	}
	return root, names
}

// MustBeTold fails the test unless the model was told each part in the last turn of the
// conversation.
func (s *Stage) MustBeTold(parts ...string) {
	s.T.Helper()
	text := s.told()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			s.T.Errorf("the model was not told %q in the last turn, but:\n%s", part, text)
		}
	}
}

// told is what the model was told in the last turn of the conversation.
func (s *Stage) told() string {
	turns := s.Server.Turns()
	var told strings.Builder
	for _, m := range turns[len(turns)-1].Messages {
		told.WriteString(m.Role + ": " + m.Text + "\n")
	}
	return told.String()
}
