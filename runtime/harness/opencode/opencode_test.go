package opencode

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
)

// request is one that Command accepts.
func request(t *testing.T, change func(*harness.Request)) harness.Request {
	t.Helper()
	req := harness.Request{
		Prompt: "do it", Workspace: "/w", Home: t.TempDir(), Temp: "/t", AutoCompact: true,
		Provider: "anthropic", Model: "claude-sonnet-4-5", Attempt: "a.1",
		Environ: []string{"PATH=/bin", "HOME=/nobody", "ANTHROPIC_API_KEY=k"},
	}
	if change != nil {
		change(&req)
	}
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

// inline is the inline configuration of a command, as a value of JSON.
func inline(t *testing.T, req harness.Request) map[string]any {
	t.Helper()
	_, env := command(t, req)
	var all map[string]any
	if err := json.Unmarshal([]byte(env[inlineVariable]), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// at is a value in a configuration; nil if it is not there.
func at(all map[string]any, keys ...string) any {
	var value any = all
	for _, key := range keys {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

const common = " run --format json --thinking --auto --agent hank --print-logs --log-level ERROR"

func TestCommandLine(t *testing.T) {
	t.Parallel()
	const model = " --model anthropic/claude-sonnet-4-5"
	for want, change := range map[string]func(*harness.Request){
		"opencode" + common + model + " --title a.1":                    nil,
		"opencode" + common + " --title hank":                           func(r *harness.Request) { r.Model, r.Attempt = "", "" },
		"opencode" + common + " --model openai/gpt-5 --title a.1":       func(r *harness.Request) { r.Provider, r.Model = "openai-codex", "gpt-5" },
		"opencode" + common + model + " --variant high --session ses_1": func(r *harness.Request) { r.Effort, r.Session = "high", "ses_1" },
		"/opt/o" + common + model + " --title a.1":                      func(r *harness.Request) { r.Agent.Path = "/opt/o" },
		"/mine/o" + common + model + " --title a.1":                     func(r *harness.Request) { r.Environ = append(r.Environ, executableVariable+"=/mine/o") },
		"/codons/o" + common + model + " --title a.1":                   func(r *harness.Request) { r.Env = map[string]string{executableVariable: "/codons/o"} },
	} {
		req := request(t, change)
		c, _ := command(t, req)
		if got := strings.Join(c.Args, " "); got != want {
			t.Errorf("the command is\n%s, want\n%s", got, want)
		}
		if string(c.Stdin) != "do it" || c.Dir != "/w" || c.StopSignal == 0 || c.StopGrace == 0 || c.Session != req.Session {
			t.Errorf("%+v", c)
		}
	}
}

func TestCommandRefusesWhatTheAgentCannotTake(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*harness.Request){
		"prompt is empty":                    func(r *harness.Request) { r.Prompt = " \n" },
		"names no workspace":                 func(r *harness.Request) { r.Workspace = "" },
		"OPENCODE_CONFIG_CONTENT is no JSON": func(r *harness.Request) { r.Environ = append(r.Environ, "OPENCODE_CONFIG_CONTENT={ // mine\n}") },
	} {
		if _, err := (Harness{}).Command(request(t, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	req := request(t, func(r *harness.Request) {
		r.Environ = append(r.Environ, "OPENCODE=1", "OPENCODE_PID=7", "XDG_DATA_HOME=/d", "XDG_CONFIG_HOME=/c", "GOPATH=/go", "OPENCODE_CONFIG=/my.json", "OPENCODE_DISABLE_MODELS_FETCH=0")
		r.Env = map[string]string{"MINE": "1"}
	})
	_, env := command(t, req)
	for name, value := range map[string]string{
		"HOME": req.Home, "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "", "TMPDIR": "/t", "ANTHROPIC_API_KEY": "k", "OPENCODE": "", "OPENCODE_PID": "",
		"GOPATH": "/go", "MINE": "1", "OPENCODE_CONFIG": "/my.json",
		"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_MODELS_FETCH": "0",
	} {
		if env[name] != value {
			t.Errorf("%s is %q, want %q", name, env[name], value)
		}
	}
	req = request(t, func(r *harness.Request) {
		r.Env = map[string]string{"HOME": "/codon", inlineVariable: `{"theme":"mine","snapshot":true}`}
	})
	if _, env := command(t, req); env["HOME"] != "/codon" {
		t.Error("the codon's own variables did not win")
	}
	if all := inline(t, req); at(all, "theme") != "mine" || at(all, "snapshot") != false || at(all, "agent", "hank") == nil {
		t.Errorf("the codon's own configuration: %v", all)
	}
	key := func(r *harness.Request) { r.Environ = append(r.Environ, "OPENAI_API_KEY=o") }
	if _, env := command(t, request(t, key)); env["OPENAI_API_KEY"] != "o" {
		t.Error("a key did not reach the agent")
	}
	if _, env := command(t, request(t, func(r *harness.Request) { key(r); r.Provider = "openai-codex" })); env["OPENAI_API_KEY"] != "" {
		t.Error("a login was asked for, and the agent has a key")
	}
}

func TestInlineConfiguration(t *testing.T) {
	t.Parallel()
	all := inline(t, request(t, nil))
	if got := at(all, "agent", "hank", "permission"); !reflect.DeepEqual(got, map[string]any{"*": "allow", "doom_loop": "allow", "external_directory": "allow", "question": "deny", "task": "deny"}) {
		t.Errorf("permissions: %v", got)
	}
	if at(all, "share") != "disabled" || at(all, "snapshot") != false || at(all, "autoupdate") != false || at(all, "compaction") != nil || at(all, "provider") != nil || at(all, "instructions") != nil {
		t.Errorf("%v", all)
	}
	if all := inline(t, request(t, func(r *harness.Request) { r.AutoCompact = false })); at(all, "compaction", "auto") != false {
		t.Errorf("compaction is not disabled: %v", all)
	}

	req := request(t, func(r *harness.Request) {
		r.SystemPrompt = "Be brief."
		r.Environ = append(r.Environ, `OPENCODE_CONFIG_CONTENT={"share":"auto","agent":{"mine":{"mode":"primary"},"hank":{"permission":{"bash":"deny"},"prompt":"x"}},"instructions":["mine.md"],"provider":{"lab":{"name":"Lab"}}}`)
	})
	all = inline(t, req)
	if at(all, "share") != "disabled" || at(all, "agent", "mine", "mode") != "primary" || at(all, "agent", "hank", "prompt") != nil || at(all, "agent", "hank", "permission", "bash") != nil || at(all, "provider", "lab", "name") != "Lab" ||
		!reflect.DeepEqual(at(all, "instructions"), []any{"mine.md", instructions(req)}) {
		t.Errorf("laid over the user's: %v", all)
	}
	if text, err := os.ReadFile(instructions(req)); err != nil || string(text) != "Be brief." {
		t.Errorf("the system prompt is %q, %v", text, err)
	}
	if all := inline(t, request(t, func(r *harness.Request) { r.Home = req.Home })); at(all, "instructions") != nil {
		t.Errorf("the system prompt of another codon stays: %v", all)
	}
}

func TestTheAddressOfAProvider(t *testing.T) {
	t.Parallel()
	for variable, c := range map[string]struct{ provider, want string }{
		"ANTHROPIC_BASE_URL=http://g":      {"anthropic", "http://g/v1"},
		"ANTHROPIC_BASE_URL=http://g/v1/":  {"anthropic", "http://g/v1"},
		"ANTHROPIC_BASE_URL=http://g/a/":   {"anthropic", "http://g/a/v1"},
		"OPENAI_BASE_URL=http://g/v1":      {"openai", "http://g/v1"},
		"OPENAI_BASE_URL=http://g/v2":      {"openai-codex", "http://g/v2"},
		"AMAZON_BEDROCK_BASE_URL=http://g": {"amazon-bedrock", "http://g"},
		"GOOGLE_GEMINI_BASE_URL=http://g":  {"google", "http://g/v1beta"},
		"ANTHROPIC_BASE_URL=http://g/x":    {"openai", ""},
	} {
		all := inline(t, request(t, func(r *harness.Request) {
			r.Provider, r.Env = c.provider, map[string]string{}
			r.Environ = append(r.Environ, variable)
		}))
		provider := strings.TrimSuffix(c.provider, "-codex")
		if got, _ := at(all, "provider", provider, "options", "baseURL").(string); got != c.want {
			t.Errorf("%s for %s: %q, want %q", variable, c.provider, got, c.want)
		}
	}
}

// user writes files into the home of a user.
func user(t *testing.T, files map[string]string) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

const (
	authFile   = ".local/share/opencode/auth.json"
	configFile = ".config/opencode/opencode.json"
	aLogin     = `{"anthropic":{"type":"api","key":"k"}}`
)

func TestLoginsAndConfigurationAreLinkedAndNeverCopied(t *testing.T) {
	t.Parallel()
	first := user(t, map[string]string{authFile: aLogin, configFile: `{"provider":{}}`})
	second := user(t, map[string]string{"data/opencode/auth.json": aLogin})
	req := request(t, nil)
	leads := func(what, name, want string) {
		t.Helper()
		if target, _ := os.Readlink(filepath.Join(req.Home, name)); target != want {
			t.Errorf("%s: %s leads to %q, want %q", what, name, target, want)
		}
	}
	for range 2 {
		req.Environ = []string{"HOME=" + first}
		command(t, req)
		leads("a login", authFile, filepath.Join(first, authFile))
		leads("a configuration", configFile, filepath.Join(first, configFile))
	}
	req.Environ = []string{"HOME=/nobody", "XDG_DATA_HOME=" + filepath.Join(second, "data")}
	command(t, req)
	leads("a login elsewhere", authFile, filepath.Join(second, "data/opencode/auth.json"))
	leads("no configuration", configFile, "")
	if err := os.WriteFile(filepath.Join(req.Home, authFile), []byte(`{"renewed":{}}`), 0o600); err != nil { // as the agent does
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(second, "data/opencode/auth.json")); string(text) != `{"renewed":{}}` {
		t.Errorf("a login that was renewed did not reach the user: %s", text)
	}
	req.Environ = []string{"HOME=/nobody"}
	command(t, req)
	leads("no login", authFile, "")

	if err := os.WriteFile(filepath.Join(req.Home, authFile), []byte(aLogin), 0o600); err != nil { // by an agent that renames
		t.Fatal(err)
	}
	command(t, req)
	req.Environ = []string{"HOME=" + first}
	if _, err := (Harness{}).Command(req); err == nil || !strings.Contains(err.Error(), "move it there, or delete it") {
		t.Errorf("a file in the place of the link: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(req.Home, authFile)); err != nil || string(text) != aLogin {
		t.Errorf("the file in the place of the link was changed: %s, %v", text, err)
	}
	if files := (Harness{}).LoginFiles([]string{"HOME=" + first}); !slices.Equal(files, []string{filepath.Join(first, authFile)}) {
		t.Errorf("the agent writes to %v", files)
	}
	for _, text := range []string{"{}", "no json"} {
		if files := (Harness{}).LoginFiles([]string{"HOME=" + user(t, map[string]string{authFile: text})}); files != nil {
			t.Errorf("%s: the agent writes to %v", text, files)
		}
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
	good := program("opencode", "echo 1.18.33")
	bad := program("bad", "echo broken >&2; exit 3")
	old := program("old", "echo 1.2.9")
	path, key := "PATH="+dir+":"+os.Getenv("PATH"), "OPENROUTER_API_KEY=k"
	login, config := user(t, map[string]string{authFile: aLogin}), user(t, map[string]string{configFile: "{}"})
	npm := user(t, map[string]string{"opencode-ai/package.json": `{"name":"opencode-ai","version":"2.0.1"}`, "opencode-ai/bin/o": "no program"})
	if err := errors.Join(os.Chmod(filepath.Join(npm, "opencode-ai/bin/o"), 0o755), os.Symlink(filepath.Join(npm, "opencode-ai/bin/o"), filepath.Join(npm, "opencode"))); err != nil {
		t.Fatal(err)
	}
	if got := (Harness{}).Check(t.Context(), []string{"PATH=" + npm, key}); got.Version != "2.0.1" || got.Problem != "" {
		t.Errorf("a package of npm: %+v", got)
	}
	home := user(t, map[string]string{configFile: `{"provider":{"x":{"options":{"apiKey":"{file:~/key}"}}}}`})
	for name, c := range map[string]struct {
		env           []string
		found, in     bool
		problem, note string
	}{
		"well":             {[]string{path, key}, true, true, "", ""},
		"another key":      {[]string{path, "AWS_PROFILE=p"}, true, true, "", ""},
		"not there":        {[]string{"PATH=/nonexistent", key}, false, false, "npm install -g opencode-ai", ""},
		"wrong variable":   {[]string{path, key, executableVariable + "=/nonexistent"}, false, false, "/nonexistent", ""},
		"breaks":           {[]string{path, key, executableVariable + "=" + bad}, true, false, "broken", ""},
		"too old":          {[]string{path, key, executableVariable + "=" + old}, true, false, "is version 1.2.9, and hank needs 1.18.33", ""},
		"no credentials":   {[]string{path, "HOME=/nobody"}, true, false, "", "run opencode auth login"},
		"a login":          {[]string{path, "HOME=" + login}, true, true, "", authFile},
		"a configuration":  {[]string{path, "HOME=" + config}, true, true, "", configFile},
		"another home":     {[]string{path, key, "HOME=" + home}, true, true, "write the whole path", ""},
		"one in variables": {[]string{path, "HOME=/nobody", "OPENCODE_CONFIG=" + filepath.Join(config, configFile)}, true, true, "", configFile},
	} {
		got := Harness{}.Check(t.Context(), c.env)
		if got.Found != c.found || (got.Credentials != "") != c.in || got.LoggedIn != c.in || (got.Problem == "") != (c.problem == "") || !strings.Contains(got.Problem, c.problem) || (got.Note == "") != (c.note == "") || !strings.Contains(got.Note, c.note) {
			t.Errorf("%s: %+v", name, got)
		}
		if name == "well" && (got.Path != good || got.Version != "1.18.33") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The agent would never end in another directory than that of the session.
func TestASessionIsContinuedInItsDirectoryOnly(t *testing.T) {
	t.Parallel()
	const session = "ses_e05a2d99dffe2zVfyKs01FI1Va"
	began := time.UnixMilli(1795201771106)
	if got, known := beginning(session, began.Add(500*24*time.Hour)); !known || !got.Equal(began) {
		t.Errorf("the session was begun at %v (%d), %v, want %v", got, got.UnixMilli(), known, began)
	}
	for _, id := range []string{"", "ses_", "other", "ses_zzzzzzzzzzzz00"} {
		if _, known := beginning(id, began); known {
			t.Errorf("%q has a time", id)
		}
	}
	req := request(t, nil)
	start := func(after time.Duration, workspace, session string) error {
		req.Workspace, req.Session = workspace, session
		return prepare(req, began.Add(after))
	}
	if err := start(0, "/old", session); err != nil {
		t.Errorf("a home without a list: %v", err)
	}
	if place := (Harness{}).SessionPlace(req, session); place != "/old" {
		t.Errorf("the session was begun in %q", place)
	}
	for _, c := range []struct {
		after              time.Duration
		workspace, session string
		want               string
	}{
		{time.Minute, "/old", session, ""},
		{2 * time.Minute, "/new", session, "was begun in /old"},
		{3 * time.Minute, "/new", session, "was begun in /old"},
		{3 * time.Minute, "/new", "", ""},
		{3 * time.Minute, "/new", "ses_of-another-form", ""},
		{4 * time.Minute, "/old", session, ""},
	} {
		err := start(c.after, c.workspace, c.session)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
