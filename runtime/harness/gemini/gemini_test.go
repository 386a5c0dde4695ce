package gemini

import (
	"encoding/json"
	"net/url"
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
		Prompt: "do it", Workspace: "/w", Home: t.TempDir(), Temp: "/t", AutoCompact: true,
		Environ: []string{"PATH=/bin", "HOME=/nobody", "GEMINI_API_KEY=k"},
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

const options = " --output-format stream-json --approval-mode yolo"

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*harness.Request){
		"gemini" + options:                func(*harness.Request) {},
		"/opt/g" + options + " --model m": func(r *harness.Request) { r.Agent.Path, r.Model = "/opt/g", "m" },
		"/mine/g" + options:               func(r *harness.Request) { r.Environ = append(r.Environ, executableVariable+"=/mine/g") },
		"/codons/g" + options:             func(r *harness.Request) { r.Env = map[string]string{executableVariable: "/codons/g"} },
		"gemini" + options + " --resume id": func(r *harness.Request) {
			r.Session, r.SystemPrompt, r.Effort = "id", "be brief", "high"
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

// The agent takes a prompt that begins with a slash for one of its commands.
func TestAPromptIsNoCommandOfTheAgent(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{"/compress it": "\n/compress it", "// a comment": "\n// a comment", "do /this": "do /this", " /x": " /x"} {
		if c, _ := command(t, request(t, func(r *harness.Request) { r.Prompt = prompt })); string(c.Stdin) != want {
			t.Errorf("%q is told as %q, want %q", prompt, c.Stdin, want)
		}
	}
}

func TestCommandRefusesWhatTheAgentCannotTake(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*harness.Request){
		"prompt is empty":          func(r *harness.Request) { r.Prompt = " \n" },
		"names no workspace":       func(r *harness.Request) { r.Workspace = "" },
		"prompt has 8388608 bytes": func(r *harness.Request) { r.Prompt = strings.Repeat("x", 8<<20) },
	} {
		if _, err := (Harness{}).Command(request(t, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	req := request(t, func(r *harness.Request) {
		r.Environ = append(r.Environ, "GEMINI_CLI=1", "SANDBOX=docker", "GEMINI_SANDBOX=docker", "GEMINI_CLI_HOME=/other", "GOPATH=/go")
		r.Env = map[string]string{"MINE": "1"}
	})
	_, env := command(t, req)
	for name, value := range map[string]string{
		"HOME": req.Home, "GEMINI_CLI_HOME": req.Home, "TMPDIR": "/t", "GEMINI_API_KEY": "k", "GEMINI_CLI": "", "SANDBOX": "",
		"GEMINI_SANDBOX": "false", "GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_BROWSER": "true",
		"GOPATH": "/go", "MINE": "1",
	} {
		if env[name] != value {
			t.Errorf("%s is %q, want %q", name, env[name], value)
		}
	}
	if _, env := command(t, request(t, func(r *harness.Request) {
		r.Env = map[string]string{"HOME": "/codon", "GEMINI_CLI_HOME": "/codon/g"}
	})); env["HOME"] != "/codon" || env["GEMINI_CLI_HOME"] != "/codon/g" {
		t.Error("the codon's own variables did not win")
	}
}

// What the agent starts has the user's options of Node, and not those of hank.
func TestTheOptionOfNodeIsTakenAwayAgain(t *testing.T) {
	t.Parallel()
	for before, restore := range map[string]string{"": "delete process.env.NODE_OPTIONS", `--max-old-space-size=9 --title="a b"`: `process.env.NODE_OPTIONS="--max-old-space-size=9 --title=\"a b\""`} {
		req := request(t, func(r *harness.Request) { r.Environ = append(r.Environ, "NODE_OPTIONS="+before) })
		_, env := command(t, req)
		option, found := strings.CutPrefix(env["NODE_OPTIONS"], strings.TrimLeft(before+" --import=data:text/javascript,", " "))
		program, err := url.PathUnescape(option)
		if !found || err != nil || strings.ContainsAny(option, ` "`) || !strings.Contains(program, "setBlocking") || !strings.HasSuffix(program, ";"+restore) {
			t.Errorf("with %q: %q, %v", before, env["NODE_OPTIONS"], err)
		}
	}
}

// settings are those that the agent has been given.
func settings(t *testing.T, req harness.Request) map[string]any {
	t.Helper()
	command(t, req)
	text, err := os.ReadFile(filepath.Join(req.Home, ".gemini", "settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// at is a value in settings, by the names on the way to it.
func at(settings map[string]any, path ...string) any {
	var value any = settings
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

func TestSettings(t *testing.T) {
	t.Parallel()
	all := settings(t, request(t, func(*harness.Request) {}))
	for path, want := range map[string]any{
		"privacy usageStatisticsEnabled": false, "general enableAutoUpdate": false, "general sessionRetention enabled": false,
		"security auth selectedType": "gemini-api-key", "security folderTrust enabled": false,
		"context fileFiltering enableRecursiveFileSearch": false, "model compressionThreshold": nil, "modelConfigs customOverrides": nil,
	} {
		if got := at(all, strings.Fields(path)...); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	req := request(t, func(r *harness.Request) { r.AutoCompact = false })
	if got := at(settings(t, req), "model", "compressionThreshold"); got != 100.0 {
		t.Errorf("an agent that may not compact does it at %v of the context", got)
	}
	req.AutoCompact = true
	if got := at(settings(t, req), "model", "compressionThreshold"); got != nil {
		t.Errorf("the settings of another codon stayed: %v", got)
	}
}

func TestHowMuchTheModelThinks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"gemini-2.5-pro minimal": "thinkingBudget 512", "gemini-2.5-pro low": "thinkingBudget 1024", "gemini-2.5-flash medium": "thinkingBudget 8192",
		"gemini-2.5-flash max": "thinkingBudget 24576", "gemini-2.5-pro max": "thinkingBudget 32768", "gemini-2.5-pro high": "thinkingBudget 24576",
		"gemini-3-pro-preview minimal": "thinkingLevel LOW", "gemini-3-pro-preview medium": "thinkingLevel HIGH", "gemini-3.1-pro-preview medium": "thinkingLevel MEDIUM",
		"gemini-3.5-flash minimal": "thinkingLevel MINIMAL", "gemini-3.5-flash low": "thinkingLevel LOW", "gemini-3.5-flash xhigh": "thinkingLevel HIGH",
	} {
		model, effort, _ := strings.Cut(name, " ")
		overrides, _ := at(settings(t, request(t, func(r *harness.Request) { r.Model, r.Effort = model, effort })), "modelConfigs", "customOverrides").([]any)
		if len(overrides) != 1 {
			t.Errorf("%s: %v", name, overrides)
			continue
		}
		override := overrides[0].(map[string]any)
		text, _ := json.Marshal(at(override, "modelConfig", "generateContentConfig", "thinkingConfig"))
		key, value, _ := strings.Cut(want, " ")
		if got := strings.ReplaceAll(string(text), `"`, ""); got != "{"+key+":"+value+"}" || at(override, "match", "model") != model {
			t.Errorf("%s: %s for %v", name, got, at(override, "match"))
		}
	}
}

// What the agent could take for the name of a file to be put in is between backticks.
func TestTheSystemPromptIsTheUsersInstructions(t *testing.T) {
	t.Parallel()
	req := request(t, func(*harness.Request) {})
	file := filepath.Join(req.Home, ".gemini", "GEMINI.md")
	for _, c := range []struct{ system, want string }{
		{"Be brief.\nMail a@b.c, pay 3 @ 4.", "Be brief.\nMail a@b.c, pay 3 @ 4."},
		{"@./x", "```\n@./x\n```"},
		{"Use\n@types/node and ````x````", "`````\nUse\n@types/node and ````x````\n`````"},
		{"", ""},
	} {
		req.SystemPrompt = c.system
		command(t, req)
		if text, err := os.ReadFile(file); string(text) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q became %q, %v, want %q", c.system, text, err, c.want)
		}
	}
}

// login writes files of the user and returns the home and the agent's directory.
func login(t *testing.T, files map[string]string) (home, dir string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(home, ".gemini")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home, dir
}

const aLogin = `{"access_token":"a","refresh_token":"r","expiry_date":1}`

func TestWhichCredentialsCount(t *testing.T) {
	t.Parallel()
	in, dir := login(t, map[string]string{loginName: aLogin, accountsName: "{}", ".env": "GEMINI_API_KEY=f"})
	file, fileDir := login(t, map[string]string{".env": "# mine\nexport GEMINI_API_KEY = \"f\" # key\nX=1\n", storedName: "x"})
	stored, storedDir := login(t, map[string]string{storedName: "x", settingsName: `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`})
	unused, _ := login(t, map[string]string{storedName: "x", loginName: "{}", ".env": "OTHER=1"})
	own := "GEMINI_API_KEY=k"
	for name, c := range map[string]struct {
		environ []string
		is      kind
		auth    string
		key     string // that the agent gets
		links   []string
	}{
		"a key":                            {[]string{own, "HOME=" + in}, key, "gemini-api-key", "k", nil},
		"a login":                          {[]string{"HOME=" + in}, userLogin, "oauth-personal", "", []string{filepath.Join(dir, loginName), filepath.Join(dir, accountsName)}},
		"a login of another directory":     {[]string{"HOME=/nobody", "GEMINI_CLI_HOME=" + in}, userLogin, "oauth-personal", "", []string{filepath.Join(dir, loginName), filepath.Join(dir, accountsName)}},
		"a key in a file":                  {[]string{"HOME=" + file}, keyFile, "gemini-api-key", "f", nil},
		"a key that the agent keeps":       {[]string{"HOME=" + stored}, storedKey, "gemini-api-key", "", []string{filepath.Join(storedDir, storedName)}},
		"files without a login":            {[]string{"HOME=" + unused}, none, "gemini-api-key", "", nil},
		"nothing":                          {[]string{"HOME=/nobody"}, none, "gemini-api-key", "", nil},
		"no home":                          {nil, none, "gemini-api-key", "", nil},
		"Google Cloud":                     {[]string{own, "GOOGLE_GENAI_USE_VERTEXAI=true", "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_LOCATION=l"}, cloud, "vertex-ai", "k", nil},
		"Google Cloud by a key":            {[]string{"GOOGLE_GENAI_USE_VERTEXAI=true", "GOOGLE_API_KEY=g"}, cloud, "vertex-ai", "", nil},
		"Google Cloud without a project":   {[]string{own, "GOOGLE_GENAI_USE_VERTEXAI=true"}, key, "gemini-api-key", "k", nil},
		"an access token":                  {[]string{own, "GOOGLE_GENAI_USE_GCA=true", "GOOGLE_CLOUD_ACCESS_TOKEN=t"}, token, "oauth-personal", "k", nil},
		"a login that a variable asks for": {[]string{"GOOGLE_GENAI_USE_GCA=true", "HOME=" + in}, userLogin, "oauth-personal", "", []string{filepath.Join(dir, loginName), filepath.Join(dir, accountsName)}},
	} {
		req := request(t, func(r *harness.Request) { r.Environ = append([]string{"PATH=/bin"}, c.environ...) })
		if from := credentials(harness.NewEnviron(c.environ)); from.is != c.is {
			t.Errorf("%s: %+v", name, from)
		}
		if got := at(settings(t, req), "security", "auth", "selectedType"); got != c.auth {
			t.Errorf("%s: the agent is told %v", name, got)
		}
		_, env := command(t, req)
		var links []string
		for _, file := range []string{loginName, accountsName, storedName} {
			if target, err := os.Readlink(filepath.Join(req.Home, ".gemini", file)); err == nil {
				links = append(links, target)
			}
		}
		if env[keyVariable] != c.key || !slices.Equal(links, c.links) || !slices.Equal((Harness{}).LoginFiles(c.environ), c.links) {
			t.Errorf("%s: key %q, links to %v, files %v", name, env[keyVariable], links, Harness{}.LoginFiles(c.environ))
		}
		if own := env["HOME"] == req.Home; own == (c.is == cloud) {
			t.Errorf("%s: HOME is %q", name, env["HOME"])
		}
	}
	if _, err := os.Lstat(filepath.Join(fileDir, settingsName)); err == nil {
		t.Error("the user's own directory has settings now")
	}
}

// The link follows the login that counts, and no file that somebody may need is lost.
func TestALoginIsLinkedAndNeverCopied(t *testing.T) {
	t.Parallel()
	first, firstDir := login(t, map[string]string{loginName: aLogin})
	second, secondDir := login(t, map[string]string{loginName: aLogin})
	req := request(t, func(*harness.Request) {})
	link := filepath.Join(req.Home, ".gemini", loginName)
	for _, c := range []struct{ home, dir string }{{first, firstDir}, {first, firstDir}, {second, secondDir}} {
		req.Environ = []string{"HOME=" + c.home}
		command(t, req)
		if target, err := os.Readlink(link); err != nil || target != filepath.Join(c.dir, loginName) {
			t.Errorf("the link leads to %q (%v), want the one in %q", target, err, c.dir)
		}
	}
	req.Environ = []string{"GEMINI_API_KEY=k"}
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
	good := program("gemini", "echo 0.61.0")
	bad := program("bad", "echo broken >&2; exit 3")
	old := program("old", "echo 0.21.1")
	path, key := "PATH="+dir+":"+os.Getenv("PATH"), "GEMINI_API_KEY=k"
	// As npm installs it. It is not started.
	installed := filepath.Join(t.TempDir(), "bundle", "gemini.js")
	if err := os.Mkdir(filepath.Dir(installed), 0o755); err != nil {
		t.Fatal(err)
	}
	programtest.Write(t, installed, "#!/bin/sh\nexit 1\n")
	if err := os.WriteFile(filepath.Join(installed, "..", "..", "package.json"), []byte(`{"name":"@google/gemini-cli","version":"0.60.9"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	program("node", "")
	in, inDir := login(t, map[string]string{loginName: aLogin})
	file, fileDir := login(t, map[string]string{".env": "GEMINI_API_KEY=f"})
	for name, c := range map[string]struct {
		env           []string
		found         bool
		problem, note string
	}{
		"well":           {[]string{path, key}, true, "", ""},
		"not there":      {[]string{"PATH=/nonexistent", key}, false, "npm install -g @google/gemini-cli", ""},
		"wrong variable": {[]string{path, key, executableVariable + "=/nonexistent"}, false, "/nonexistent", ""},
		"breaks":         {[]string{path, key, executableVariable + "=" + bad}, true, "broken", ""},
		"too old":        {[]string{path, key, executableVariable + "=" + old}, true, "is version 0.21.1, and hank needs 0.61.0", ""},
		"a package":      {[]string{path, key, executableVariable + "=" + installed}, true, "is version 0.60.9", ""},
		"no node":        {[]string{"PATH=/nonexistent", key, executableVariable + "=" + installed}, true, "--version failed", ""},
		"no credentials": {[]string{path, "HOME=/nobody"}, true, "set GEMINI_API_KEY", ""},
		"a login":        {[]string{path, "HOME=" + in}, true, "", filepath.Join(inDir, loginName)},
		"a file":         {[]string{path, "HOME=" + file}, true, "", filepath.Join(fileDir, ".env")},
	} {
		got := Harness{}.Check(t.Context(), c.env)
		if got.Found != c.found || (got.Problem == "") != (c.problem == "") || !strings.Contains(got.Problem, c.problem) || (got.Note == "") != (c.note == "") || !strings.Contains(got.Note, c.note) {
			t.Errorf("%s: %+v", name, got)
		}
		if name == "well" && (got.Path != good || got.Version != "0.61.0" || !got.LoggedIn || got.Credentials != keyVariable) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
