package opencode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/runtime/harness"
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

// part is a line with a part of session s1.
func partOf(kind, fields string) string {
	return fmt.Sprintf(`{"type":%q,"timestamp":1,"sessionID":"s1","part":{%s}}`, kind, fields)
}

func ends(reason string) string {
	return partOf("step_finish", fmt.Sprintf(`"reason":%q,"tokens":{"input":10,"output":2,"reasoning":1,"cache":{"read":4,"write":3}},"cost":0.5`, reason))
}

func failed(name, message string) string {
	return fmt.Sprintf(`{"type":"error","sessionID":"s1","error":{"name":%q,"data":{"message":%q}}}`, name, message)
}

func retries(attempt int, message string, wait int) string {
	return fmt.Sprintf(`stderr: {"hank":"session.status","sessionID":"s1","now":1000,"type":"retry","attempt":%d,"message":%q,"next":%d}`, attempt, message, 1000+wait)
}

func ran(status, answer string) string {
	return partOf("tool_use", fmt.Sprintf(`"tool":"bash","callID":"c","state":{"status":%q,"input":{"command":"ls"},"output":%q,"error":%q,"metadata":{"exit":0}}`, status, answer, answer))
}

var (
	begin = partOf("step_start", `"snapshot":"x"`)
	spoke = partOf("text", `"text":"hi"`)
	full  = failed("ContextOverflowError", "prompt is too long")
	no    = ran("error", "The user rejected permission to use this specific tool call.")
)

const (
	unexpected = `{"type":"error","sessionID":"s1","error":{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details.","ref":"err_1"}}}`
	unknown    = `stderr: timestamp=2026-11-26T20:22:49.019Z level=ERROR run=a message=failed ref=err_1 error="ProviderModelNotFoundError: Model not found: lab/x." cause="…"`
	keyless    = `stderr: timestamp=2026-11-26T20:22:49.019Z level=ERROR run=a message=failed ref=err_1 error="ProviderModelNotFoundError: Model not found: lab/x. Did you mean: y, x?" cause="…"`
)

