package pi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/internal/programtest"
	"hank/runtime/harness"
)

// request is one that Command accepts.
func request(t *testing.T, change func(*harness.Request)) harness.Request {
	t.Helper()
	req := harness.Request{
		Prompt: "do it", Provider: "anthropic", Model: "m", Workspace: t.TempDir(), Home: t.TempDir(), Temp: t.TempDir(), AutoCompact: true,
		Environ: []string{"PATH=/bin", "HOME=/nobody", "ANTHROPIC_API_KEY=k"},
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

func TestCommandLine(t *testing.T) {
	t.Parallel()
	const common = " --print --mode json --no-extensions --no-prompt-templates --no-themes --session-dir HOME/.pi/agent/sessions"
	const model = " --provider anthropic --model m"
	for want, change := range map[string]func(*harness.Request){
		"pi" + common + model:      func(*harness.Request) {},
		"/opt/p" + common + model:  func(r *harness.Request) { r.Agent.Path = "/opt/p" },
		"/mine/p" + common + model: func(r *harness.Request) { r.Environ = append(r.Environ, executableVariable+"=/mine/p") },
		"/codons/p" + common + model: func(r *harness.Request) {
			r.Env = map[string]string{executableVariable: "/codons/p"}
		},
		"pi" + common + " --provider azure-openai-responses --model m": func(r *harness.Request) { r.Provider = "azure" },
		"pi" + common + model + " --thinking low":                      func(r *harness.Request) { r.Effort = "low" },
		"pi" + common + model + " --thinking xhigh":                    func(r *harness.Request) { r.Effort = "max" },
		"pi" + common + model + " --session id":                        func(r *harness.Request) { r.Session = "id" },
		"pi" + common + model + " --append-system-prompt TEMP/hank-system-prompt.md": func(r *harness.Request) {
			r.SystemPrompt = strings.Repeat("x", 200_000)
		},
		"pi" + common + " --extension HOME/.pi/agent/hank-provider.mjs" + model: func(r *harness.Request) {
			r.Env = map[string]string{"ANTHROPIC_BASE_URL": "http://g"}
		},
	} {
		req := request(t, change)
		c, _ := command(t, req)
		got := strings.NewReplacer(req.Home, "HOME", req.Temp, "TEMP").Replace(strings.Join(c.Args, " "))
		if got != want {
			t.Errorf("the command is\n%s, want\n%s", got, want)
		}
		if string(c.Stdin) != "do it" || c.Dir != req.Workspace || c.StopSignal == 0 || c.StopGrace == 0 {
			t.Errorf("%+v", c)
		}
	}
}

// What the agent reads instead of arguments is written anew for each attempt.
func TestFilesOfAnAttempt(t *testing.T) {
	t.Parallel()
	req := request(t, func(r *harness.Request) {
		r.SystemPrompt, r.AutoCompact = "/etc/passwd", false // which is no file to be read
		r.Environ = append(r.Environ, "ANTHROPIC_BASE_URL=http://g/\"x\"")
	})
	command(t, req)
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := read(filepath.Join(req.Temp, "hank-system-prompt.md")); got != "/etc/passwd" {
		t.Errorf("the system prompt is %q", got)
	}
	if got := read(filepath.Join(req.Home, ".pi", "agent", "settings.json")); !strings.Contains(got, `"compaction":{"enabled":false}`) {
		t.Errorf("the settings are %s", got)
	}
	if got := read(filepath.Join(req.Home, ".pi", "agent", "hank-provider.mjs")); !strings.Contains(got, `pi.registerProvider("anthropic", { baseUrl: "http://g/\"x\"" });`) {
		t.Errorf("the provider is %s", got)
	}
	req.AutoCompact = true
	command(t, req)
	if got := read(filepath.Join(req.Home, ".pi", "agent", "settings.json")); !strings.Contains(got, `"compaction":{"enabled":true}`) || !strings.Contains(got, `"retry":{"provider":{"maxRetries":0}}`) {
		t.Errorf("the settings are %s", got)
	}
}

func TestAddressesOfProviders(t *testing.T) {
	t.Parallel()
	env := harness.Environ{
		"ANTHROPIC_BASE_URL": "http://a", "OPENAI_BASE_URL": "http://o/v1", "GOOGLE_GEMINI_BASE_URL": "http://g/", "VERCEL_AI_GATEWAY_BASE_URL": "http://v",
		"AZURE_OPENAI_BASE_URL": "http://z",
	}
	for provider, want := range map[string]string{
		"anthropic": "http://a", "openai": "http://o/v1", "google": "http://g/v1beta", "vercel-ai-gateway": "http://v", "groq": "", "": "",
		"azure-openai-responses": "", // the agent reads its variable itself
	} {
		if got := gateway(env, provider); got != want {
			t.Errorf("%q: %q, want %q", provider, got, want)
		}
	}
	if got := gateway(harness.Environ{}, "google"); got != "" {
		t.Errorf("google without an address: %q", got)
	}
}

func TestCommandRefusesWhatTheAgentCannotTake(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*harness.Request){
		"prompt is empty":           func(r *harness.Request) { r.Prompt = " \n" },
		"names no workspace":        func(r *harness.Request) { r.Workspace = "" },
		"names no home":             func(r *harness.Request) { r.Home = "" },
		"is no id of a session":     func(r *harness.Request) { r.Session = "../x" },
		`"x.jsonl" is no id of a s`: func(r *harness.Request) { r.Session = "x.jsonl" },
	} {
		if _, err := (Harness{}).Command(request(t, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	user := t.TempDir()
	aws := filepath.Join(user, ".aws", "config")
	if err := os.MkdirAll(filepath.Dir(aws), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(aws, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	req := request(t, func(r *harness.Request) {
		r.Environ = append(r.Environ, "HOME="+user, nestedVariable+"=true", sessionsVariable+"=/other", "GOPATH=/go", "AWS_PROFILE=p")
		r.Env = map[string]string{"MINE": "1"}
		r.Provider = "amazon-bedrock"
	})
	_, env := command(t, req)
	for name, value := range map[string]string{
		"HOME": req.Home, directoryVariable: filepath.Join(req.Home, ".pi", "agent"), "TMPDIR": req.Temp, "ANTHROPIC_API_KEY": "k",
		nestedVariable: "", sessionsVariable: "", "GOPATH": "/go", "MINE": "1", "PI_OFFLINE": "1", "PI_TELEMETRY": "0",
		"AWS_CONFIG_FILE": aws, "AWS_SHARED_CREDENTIALS_FILE": "",
	} {
		if env[name] != value {
			t.Errorf("%s is %q, want %q", name, env[name], value)
		}
	}
	if info, err := os.Stat(filepath.Join(env[directoryVariable], "sessions")); err != nil || !info.IsDir() {
		t.Errorf("the agent's directory was not made: %v", err)
	}
	if _, env := command(t, request(t, func(r *harness.Request) { r.Env = map[string]string{"HOME": "/codon"} })); env["HOME"] != "/codon" || env["AWS_CONFIG_FILE"] != "" {
		t.Error("the codon's own variables did not win")
	}
}

// user makes files in the agent's directory of a user, and returns the home.
func user(t *testing.T, files map[string]string) (home string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Join(home, ".pi", "agent"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, ".pi", "agent", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

const (
	aLogin  = `{"anthropic":{"type":"oauth","access":"a","refresh":"r","expires":1}}`
	aKey    = `{"anthropic":{"type":"api_key","key":"k"}}`
	aModels = `{"providers":{"lab":{"baseUrl":"http://lab","api":"openai-completions","apiKey":"k","models":[{"id":"small"}]}}}`
)

// A key counts before a login, as for the other agents. The login is then not there at all,
// because the agent itself would take it first.
func TestWhichCredentialsCount(t *testing.T) {
	t.Parallel()
	both := user(t, map[string]string{loginName: aLogin, modelsName: aModels})
	const key = "ANTHROPIC_API_KEY=k"
	for name, c := range map[string]struct {
		environ       []string
		provider      string
		login, models bool // linked
		gateway       bool // an address of the environment counts
	}{
		"a key":                        {[]string{key, "HOME=" + both}, "anthropic", false, true, true},
		"a login":                      {[]string{"HOME=" + both}, "anthropic", true, true, false},
		"a key of another provider":    {[]string{"OPENAI_API_KEY=o", "HOME=" + both}, "anthropic", true, true, false},
		"a login of another provider":  {[]string{key, "HOME=" + both}, "lab", true, true, false},
		"a login in another directory": {[]string{"HOME=/nobody", directoryVariable + "=" + both + "/.pi/agent"}, "anthropic", true, true, false},
		"a directory of the home":      {[]string{"HOME=" + both, directoryVariable + "=~/.pi/agent"}, "anthropic", true, true, false},
		"a key in the file":            {[]string{"HOME=" + user(t, map[string]string{loginName: aKey})}, "anthropic", true, false, true},
		"nothing":                      {[]string{"HOME=/nobody"}, "anthropic", false, false, true},
	} {
		req := request(t, func(r *harness.Request) {
			r.Environ, r.Provider = append(c.environ, "ANTHROPIC_BASE_URL=http://g"), c.provider
		})
		args, _ := command(t, req)
		for file, want := range map[string]bool{loginName: c.login, modelsName: c.models} {
			target, err := os.Readlink(filepath.Join(req.Home, ".pi", "agent", file))
			if (err == nil) != want || want && !strings.HasSuffix(target, "/.pi/agent/"+file) {
				t.Errorf("%s: %s leads to %q, %v", name, file, target, err)
			}
		}
		if got := slices.Contains(args.Args, "--extension"); got != c.gateway {
			t.Errorf("%s: another address: %v", name, got)
		}
	}
}

func TestLoginFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{aLogin: true, aKey: false, `{}`: false, `not json`: false, `[]`: false} {
		home := user(t, map[string]string{loginName: text})
		files := Harness{}.LoginFiles([]string{"HOME=" + home})
		if want != slices.Equal(files, []string{filepath.Join(home, ".pi", "agent")}) || !want && files != nil {
			t.Errorf("%s: %v", text, files)
		}
	}
	if files := (Harness{}).LoginFiles([]string{"HOME=/nobody"}); files != nil {
		t.Errorf("without a login: %v", files)
	}
}

// The link follows the login that counts, and no file that somebody may need is lost.
func TestALoginIsLinkedAndNeverCopied(t *testing.T) {
	t.Parallel()
	first, second := user(t, map[string]string{loginName: aLogin}), user(t, map[string]string{loginName: aLogin})
	req := request(t, func(r *harness.Request) { r.Environ = []string{"HOME=" + first} })
	link := filepath.Join(req.Home, ".pi", "agent", loginName)
	leads := func(home string) {
		t.Helper()
		command(t, req)
		if got, err := os.Readlink(link); err != nil || got != filepath.Join(home, ".pi", "agent", loginName) {
			t.Errorf("the link leads to %q, %v", got, err)
		}
	}
	leads(first)
	leads(first)
	req.Environ = []string{"HOME=" + second}
	leads(second)
	req.Environ = append(req.Environ, "ANTHROPIC_API_KEY=k")
	command(t, req)
	if _, err := os.Lstat(link); !os.IsNotExist(err) {
		t.Errorf("with a key the login is still there: %v", err)
	}
	if err := os.WriteFile(link, []byte("{}"), 0o600); err != nil { // as the agent does
		t.Fatal(err)
	}
	command(t, req)
	req.Environ = []string{"HOME=" + first}
	leads(first)

	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(link, []byte(aLogin), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Harness{}).Command(req); err == nil || !strings.Contains(err.Error(), link) || !strings.Contains(err.Error(), first) {
		t.Errorf("a file in the place of the link: %v", err)
	}
	if text, err := os.ReadFile(link); err != nil || string(text) != aLogin {
		t.Errorf("the file in the place of the link was changed: %s, %v", text, err)
	}
	req.Environ = []string{directoryVariable + "=" + filepath.Dir(link)}
	if _, err := (Harness{}).Command(req); err != nil { // hank inside of an agent of its own
		t.Error(err)
	}
}

// sessionFile makes a file of a session in a home.
func sessionFile(t *testing.T, home, id, cwd string) string {
	t.Helper()
	path := filepath.Join(home, ".pi", "agent", "sessions", "2026-11-26T20-00-00-000Z_"+id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	header, _ := json.Marshal(map[string]any{"type": "session", "version": 3, "id": id, "cwd": cwd, "parentSession": "p"})
	if err := os.WriteFile(path, append(header, []byte("\n{\"type\":\"message\"}\n{\"cut")...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// By an id the agent takes what begins with it, and the directory of a session counts more
// than the one that it is started in.
func TestASessionIsContinuedByItsFile(t *testing.T) {
	t.Parallel()
	req := request(t, func(r *harness.Request) { r.Session = "abc" })
	continued := func() string {
		t.Helper()
		c, _ := command(t, req)
		return c.Args[slices.Index(c.Args, "--session")+1]
	}
	other := sessionFile(t, req.Home, "abcdef", req.Workspace)
	if got := continued(); got != "abc" {
		t.Errorf("a session that is not there is %q", got)
	}
	path := sessionFile(t, req.Home, "abc", "/old/place")
	if got := continued(); got != path {
		t.Errorf("the session is %q, want %q", got, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	var header map[string]any
	if err := json.Unmarshal([]byte(first), &header); err != nil || header["cwd"] != req.Workspace || header["id"] != "abc" || header["version"] != 3.0 || header["parentSession"] != "p" {
		t.Errorf("the session begins with %s, %v", first, err)
	}
	if rest != "{\"type\":\"message\"}\n{\"cut" {
		t.Errorf("the session goes on with %q", rest)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(req.Workspace, alias); err != nil {
		t.Fatal(err)
	}
	req.Workspace = alias
	continued()
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("a session of the workspace was written anew: %v", err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if _, err := (Harness{}).Command(req); err == nil || !strings.Contains(err.Error(), "another session") {
		t.Errorf("a file of another session: %v", err)
	}
	if err := os.WriteFile(path, []byte("no session"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Harness{}).Command(req); err == nil || !strings.Contains(err.Error(), "does not begin as one") {
		t.Errorf("a file that is none: %v", err)
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
	good := program("pi", "echo 0.73.1 >&2") // as it does without a terminal
	bad := program("bad", "echo broken >&2; exit 3")
	old := program("old", "echo 0.72.9")
	path, key := "PATH="+dir+":"+os.Getenv("PATH"), "GROQ_API_KEY=k"
	login, models := user(t, map[string]string{loginName: aLogin}), user(t, map[string]string{modelsName: aModels})
	for name, c := range map[string]struct {
		env           []string
		found         bool
		problem, note string
	}{
		"well":           {[]string{path, key}, true, "", ""},
		"own models":     {[]string{path, "HOME=" + models}, true, "", ""},
		"not there":      {[]string{"PATH=/nonexistent", key}, false, "npm install -g @mariozechner/pi-coding-agent", ""},
		"wrong variable": {[]string{path, key, executableVariable + "=/nonexistent"}, false, "/nonexistent", ""},
		"breaks":         {[]string{path, key, executableVariable + "=" + bad}, true, "broken", ""},
		"too old":        {[]string{path, key, executableVariable + "=" + old}, true, "is version 0.72.9, and hank needs 0.73.1", ""},
		"no credentials": {[]string{path, "HOME=/nobody"}, true, "use /login in pi", ""},
		"an empty login": {[]string{path, "HOME=" + user(t, map[string]string{loginName: "{}"})}, true, "use /login in pi", ""},
		"a login":        {[]string{path, "HOME=" + login}, true, "", filepath.Join(login, ".pi", "agent", loginName)},
	} {
		got := Harness{}.Check(t.Context(), c.env)
		if got.Found != c.found || (got.Problem == "") != (c.problem == "") || !strings.Contains(got.Problem, c.problem) || (got.Note == "") != (c.note == "") || !strings.Contains(got.Note, c.note) {
			t.Errorf("%s: %+v", name, got)
		}
		if name == "well" && (got.Path != good || got.Version != "0.73.1" || !got.LoggedIn || got.Credentials != "GROQ_API_KEY") || name == "own models" && got.Credentials != "your models ("+filepath.Join(models, ".pi", "agent", modelsName)+")" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The version of an agent that npm has installed is read, and the agent is not started for it:
// on a busy machine it takes longer than a run waits.
func TestTheVersionOfAnInstalledAgentIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"package.json": `{"name": "` + packageName + `", "version": "0.74.0"}`,
		"dist/cli.js":  "#!/bin/sh\nexit 1\n",
		"node":         "#!/bin/sh\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		programtest.Write(t, file, text)
	}
	program := executableVariable + "=" + filepath.Join(dir, "dist", "cli.js")
	if got := (Harness{}).Check(t.Context(), []string{"PATH=" + dir, program, "GROQ_API_KEY=k"}); got.Version != "0.74.0" || got.Problem != "" {
		t.Errorf("%+v", got)
	}
	if got := (Harness{}).Check(t.Context(), []string{"PATH=/nonexistent", program, "GROQ_API_KEY=k"}); got.Problem == "" {
		t.Errorf("without node it can be used: %+v", got)
	}
}
