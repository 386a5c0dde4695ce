package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/runtime/harness"
	"hank/state"
)

// judge plays lines to a reader.
func judge(req harness.Request, exit int, signal string, lines ...string) (harness.Verdict, []harness.Observation) {
	r := Harness{}.Reader(req)
	var seen []harness.Observation
	for _, l := range lines {
		if text, ok := strings.CutPrefix(l, "stderr: "); ok {
			seen = append(seen, r.Stderr([]byte(text))...)
		} else {
			seen = append(seen, r.Line([]byte(l))...)
		}
	}
	return r.End(exit, signal), seen
}

const (
	began  = `{"type":"thread.started","thread_id":"t1"}`
	turn   = `{"type":"turn.started"}`
	spoke  = `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"hi"}}`
	good   = `{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2}}`
	broken = `{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Incorrect API key provided"}}`
	retry  = `{"type":"error","message":"Reconnecting... 1/5 (stream disconnected before completion: reset)"}`
)

// TestNothingElseIsSuccess changes one condition of success at a time.
func TestNothingElseIsSuccess(t *testing.T) {
	t.Parallel()
	none := harness.Request{}
	failed := func(message string) string {
		return fmt.Sprintf(`{"type":"turn.failed","error":{"message":%q}}`, message)
	}
	for name, c := range map[string]struct {
		req    harness.Request
		exit   int
		signal string
		lines  []string
		rule   string // empty: success
	}{
		"all well":                     {none, 0, "", []string{began, turn, spoke, good}, ""},
		"a retry that helped":          {none, 0, "", []string{began, turn, retry, spoke, good}, ""},
		"an error that is none":        {none, 0, "", []string{began, turn, `{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata not found"}}`, spoke, good}, ""},
		"continued":                    {harness.Request{Session: "t1"}, 0, "", []string{began, turn, good}, ""},
		"another thread":               {harness.Request{Session: "t0"}, 0, "", []string{began, turn, good}, "session:mismatch"},
		"a thread without a name":      {harness.Request{Session: "t0"}, 0, "", []string{turn, good}, "session:mismatch"},
		"no end":                       {none, 0, "", []string{began, turn, spoke}, "turn:missing"},
		"nothing at all":               {none, 0, "", nil, "turn:missing"},
		"a turn after the end":         {none, 0, "", []string{began, turn, good, turn}, "turn:missing"},
		"an item after the end":        {none, 0, "", []string{began, turn, good, spoke}, "turn:missing"},
		"exit status":                  {none, 1, "", []string{began, turn, good}, "exit:1"},
		"killed afterwards":            {none, -1, "SIGKILL", []string{began, turn, good}, "signal:SIGKILL"},
		"killed before":                {none, -1, "SIGKILL", []string{began, turn}, "signal:SIGKILL"},
		"exit by SIGTERM":              {none, 143, "", []string{began, turn}, "exit:143"},
		"a failed turn, exit status 0": {none, 0, "", []string{began, turn, broken}, "status:401"},
		"a failed turn":                {none, 1, "", []string{began, turn, broken}, "status:401"},
		"a refused command":            {none, 0, "", []string{began, turn, `{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"x","status":"declined"}}`, good}, "item:declined"},
		"bad flag":                     {none, 2, "", []string{"stderr: error: unexpected argument '--wat' found"}, "exit:2"},
		"no key":                       {none, 1, "", []string{"stderr: Missing environment variable: `X`."}, "word:invalid_api_key"},
		"unknown session":              {harness.Request{Session: "t9"}, 1, "", []string{"stderr: Error: thread/resume failed: no rollout found for thread id t9"}, "text:session-not-found"},
		"quota":                        {none, 1, "", []string{began, failed("Quota exceeded. Check your plan and billing details.")}, "word:insufficient_quota"},
		"capacity":                     {none, 1, "", []string{began, failed("Selected model is at capacity. Please try a different model.")}, "word:overloaded"},
		"a login that is over":         {none, 1, "", []string{began, failed("Your access token could not be refreshed. Please log out and sign in again.")}, "word:authentication_failed"},
		"a limit of the plan":          {none, 1, "", []string{began, failed("You've hit your usage limit. Upgrade to Pro or try again in 2 hours.")}, "text:usage-limit"},
		"an unknown sentence":          {none, 1, "", []string{began, failed("Something odd.")}, "default:session"},
		"no sentence":                  {none, 1, "", []string{began, `{"type":"turn.failed"}`}, "default:session"},
	} {
		v, _ := judge(c.req, c.exit, c.signal, c.lines...)
		rule := ""
		if v.Failure != nil {
			rule = v.Failure.Rule
			if v.Failure.Message == "" {
				t.Errorf("%s: a failure without a message", name)
			}
		}
		if v.Success != (c.rule == "") || rule != c.rule {
			t.Errorf("%s: success %v by %q, want %q", name, v.Success, rule, c.rule)
		}
	}
	if v, _ := judge(none, 2, "", "stderr: error: unexpected argument"); v.Failure.Retriable {
		t.Error("an agent that cannot start is tried again")
	}
	if v, _ := judge(none, 1, "", began, "stderr: something odd"); !v.Failure.Retriable {
		t.Error("an agent that broke in the middle is not tried again")
	}
}

