package opencode

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	"hank/runtime/harness"
)

// commandLine is the agent as its user installs it.
var commandLine = harness.Program{Name: Name, Package: packageName, Variable: executableVariable, Oldest: oldest, Version: versionOf}

// Check implements harness.Harness. It looks for the agent's version and for
// credentials. Which provider they are for, and whether it accepts them, is only seen in a
// run.
func (Harness) Check(ctx context.Context, environ []string) harness.Check {
	check := commandLine.Find(ctx, environ)
	if check.Problem != "" {
		return check
	}
	env := harness.NewEnviron(environ)
	key, login, own := keys(env), loginFile(env), configurations(env)
	check.LoggedIn = key != "" || login != "" || len(own) > 0
	switch {
	case key != "":
		check.Credentials = key
	case login != "":
		check.Credentials = "your login (" + login + ")"
	case len(own) > 0:
		check.Credentials = "your providers (" + strings.Join(own, ", ") + ")"
	}
	switch file := namesHome(own); {
	case file != "":
		check.Problem = fmt.Sprintf("%s has a {file:~…}, and for an agent of hank ~ is another home; write the whole path there", file)
	case !check.LoggedIn:
		check.Note = "opencode has no credentials: only models that are free will work; set the key of a provider, such as ANTHROPIC_API_KEY, or run opencode auth login"
	case login != "":
		check.Note = fmt.Sprintf("opencode has your logins by a link to %s, and renews them there; its sessions are the execution's own", login)
	case key == "":
		check.Note = fmt.Sprintf("opencode has the providers of your %s; its sessions are the execution's own", strings.Join(own, " and "))
	}
	return check
}

// providerKeys are the variables with the key of a provider, for those of which they are
// known. A provider can have others in the user's configuration.
var providerKeys = map[string][]string{
	"anthropic": {"ANTHROPIC_API_KEY"}, "openai": {"OPENAI_API_KEY"}, "google": {"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"},
	"openrouter": {"OPENROUTER_API_KEY"}, "groq": {"GROQ_API_KEY"}, "mistral": {"MISTRAL_API_KEY"}, "deepseek": {"DEEPSEEK_API_KEY"},
	"xai": {"XAI_API_KEY"}, "cerebras": {"CEREBRAS_API_KEY"},
}

// CheckProvider implements harness.Broker. It says something only of providers whose
// variables are known, and of credentials that are missing where no configuration of the
// user's can have a key either.
func (Harness) CheckProvider(name string, environ []string) (uses, problem string) {
	env := harness.NewEnviron(environ)
	names, login := providerKeys[name], name
	if name == loginProvider { // its login alone
		names, login = nil, "openai"
	} else if names == nil {
		return "", ""
	}
	for _, v := range names {
		if env[v] != "" {
			return v, ""
		}
	}
	if len(configurations(env)) > 0 || env[inlineVariable] != "" || env["OPENCODE_AUTH_CONTENT"] != "" {
		return "", ""
	}
	file, text := readThrough(userDirectory(env, "XDG_DATA_HOME", dataDirectory), loginName)
	var logins map[string]json.RawMessage
	if json.Unmarshal(text, &logins) == nil && logins[login] != nil {
		return "your login (" + file + ")", ""
	}
	if len(names) == 0 {
		return "", "opencode has no login for " + login + "; run opencode auth login"
	}
	return "", fmt.Sprintf("opencode has no credentials for %s; set %s, or run opencode auth login", name, names[0])
}

// versionOf is the version that the package of npm states which the program is of. Another
// program is started, in a home that is thrown away: it takes three seconds of the processor
// to print its version, and makes its directories even for that.
func versionOf(ctx context.Context, path string, env harness.Environ) (string, error) {
	if installed := harness.Installed(path, packageName); installed != "" {
		return installed, nil
	}
	home, err := os.MkdirTemp("", "hank-opencode-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	env = maps.Clone(env)
	env["HOME"], env["TMPDIR"] = home, home
	for _, name := range baseDirectories {
		delete(env, name)
	}
	return harness.Version(ctx, path, env.Finish(nil))
}

// oldest is the first version that was tried. Options of Command are newer than the agent
// itself, and one that it does not know would stop it.
var oldest = []int{1, 18, 33}

// packageName is the agent's at npm.
const packageName = "opencode-ai"