// TestNothingElseIsSuccess changes one condition of success at a time.
func TestNothingElseIsSuccess(t *testing.T) {
	t.Parallel()
	none, s1 := harness.Request{}, harness.Request{Session: "s1"}
	for name, c := range map[string]struct {
		req    harness.Request
		exit   int
		signal string
		lines  []string
		rule   string // empty: success
	}{
		"all well":                       {none, 0, "", []string{begin, spoke, ends("tool-calls"), begin, spoke, ends("stop")}, ""},
		"a retry that helped":            {none, 0, "", []string{retries(1, "Overloaded", 2000), begin, spoke, ends("stop")}, ""},
		"a tool that failed":             {none, 0, "", []string{begin, ran("error", "no such file"), ends("tool-calls"), begin, ends("stop")}, ""},
		"a full context, and compacted":  {none, 1, "", []string{begin, ends("tool-calls"), full, begin, ends("stop"), begin, ends("stop")}, ""},
		"the same by another error":      {none, 1, "", []string{begin, failed("UnknownError", "odd"), begin, ends("stop")}, "exit:1"},
		"the same and another status":    {none, 2, "", []string{full, begin, ends("stop")}, "exit:2"},
		"continued":                      {s1, 0, "", []string{begin, ends("stop")}, ""},
		"another session":                {harness.Request{Session: "s0"}, 0, "", []string{begin, ends("stop")}, "session:mismatch"},
		"no end":                         {none, 0, "", []string{begin, spoke}, "step:missing"},
		"nothing at all":                 {none, 0, "", nil, "step:missing"},
		"the tools were the last":        {none, 0, "", []string{begin, ran("completed", "a"), ends("tool-calls")}, "step:missing"},
		"another step after the end":     {none, 0, "", []string{begin, ends("stop"), begin}, "step:missing"},
		"a tool after the end":           {none, 0, "", []string{begin, ends("stop"), ran("completed", "a")}, "step:missing"},
		"a reason that is unknown":       {none, 0, "", []string{begin, ends("unknown")}, "step:missing"},
		"an error after the end":         {none, 0, "", []string{begin, ends("stop"), failed("APIError", "fetch failed")}, "text:unreachable"},
		"an error and exit status 0":     {none, 0, "", []string{failed("ProviderAuthError", "no")}, "word:authentication_failed"},
		"too long an answer":             {none, 0, "", []string{begin, ends("length")}, "word:max_output_tokens"},
		"an answer that was refused":     {none, 0, "", []string{begin, ends("content-filter")}, "word:refusal"},
		"exit status":                    {none, 1, "", []string{begin, ends("stop")}, "exit:1"},
		"killed afterwards":              {none, -1, "SIGKILL", []string{begin, ends("stop")}, "signal:SIGKILL"},
		"killed before":                  {none, -1, "SIGKILL", []string{begin}, "signal:SIGKILL"},
		"killed while it compacts":       {none, -1, "SIGKILL", []string{full, begin}, "signal:SIGKILL"},
		"killed while it waits":          {none, -1, "SIGTERM", []string{retries(1, "Overloaded", 2000)}, "signal:SIGTERM"},
		"a refused tool":                 {none, 0, "", []string{begin, no, ends("tool-calls"), begin, ends("stop")}, deniedRule},
		"a refused tool that ended it":   {none, 0, "", []string{begin, no, ends("tool-calls")}, deniedRule},
		"a rule of the configuration":    {none, 0, "", []string{begin, ran("error", "The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules []"), ends("tool-calls"), begin, ends("stop")}, deniedRule},
		"a question that was refused":    {none, 0, "", []string{"stderr: ! permission requested: external_directory (/etc/*); auto-rejecting", begin, ends("stop")}, deniedRule},
		"the same by an event":           {none, 0, "", []string{begin, ends("stop"), `{"type":"done","sessionID":"s1","reason":"idle","rejected":["bash"]}`}, deniedRule},
		"bad flag":                       {none, 1, "", []string{"stderr: Unknown argument: wat"}, "exit:1"},
		"an unknown session":             {s1, 1, "", []string{"stderr: \x1b[91mError: \x1b[0mSession not found"}, "text:session-not-found"},
		"an unknown model":               {none, 1, "", []string{unknown, unexpected}, "word:model_not_found"},
		"no credentials":                 {none, 1, "", []string{keyless, unexpected}, "word:authentication_failed"},
		"an error that says nothing":     {none, 1, "", []string{unexpected}, "default:session"},
		"an error without a name":        {none, 1, "", []string{`{"type":"error","sessionID":"s1","error":{}}`}, "default:session"},
		"a status":                       {none, 1, "", []string{`{"type":"error","sessionID":"s1","error":{"name":"APIError","data":{"message":"x","statusCode":503}}}`}, "status:503"},
		"a word of the provider":         {none, 1, "", []string{`{"type":"error","sessionID":"s1","error":{"name":"APIError","data":{"message":"x","statusCode":400,"responseBody":"{\"error\":{\"type\":\"billing_error\"}}"}}}`}, "word:billing_error"},
		"output that nobody understands": {none, 0, "", []string{"hello", "{", `{"a":1}`, `{"type":"text","part":7}`, begin, ends("stop")}, ""},
	} {
		v, _ := judge(c.req, c.exit, c.signal, c.lines...)
		rule := ""
		if v.Failure != nil {
			rule = v.Failure.Rule
			if v.Failure.Message == "" || strings.Contains(v.Failure.Message, "\x1b") {
				t.Errorf("%s: the message %q", name, v.Failure.Message)
			}
		}
		if v.Success != (c.rule == "") || rule != c.rule {
			t.Errorf("%s: success %v by %q, want %q", name, v.Success, rule, c.rule)
		}
	}
	if v, _ := judge(none, 1, "", keyless, unexpected); v.Failure.Class != harness.ClassAuth || !strings.Contains(v.Failure.Message, "LAB_API_KEY") || !harness.Refused(v.Failure) {
		t.Errorf("without credentials: %+v", v.Failure)
	}
	limited := `{"type":"error","sessionID":"s1","error":{"name":"APIError","data":{"message":"x","statusCode":429,"responseHeaders":{"retry-after":"7"}}}}`
	if v, _ := judge(none, 1, "", limited); v.Failure.RetryAfterMs != 7000 || v.Failure.Class != harness.ClassRateLimit {
		t.Errorf("a rate limit: %+v", v.Failure)
	}
}

func TestEveryKindOfLineIsRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"message":                            {spoke, "{Text:hi Thinking:false Failed:false Of:}"},
		"thinking":                           {partOf("reasoning", `"text":"hm"`), "{Text:hm Thinking:true Failed:false Of:}"},
		"what the program says to the model": {partOf("text", `"text":"go on","synthetic":true`), "{Text:go on For:}"},
		"a command":                          {ran("completed", "a"), `Bash {"command":"ls"} {ToolUseID:c Text:a IsError:false Of:}`},
		"a command that fails": {partOf("tool_use", `"tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"ls"},"output":"no","metadata":{"exit":3}}`),
			`Bash {"command":"ls"} {ToolUseID:c Text:exit status 3` + "\n" + `no IsError:true Of:}`},
		"an edit": {partOf("tool_use", `"tool":"edit","callID":"c","state":{"status":"completed","input":{"filePath":"a","oldString":"b","newString":"c"},"output":"done"}`),
			`Edit {"file_path":"a","new_string":"c","old_string":"b"} {ToolUseID:c Text:done IsError:false Of:}`},
		"a tool of a server": {partOf("tool_use", `"tool":"s_t","callID":"c","state":{"status":"error","input":7,"error":"e"}`), `s_t {} {ToolUseID:c Text:e IsError:true Of:}`},
		"a full context":     {full, "{Message:prompt is too long}"},
		"an error":           {failed("APIError", "fetch failed"), "{Text:fetch failed For:}"},
		"a retry":            {retries(2, "Overloaded", 4000), "{Attempt:2 After:4s Why:Overloaded Class:overloaded Refused:<nil> GivenUp:<nil>}"},
		"a compaction":       {`stderr: {"hank":"session.compacted","sessionID":"s1"}`, "{Message:the agent compacted its context}"},
		"another session":    {`stderr: {"hank":"session.compacted","sessionID":"s2"}`, ""},
		"one mistyped value": {partOf("text", `"text":"hi","callID":7`), "{Text:hi Thinking:false Failed:false Of:}"},
		"nothing":            {partOf("text", `"text":""`), ""},
	} {
		_, seen := judge(harness.Request{}, 0, "", begin, c.line)
		var got []string
		for _, o := range seen[1:] { // the first is that the session has started
			if use, is := o.(harness.ToolUse); is {
				got = append(got, use.Name+" "+string(use.Input))
				continue
			}
			got = append(got, fmt.Sprintf("%+v", o))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s\nwant %s", name, text, c.want)
		}
	}
}

// Cost and tokens are sums over the steps. What the model thought is output.
func TestUseIsTheSumOfTheSteps(t *testing.T) {
	t.Parallel()
	v, seen := judge(harness.Request{Model: "m"}, 0, "", begin, ends("tool-calls"), begin, ends("stop"))
	var told []string
	for _, o := range seen {
		if u, is := o.(harness.Usage); is {
			told = append(told, fmt.Sprint(u.Tokens.Input, u.Tokens.Output, u.Tokens.CacheRead, u.Tokens.CacheCreation, u.Context, int64(u.Cost), u.Priced, u.Final))
		}
	}
	if got := strings.Join(told, ", "); got != "10 3 4 3 20 500000000 true false, 20 6 8 6 20 1000000000 true true" {
		t.Errorf("while it works: %s", got)
	}
	if u := v.Usage; u.Tokens.Input != 20 || u.Cost != 1e9 || !u.PerRequest || u.Model != "m" {
		t.Errorf("at the end: %+v", u)
	}
	unpriced := strings.Replace(ends("stop"), `"cost":0.5`, `"cost":0`, 1)
	if v, _ := judge(harness.Request{}, 0, "", begin, unpriced); v.Usage.Priced {
		t.Error("a model that the agent knows no price of is not left to hank's list")
	}
	for _, odd := range []string{`"cost":-1,"tokens":{"input":-5}`, `"cost":1e300,"tokens":{"input":1e300}`, `"cost":"x","tokens":7`} {
		if v, _ := judge(harness.Request{}, 0, "", partOf("step_finish", odd)); v.Usage.Cost != 0 || v.Usage.Tokens.Sum() != 0 {
			t.Errorf("%s: %+v", odd, v.Usage)
		}
	}
}

