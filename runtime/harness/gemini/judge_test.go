package gemini

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
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
	began = `{"type":"init","session_id":"s1-23456789","model":"gemini-2.5-pro"}`
	asked = `{"type":"message","role":"user","content":"do it"}`
	spoke = `{"type":"message","role":"assistant","content":"hi","delta":true}`
	uses  = `{"type":"tool_use","tool_name":"write_file","tool_id":"w1","parameters":{"file_path":"a"}}`
	used1 = `{"type":"tool_result","tool_id":"w1","status":"success"}`
	good  = `{"type":"result","status":"success","stats":{"total_tokens":15,"input_tokens":10,"output_tokens":2,"cached":4,"input":6}}`
)

func bad(message string) string {
	return fmt.Sprintf(`{"type":"result","status":"error","error":{"type":"unknown","message":%q},"stats":{}}`, message)
}

func refused(tool, kind string) []string {
	return []string{
		fmt.Sprintf(`{"type":"tool_use","tool_name":%q,"tool_id":"w1","parameters":{}}`, tool),
		fmt.Sprintf(`{"type":"tool_result","tool_id":"w1","status":"error","output":"no","error":{"type":%q,"message":"no"}}`, kind),
	}
}

// TestNothingElseIsSuccess changes one condition of success at a time.
func TestNothingElseIsSuccess(t *testing.T) {
	t.Parallel()
	none := harness.Request{}
	lines := func(all ...any) (list []string) {
		for _, l := range all {
			switch l := l.(type) {
			case string:
				list = append(list, l)
			case []string:
				list = append(list, l...)
			}
		}
		return list
	}
	warning := func(text string) string {
		return fmt.Sprintf(`{"type":"error","severity":"warning","message":%q}`, text)
	}
	for name, c := range map[string]struct {
		req    harness.Request
		exit   int
		signal string
		lines  []string
		rule   string // empty: success
	}{
		"all well":                        {none, 0, "", lines(began, asked, spoke, uses, used1, spoke, good), ""},
		"noise on the standard error":     {none, 0, "", lines("stderr: [STARTUP] failed: 500 Internal Server Error", began, asked, spoke, good), ""},
		"a retry that helped":             {none, 0, "", lines(began, asked, "stderr: Attempt 1 failed with status 429. Retrying with backoff...", spoke, good), ""},
		"nothing to say after a tool":     {none, 0, "", lines(began, asked, spoke, uses, used1, good), ""},
		"continued":                       {harness.Request{Session: "s1-23456789"}, 0, "", lines(began, asked, spoke, good), ""},
		"another session":                 {harness.Request{Session: "s0"}, 0, "", lines(began, asked, spoke, good), "session:mismatch"},
		"a session without a name":        {harness.Request{Session: "s0"}, 0, "", lines(asked, spoke, good), "session:mismatch"},
		"no end, as after SIGTERM":        {none, 0, "", lines(began, asked, spoke), "result:missing"},
		"nothing at all":                  {none, 0, "", nil, "result:missing"},
		"a message after the end":         {none, 0, "", lines(began, asked, spoke, good, spoke), "result:missing"},
		"a tool after the end":            {none, 0, "", lines(began, asked, spoke, good, uses), "result:missing"},
		"exit status":                     {none, 1, "", lines(began, asked, spoke, good), "exit:1"},
		"killed afterwards":               {none, -1, "SIGKILL", lines(began, asked, spoke, good), "signal:SIGKILL"},
		"killed before":                   {none, -1, "SIGKILL", lines(began, asked), "signal:SIGKILL"},
		"exit by SIGTERM":                 {none, 143, "", lines(began, asked), "exit:143"},
		"an error, exit status 0":         {none, 0, "", lines(began, asked, bad("[API Error: odd]")), "default:session"},
		"the exit status is the provider": {none, 429 - 256, "", lines(began, asked, bad("[API Error: odd]")), "status:429"},
		"of an overloaded one":            {none, 503 - 256, "", lines(began, asked, bad("[API Error: odd]")), "status:503"},
		"of a proxy":                      {none, 529 - 512, "", lines(began, asked, bad("[API Error: odd]")), "status:529"},
		"no provider":                     {none, 42, "", lines("stderr: odd"), "exit:42"},
		"not logged in":                   {none, 41, "", lines("stderr: odd"), "word:authentication_failed"},
		"turns":                           {none, 53, "", lines(began, asked, bad("odd")), "word:max_turns"},
		"a key that is not valid":         {none, 144, "", lines(began, asked, bad(`[API Error: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`)), "word:invalid_api_key"},
		"a wrapped answer":                {none, 1, "", lines(began, asked, bad(`[API Error: {"error":{"message":"{\"error\":{\"code\":403,\"message\":\"no\",\"status\":\"PERMISSION_DENIED\"}}","code":403,"status":"Forbidden"}}]`)), "word:permission_error"},
		"a limit for a minute":            {none, 173, "", lines(began, asked, bad("[API Error: You exceeded your current quota, please check your plan and billing details.\nPlease retry in 34.5s.]")), "word:rate_limit_exceeded"},
		"a limit for a day":               {none, 173, "", lines(began, asked, bad("[API Error: You have exhausted your daily quota on this model.]")), "word:usage_limit_reached"},
		"no quota at all":                 {none, 173, "", lines(began, asked, bad("[API Error: Quota exceeded for metric: x, limit: 0\nPlease retry in 34.5s.]")), "word:insufficient_quota"},
		"no room":                         {none, 144, "", lines(began, asked, bad("[API Error: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).]")), "word:context_length_exceeded"},
		"a model that is not there":       {none, 1, "", lines(began, asked, bad("[API Error: models/x is not found]"), "stderr: Error when talking to Gemini API Full report available at: /t/x.json ModelNotFoundError: models/x", "stderr:   code: 404"), "word:model_not_found"},
		"a report with a status":          {none, 1, "", lines(began, asked, "stderr: Error when talking to Gemini API Full report available at: /t/x.json _ApiError: odd", "stderr:     at f (x.js:1:2)", "stderr:   status: 402", bad("[API Error: odd]")), "status:402"},
		"a broken connection":             {none, 1, "", lines(began, asked, bad("[API Error: terminated]")), "word:connection_failed"},
		"an answer that was blocked":      {none, 0, "", lines(began, asked, `{"type":"error","severity":"error","message":"The model response was blocked due to safety settings."}`, `{"type":"result","status":"error","stats":{}}`), "word:refusal"},
		"an empty answer at the limit":    {none, 0, "", lines(began, asked, `{"type":"error","severity":"error","message":"Model response was truncated because it exceeded the token limit. Try using /compress to free up context space."}`, `{"type":"result","status":"error","stats":{}}`), "word:max_output_tokens"},
		"a loop":                          {none, 0, "", lines(began, asked, spoke, warning("Loop detected, stopping execution"), good), "event:loop"},
		"too many turns":                  {none, 0, "", lines(began, asked, spoke, warning("Maximum session turns exceeded"), good), "event:max-turns"},
		"a hook":                          {none, 0, "", lines(began, asked, spoke, warning("Agent execution blocked: no"), good), "event:blocked"},
		"a refused tool":                  {none, 0, "", lines(began, asked, refused("glob", "policy_violation"), spoke, good), "tool_result:refused"},
		"a tool that was taken away":      {none, 0, "", lines(began, asked, refused("run_shell_command", "tool_not_registered"), spoke, good), "tool_result:refused"},
		"a tool that never was":           {none, 0, "", lines(began, asked, refused("fly", "tool_not_registered"), spoke, good), ""},
		"a tool that failed":              {none, 0, "", lines(began, asked, refused("read_file", "file_not_found"), spoke, good), ""},
		"unknown session":                 {harness.Request{Session: "s9"}, 42, "", lines(`stderr: Error resuming session: Invalid session identifier "s9".`), "text:session-not-found"},
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
	if v, _ := judge(none, 42, "", "stderr: Unknown argument: wat"); v.Failure.Retriable {
		t.Error("an agent that cannot start is tried again")
	}
	if v, _ := judge(none, 173, "", began, bad("[API Error: Please retry in 34.5s.]")); v.Failure.RetryAfterMs != 34_500 || !v.Failure.Retriable {
		t.Errorf("a limit for a minute: %+v", v.Failure)
	}
	if v, _ := judge(none, 173, "", began, bad(`[API Error: {"error":{"code":429,"message":"no","details":[{"@type":"x","retryDelay":"7s"}]}}]`)); v.Failure.RetryAfterMs != 7000 {
		t.Errorf("a delay in the details: %+v", v.Failure)
	}
}

func TestEveryKindOfEventIsRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"a message in pieces":     {[]string{spoke, strings.Replace(spoke, `"hi"`, `" there"`, 1), uses}, `{Text:hi there Thinking:false Failed:false Of:} {ID:w1 Name:Write Input:{"file_path":"a"} Of:}`},
		"a message without words": {[]string{strings.Replace(spoke, `"hi"`, `"\n"`, 1), uses}, `{ID:w1 Name:Write Input:{"file_path":"a"} Of:}`},
		"a session":               {[]string{began, began}, "{ID:s1-23456789 Model:gemini-2.5-pro}"},
		"a command": {[]string{`{"type":"tool_use","tool_name":"run_shell_command","tool_id":"r"}`, `{"type":"tool_result","tool_id":"r","status":"success","output":"no"}`},
			"{ID:r Name:Bash Input:{} Of:} {ToolUseID:r Text:no IsError:false Of:}"},
		"a tool that fails":  {[]string{`{"type":"tool_result","tool_id":"r","status":"error","output":"gone","error":{"type":"x","message":"not there"}}`}, "{ToolUseID:r Text:gone\nnot there IsError:true Of:}"},
		"another tool":       {[]string{`{"type":"tool_use","tool_name":"mcp_x","tool_id":"r","parameters":{"q":1}}`}, `{ID:r Name:mcp_x Input:{"q":1} Of:}`},
		"a warning":          {[]string{`{"type":"error","severity":"warning","message":"careful"}`}, "{Text:careful For:}"},
		"one mistyped value": {[]string{`{"type":"tool_result","tool_id":"r","status":7,"output":"x"}`}, "{ToolUseID:r Text:x IsError:false Of:}"},
		"no event":           {[]string{"hello", "{", `{"a":1}`, `{"type":"other"}`, `{"type":"error"}`}, ""},
	} {
		_, seen := judge(harness.Request{Environ: []string{}}, 0, "", c.lines...)
		var got []string
		for _, o := range seen {
			if use, is := o.(harness.ToolUse); is {
				got = append(got, fmt.Sprintf("{ID:%s Name:%s Input:%s Of:%s}", use.ID, use.Name, use.Input, use.Of))
				continue
			}
			got = append(got, fmt.Sprintf("%+v", o))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s\nwant %s", name, text, c.want)
		}
	}
}

