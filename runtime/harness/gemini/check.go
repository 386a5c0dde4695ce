package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"hank/runtime/harness"
)

// Check implements harness.Harness. It looks for the version and for credentials; whether
// the provider accepts them is only seen in a run.
func (Harness) Check(ctx context.Context, environ []string) harness.Check {
	const install = "npm install -g " + packageName
	env := harness.NewEnviron(environ)
	name := cmp.Or(env[executableVariable], "gemini")
	path := harness.LookPath(name, env)
	if path == "" {
		if name != "gemini" {
			return harness.Check{Problem: fmt.Sprintf("%s names %s, which is not an executable file; correct or unset it", executableVariable, name)}
		}
		return harness.Check{Problem: "the gemini command is not on the PATH; install it with " + install + ", or name it in " + executableVariable}
	}
	check := harness.Check{Found: true, Path: path}
	version, err := version(ctx, path, env)
	if err != nil {
		check.Problem = fmt.Sprintf("%s --version failed (%v); reinstall it with %s", path, err, install)
		return check
	}
	check.Version = version
	if !harness.AtLeast(version, oldest...) {
		check.Problem = fmt.Sprintf("%s is version %s, and hank needs %s or later; update it with %s", path, version, oldestText, install)
		return check
	}
	from := credentials(env)
	check.LoggedIn = from.is != none
	switch check.Credentials = from.where; from.is {
	case none:
		check.Problem = "gemini has no credentials; set " + keyVariable + ", or start gemini once and log in"
	case keyFile:
		check.Note = fmt.Sprintf("no %s is set: gemini uses the one in %s", keyVariable, from.where)
	case storedKey:
		check.Credentials = "a key that gemini keeps (" + from.where + ")"
		check.Note = fmt.Sprintf("no %s is set: gemini uses the key that it keeps in %s; its settings and sessions are the execution's own", keyVariable, from.where)
	case userLogin:
		check.Credentials = "your login (" + from.where + ")"
		check.Note = fmt.Sprintf("no %s is set: gemini uses your own login by a link to %s, and renews it there; its settings and sessions are the execution's own", keyVariable, from.where)
	}
	return check
}

// version is the version of the program at a path. It is in the package that the program is
// of, if npm has installed it: to start the agent takes two seconds. An agent that is
// started has a home that is thrown away, since it writes into it.
func version(ctx context.Context, path string, env harness.Environ) (string, error) {
	if program, err := filepath.EvalSymlinks(path); err == nil && harness.LookPath("node", env) != "" {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(program), "..", "package.json"))
		var pkg struct{ Name, Version string }
		if err == nil && json.Unmarshal(text, &pkg) == nil && pkg.Name == packageName && pkg.Version != "" {
			return pkg.Version, nil
		}
	}
	home, err := os.MkdirTemp("", "hank-gemini-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	return harness.Version(ctx, path, env.Finish(map[string]string{"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_HOME": home, "HOME": home}))
}

const packageName = "@google/gemini-cli"

// oldest is the first version that was tried. Options of Command are newer than the agent
// itself, and one that it does not know would stop it.
var oldest = []int{0, 61, 0}

const oldestText = "0.61.0"
