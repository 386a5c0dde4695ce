package exec

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/internal/programtest"
	"hank/runtime/harness"
	"hank/state"
)

// played is the verdict on lines of a program, and what they meant.
func played(session string, code int, lines ...string) (harness.Verdict, []harness.Observation) {
	r := Harness{}.Reader(harness.Request{Session: session, Model: "m"})
	var seen []harness.Observation
	for _, l := range lines {
		seen = append(seen, r.Line([]byte(l))...)
	}
	signal := ""
	if code < 0 {
		signal = "SIGKILL"
	}
	return r.End(code, signal), seen
}

const (
	begin = `{"type":"session","id":"s1"}`
	good  = `{"type":"result","ok":true,"text":"done"}`
)

func TestTheEndIsCalledByItsName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		session     string
		code        int
		lines       []string
		class, rule string // none: success
		retriable   bool
	}{
		"a good end":                     {lines: []string{begin, good}},
		"a session continued":            {session: "s1", lines: []string{begin, good}},
		"the session said twice":         {lines: []string{begin, begin, good}},
		"unknown types and members":      {lines: []string{`{"type":"session","id":"s1","colour":"red"}`, `{"type":"weather","ok":false}`, good, `{"type":"weather"}`}},
		"a member of another type":       {lines: []string{begin, `{"type":"message","text":5}`, `{"type":"result","ok":true,"text":{},"denied":"x","status":"y"}`}},
		"garbage":                        {lines: []string{"{", "null", "[]", `"result"`, `{"type":5}`, `{"type":""}`, "\x00\x00", "\xff\xfe", begin, good, "ready."}},
		"exit 0 without a result":        {lines: []string{begin, `{"type":"message","text":"hello"}`}, class: "protocol", rule: "result:missing", retriable: true},
		"nothing at all":                 {class: "protocol", rule: "result:missing", retriable: true},
		"a result, then exit 3":          {code: 3, lines: []string{begin, good}, class: "exit", rule: "exit:3", retriable: true},
		"a result, then killed":          {code: -1, lines: []string{begin, good}, class: "interrupted", rule: "signal:SIGKILL", retriable: true},
		"another session on resume":      {session: "s0", lines: []string{begin, good}, class: "session_not_found", rule: "session:mismatch"},
		"no session named on resume":     {session: "s0", lines: []string{good}, class: "session_not_found", rule: "session:mismatch"},
		"the session changes":            {lines: []string{begin, `{"type":"session","id":"s2"}`, good}, class: "protocol", rule: "session:changed"},
		"no session":                     {lines: []string{good}, class: "protocol", rule: "session:missing"},
		"a session that cannot be named": {lines: []string{`{"type":"session","id":"a\u0000b"}`, `{"type":"session","id":"a b"}`, `{"type":"session","id":"` + strings.Repeat("x", 300) + `"}`, good}, class: "protocol", rule: "session:missing"},
		"two results":                    {lines: []string{begin, good, good}, class: "protocol", rule: "result:twice", retriable: true},
		"a bad result, then a good one":  {lines: []string{begin, `{"type":"result","ok":false,"class":"refusal"}`, good}, class: "refusal", rule: "word:refusal"},
		"more after the result":          {lines: []string{begin, good, `{"type":"usage","inputTokens":5}`}, class: "protocol", rule: "result:not-last", retriable: true},
		"refused tools":                  {lines: []string{begin, `{"type":"result","ok":true,"denied":["Bash"]}`}, class: "permission_denied", rule: "result:denied"},
		"a result that is no word":       {code: 1, lines: []string{begin, `{"type":"result"}`}, class: "unknown", rule: "default:session", retriable: true},
		"a class that hank has":          {code: 1, lines: []string{begin, `{"type":"result","ok":false,"class":"rate_limit","status":500}`}, class: "rate_limit", rule: "word:rate_limit", retriable: true},
		"a class that hank has not":      {code: 1, lines: []string{begin, `{"type":"result","ok":false,"class":"bad day","status":529}`}, class: "overloaded", rule: "status:529", retriable: true},
		"a code word of a provider":      {code: 1, lines: []string{begin, `{"type":"result","class":"insufficient_quota"}`}, class: "billing", rule: "word:insufficient_quota"},
		"a sentence":                     {code: 1, lines: []string{begin, `{"type":"result","message":"HTTP 401: invalid api key"}`}, class: "auth", rule: "text:auth"},
		"a failure, and exit 0":          {lines: []string{begin, `{"type":"result","ok":false,"class":"timeout"}`}, class: "timeout", rule: "word:timeout", retriable: true},
		"killed before":                  {code: -1, lines: []string{begin}, class: "interrupted", rule: "signal:SIGKILL", retriable: true},
		"exit 7 without a result":        {code: 7, lines: []string{begin}, class: "exit", rule: "exit:7", retriable: true},
	} {
		v, _ := played(c.session, c.code, c.lines...)
		var got state.FailureReason
		if v.Failure != nil {
			got = *v.Failure
		}
		if v.Success != (c.class == "") || got.Class != c.class || got.Rule != c.rule || got.Retriable != c.retriable || !v.Success && got.Message == "" {
			t.Errorf("%s: success %v, %+v", name, v.Success, got)
		}
	}
}