// The agent tries ten times, and the provider says how long it waits in between.
func TestAnAgentThatTriesTooLongIsGivenUp(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	begin := func() *reader {
		r := Harness{}.Reader(harness.Request{Environ: []string{}}).(*reader)
		r.trying.now = func() time.Time { return now }
		return r
	}
	tries := func(r *reader, line string) harness.Retrying {
		t.Helper()
		seen := r.Stderr([]byte(line))
		if len(seen) != 1 {
			t.Fatalf("%s: %v", line, seen)
		}
		return seen[0].(harness.Retrying)
	}
	const again = "Attempt 2 failed with status 503. Retrying with backoff... "
	r := begin()
	for range 2 {
		if w := tries(r, again); w.GivenUp != nil || w.Attempt != 2 || w.Why != "HTTP 503" {
			t.Errorf("at once: %+v", w)
		}
		now = now.Add(patience - time.Second)
		if w := tries(r, again); w.GivenUp != nil {
			t.Errorf("too early: %+v", w.GivenUp)
		}
		r.Line([]byte(spoke)) // the provider was there again
	}
	tries(r, again)
	now = now.Add(patience)
	if f := tries(r, again).GivenUp; f == nil || f.Class != harness.ClassOverloaded || !f.Retriable || !strings.Contains(f.Message, "has waited 3m0s") {
		t.Errorf("not given up: %+v", f)
	}

	r = begin()
	for _, line := range []string{"Attempt 1 failed: You exceeded your current quota, please check your plan and billing details.", "* Quota exceeded for metric: x, limit: 10"} {
		if seen := r.Stderr([]byte(line)); len(seen) != 0 {
			t.Errorf("%q: %v", line, seen)
		}
	}
	w := tries(r, "Please retry in 280s.. Retrying after 290000ms...")
	if f := w.GivenUp; w.Attempt != 1 || w.After != 290*time.Second || f == nil || f.Class != harness.ClassRateLimit || f.RetryAfterMs != 290_000 || !f.Retriable || strings.Contains(w.Why, "Retrying") {
		t.Errorf("a long wait that is announced: %+v, %+v", w, f)
	}
	if f := tries(begin(), "Attempt 1 failed: exceeded your current quota. Retrying after 290000ms...").GivenUp; f == nil || f.Class != harness.ClassRateLimit || !f.Retriable {
		t.Errorf("an agent that waits has hope: %+v", f)
	}
	for _, line := range []string{"Attempt 10 failed: odd. Max attempts reached", "Retrying after 5ms..."} {
		if seen := begin().Stderr([]byte(line)); len(seen) != 0 {
			t.Errorf("%q: %v", line, seen)
		}
	}
	if w := tries(begin(), "Attempt 1 failed. Retrying with backoff... TypeError: fetch failed"); w.GivenUp != nil || !strings.Contains(w.Why, "fetch failed") {
		t.Errorf("no network: %+v", w)
	}
	if w := tries(begin(), "Attempt 1 failed with status 401. Retrying with backoff..."); w.Refused == nil || !strings.Contains(w.Refused.Message, "set GEMINI_API_KEY") {
		t.Errorf("a key that is refused: %+v", w)
	}
	for _, line := range []string{"", "    at Attempt 1 failed", "[STARTUP] Attempt"} {
		if seen := begin().Stderr([]byte(line)); len(seen) != 0 {
			t.Errorf("%q: %v", line, seen)
		}
	}
}