func TestEveryKindOfItemIsRead(t *testing.T) {
	t.Parallel()
	item := func(moment, fields string) string {
		return `{"type":"item.` + moment + `","item":{"id":"item_1",` + fields + `}}`
	}
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"message":   {[]string{item("completed", `"type":"agent_message","text":"hi"`)}, "{Text:hi Thinking:false Failed:false Of:}"},
		"reasoning": {[]string{item("completed", `"type":"reasoning","text":"hm"`)}, "{Text:hm Thinking:true Failed:false Of:}"},
		"command": {[]string{item("started", `"type":"command_execution","command":"ls","status":"in_progress"`), item("completed", `"type":"command_execution","command":"ls","aggregated_output":"a","exit_code":0,"status":"completed"`)},
			`{ID:item_1 Name:Bash Input:{"command":"ls"} Of:} {ToolUseID:item_1 Text:a IsError:false Of:}`},
		"command that fails": {[]string{item("completed", `"type":"command_execution","command":"ls","aggregated_output":"no","exit_code":3,"status":"failed"`)},
			`{ID:item_1 Name:Bash Input:{"command":"ls"} Of:} {ToolUseID:item_1 Text:exit status 3` + "\n" + `no IsError:true Of:}`},
		"change": {[]string{item("completed", `"type":"file_change","changes":[{"path":"a","kind":"add"},{"path":"b","kind":"delete"}],"status":"completed"`)},
			`{ID:item_1 Name:Edit Input:{"changes":[{"path":"a","kind":"add"},{"path":"b","kind":"delete"}],"file_path":"a"} Of:} {ToolUseID:item_1 Text:add a` + "\n" + `delete b IsError:false Of:}`},
		"tool of a server": {[]string{item("completed", `"type":"mcp_tool_call","server":"s","tool":"t","arguments":{"x":1},"result":{"content":[{"type":"text","text":"r"}]},"status":"completed"`)},
			`{ID:item_1 Name:s.t Input:{"x":1} Of:} {ToolUseID:item_1 Text:r IsError:false Of:}`},
		"tool of a server that fails": {[]string{item("completed", `"type":"mcp_tool_call","server":"s","tool":"t","error":{"message":"e"},"status":"failed"`)},
			`{ID:item_1 Name:s.t Input:{} Of:} {ToolUseID:item_1 Text:e IsError:true Of:}`},
		"search": {[]string{item("completed", `"type":"web_search","query":"q"`)}, `{ID:item_1 Name:WebSearch Input:{"query":"q"} Of:} {ToolUseID:item_1 Text: IsError:false Of:}`},
		"plan": {[]string{item("started", `"type":"todo_list","items":[{"text":"a","completed":true},{"text":"b"}]`), item("completed", `"type":"todo_list","items":[]`)},
			"{Text:the plan: [x] a [ ] b For:}"},
		"an error that is none":    {[]string{item("completed", `"type":"error","message":"careful"`)}, "{Text:careful For:}"},
		"a kind to come":           {[]string{item("started", `"type":"new","x":1`), item("updated", `"type":"new"`), item("completed", `"type":"new","status":"failed"`)}, `{ID:item_1 Name:new Input:{"id":"item_1","type":"new","x":1} Of:} {ToolUseID:item_1 Text:failed IsError:true Of:}`},
		"a retry that cannot help": {[]string{strings.Replace(retry, "stream disconnected before completion: reset", "unexpected status 401 Unauthorized: no", 1)}, "refused: unexpected status 401 Unauthorized: no; run codex login, or set CODEX_API_KEY"},
		"a retry":                  {[]string{retry}, "{Attempt:1 After:0s Why:stream disconnected before completion: reset Class: Refused:<nil> GivenUp:<nil>}"},
		"one mistyped value":       {[]string{item("completed", `"type":"agent_message","text":"hi","status":7`)}, "{Text:hi Thinking:false Failed:false Of:}"},
		"no event":                 {[]string{"hello", "{", `{"a":1}`, `{"type":"item.completed","item":3}`, `{"type":"other"}`}, ""},
	} {
		_, seen := judge(harness.Request{Environ: []string{}}, 0, "", c.lines...)
		var got []string
		for _, o := range seen {
			if use, is := o.(harness.ToolUse); is {
				got = append(got, fmt.Sprintf("{ID:%s Name:%s Input:%s Of:%s}", use.ID, use.Name, use.Input, use.Of))
				continue
			}
			if wait, is := o.(harness.Retrying); is && wait.Refused != nil {
				got = append(got, "refused: "+wait.Refused.Message)
				continue
			}
			got = append(got, fmt.Sprintf("%+v", o))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s\nwant %s", name, text, c.want)
		}
	}
}