func TestWhatEventsMean(t *testing.T) {
	t.Parallel()
	v, seen := played("", 0, begin, `{"type":"message","text":"hm","thinking":true}`, `{"type":"message","text":"hello"}`, `{"type":"message","text":"from below","of":"t0"}`,
		`{"type":"tool","id":"t1","name":"Bash","input":{"command":"ls"}}`, `{"type":"tool","id":"t2","input":[1]}`, `{"type":"toolResult","id":"t1","text":"a","isError":true}`,
		`{"type":"notice","text":"by the way","id":"t1"}`, `{"type":"question","text":"red or blue?"}`, `{"type":"contextFull","message":"no room"}`, `{"type":"message"}`, `{"type":"result","ok":true}`)
	want := []harness.Observation{
		harness.SessionStarted{ID: "s1", Model: "m"}, harness.Message{Text: "hm", Thinking: true}, harness.Message{Text: "hello"}, harness.Message{Text: "from below", Of: "t0"},
		harness.ToolUse{ID: "t1", Name: "Bash", Input: []byte(`{"command":"ls"}`)}, harness.ToolUse{ID: "t2", Name: "tool", Input: []byte("{}")}, harness.ToolResult{ToolUseID: "t1", Text: "a", IsError: true},
		harness.Notice{Text: "by the way", For: "t1"}, harness.Notice{Text: "the program asks, and nobody can answer: red or blue?"}, harness.ContextExceeded{Message: "no room"}, harness.Result{Text: "hello"},
	}
	if len(seen) != len(want) {
		t.Fatalf("%+v", seen)
	}
	for i := range want {
		got, _ := json.Marshal(seen[i])
		wanted, _ := json.Marshal(want[i])
		if string(got) != string(wanted) {
			t.Errorf("%d: %T %s, want %T %s", i, seen[i], got, want[i], wanted)
		}
	}
	if !v.Success || !v.ContextExceeded || v.Text != "hello" || v.Session != "s1" {
		t.Errorf("%+v", v)
	}
}

func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	v, _ := played("", 0, begin, `{"type":"usage","inputTokens":10,"outputTokens":2,"costUSD":0.25,"model":"n"}`,
		`{"type":"usage","inputTokens":-5,"outputTokens":1e300,"cacheReadTokens":7,"cacheCreationTokens":1,"costUSD":-4}`,
		`{"type":"usage","inputTokens":5,"costUSD":0.05,"contextTokens":99}`, `{"type":"usage","inputTokens":1}`, good)
	if u := v.Usage; !reflect.DeepEqual(u.Tokens, state.Tokens{Input: 16, Output: 2, CacheRead: 7, CacheCreation: 1}) || u.Cost != 300_000_000 || !u.Priced || u.Context != 1 || u.Model != "n" || !u.PerRequest {
		t.Errorf("%+v", u)
	}
	v, _ = played("", 0, begin, `{"type":"usage","inputTokens":10}`, `{"type":"usage","inputTokens":10,"costUSD":0.05}`, good)
	if u := v.Usage; u.Priced || u.Cost != 0 || u.Tokens.Input != 20 || u.Context != 10 {
		t.Errorf("the first has no cost: %+v", u)
	}
}

