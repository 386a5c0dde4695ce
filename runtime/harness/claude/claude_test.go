package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/internal/programtest"
	"hank/runtime/harness"
	"hank/state"
)

// request is one that Command accepts.
func request(change func(*harness.Request)) harness.Request {
	req := harness.Request{
		Prompt: "do it", Workspace: "/w", Home: "/h", Temp: "/t",
		Environ: []string{"PATH=/bin", "HOME=/user", "ANTHROPIC_API_KEY=k"},
	}
	change(&req)
	return req
}

func command(t *testing.T, req harness.Request) (harness.Command, harness.Environ) {
	t.Helper()
	c, err := Harness{}.Command(req)
	if err != nil {
		t.Fatal(err)
	}
	return c, harness.NewEnviron(c.Env)
}

const common = "-p --output-format stream-json --verbose --permission-mode bypassPermissions"

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*harness.Request){
		"claude " + common:                                               func(*harness.Request) {},
		"/opt/c " + common + " --model m":                                func(r *harness.Request) { r.Agent.Path, r.Model = "/opt/c", "m" },
		"claude " + common + " --model m --effort high":                  func(r *harness.Request) { r.Model, r.Effort = "m", "high" },
		"/mine/c " + common:                                              func(r *harness.Request) { r.Environ = append(r.Environ, executableVariable+"=/mine/c") },
		"/codons/c " + common:                                            func(r *harness.Request) { r.Env = map[string]string{executableVariable: "/codons/c"} },
		"claude " + common + " --append-system-prompt S":                 func(r *harness.Request) { r.SystemPrompt, r.Agent.Version = "S", "2.1.329" },
		"claude " + common + " --resume id":                              func(r *harness.Request) { r.Session = "id" },
		"claude " + common + " --resume id --system-prompt-snapshot off": func(r *harness.Request) { r.Session, r.Agent.Version = "id", "2.1.329" },
		"/old/c " + common + " --append-system-prompt S --resume id": func(r *harness.Request) {
			r.Agent.Path, r.SystemPrompt, r.Session, r.Agent.Version = "/old/c", "S", "id", "2.1.197"
		},
	} {
		c, _ := command(t, request(change))
		if got := strings.Join(c.Args, " "); got != want {
			t.Errorf("the command is\n%s, want\n%s", got, want)
		}
		if string(c.Stdin) != "do it" || c.Dir != "/w" || c.StopSignal == 0 || c.StopGrace == 0 {
			t.Errorf("%+v", c)
		}
	}
}