// By itself the agent would wait for ever.
func TestAnAgentWithoutANetworkIsGivenUp(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	r := Harness{}.Reader(harness.Request{}).(*reader)
	r.now = func() time.Time { return now }
	waits := func() *state.FailureReason {
		seen := r.Line([]byte(`{"type":"error","message":"Reconnecting... waiting for network (Connection failed: refused)"}`))
		return seen[0].(harness.Retrying).GivenUp
	}
	for range 2 {
		if f := waits(); f != nil {
			t.Errorf("given up at once: %+v", f)
		}
		now = now.Add(patience - time.Second)
		if f := waits(); f != nil {
			t.Errorf("given up too early: %+v", f)
		}
		r.Line([]byte(spoke)) // it was there again
	}
	waits()
	now = now.Add(patience)
	if f := waits(); f == nil || f.Class != harness.ClassUnreachable || !f.Retriable || !strings.Contains(f.Message, "refused") {
		t.Errorf("not given up: %+v", f)
	}
}

// counted is a line of a rollout.
func counted(total, last int) string {
	return fmt.Sprintf(`{"timestamp":"2026-11-26T17:00:00Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"cached_input_tokens":0,"output_tokens":1},"last_token_usage":{"input_tokens":%d,"output_tokens":0},"model_context_window":1000}}}`, total, last)
}

// rolloutOf makes the file of a thread in a home.
func rolloutOf(t *testing.T, home, thread string) (add func(lines string)) {
	t.Helper()
	dir := filepath.Join(home, ".codex", "sessions", "2026", "11", "26")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "rollout-2026-11-26T17-00-00-"+thread+".jsonl")
	return func(lines string) {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(lines); err != nil {
			t.Fatal(err)
		}
	}
}

// The sum of a thread grows with each turn; what was used before is not used again. That
// holds for a turn that went badly and for one that a rollback has left, too.
func TestTokensOfAThreadThatIsContinuedCountOnce(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "[a]*") // no pattern
	add := rolloutOf(t, home, "t1")
	add(counted(100, 100) + "\n" + counted(250, 150) + "\n")
	req := harness.Request{Home: home, Session: "t1", Model: "m"}
	var err error
	if req.SessionTokens, err = (Harness{}).SessionTokens(req); err != nil || req.SessionTokens.Input != 250 {
		t.Fatalf("the thread had used %+v, %v", req.SessionTokens, err)
	}
	r := Harness{}.Reader(req)
	usage := func(seen []harness.Observation) (all []int64) {
		for _, o := range seen {
			if u, is := o.(harness.Usage); is {
				all = append(all, u.Tokens.Input, u.Context)
			}
		}
		return all
	}
	if seen := r.Line([]byte(began)); len(usage(seen)) != 0 {
		t.Errorf("before anything was used: %v", usage(seen))
	}
	add(counted(300, 50) + "\n" + counted(300, 50) + "\n" + counted(400, 100) + "\n" + counted(470, 70)[:40])
	if got := fmt.Sprint(usage(r.Line([]byte(spoke)))); got != "[50 50 150 100]" {
		t.Errorf("while it works: %s", got)
	}
	add(counted(470, 70)[40:] + "\n")
	if got := fmt.Sprint(usage(r.(harness.Polled).Poll())); got != "[220 70]" {
		t.Errorf("a line in two parts: %s", got)
	}
	add(`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{},"last_token_usage":{}}}}` + "\n" + counted(30, 30) + "\n") // the context was full
	if v := r.End(-1, "SIGKILL"); v.Usage.Tokens.Input != 250 || !v.Usage.PerRequest {
		t.Errorf("of an agent that was killed: %+v", v.Usage)
	}

	// Of the transcript alone, and where the account of a turn is not of the thread.
	for _, c := range []struct{ before, said, want int64 }{{0, 10, 6}, {6, 16, 6}, {100, 10, 6}} {
		line := fmt.Sprintf(`{"type":"turn.completed","usage":{"input_tokens":%d,"cached_input_tokens":4,"output_tokens":2}}`, c.said)
		v, _ := judge(harness.Request{Session: "t1", SessionTokens: state.Tokens{Input: c.before}}, 0, "", began, turn, line)
		if v.Usage.Tokens.Input != c.want {
			t.Errorf("%+v: %+v", c, v.Usage.Tokens)
		}
	}
	for _, session := range []string{"t2", "../t1", "", "*"} {
		if got, err := (Harness{}).SessionTokens(harness.Request{Home: home, Session: session}); err != nil || got.Sum() != 0 {
			t.Errorf("%q: %+v, %v", session, got, err)
		}
	}
}