// By itself the agent would wait for hours, or compact for ever.
func TestAnAgentThatWouldGoOnForEverIsGivenUp(t *testing.T) {
	t.Parallel()
	givenUp := func(seen []harness.Observation) (why []string) {
		for _, o := range seen {
			if w, is := o.(harness.Retrying); is && w.GivenUp != nil {
				why = append(why, w.GivenUp.Class)
			}
		}
		return why
	}
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"a full context, again and again": {[]string{begin, full, begin, ends("stop"), full, begin, ends("stop"), full}, "context_overflow"},
		"with work in between":            {[]string{full, begin, ran("completed", "a"), full, begin, ran("completed", "a"), full}, ""},
		"no credit":                       {[]string{retries(1, "You exceeded your current quota, please check your plan and billing details.", 2000)}, "billing"},
		"a limit of the plan":             {[]string{retries(1, "You've hit your usage limit. Try again in 2 hours.", 2000)}, "usage_limit"},
		"a wait of hours":                 {[]string{retries(1, "Rate limit reached", 7_200_000)}, "rate_limit"},
		"a long wait, in unknown words":   {[]string{retries(1, "slow down", 240_000)}, "rate_limit"},
		"a short wait":                    {[]string{retries(1, "Rate limit reached", 30_000)}, ""},
	} {
		_, seen := judge(harness.Request{}, -1, "SIGTERM", c.lines...)
		if got := strings.Join(givenUp(seen), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}

	_, seen := judge(harness.Request{}, -1, "SIGTERM", retries(1, "Rate limit reached", 7_200_000))
	if f := seen[len(seen)-1].(harness.Retrying).GivenUp; f.ResetsAt == nil || time.Until(f.ResetsAt.Time) < 110*time.Minute || !f.Retriable {
		t.Errorf("a wait of hours: %+v", f)
	}

	_, seen = judge(harness.Request{}, -1, "SIGTERM", retries(1, "slow down", 240_000))
	if f := seen[len(seen)-1].(harness.Retrying).GivenUp; f == nil || f.RetryAfterMs != 240_000 || f.Type != "rate-limit" || f.Rule != "event:retry" || !f.Retriable {
		t.Errorf("a long wait, in unknown words: %+v", f)
	}
	_, seen = judge(harness.Request{}, -1, "SIGTERM", retries(1, "slow down", 2000))
	if w := seen[len(seen)-1].(harness.Retrying); w.Class != "overloaded" || w.GivenUp != nil {
		t.Errorf("a short wait, in unknown words: %+v", w)
	}

	now := time.Unix(1e9, 0)
	r := Harness{}.Reader(harness.Request{}).(*reader)
	r.now = func() time.Time { return now }
	waits := func() []string {
		return givenUp(r.Stderr([]byte(strings.TrimPrefix(retries(1, "Cannot connect to API: connection refused", 2000), "stderr: "))))
	}
	for range 2 {
		if why := waits(); why != nil {
			t.Errorf("given up at once: %v", why)
		}
		now = now.Add(patience - 3*time.Second)
		if why := waits(); why != nil {
			t.Errorf("given up too early: %v", why)
		}
		r.Line([]byte(spoke)) // it was there again
	}
	waits()
	now = now.Add(patience)
	if why := waits(); len(why) != 1 || why[0] != harness.ClassUnreachable {
		t.Errorf("not given up: %v", why)
	}
}

func FuzzReader(f *testing.F) {
	for _, line := range []string{begin, spoke, full, no, unexpected, unknown[8:], keyless[8:], ends("stop"), retries(1, "x", 1)[8:], "x"} {
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
		r := Harness{}.Reader(harness.Request{Session: "s1"})
		for line := range strings.Lines(string(text)) {
			for _, o := range append(r.Line([]byte(line)), r.Stderr([]byte(line))...) {
				if use, is := o.(harness.ToolUse); is {
					if _ = use.String(); !json.Valid(use.Input) {
						t.Fatalf("%q", use.Input)
					}
				}
			}
		}
		v := r.End(exit, "")
		if v.Success == (v.Failure != nil) || v.Success && exit != 0 && exit != 1 {
			t.Fatalf("%+v", v)
		}
		if u := v.Usage; u.Tokens.Input < 0 || u.Tokens.Output < 0 || u.Tokens.CacheRead < 0 || u.Tokens.CacheCreation < 0 || u.Cost < 0 {
			t.Fatalf("%+v", u)
		}
	})
}