func TestCommandRefusesWhatTheAgentCannotTake(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*harness.Request){
		"prompt is empty":          func(r *harness.Request) { r.Prompt = " \n" },
		"names no workspace":       func(r *harness.Request) { r.Workspace = "" },
		"system prompt has 131072": func(r *harness.Request) { r.SystemPrompt = strings.Repeat("x", 131072) },
	} {
		if _, err := (Harness{}).Command(request(change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	_, env := command(t, request(func(r *harness.Request) {
		r.Environ = append(r.Environ, "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "DISABLE_TELEMETRY=0", "GOPATH=/go")
		r.Env = map[string]string{"MINE": "1"}
	}))
	want := map[string]string{
		"HOME": "/h", "CLAUDE_CONFIG_DIR": "/h/.claude", "TMPDIR": "/t", "CLAUDE_CODE_TMPDIR": "/t",
		"DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"DISABLE_TELEMETRY": "0", "DISABLE_AUTO_COMPACT": "1", "GOPATH": "/go", "MINE": "1",
		"CLAUDECODE": "", "CLAUDE_CODE_ENTRYPOINT": "", "IS_SANDBOX": map[bool]string{true: "1"}[os.Geteuid() == 0],
	}
	for name, value := range want {
		if env[name] != value {
			t.Errorf("%s is %q, want %q", name, env[name], value)
		}
	}
	if _, env := command(t, request(func(r *harness.Request) { r.AutoCompact = true })); env["DISABLE_AUTO_COMPACT"] != "" {
		t.Error("compaction is off though it is wanted")
	}
	if _, env := command(t, request(func(r *harness.Request) {
		r.Env = map[string]string{"HOME": "/codon", "CLAUDE_CONFIG_DIR": "/codon/c"}
	})); env["HOME"] != "/codon" || env["CLAUDE_CONFIG_DIR"] != "/codon/c" {
		t.Error("the codon's own variables did not win")
	}
}

// TestALoginIsUsedWhereItIs: credentials that cannot be moved keep the user's
// configuration, a key does not.
func TestALoginIsUsedWhereItIs(t *testing.T) {
	t.Parallel()
	user := t.TempDir()
	if err := os.Mkdir(filepath.Join(user, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(user, ".claude", ".credentials.json")
	environ := []string{"PATH=/bin", "HOME=" + user}
	home := func(environ []string, over map[string]string) (string, string) {
		_, env := command(t, request(func(r *harness.Request) { r.Environ, r.Env = environ, over }))
		return env["HOME"], env["CLAUDE_CONFIG_DIR"]
	}
	for text, login := range map[string]bool{
		`{"claudeAiOauth":{"accessToken":"x"}}`: true, `{"claudeAiOauth":null}`: false, `{}`: false, `not json`: false,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		h, dir := home(environ, nil)
		if login && (h != user || dir != "") || !login && (h != "/h" || dir != "/h/.claude") {
			t.Errorf("with %s: HOME %s, configuration %q", text, h, dir)
		}
	}
	if err := os.WriteFile(file, []byte(`{"claudeAiOauth":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if h, dir := home(environ, map[string]string{"ANTHROPIC_API_KEY": "of the codon"}); h != "/h" || dir != "/h/.claude" {
		t.Errorf("with a key of the codon: HOME %s, configuration %q", h, dir)
	}
	if h, dir := home(append(environ, "CLAUDE_CODE_USE_BEDROCK=1"), nil); h != user || dir != "/h/.claude" {
		t.Errorf("with cloud credentials: HOME %s, configuration %q", h, dir)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, ".claude.json"), []byte(`{"oauthAccount":{"name":"x"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if h, dir := home([]string{"HOME=/user", "CLAUDE_CONFIG_DIR=" + other}, nil); h != "/user" || dir != other {
		t.Errorf("with a configured folder: HOME %s, configuration %q", h, dir)
	}
}

func TestCheckFindsProblems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := func(name, script string) string {
		path := filepath.Join(dir, name)
		programtest.Write(t, path, "#!/bin/sh\n"+script+"\n")
		return path
	}
	good := program("claude", "echo '2.1.329 (Claude Code)'")
	bad := program("bad", "echo broken >&2; exit 3")
	mute := program("mute", "echo hello")
	path, key := "PATH="+dir+":"+os.Getenv("PATH"), "ANTHROPIC_API_KEY=k"
	for name, c := range map[string]struct {
		env           []string
		found         bool
		problem, note string
	}{
		"well":           {[]string{path, key}, true, "", ""},
		"not there":      {[]string{"PATH=/nonexistent", key}, false, "npm install", ""},
		"wrong variable": {[]string{path, key, executableVariable + "=/nonexistent"}, false, "/nonexistent", ""},
		"breaks":         {[]string{path, key, executableVariable + "=" + bad}, true, "broken", ""},
		"no version":     {[]string{path, key, executableVariable + "=" + mute}, true, "hello", ""},
		"no credentials": {[]string{path}, true, "ANTHROPIC_API_KEY", ""},
	} {
		got := Harness{}.Check(t.Context(), c.env)
		if got.Found != c.found || (got.Problem == "") != (c.problem == "") || !strings.Contains(got.Problem, c.problem) || got.Note != c.note {
			t.Errorf("%s: %+v", name, got)
		}
		if name == "well" && (got.Path != good || got.Version != "2.1.329" || !got.LoggedIn) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	login := t.TempDir()
	if err := os.WriteFile(filepath.Join(login, ".claude.json"), []byte(`{"primaryApiKey":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := (Harness{}).Check(t.Context(), []string{path, "HOME=" + login}); !got.LoggedIn || got.Problem != "" || !strings.Contains(got.Note, login) {
		t.Errorf("the user's login: %+v", got)
	}
}

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
	initLine = `{"type":"system","subtype":"init","session_id":"s1","model":"m"}`
	good     = `{"is_error":false,"subtype":"success","result":"ok","type":"result","session_id":"s1","usage":{"input_tokens":10,"output_tokens":2},"total_cost_usd":0.5}`
	spoke    = `{"type":"assistant","message":{"id":"a","model":"m","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":3,"output_tokens":1}},"parent_tool_use_id":null}`
)

// TestNothingElseIsSuccess changes one condition of success at a time.
func TestNothingElseIsSuccess(t *testing.T) {
	t.Parallel()
	none := harness.Request{}
	for name, c := range map[string]struct {
		req    harness.Request
		exit   int
		signal string
		lines  []string
		rule   string // empty: success
	}{
		"all well":                   {none, 0, "", []string{initLine, spoke, good}, ""},
		"continued":                  {harness.Request{Session: "s1"}, 0, "", []string{initLine, good}, ""},
		"another session":            {harness.Request{Session: "s0"}, 0, "", []string{initLine, good}, "session:mismatch"},
		"no result":                  {none, 0, "", []string{initLine, spoke}, "result:missing"},
		"nothing at all":             {none, 0, "", nil, "result:missing"},
		"a turn after the result":    {none, 0, "", []string{initLine, good, initLine}, "result:missing"},
		"an answer after the result": {none, 0, "", []string{initLine, good, spoke}, "result:missing"},
		"exit status":                {none, 1, "", []string{initLine, good}, "exit:1"},
		"killed afterwards":          {none, -1, "SIGKILL", []string{initLine, good}, "signal:SIGKILL"},
		"killed before":              {none, -1, "SIGKILL", []string{initLine}, "signal:SIGKILL"},
		"exit by SIGTERM":            {none, 143, "", []string{initLine, spoke}, "exit:143"},
		"error called success":       {none, 0, "", []string{initLine, strings.Replace(good, "false", "true", 1)}, "default:session"},
		"another subtype":            {none, 0, "", []string{initLine, strings.Replace(good, `"success"`, `"error_max_turns"`, 1)}, "word:error_max_turns"},
		"no subtype":                 {none, 0, "", []string{initLine, `{"type":"result"}`}, "default:session"},
		"refused tool":               {none, 0, "", []string{initLine, `{"type":"system","subtype":"permission_denied","tool_name":"Write"}`, good}, "result:permission_denials"},
		"the last result counts":     {none, 0, "", []string{initLine, good, strings.Replace(good, "false", "true", 1)}, "default:session"},
		"the last result is good":    {none, 0, "", []string{initLine, strings.Replace(good, "false", "true", 1), initLine, good}, ""},
		"bad flag":                   {none, 1, "", []string{"stderr: error: unknown option '--wat'"}, "exit:1"},
		"as root":                    {none, 1, "", []string{"stderr: cannot be used with root/sudo privileges for security reasons"}, "exit:1"},
		"no key, on stderr":          {none, 1, "", []string{"stderr: Invalid API key · Please run /login"}, "text:auth"},
		"unknown session on stderr":  {harness.Request{Session: "s9"}, 1, "", []string{"stderr: No conversation found with session ID: s9"}, "text:session-not-found"},
		"error as plain text":        {none, 1, "", []string{"API Error: 529 Overloaded"}, "text:overloaded"},
		// 2.1.197 names no types, and calls the terminal reason of an API error "completed".
		"older agent": {none, 1, "", []string{initLine, `{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"terminal_reason":"completed","result":"API Error: 529"}`}, "status:529"},
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
	if v, _ := judge(none, 1, "", "stderr: error: unknown option"); v.Failure.Retriable {
		t.Error("an agent that cannot start is tried again")
	}
	if v, _ := judge(none, 1, "", initLine, "stderr: something odd"); !v.Failure.Retriable {
		t.Error("an agent that broke in the middle is not tried again")
	}
}

// thousandth of a dollar.
const thousandth = state.Dollar / 1000

func TestMoney(t *testing.T) {
	t.Parallel()
	since := func(total, cost string) string {
		return `{"type":"result","subtype":"success","is_error":false,"total_cost_usd":` + total +
			`,"usage":{"input_tokens":1},"model_usage_since_last_result":{"m":{"inputTokens":4,"costUSD":` + cost + `},"side":{"outputTokens":1,"costUSD":0.25}}}`
	}
	for name, c := range map[string]struct {
		before int64
		lines  []string
		want   int64
		input  int64
	}{
		"since the last result":           {0, []string{since("0.75", "0.5")}, 750, 4},
		"of a continued session":          {9000, []string{since("9.75", "0.5")}, 750, 4},
		"two results":                     {9000, []string{since("9.75", "0.5"), since("10.25", "0.25")}, 1250, 8},
		"total alone":                     {0, []string{good}, 500, 10},
		"total of the session":            {200, []string{good}, 300, 10},
		"total of the run (2.1.197)":      {9000, []string{good}, 500, 10},
		"several totals are not added up": {200, []string{good, good}, 300, 20},
		"no money":                        {0, []string{`{"type":"result","subtype":"success","is_error":false}`}, 0, 0},
		"nonsense":                        {0, []string{since(`"x"`, "-5")}, 250, 4},
	} {
		v, _ := judge(harness.Request{SessionCost: thousandth * state.USD(c.before)}, 0, "", append([]string{initLine}, c.lines...)...)
		if v.Usage.Cost != thousandth*state.USD(c.want) || v.Usage.Tokens.Input != c.input {
			t.Errorf("%s: %v for %d tokens, want %d thousandths for %d", name, v.Usage.Cost, v.Usage.Tokens.Input, c.want, c.input)
		}
		if v.Usage.Priced != (name != "no money") {
			t.Errorf("%s: priced %v", name, v.Usage.Priced)
		}
	}
}

// TestLiveUsageCountsAMessageOnce: one line per content block, all with the
// usage that the message began with.
func TestLiveUsageCountsAMessageOnce(t *testing.T) {
	t.Parallel()
	line := func(id, block, parent string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","model":"m","content":[` + block + `],"usage":{"input_tokens":100,"cache_read_input_tokens":50,"cache_creation_input_tokens":5,"output_tokens":1}},"parent_tool_use_id":` + parent + `}`
	}
	text := `{"type":"text","text":"` + strings.Repeat("abcd", 10) + `"}`
	v, seen := judge(harness.Request{}, 143, "", initLine,
		line("a", text, "null"), line("a", text, "null"), line("sub", text, `"toolu_1"`), line("b", text, "null"))
	tokens := v.Usage.Tokens
	if tokens.Input != 300 || tokens.CacheRead != 150 || tokens.CacheCreation != 15 || tokens.Output != 20+10+10 {
		t.Errorf("tokens %+v", tokens)
	}
	if v.Usage.Context != 100+50+5+10 || v.Usage.Priced {
		t.Errorf("usage %+v", v.Usage)
	}
	var inputs []int64
	for _, o := range seen {
		if u, ok := o.(harness.Usage); ok {
			inputs = append(inputs, u.Tokens.Input)
		}
	}
	if !slices.Equal(inputs, []int64{100, 100, 200, 300}) {
		t.Errorf("inputs seen live: %v", inputs)
	}
}

func TestObservations(t *testing.T) {
	t.Parallel()
	_, seen := judge(harness.Request{}, 0, "",
		`{"type":"system","subtype":"api_retry","attempt":2,"retry_delay_ms":531,"error_status":529,"error":"overloaded"}`,
		`{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":1e300,"error_status":null,"error":"unknown"}`,
		`{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual"}}`,
		`{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto"}}`,
		`{"type":"assistant","message":{"content":"as a string"}}`,
		`{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}}`,
		`{"type":"user","message":{"content":"plain"}}`,
		`{"type":"stream_event"}`, `not json`, `{"type":7}`, `[]`, ``,
	)
	var got []string
	for _, o := range seen {
		switch o := o.(type) {
		case harness.Retrying:
			got = append(got, "retry "+o.After.String()+" "+o.Why)
		case harness.ContextExceeded:
			got = append(got, "full")
		case harness.Message:
			got = append(got, map[bool]string{true: "thinks ", false: "says "}[o.Thinking]+o.Text)
		case harness.ToolUse:
			got = append(got, o.Name+" "+string(o.Input))
		case harness.ToolResult:
			got = append(got, map[bool]string{true: "error ", false: "result "}[o.IsError]+o.Text)
		}
	}
	want := []string{"retry 531ms overloaded (HTTP 529)", "retry 24h0m0s no connection to api.anthropic.com", "full", "says as a string", "thinks hm", `Bash {"command":"ls"}`, "error a\nb"}
	if !slices.Equal(got, want) {
		t.Errorf("saw %q, want %q", got, want)
	}
}

// FuzzReader: whatever the agent prints, the verdict is consistent, bounded
// and never negative.
func FuzzReader(f *testing.F) {
	f.Add([]byte(initLine+"\n"+spoke+"\n"+good), 0)
	f.Add([]byte(`{"type":"result","model_usage_since_last_result":{"m":{"costUSD":1e300,"inputTokens":-1}},"permission_denials":[{"tool_name":"W"}],"errors":[1]}`), 1)
	f.Add([]byte("{\"type\":\"assistant\",\"message\":{\"content\":[null,{\"type\":\"text\",\"text\":\"\xff\"}],\"usage\":null}}\n{"), -1)
	for _, name := range []string{"write", "background", "drop"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 0)
	}
	f.Fuzz(func(t *testing.T, out []byte, code int) {
		r := Harness{}.Reader(harness.Request{Session: "s1"})
		for _, line := range strings.Split(string(out), "\n") {
			r.Line([]byte(line))
			r.Stderr([]byte(line))
		}
		v := r.End(code, "SIGKILL")
		if v.Success != (v.Failure == nil) || v.Success && (code != 0 || !v.ResultSeen || len(v.Denied) > 0) {
			t.Errorf("inconsistent: %+v", v)
		}
		if v.Failure != nil && (v.Failure.Class == "" || v.Failure.Rule == "" || len(v.Failure.Message) > harness.MaxMessage+200) {
			t.Errorf("failure %+v", v.Failure)
		}
		if u := v.Usage; u.Cost < 0 || u.Context < 0 || min(u.Tokens.Input, u.Tokens.Output, u.Tokens.CacheRead, u.Tokens.CacheCreation) < 0 {
			t.Errorf("usage %+v", u)
		}
	})
}

// A message that is whole counts as the agent's file of the session has it, and one that was
// cut as it was printed; so does all that a transcript tells without its files.
func TestATurnWithoutAResultHasTheFiguresOfTheAgentsFile(t *testing.T) {
	t.Parallel()
	req := harness.Request{Home: t.TempDir(), Environ: []string{"ANTHROPIC_API_KEY=k"}}
	line := func(id, stop string, output int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":"m","content":[{"type":"text","text":%q}],"stop_reason":%s,"usage":{"input_tokens":100,"output_tokens":%d}}}`, id, strings.Repeat("x", 80), stop, output)
	}
	dir := filepath.Join(req.Home, ".claude", "projects", "-w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := strings.Join([]string{line("before", `"end_turn"`, 1000), line("whole", `"tool_use"`, 50), line("whole", `"tool_use"`, 50), `{"type":"user"}`, line("cut", "null", 2), "{"}, "\n")
	if err := os.WriteFile(filepath.Join(dir, "s1.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := []string{`{"type":"system","subtype":"init","session_id":"s1"}`, line("whole", "null", 1), line("cut", "null", 1)}
	if v, _ := judge(req, -1, "SIGKILL", lines...); v.Usage.Tokens.Output != 50+20 || v.Usage.Tokens.Input != 200 {
		t.Errorf("%+v", v.Usage)
	}
	result := `{"type":"result","subtype":"success","usage":{"input_tokens":200,"output_tokens":61}}`
	if v, _ := judge(req, 0, "", append(lines, result)...); v.Usage.Tokens.Output != 61 {
		t.Errorf("with a result: %+v", v.Usage)
	}
	if v, _ := judge(harness.Request{Environ: []string{}}, -1, "SIGKILL", lines...); v.Usage.Tokens.Output != 20+20 {
		t.Errorf("of a transcript: %+v", v.Usage)
	}
}

// The output of an answer counts as soon as its tools have ended, not at the end of the turn
// only: what the model has thought is in no text that the agent prints.
func TestAnAnswerCountsInFullBeforeTheNextOne(t *testing.T) {
	t.Parallel()
	req := harness.Request{Home: t.TempDir(), Environ: []string{"ANTHROPIC_API_KEY=k"}}
	dir := filepath.Join(req.Home, ".claude", "projects", "-w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "s1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	line := func(id, stop string, output int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":"m","content":[{"type":"text","text":"I do it."}],"stop_reason":%s,"usage":{"input_tokens":100,"output_tokens":%d}}}`, id, stop, output)
	}
	const tool = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}`
	r := Harness{}.Reader(req)
	var outputs []int64
	for _, step := range []struct{ printed, kept string }{
		{`{"type":"system","subtype":"init","session_id":"s1"}`, line("before", `"end_turn"`, 1000) + "\n"},
		{line("a", "null", 1), line("a", `"tool_use"`, 500)}, // its end comes later
		{tool, "\n"},
		{line("b", "null", 1), line("b", `"tool_use"`, 30) + "\n"},
		{tool, ""},
		{line("c", "null", 1), ""},
	} {
		if _, err := file.WriteString(step.kept); err != nil {
			t.Fatal(err)
		}
		for _, o := range r.Line([]byte(step.printed)) {
			if u, is := o.(harness.Usage); is {
				outputs = append(outputs, u.Tokens.Output)
			}
		}
	}
	if want := []int64{2, 500, 502, 530, 532}; !slices.Equal(outputs, want) {
		t.Errorf("the outputs seen live are %v, want %v", outputs, want)
	}
	if v := r.End(-1, "SIGKILL"); v.Usage.Tokens.Output != 532 {
		t.Errorf("at the end %+v", v.Usage)
	}
}

// While the tools of an answer work its file is read: the answer counts in full, once, whether
// its lines came before that or come later.
func TestAnAnswerCountsInFullWhileItsToolsWork(t *testing.T) {
	t.Parallel()
	req := harness.Request{Home: t.TempDir(), Environ: []string{"ANTHROPIC_API_KEY=k"}}
	dir := filepath.Join(req.Home, ".claude", "projects", "-w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "s1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	line := func(id, stop string, output int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":"m","content":[{"type":"text","text":"I do it."}],"stop_reason":%s,"usage":{"input_tokens":100,"output_tokens":%d}}}`, id, stop, output)
	}
	r := Harness{}.Reader(req)
	var outputs []int64
	for _, step := range []struct{ kept, printed string }{ // nothing is printed where the file is looked at
		{line("before", `"end_turn"`, 1000) + "\n", ""},
		{"", `{"type":"system","subtype":"init","session_id":"s1"}`},
		{"", line("a", "null", 1)},
		{line("a", `"tool_use"`, 500) + "\n", ""},
		{"", ""},
		{line("b", `"tool_use"`, 30) + "\n", ""},
		{"", line("b", "null", 1)},
		{"", line("b", "null", 1)},
		{"", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}`},
	} {
		if _, err := file.WriteString(step.kept); err != nil {
			t.Fatal(err)
		}
		seen := r.(harness.Polled).Poll
		if step.printed != "" {
			seen = func() []harness.Observation { return r.Line([]byte(step.printed)) }
		}
		for _, o := range seen() {
			if u, is := o.(harness.Usage); is {
				outputs = append(outputs, u.Tokens.Output)
			}
		}
	}
	if want := []int64{2, 500, 530, 530, 530}; !slices.Equal(outputs, want) {
		t.Errorf("the outputs seen live are %v, want %v", outputs, want)
	}
	if v := r.End(-1, "SIGKILL"); v.Usage.Tokens.Output != 530 || v.Usage.Tokens.Input != 200 {
		t.Errorf("at the end %+v", v.Usage)
	}
}
