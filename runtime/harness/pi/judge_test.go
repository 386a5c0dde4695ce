package pi

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
	began = `{"type":"session","version":3,"id":"s1","cwd":"/w"}`
	start = `{"type":"agent_start"}`
	turn  = `{"type":"turn_start"}`
	well  = `{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"provider":"p","model":"m","usage":{"input":10,"output":2,"cacheRead":4,"cacheWrite":3,"cost":{"total":0.5}},"stopReason":"stop"}}`
	calls = `{"type":"message_end","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash"}],"usage":{"input":10,"output":2,"cost":{"total":0.5}},"stopReason":"toolUse"}}`
	end   = `{"type":"agent_end","messages":[]}`
	retry = `{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"529 {\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\"},\"type\":\"error\"}"}`
)

// stopped is a message of the model with another end.
func stopped(reason, message string) string {
	return fmt.Sprintf(`{"type":"message_end","message":{"role":"assistant","content":[],"usage":{},"stopReason":%q,"errorMessage":%q}}`, reason, message)
}

func failed(message string) string { return stopped("error", message) }

// TestNothingElseIsSuccess changes one condition of success at a time.
func TestNothingElseIsSuccess(t *testing.T) {
	t.Parallel()
	none := harness.Request{}
	answered := func(status, body string) []string { return []string{began, start, failed(status + " " + body), end} }
	here := t.TempDir()
	for name, c := range map[string]struct {
		req    harness.Request
		exit   int
		signal string
		lines  []string
		rule   string // empty: success
	}{
		"all well":                        {none, 0, "", []string{began, start, turn, well, end}, ""},
		"a tool, then well":               {none, 0, "", []string{began, start, turn, calls, turn, well, end}, ""},
		"a retry that helped":             {none, 0, "", []string{began, start, failed("529 Overloaded"), end, retry, start, well, end}, ""},
		"compacted in the end":            {none, 0, "", []string{began, start, well, end, `{"type":"compaction_start","reason":"threshold"}`}, ""},
		"continued":                       {harness.Request{Session: "s1"}, 0, "", []string{began, start, well, end}, ""},
		"another session":                 {harness.Request{Session: "s"}, 0, "", []string{began, start, well, end}, "session:mismatch"},
		"a session without a name":        {harness.Request{Session: "s1"}, 0, "", []string{start, well, end}, "session:mismatch"},
		"in the workspace":                {harness.Request{Workspace: here}, 0, "", []string{strings.Replace(began, "/w", here, 1), start, well, end}, ""},
		"in another directory":            {harness.Request{Workspace: here}, 0, "", []string{began, start, well, end}, "session:directory"},
		"the model":                       {harness.Request{Model: "M"}, 0, "", []string{began, start, strings.Replace(well, "message_end", "message_start", 1), well, end}, ""},
		"another model":                   {harness.Request{Model: "m2"}, 0, "", []string{began, start, strings.Replace(well, "message_end", "message_start", 1), well, end}, "model:mismatch"},
		"another model, and ended for it": {harness.Request{Model: "m2"}, 143, "", []string{began, start, strings.Replace(well, "message_end", "message_start", 1)}, "model:mismatch"},
		"no end":                          {none, 0, "", []string{began, start, turn, well}, "agent_end:missing"},
		"no message":                      {none, 0, "", []string{began, start, end}, "agent_end:missing"},
		"nothing at all":                  {none, 0, "", nil, "agent_end:missing"},
		"a message after the end":         {none, 0, "", []string{began, start, well, end, well}, "agent_end:missing"},
		"a turn after the end":            {none, 0, "", []string{began, start, well, end, turn}, "agent_end:missing"},
		"a retry after the end":           {none, 0, "", []string{began, start, failed("529 Overloaded"), end, retry}, "agent_end:missing"},
		"ended with a call":               {none, 0, "", []string{began, start, calls, end}, "agent_end:missing"},
		"exit status":                     {none, 1, "", []string{began, start, well, end}, "exit:1"},
		"killed afterwards":               {none, -1, "SIGKILL", []string{began, start, well, end}, "signal:SIGKILL"},
		"killed before":                   {none, -1, "SIGKILL", []string{began, start, well}, "signal:SIGKILL"},
		"exit by SIGTERM":                 {none, 143, "", []string{began, start}, "exit:143"},
		"a request that was ended":        {none, 0, "", []string{began, start, stopped("aborted", "Request was aborted."), end}, "word:aborted_streaming"},
		"a question":                      {none, 0, "", []string{"stderr: Session found in different project: /x", "stderr: Fork this session into current directory? [y/N] Aborted."}, "text:session-not-found"},
		"unknown session":                 {harness.Request{Session: "s9"}, 1, "", []string{"stderr: No session found matching 's9'"}, "text:session-not-found"},
		"bad flag":                        {none, 1, "", []string{"stderr: Error: Unknown option: -x"}, "exit:1"},
		"no key":                          {none, 1, "", []string{began, "stderr: No API key found for anthropic.", "stderr: Use /login to log into a provider"}, "word:invalid_api_key"},
		"no models":                       {none, 1, "", []string{"stderr: No models available. Use /login"}, "word:authentication_failed"},
		"a login that is over":            {none, 1, "", []string{began, `stderr: Authentication failed for "anthropic". Credentials may have expired or network is unavailable.`}, "word:authentication_failed"},

		// With exit status 0 all of them.
		"refused key":         {none, 0, "", answered("401", `{"error":{"message":"invalid x-api-key","type":"authentication_error"},"type":"error"}`), "word:authentication_error"},
		"refused key, OpenAI": {none, 0, "", answered("401", "Incorrect API key provided: none."), "status:401"},
		"quota, OpenAI":       {none, 0, "", answered("429", "You exceeded your current quota, please check your plan and billing details."), "text:billing"},
		"rate limit, Google":  {none, 0, "", []string{began, start, failed(`{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}`), end}, "status:429"},
		"rate limit, Mistral": {none, 0, "", []string{began, start, failed(`Mistral API error (429): {"message":"Requests rate limit exceeded"}`), end}, "status:429"},
		"overloaded":          {none, 0, "", answered("529", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), "word:overloaded_error"},
		"a word as the code":  {none, 0, "", []string{began, start, failed(`{"error":{"code":"model_not_found","message":"none"}}`), end}, "word:model_not_found"},
		"no answer":           {none, 0, "", []string{began, start, failed("Connection error."), end}, "text:unreachable"},
		"broken connection":   {none, 0, "", []string{began, start, failed("terminated"), end}, "word:connection_failed"},
		"cut stream":          {none, 0, "", []string{began, start, failed("Anthropic stream ended before message_stop"), end}, "word:connection_failed"},
		"filtered":            {none, 0, "", []string{began, start, failed("Provider finish_reason: content_filter"), end}, "word:refusal"},
		"a limit of the plan": {none, 0, "", []string{began, start, failed("You have hit your ChatGPT usage limit (plus plan). Try again in ~30 min."), end}, "text:usage-limit"},
		"context full":        {none, 0, "", append(answered("400", `{"error":{"message":"prompt is too long: 2 tokens > 1 maximum","type":"invalid_request_error"},"type":"error"}`), `{"type":"compaction_start","reason":"overflow"}`), "text:context-overflow"},
		"answer too long":     {none, 0, "", []string{began, start, stopped("length", ""), end}, "word:max_output_tokens"},
		"an unknown sentence": {none, 0, "", []string{began, start, failed("Something odd."), end}, "default:session"},
		"no sentence":         {none, 0, "", []string{began, start, failed(""), end}, "default:session"},
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
	if v, _ := judge(none, 0, "", began, start, failed("You have hit your ChatGPT usage limit (plus plan). Try again in ~30 min."), end); v.Failure.Class != harness.ClassUsageLimit {
		t.Errorf("a usage limit: %+v", v.Failure)
	} else if at, ok := harness.ResetAt(v.Failure.Message, time.Unix(0, 0)); !ok || at.Unix() != 1800 {
		t.Errorf("%s: the limit ends at %s, %v", v.Failure.Message, at, ok)
	}
	if v, _ := judge(none, 1, "", "stderr: Error: Unknown option: -x"); v.Failure.Retriable {
		t.Error("an agent that cannot start is tried again")
	}
	if v, _ := judge(harness.Request{Provider: "groq", Environ: []string{}}, 1, "", began, "stderr: No API key found for groq.", "stderr: Use /login", "stderr:   /a/path"); !strings.HasSuffix(v.Failure.Message, ": No API key found for groq. (use /login in pi, or set GROQ_API_KEY)") {
		t.Errorf("without credentials: %s", v.Failure.Message)
	}
	if v, _ := judge(none, 1, "", began, "stderr: something odd"); !v.Failure.Retriable {
		t.Error("an agent that broke in the middle is not tried again")
	}
}

func TestEveryEventIsRead(t *testing.T) {
	t.Parallel()
	tool := func(name, args string) string {
		return fmt.Sprintf(`{"type":"tool_execution_start","toolCallId":"c","toolName":%q,"args":%s}`, name, args)
	}
	for name, c := range map[string]struct {
		req   harness.Request
		lines []string
		want  string
	}{
		"session": {harness.Request{Model: "m"}, []string{began, began}, "{ID:s1 Model:m}"},
		"message": {harness.Request{}, []string{`{"type":"message_end","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hi"},{"type":"thinking"}]}}`},
			"{Text:hm Thinking:true Failed:false Of:} {Text:hi Thinking:false Failed:false Of:}"},
		"others' messages": {harness.Request{}, []string{`{"type":"message_end","message":{"role":"user","content":"hi"}}`, `{"type":"message_end","message":{"role":"toolResult","content":[{"type":"text","text":"x"}]}}`}, ""},
		"write":            {harness.Request{}, []string{tool("write", `{"path":"a","content":"b"}`)}, `{ID:c Name:Write Input:{"content":"b","file_path":"a"} Of:}`},
		"read":             {harness.Request{}, []string{tool("read", `{"path":"a"}`)}, `{ID:c Name:Read Input:{"file_path":"a"} Of:}`},
		"edit": {harness.Request{}, []string{tool("edit", `{"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"v","newText":"w"}]}`)},
			`{ID:c Name:Edit Input:{"file_path":"a","new_string":"y\nw","old_string":"x\nv"} Of:}`},
		"bash":              {harness.Request{}, []string{tool("bash", `{"command":"ls"}`)}, `{ID:c Name:Bash Input:{"command":"ls"} Of:}`},
		"find":              {harness.Request{}, []string{tool("find", `{"path":"a"}`)}, `{ID:c Name:Glob Input:{"path":"a"} Of:}`},
		"a tool to come":    {harness.Request{}, []string{tool("new", `7`)}, `{ID:c Name:new Input:{} Of:}`},
		"result":            {harness.Request{}, []string{`{"type":"tool_execution_end","toolCallId":"c","result":{"content":[{"type":"text","text":"r"},{"type":"image"}]}}`}, "{ToolUseID:c Text:r IsError:false Of:}"},
		"a tool that fails": {harness.Request{}, []string{`{"type":"tool_execution_end","toolCallId":"c","result":{"content":[{"type":"text","text":"e"}]},"isError":true}`}, "{ToolUseID:c Text:e IsError:true Of:}"},
		"a retry":           {harness.Request{}, []string{retry}, "{Attempt:1 After:2s Why:Overloaded Class:overloaded Refused:<nil> GivenUp:<nil>}"},
		"a retry that cannot help": {harness.Request{Provider: "groq", Environ: []string{}}, []string{`{"type":"auto_retry_start","attempt":1,"errorMessage":"401 rate limit of 500"}`},
			"refused: rate limit of 500; use /login in pi, or set GROQ_API_KEY"},
		"a good end":       {harness.Request{}, []string{start, well, end}, "{Text:hi Thinking:false Failed:false Of:} {Model: Tokens:{Input:10 Output:2 CacheCreation:3 CacheRead:4 Unknown:null} Cost:0.5 Priced:true PerRequest:true Context:19 Final:false} {Text:hi Why:}"},
		"a bad end":        {harness.Request{}, []string{start, failed("529 Overloaded"), end}, "{Text: Why:Overloaded}"},
		"full":             {harness.Request{}, []string{start, failed("400 prompt is too long"), end, `{"type":"compaction_start","reason":"overflow"}`}, "{Text: Why:prompt is too long} {Message:there is no room left in the model's context} {Message:the agent makes its context smaller (overflow)}"},
		"compaction":       {harness.Request{}, []string{`{"type":"compaction_start","reason":"manual"}`, `{"type":"compaction_end","errorMessage":"it failed"}`, `{"type":"compaction_end","result":{}}`}, "{Text:it failed For:}"},
		"another model":    {harness.Request{Model: "x"}, []string{`{"type":"message_start","message":{"role":"assistant","provider":"p","model":"m"}}`}, "refused: the agent does not know the model x and took p/m; name one that it knows (pi --list-models), or define it in models.json"},
		"a mistyped value": {harness.Request{}, []string{`{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"usage":{"input":"x"},"model":7}}`}, "{Text:hi Thinking:false Failed:false Of:}"},
		"no event":         {harness.Request{}, []string{"hello", "{", `{"a":1}`, `{"type":"message_end","message":3}`, `{"type":"other"}`, `{"type":"message_update","message":`, `{"type":"queue_update"}`}, ""},
	} {
		_, seen := judge(c.req, 0, "", c.lines...)
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

// What repeats itself is told from what does not by the beginning of a line, without
// reading the rest.
func TestWhatRepeatsItselfIsPassedOver(t *testing.T) { // not in parallel: it counts allocations
	r := Harness{}.Reader(harness.Request{})
	repeating := r.(harness.Repeating)
	for line, want := range map[string]bool{
		`{"type":"message_update","assistantMessageEvent":{}}`: true, `{"type":"tool_execution_update"`: true,
		well: false, end: false, "": false, `{"type":"message_end","message":{"x":"{\"type\":\"message_update\""}}`: false,
	} {
		if got := repeating.Repeats([]byte(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	grown := []byte(`{"type":"message_update","message":` + strings.Repeat("x", 1<<20))
	if n := testing.AllocsPerRun(10, func() { r.Line(grown) }); n != 0 {
		t.Errorf("a line that repeats is read with %v allocations", n)
	}
}

// The event has all messages once more. Cut into pieces it is still the end, and the
// pieces after the first are no events.
func TestAnEndThatIsTooLongForALine(t *testing.T) {
	t.Parallel()
	if v, _ := judge(harness.Request{}, 0, "", began, start, well, `{"type":"agent_end","messages":[{"x":"`, `rest"}]}`); !v.Success {
		t.Errorf("%+v", v.Failure)
	}
}

func TestMoney(t *testing.T) {
	t.Parallel()
	answer := func(tokens int, cost string) string {
		return fmt.Sprintf(`{"type":"message_end","message":{"role":"assistant","usage":{"input":%d,"cost":{"total":%s}},"stopReason":"stop"}}`, tokens, cost)
	}
	const unknown = `stderr: Warning: Model "m" not found for provider "p". Using custom model id.`
	for name, c := range map[string]struct {
		lines  []string
		tokens int64
		cost   int64 // in thousandths
		priced bool
	}{
		"each request":              {[]string{answer(10, "0.5"), answer(20, "0.25")}, 30, 750, true},
		"one that failed, too":      {[]string{answer(10, "0.5"), end, retry, answer(20, "0.25")}, 30, 750, true},
		"no price":                  {[]string{answer(10, "0")}, 10, 0, false},
		"the price of another":      {[]string{unknown, answer(10, "0.5")}, 10, 0, false},
		"nothing used":              {[]string{answer(0, "0.5")}, 0, 0, false},
		"nonsense":                  {[]string{answer(10, "-1"), answer(-5, "0.5"), answer(1, `"x"`)}, 11, 0, false},
		"the user's are no request": {[]string{strings.Replace(answer(10, "0.5"), "assistant", "user", 1)}, 0, 0, false},
	} {
		v, _ := judge(harness.Request{}, 0, "", append([]string{began, start}, c.lines...)...)
		if v.Usage.Tokens.Input != c.tokens || v.Usage.Cost != state.Dollars(float64(c.cost)/1000) || v.Usage.Priced != c.priced || !v.Usage.PerRequest {
			t.Errorf("%s: %+v", name, v.Usage)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, line := range []string{began, start, well, calls, end, retry, failed("401 {"), failed(`{"error":{"code":{}}}`), "x", `{"type":"tool_execution_start","toolName":"edit","args":{"edits":[3]}}`} {
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
		r := Harness{}.Reader(harness.Request{Session: "s1", Environ: []string{}})
		for line := range strings.Lines(string(text)) {
			for _, o := range r.Line([]byte(line)) {
				if use, is := o.(harness.ToolUse); is {
					_ = use.String()
				}
			}
			r.Stderr([]byte(line))
		}
		v := r.End(exit, "")
		if v.Success == (v.Failure != nil) || v.Success && exit != 0 {
			t.Fatalf("%+v", v)
		}
		if u := v.Usage.Tokens; u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheCreation < 0 || v.Usage.Cost < 0 {
			t.Fatalf("%+v", u)
		}
	})
}
