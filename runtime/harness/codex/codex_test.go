package codex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/internal/programtest"
	kinds "hank/plan/kind"
	"hank/plan/variables"
	"hank/runtime/harness"
)

// request is one that Command accepts.
func request(t *testing.T, change func(*harness.Request)) harness.Request {
	t.Helper()
	req := harness.Request{
		Prompt: "do it", Workspace: "/w", Home: t.TempDir(), Temp: "/t", AutoCompact: true,
		Environ: []string{"PATH=/bin", "HOME=/nobody", "CODEX_API_KEY=k"},
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

const (
	options  = "exec --json --ignore-user-config --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox"
	silenced = " -c analytics.enabled=false -c check_for_update_on_startup=false -c features.plugins=false -c features.apps=false -c features.remote_plugin=false -c features.multi_agent=false"
	common   = options + silenced
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*harness.Request){
		"codex " + common + " -":            func(*harness.Request) {},
		"/opt/c " + common + " --model m -": func(r *harness.Request) { r.Agent.Path, r.Model = "/opt/c", "m" },
		"/mine/c " + common + " -":          func(r *harness.Request) { r.Environ = append(r.Environ, executableVariable+"=/mine/c") },
		"/codons/c " + common + " -":        func(r *harness.Request) { r.Env = map[string]string{executableVariable: "/codons/c"} },
		"codex " + common + " resume id -":  func(r *harness.Request) { r.Session = "id" },
		"codex " + common + ` -c model_reasoning_effort="high" --model m resume id -`: func(r *harness.Request) {
			r.Effort, r.Model, r.Session = "high", "m", "id"
		},
		"codex " + common + " -c model_auto_compact_token_limit=9223372036854775807 -": func(r *harness.Request) { r.AutoCompact = false },
		"codex " + common + ` -c developer_instructions="a \"b\"\n<c>\u007f" -`:        func(r *harness.Request) { r.SystemPrompt = "a \"b\"\n<c>\x7f" },
		"codex " + common + ` -c model_provider="hank" -c model_providers.hank.name="OPENAI_BASE_URL" -c model_providers.hank.base_url="http://g/v1"` +
			` -c model_providers.hank.wire_api="responses" -c model_providers.hank.env_key="CODEX_API_KEY" -`: func(r *harness.Request) {
			r.Environ = append(r.Environ, "OPENAI_BASE_URL=http://no/v1")
			r.Env = map[string]string{"OPENAI_BASE_URL": "http://g/v1"}
		},
	} {
		c, _ := command(t, request(t, change))
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
		"system prompt has 131097": func(r *harness.Request) { r.SystemPrompt = strings.Repeat("x", 131072) },
	} {
		if _, err := (Harness{}).Command(request(t, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// hank validate knows how long the argument of a system prompt is.
func TestTheArgumentOfASystemPromptIsAsLongAsItIsMeasured(t *testing.T) {
	t.Parallel()
	text := "a \"b\" \\ c\n\t\r\b\f\x01\x7f <é> \u2028\u2029 &"
	c, err := (Harness{}).Command(request(t, func(r *harness.Request) { r.SystemPrompt = text }))
	if err != nil {
		t.Fatal(err)
	}
	setting := kinds.Of(Name).SystemSetting
	size, escapes := variables.NewReplacer(variables.Facts{}).Size(variables.Measure(text))
	want := len(setting) + len(`""`) + size + escapes
	if !slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, setting) && len(arg) == want }) {
		t.Errorf("no argument has %d bytes: %q", want, c.Args)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	req := request(t, func(r *harness.Request) {
		r.Environ = append(r.Environ, "CODEX_SANDBOX=seatbelt", "CODEX_THREAD_ID=other", "GOPATH=/go", "OPENAI_API_KEY=o")
		r.Env = map[string]string{"MINE": "1"}
	})
	_, env := command(t, req)
	for name, value := range map[string]string{
		"HOME": req.Home, "CODEX_HOME": filepath.Join(req.Home, ".codex"), "TMPDIR": "/t", "CODEX_API_KEY": "k", "OPENAI_API_KEY": "o",
		"CODEX_SANDBOX": "", "CODEX_THREAD_ID": "", "GOPATH": "/go", "MINE": "1",
	} {
		if env[name] != value {
			t.Errorf("%s is %q, want %q", name, env[name], value)
		}
	}
	if info, err := os.Stat(env["CODEX_HOME"]); err != nil || !info.IsDir() {
		t.Errorf("the agent's directory was not made: %v", err)
	}
	if _, env := command(t, request(t, func(r *harness.Request) {
		r.Env = map[string]string{"HOME": "/codon", "CODEX_HOME": "/codon/c"}
	})); env["HOME"] != "/codon" || env["CODEX_HOME"] != "/codon/c" {
		t.Error("the codon's own variables did not win")
	}
}

// login writes a login of the user and returns the home and the file.
func login(t *testing.T, text string) (home, file string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(home, ".codex", "auth.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return home, file
}

const aLogin = `{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"access_token":"a"}}`

// The order is the agent's own. What it does not know comes last.
func TestWhichCredentialsCount(t *testing.T) {
	t.Parallel()
	home, file := login(t, aLogin)
	own, other := "CODEX_API_KEY=k", "OPENAI_API_KEY=o"
	for name, c := range map[string]struct {
		environ  []string
		provider string
		key      string // that the agent gets
		linked   bool
	}{
		"a key":                        {[]string{own, other, "HOME=" + home}, "openai", "k", false},
		"a login":                      {[]string{"HOME=" + home}, "openai", "", true},
		"a login before the usual key": {[]string{other, "HOME=" + home}, "openai", "", true},
		"the usual key":                {[]string{other, "HOME=/nobody"}, "openai", "o", false},
		"a login is asked for":         {[]string{own, other, "HOME=" + home}, "openai-codex", "", true},
		"a login in another directory": {[]string{"HOME=/nobody", "CODEX_HOME=" + filepath.Dir(file)}, "openai", "", true},
		"nothing":                      {[]string{"HOME=/nobody"}, "openai", "", false},
	} {
		req := request(t, func(r *harness.Request) { r.Environ, r.Provider = c.environ, c.provider })
		_, env := command(t, req)
		target, err := os.Readlink(filepath.Join(req.Home, ".codex", "auth.json"))
		if env["CODEX_API_KEY"] != c.key || (err == nil) != c.linked || c.linked && target != file {
			t.Errorf("%s: key %q, link to %q (%v)", name, env["CODEX_API_KEY"], target, err)
		}
	}
	for text, want := range map[string]bool{aLogin: true, `{"OPENAI_API_KEY":"k"}`: true, `{"OPENAI_API_KEY":null,"tokens":null}`: false, `{}`: false, `not json`: false} {
		home, file := login(t, text)
		files := Harness{}.LoginFiles([]string{"HOME=" + home})
		if want != slices.Equal(files, []string{file}) || !want && files != nil {
			t.Errorf("%s: %v", text, files)
		}
	}
	if files := (Harness{}).LoginFiles([]string{"HOME=" + home, own}); files != nil {
		t.Errorf("with a key the agent writes to %v", files)
	}
}

// The link follows the login that counts, and no file that somebody may need is lost.
func TestALoginIsLinkedAndNeverCopied(t *testing.T) {
	t.Parallel()
	first, firstFile := login(t, aLogin)
	second, secondFile := login(t, aLogin)
	req := request(t, func(r *harness.Request) { r.Environ = []string{"HOME=" + first} })
	link := filepath.Join(req.Home, ".codex", "auth.json")
	for _, c := range []struct{ home, want string }{{first, firstFile}, {first, firstFile}, {second, secondFile}} {
		req.Environ = []string{"HOME=" + c.home}
		command(t, req)
		if target, err := os.Readlink(link); err != nil || target != c.want {
			t.Errorf("the link leads to %q (%v), want %q", target, err, c.want)
		}
	}
	if err := os.WriteFile(link, []byte(`{"renewed":true}`), 0o600); err != nil { // as the agent does
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(secondFile); string(text) != `{"renewed":true}` {
		t.Errorf("a login that was renewed did not reach the user: %s", text)
	}
	req.Environ = []string{"CODEX_API_KEY=k"}
	command(t, req)
	if _, err := os.Lstat(link); err == nil {
		t.Error("with a key the agent still has the login")
	}

	if err := os.WriteFile(link, []byte(aLogin), 0o600); err != nil { // by an agent that renames
		t.Fatal(err)
	}
	command(t, req)
	req.Environ = []string{"HOME=" + first}
	if _, err := (Harness{}).Command(req); err == nil || !strings.Contains(err.Error(), "move it there, or delete it") {
		t.Errorf("a file in the place of the link: %v", err)
	}
	if text, err := os.ReadFile(link); err != nil || string(text) != aLogin {
		t.Errorf("the file in the place of the link was changed: %s, %v", text, err)
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
	good := program("codex", "echo 'codex-cli 0.169.0'")
	bad := program("bad", "echo broken >&2; exit 3")
	old := program("old", "echo codex-cli 0.98.0")
	path, key := "PATH="+dir+":"+os.Getenv("PATH"), "CODEX_API_KEY=k"
	home, file := login(t, aLogin)
	for name, c := range map[string]struct {
		env           []string
		found         bool
		problem, note string
	}{
		"well":           {[]string{path, key}, true, "", ""},
		"the usual key":  {[]string{path, "OPENAI_API_KEY=k"}, true, "", ""},
		"not there":      {[]string{"PATH=/nonexistent", key}, false, "npm install -g @openai/codex", ""},
		"wrong variable": {[]string{path, key, executableVariable + "=/nonexistent"}, false, "/nonexistent", ""},
		"breaks":         {[]string{path, key, executableVariable + "=" + bad}, true, "broken", ""},
		"too old":        {[]string{path, key, executableVariable + "=" + old}, true, "is version 0.98.0, and hank needs 0.169.0", ""},
		"no credentials": {[]string{path, "HOME=/nobody"}, true, "run codex login", ""},
		"a login":        {[]string{path, "HOME=" + home}, true, "", file},
	} {
		got := Harness{}.Check(t.Context(), c.env)
		if got.Found != c.found || (got.Problem == "") != (c.problem == "") || !strings.Contains(got.Problem, c.problem) || (got.Note == "") != (c.note == "") || !strings.Contains(got.Note, c.note) {
			t.Errorf("%s: %+v", name, got)
		}
		if name == "well" && (got.Path != good || got.Version != "0.169.0" || !got.LoggedIn) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
