package gemini

import (
	"context"
	"fmt"
	"os"

	"hank/runtime/harness"
)

// commandLine is the agent as its user installs it.
var commandLine = harness.Program{Name: Name, Package: packageName, Variable: executableVariable, Oldest: oldest, Version: version}

// Check implements harness.Harness. It looks for the version and for credentials; whether
// the provider accepts them is only seen in a run.
func (Harness) Check(ctx context.Context, environ []string) harness.Check {
	check := commandLine.Find(ctx, environ)
	if check.Problem != "" {
		return check
	}
	env := harness.NewEnviron(environ)
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
	if installed := harness.Installed(path, packageName); harness.LookPath("node", env) != "" && installed != "" {
		return installed, nil
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