// sessionFile makes the file of a session in a home.
func sessionFile(t *testing.T, home, id string) (add func(lines ...string)) {
	t.Helper()
	dir := filepath.Join(home, ".gemini", "tmp", "workspace", "chats")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "session-2026-11-26T17-00-"+id[:8]+".jsonl")
	add = func(lines ...string) {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(strings.Join(lines, "\n")); err != nil {
			t.Fatal(err)
		}
	}
	add(fmt.Sprintf(`{"sessionId":%q,"projectHash":"x"}`, id), "")
	return add
}

// answers is a message of the model in a session's file.
func answers(id string, input, cached, output, thoughts int) string {
	return fmt.Sprintf(`{"id":%q,"type":"gemini","content":"x","tokens":{"input":%d,"output":%d,"cached":%d,"thoughts":%d,"tool":0,"total":0}}`, id, input, output, cached, thoughts) + "\n"
}

const hears = `{"id":"u","type":"user","content":[]}` + "\n"

func usages(seen []harness.Observation) (all []int64) {
	for _, o := range seen {
		if u, is := o.(harness.Usage); is {
			all = append(all, u.Tokens.Input, u.Tokens.CacheRead, u.Tokens.Output, u.Context)
		}
	}
	return all
}

// What the model thinks is paid as output, and in no figure of the output.
func TestRequestsAreCountedOnceAndWithWhatTheModelThinks(t *testing.T) {
	t.Parallel()
	const id = "s1-23456789"
	t.Run("of a new session", func(t *testing.T) {
		home := t.TempDir()
		r := Harness{}.Reader(harness.Request{Home: home, Model: "m"})
		r.Line([]byte(began))
		add := sessionFile(t, home, id)
		add(answers("m1", 100, 40, 5, 7), answers("m1", 100, 40, 5, 7), hears+answers("m2", 200, 0, 1, 0)[:30])
		if got := fmt.Sprint(usages(r.Line([]byte(uses)))); got != "[60 40 12 112]" {
			t.Errorf("while it works: %s", got)
		}
		add(answers("m2", 200, 0, 1, 0)[30:])
		if got := fmt.Sprint(usages(r.(harness.Polled).Poll())); got != "[260 40 13 201]" {
			t.Errorf("a line in two parts, while it prints nothing: %s", got)
		}
		add(hears + answers("m3", 20, 0, 1, 0)[:30])
		if got := fmt.Sprint(usages(r.(harness.Polled).Poll())); got != "[]" {
			t.Errorf("a part of a line: %s", got)
		}
		add(answers("m3", 20, 0, 1, 0)[30:], strings.Repeat("x", 3*longestRecord), "\n", `{"$set":{"lastUpdated":"x"}}`, "\n")
		if got := fmt.Sprint(usages(r.Line([]byte(asked)))); got != "[280 40 14 21]" {
			t.Errorf("a line in two parts: %s", got)
		}
		// Its sum has what was asked on the side.
		line := `{"type":"result","status":"success","stats":{"total_tokens":350,"input_tokens":330,"output_tokens":7,"cached":40}}`
		if got := fmt.Sprint(usages(r.Line([]byte(line)))); got != "[290 40 20 21]" {
			t.Errorf("at the end: %s", got)
		}
		if v := r.End(0, ""); !v.Success || !reflect.DeepEqual(v.Usage.Tokens, state.Tokens{Input: 290, CacheRead: 40, Output: 20}) || !v.Usage.PerRequest {
			t.Errorf("%+v, %+v", v.Usage, v.Failure)
		}
	})
	t.Run("of a session that is continued", func(t *testing.T) {
		home := filepath.Join(t.TempDir(), "[a]*") // no pattern
		sessionFile(t, home, "s1-23456-another")   // whose name begins in the same way
		if err := os.Rename(filepath.Join(home, ".gemini", "tmp", "workspace"), filepath.Join(home, ".gemini", "tmp", "another")); err != nil {
			t.Fatal(err)
		}
		add := sessionFile(t, home, id)
		add(answers("m1", 100, 0, 5, 0))
		r := Harness{}.Reader(harness.Request{Home: home, Session: id})
		add(answers("m1", 100, 0, 5, 0), hears, answers("m2", 50, 0, 1, 0))
		if v := r.End(-1, "SIGKILL"); !reflect.DeepEqual(v.Usage.Tokens, state.Tokens{Input: 50, Output: 1}) {
			t.Errorf("of an agent that was killed: %+v", v.Usage)
		}
	})
	home := t.TempDir()
	sessionFile(t, home, id)
	for _, id := range []string{"../s1", "", "*", "s1-23456", "s1-2345678"} {
		if s, known := follow(harness.Request{Home: home, Session: id}); len(known) != 0 || s.find() {
			t.Errorf("%q has a file: %+v", id, s)
		}
	}
}