func TestALimitSaysWhenItEnds(t *testing.T) {
	t.Parallel()
	v, _ := played("", 1, begin, `{"type":"result","class":"usage_limit","resetsAt":"2026-11-27T03:00:00Z","message":"used up"}`)
	if f := v.Failure; f.Class != "usage_limit" || f.ResetsAt == nil || !f.ResetsAt.Equal(time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", f)
	}
	v, _ = played("", 1, begin, `{"type":"result","class":"rate_limit","retryAfterSeconds":20}`)
	if f := v.Failure; f.RetryAfterMs != 20_000 || f.ResetsAt != nil {
		t.Errorf("%+v", f)
	}
	v, _ = played("", 1, begin, `{"type":"result","class":"usage_limit","retryAfterSeconds":7200}`)
	if f := v.Failure; f.ResetsAt == nil || time.Until(f.ResetsAt.Time) < time.Hour {
		t.Errorf("%+v", f)
	}
}

// A program that waits for its provider is let wait for three minutes; then hank does.
func TestAProgramWaitsForThreeMinutes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	r := Harness{}.Reader(harness.Request{}).(*reader)
	r.now = func() time.Time { return now }
	again := func(line string) harness.Retrying { return r.Line([]byte(line))[0].(harness.Retrying) }
	try := `{"type":"retrying","attempt":2,"afterSeconds":30,"class":"usage_limit","message":"the window is used up"}`
	if got := again(try); got.Attempt != 2 || got.After != 30*time.Second || got.Why != "the window is used up" || got.GivenUp != nil || got.Refused != nil {
		t.Errorf("%+v", got)
	}
	now = now.Add(160 * time.Second)
	if got := again(try).GivenUp; got == nil || got.Class != "usage_limit" || !got.Retriable || got.Rule != "retrying:word:usage_limit" || got.RetryAfterMs != 30_000 {
		t.Errorf("%+v", got)
	}
	r.Line([]byte(`{"type":"message","text":"on"}`))
	if got := again(try); got.GivenUp != nil {
		t.Errorf("it went on in between: %+v", got)
	}
	if got := again(`{"type":"retrying","afterSeconds":400}`).GivenUp; got == nil || got.Class != "unreachable" {
		t.Errorf("%+v", got)
	}
	if got := again(`{"type":"retrying","status":401}`).Refused; got == nil || got.Class != "auth" {
		t.Errorf("%+v", got)
	}
}

func TestAQuestionIsInTheReasonOfTheEnd(t *testing.T) {
	t.Parallel()
	if v, _ := played("", -1, begin, `{"type":"question","text":"red or blue?"}`); v.Success {
		t.Errorf("%+v", v)
	}
	if v, _ := played("", 0, begin, `{"type":"question","text":"red or blue?"}`); !strings.Contains(v.Failure.Message, "red or blue?") {
		t.Errorf("%+v", v.Failure)
	}
}

func request0(t *testing.T) harness.Request {
	t.Helper()
	return harness.Request{
		Prompt: "Do \"it\".\nNow.", SystemPrompt: "Be brief.", Model: "m", Provider: "lab", Effort: "high", Attempt: "run-1/a/1",
		Workspace: t.TempDir(), Home: t.TempDir(), Temp: t.TempDir(), Environ: []string{"PATH=/bin", "HANK_RESUME=1", "HANK_EFFORT=low", "HTTPS_PROXY=p"},
	}
}