func TestACompactionIsNoticed(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	add := rolloutOf(t, home, "t1")
	r := Harness{}.Reader(harness.Request{Home: home})
	r.Line([]byte(began))
	add(`{"type":"compacted","payload":{"message":"x"}}` + "\n" + strings.Repeat("x", 3*longestEntry) + "\n" + `{"type":"response_item","payload":{"type":"message","text":"token_count compacted"}}` + "\n")
	seen := r.Line([]byte(spoke))
	if _, is := seen[0].(harness.ContextExceeded); !is || !r.End(0, "").ContextExceeded {
		t.Errorf("%+v", seen)
	}
}

// The records are there while the tools of a request still run. The counts begin anew when
// the context is full, and the records do not.
func TestRecordsOfRequestsComeBeforeCounts(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	add := rolloutOf(t, home, "t1")
	record := func(total, last int) string {
		return fmt.Sprintf(`{"type":"token_usage_record","payload":{"usage":{"input_tokens":%d},"turn_token_usage":{},"thread_token_usage":{"input_tokens":%d}}}`, last, total) + "\n"
	}
	add(record(100, 100) + counted(100, 100) + "\n")
	req := harness.Request{Home: home, Session: "t1"}
	req.SessionTokens, _ = Harness{}.SessionTokens(req)
	r := Harness{}.Reader(req)
	r.Line([]byte(began))
	add(record(150, 50) + counted(150, 50) + "\n" + counted(0, 0) + "\n" + record(180, 30) + counted(30, 30) + "\n")
	var got []int64
	for _, o := range r.Line([]byte(`{"type":"turn.completed","usage":{"input_tokens":30}}`)) {
		if u, is := o.(harness.Usage); is {
			got = append(got, u.Tokens.Input, u.Context)
		}
	}
	if fmt.Sprint(got) != "[50 50 80 30 80 30]" {
		t.Errorf("%v", got)
	}
}

// A thread keeps its first system prompt, so that another is said with the prompt, once.
func TestAnotherSystemPromptIsSaidOnce(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	add := rolloutOf(t, home, "t1")
	said := func(text string) {
		add(`{"type":"response_item","payload":{"content":[{"type":"input_text","text":` + quoted(text) + "}]}}\n")
	}
	req := request(t, func(r *harness.Request) { r.Home, r.Session, r.SystemPrompt = home, "t1", "Be \"brief\".\n" })
	told := func() string {
		c, _ := command(t, req)
		return string(c.Stdin)
	}
	said("Be \"brief\".\n")
	if got := told(); got != "do it" {
		t.Errorf("the first system prompt again: %q", got)
	}
	req.SystemPrompt = "Be long."
	want := replaces + "Be long." + replaced + "do it"
	if got := told(); got != want {
		t.Errorf("another: %q", got)
	}
	said(want)
	if got := told(); got != "do it" {
		t.Errorf("another again: %q", got)
	}
	req.SystemPrompt = "Be \"brief\".\n"
	if got := told(); got != replaces+req.SystemPrompt+replaced+"do it" {
		t.Errorf("back to the first: %q", got)
	}
	if req.SystemPrompt = ""; told() != "do it" {
		t.Errorf("none: %q", told())
	}
}

func FuzzReader(f *testing.F) {
	for _, line := range []string{began, turn, spoke, good, broken, retry, "x", `{"type":"item.updated","item":{"type":"file_change","changes":[{}]}}`, counted(1, 1)} {
		f.Add([]byte(line), 0)
	}
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, exit int) {
		r := Harness{}.Reader(harness.Request{Session: "t1", SessionTokens: state.Tokens{Input: 5}})
		for line := range strings.Lines(string(text)) {
			for _, o := range r.Line([]byte(line)) {
				if use, is := o.(harness.ToolUse); is {
					_ = use.String()
				}
			}
			r.Stderr([]byte(line))
			parseEntry([]byte(line))
		}
		v := r.End(exit, "")
		if v.Success == (v.Failure != nil) || v.Success && exit != 0 {
			t.Fatalf("%+v", v)
		}
		if u := v.Usage.Tokens; u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheCreation < 0 {
			t.Fatalf("%+v", u)
		}
	})
}