// A helper has a file of its own, and its requests are no answers to the agent.
func TestRequestsOfHelpersAreCounted(t *testing.T) {
	t.Parallel()
	const id = "s1-23456789"
	home := t.TempDir()
	add := sessionFile(t, home, id)
	helpers := filepath.Join(home, ".gemini", "tmp", "workspace", "chats", id)
	if err := os.Mkdir(helpers, 0o700); err != nil {
		t.Fatal(err)
	}
	r := Harness{}.Reader(harness.Request{Home: home})
	r.Line([]byte(began))
	add(hears, answers("m1", 100, 0, 5, 0))
	if err := os.WriteFile(filepath.Join(helpers, "h.jsonl"), []byte(hears+answers("h1", 10, 0, 1, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, l := range []string{uses, used1, `{"type":"result","status":"success"}`} {
		r.Line([]byte(l))
	}
	v := r.End(0, "")
	if !reflect.DeepEqual(v.Usage.Tokens, state.Tokens{Input: 110, Output: 6}) || v.Usage.Context != 105 || v.Failure == nil || v.Failure.Rule != "session:unanswered" {
		t.Errorf("%+v, %+v", v.Usage, v.Failure)
	}
}

// The agent reports success and asks nothing where the context has no room.
func TestAModelThatWasNotAskedIsNoSuccess(t *testing.T) {
	t.Parallel()
	const id = "s1-23456789"
	for name, c := range map[string]struct {
		records []string
		lines   []string
		rule    string
	}{
		"an answer":                {[]string{hears, answers("m1", 9, 0, 1, 0)}, []string{spoke, good}, ""},
		"an empty answer":          {[]string{hears, answers("m1", 9, 0, 1, 0), hears, answers("m2", 9, 0, 0, 0)}, []string{uses, used1, good}, ""},
		"no answer to a tool":      {[]string{hears, answers("m1", 9, 0, 1, 0)}, []string{uses, used1, good}, "session:unanswered"},
		"no answer to two tools":   {[]string{hears, answers("m1", 9, 0, 1, 0)}, []string{uses, strings.ReplaceAll(uses, "w1", "w2"), used1, strings.ReplaceAll(used1, "w1", "w2"), good}, "session:unanswered"},
		"an answer to two tools":   {[]string{hears, answers("m1", 9, 0, 1, 0), hears, answers("m2", 9, 0, 0, 0)}, []string{uses, strings.ReplaceAll(uses, "w1", "w2"), used1, strings.ReplaceAll(used1, "w1", "w2"), good}, ""},
		"no answer to the prompt":  {nil, []string{asked, good}, "session:unanswered"},
		"the longest answer":       {[]string{hears, answers("m1", 9, 0, 60000, 5536)}, []string{spoke, good}, "session:longest-answer"},
		"a long one in the middle": {[]string{hears, answers("m1", 9, 0, 65536, 0), hears, answers("m2", 9, 0, 1, 0)}, []string{uses, used1, spoke, good}, ""},
	} {
		home := t.TempDir()
		add := sessionFile(t, home, id)
		r := Harness{}.Reader(harness.Request{Home: home})
		r.Line([]byte(began))
		add(c.records...)
		for _, l := range c.lines {
			r.Line([]byte(l))
		}
		v := r.End(0, "")
		rule := ""
		if v.Failure != nil {
			rule = v.Failure.Rule
		}
		if rule != c.rule || v.ContextExceeded != (c.rule != "") {
			t.Errorf("%s: by %q, context exceeded %v", name, rule, v.ContextExceeded)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, line := range []string{began, asked, spoke, uses, used1, good, bad("[API Error: {\"error\":{}}]"), "x", answers("m", 1, 1, 1, 1), "Attempt 1 failed with status 503. Retrying after 1ms..."} {
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
		home := t.TempDir()
		dir := filepath.Join(home, ".gemini", "tmp", "w", "chats")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		record := append([]byte(`{"sessionId":"s1-23456789"}`+"\n"), text...)
		if err := os.WriteFile(filepath.Join(dir, "session-x-s1-23456.jsonl"), record, 0o600); err != nil {
			t.Fatal(err)
		}
		r := Harness{}.Reader(harness.Request{Home: home, Environ: []string{}})
		r.Line([]byte(began))
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
		if u := v.Usage.Tokens; u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheCreation < 0 {
			t.Fatalf("%+v", u)
		}
	})
}