func TestTheRequestIsOneLineAndInTheEnvironment(t *testing.T) {
	t.Parallel()
	req := request0(t)
	c, err := Harness{Program: []string{"mine", "-x"}}.Command(req)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(c.Stdin, &got); err != nil || strings.Count(string(c.Stdin), "\n") != 1 {
		t.Fatalf("%q %v", c.Stdin, err)
	}
	for name, want := range map[string]any{
		"protocol": 1.0, "type": "request", "prompt": req.Prompt, "systemPrompt": req.SystemPrompt, "resume": false, "session": session(req), "model": "m", "provider": "lab",
		"effort": "high", "autoCompact": false, "attempt": req.Attempt, "turn": 0.0, "workspace": req.Workspace, "home": req.Home, "temp": req.Temp,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	env := harness.NewEnviron(c.Env)
	for name, want := range map[string]string{"HANK_RESUME": "", "HANK_EFFORT": "high", "HANK_MODEL": "m", "HANK_HOME": req.Home, "HANK_SESSION": session(req), "HTTPS_PROXY": "p", "TMPDIR": req.Temp} {
		if env[name] != want {
			t.Errorf("%s=%s, want %s", name, env[name], want)
		}
	}
	for name, want := range map[string]string{"HANK_PROMPT_FILE": req.Prompt, "HANK_SYSTEM_PROMPT_FILE": req.SystemPrompt} {
		if text, err := os.ReadFile(env[name]); err != nil || string(text) != want {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	if !slices.Equal(c.Args, []string{"mine", "-x"}) || c.Dir != req.Workspace || c.Session != "" {
		t.Errorf("%+v", c)
	}

	req.Session, req.SystemPrompt, req.Effort = "s1", "", ""
	c, err = Harness{Program: []string{"mine"}}.Command(req)
	if env = harness.NewEnviron(c.Env); err != nil || env["HANK_RESUME"] != "1" || env["HANK_SESSION"] != "s1" || env["HANK_SYSTEM_PROMPT_FILE"] != "" || env["HANK_EFFORT"] != "" {
		t.Errorf("%v %v", env, err)
	}
	for _, bad := range []func(*harness.Request){
		func(r *harness.Request) { r.Workspace = "" }, func(r *harness.Request) { r.Home = "" }, func(r *harness.Request) { r.Temp = "" },
		func(r *harness.Request) { r.Session = "a\x00" }, func(r *harness.Request) { r.Temp = "/nowhere" },
	} {
		req := request0(t)
		bad(&req)
		if _, err := (Harness{Program: []string{"mine"}}).Command(req); err == nil {
			t.Errorf("no error for %+v", req)
		}
	}
	if _, err := (Harness{}).Command(request0(t)); err == nil {
		t.Error("no error without a program")
	}
}

func TestAMissingProgramIsSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "mine")
	programtest.Write(t, file, "#!/bin/sh\n")
	for name, want := range map[string]string{"mine": "", file: "", "other": `the program other is not on the PATH; install it, or correct "exec" of the codon`, "/nowhere": "/nowhere is not an executable file"} {
		c := Harness{Program: []string{name}}.Check(t.Context(), []string{"PATH=" + dir})
		if c.Found != (want == "") || want == "" && (c.Path != file || c.Problem != "" || !c.LoggedIn) || want != "" && !strings.HasPrefix(c.Problem, want) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestWhatASessionRemembersIsFoundByItsName(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, name := range []string{"s1/a", "s1/b/c", "s2", "other/s1"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(home, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(home, name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for session, want := range map[string][]string{"s1": {"s1/a", "s1/b/c"}, "s2": {"s2"}, "s*": nil, "..": nil, "none": nil, "other/s1": nil} {
		root, names, err := Harness{}.SessionFiles(harness.Request{Home: home}, session)
		if err != nil || root != home || !slices.Equal(names, want) {
			t.Errorf("%s: %v in %s, %v", session, names, root, err)
		}
	}
}
