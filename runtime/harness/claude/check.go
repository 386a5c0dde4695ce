package claude

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"hank/runtime/harness"
)

// source is where the agent's credentials come from.
type source int

const (
	none      source = iota
	key              // a key or token in the environment
	cloud            // a cloud provider's own credentials
	userLogin        // what `claude /login` left in the user's configuration
)

// credentials finds them offline, and says where.
func credentials(env harness.Environ) (source, string) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"} {
		if env[name] != "" {
			return key, name
		}
	}
	for _, name := range []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"} {
		if v := env[name]; v != "" && v != "0" && v != "false" {
			return cloud, name
		}
	}
	if path := loginFile(env); path != "" {
		return userLogin, path
	}
	return none, ""
}

// loginFile is the file that shows a login of the user, or empty. On macOS the
// token itself is in the keychain; the account's name is in .claude.json.
func loginFile(env harness.Environ) string {
	dir, account := env["CLAUDE_CONFIG_DIR"], ""
	switch {
	case dir != "":
		account = filepath.Join(dir, ".claude.json")
	case env["HOME"] != "":
		dir = filepath.Join(env["HOME"], ".claude")
		account = filepath.Join(env["HOME"], ".claude.json")
	default:
		return ""
	}
	if path := filepath.Join(dir, ".credentials.json"); hasKey(path, "claudeAiOauth") {
		return path
	}
	if hasKey(account, "oauthAccount") || hasKey(account, "primaryApiKey") {
		return account
	}
	if path := filepath.Join(dir, "settings.json"); hasKey(path, "apiKeyHelper") {
		return path
	}
	return ""
}

// hasKey reports whether a file is a JSON object with a key that is not null.
func hasKey(path, key string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var object map[string]json.RawMessage
	return json.Unmarshal(text, &object) == nil && len(object[key]) > 0 && !bytes.Equal(object[key], []byte("null"))
}

// versionLimit is how long `claude --version` may take. It takes 0.1 s warm;
// a cold disk has 360 MiB to read.
const versionLimit = 30 * time.Second

// Check implements harness.Harness. It starts `claude --version` and looks for
// credentials; whether the provider accepts them is only seen in a run.
func (Harness) Check(ctx context.Context, environ []string) harness.Check {
	env := harness.NewEnviron(environ)
	name := cmp.Or(env[executableVariable], "claude")
	path := harness.LookPath(name, env)
	if path == "" {
		if name != "claude" {
			return harness.Check{Problem: fmt.Sprintf("%s names %s, which is not an executable file; correct or unset it", executableVariable, name)}
		}
		return harness.Check{Problem: "the claude command is not on the PATH; install it with npm install -g @anthropic-ai/claude-code, or name it in " + executableVariable}
	}
	check := harness.Check{Found: true, Path: path}
	version, err := version(ctx, path, environ)
	if err != nil {
		check.Problem = fmt.Sprintf("%s --version failed (%v); reinstall it with npm install -g @anthropic-ai/claude-code", path, err)
		return check
	}
	check.Version = version
	source, where := credentials(env)
	check.LoggedIn = source != none
	switch source {
	case none:
		check.Problem = "claude has no credentials; set ANTHROPIC_API_KEY, or start claude once and use /login"
	case userLogin:
		check.Note = fmt.Sprintf("no ANTHROPIC_API_KEY is set: the agent uses your own login and settings (%s), and keeps its sessions there", where)
	}
	return check
}

func version(ctx context.Context, path string, env []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = append(append([]string{}, env...), "DISABLE_AUTOUPDATER=1")
	cmd.WaitDelay = time.Second
	var stderr harness.Tail
	cmd.Stderr = lines{&stderr}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, stderr.String())
	}
	m := versionNumber.FindString(string(out))
	if m == "" {
		return "", fmt.Errorf("it printed %q and no version", harness.Excerpt(string(out), 100))
	}
	return m, nil
}

// lines writes what a program prints into a Tail.
type lines struct{ tail *harness.Tail }

func (l lines) Write(p []byte) (int, error) {
	l.tail.Add(p)
	return len(p), nil
}

var versionNumber = regexp.MustCompile(`\b(\d{1,6})\.(\d{1,6})\.(\d{1,6})\b`)

// atLeast compares a version as the agent prints it. An unknown one is older
// than everything: an option that it does not know would stop it.
func atLeast(version string, want ...int) bool {
	m := versionNumber.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	for i, w := range want {
		if have, _ := strconv.Atoi(m[i+1]); have != w {
			return have > w
		}
	}
	return true
}

// LoginFiles are the user's own files and directories that an agent in this
// environment writes to: none if it has a key, and so a home of its own.
func LoginFiles(environ []string) []string {
	env := harness.NewEnviron(environ)
	if from, _ := credentials(env); from != userLogin {
		return nil
	}
	dir := env["CLAUDE_CONFIG_DIR"]
	if dir != "" {
		return []string{dir}
	}
	files := []string{filepath.Join(env["HOME"], ".claude"), filepath.Join(env["HOME"], ".claude.json")}
	return slices.DeleteFunc(files, func(name string) bool {
		_, err := os.Stat(name)
		return err != nil
	})
}
