package pi

import (
	"context"
	"fmt"
	"path/filepath"

	"hank/runtime/harness"
)

// commandLine is the agent as its user installs it.
var commandLine = harness.Program{Name: Name, Package: packageName, Variable: executableVariable, Oldest: oldest, Version: version}

// packageName is the agent's at npm.
const packageName = "@mariozechner/pi-coding-agent"

// version is the version that the package of npm states which the program is of. Another
// program is started, which takes nearly three seconds of a processor: half a minute on a
// machine where runs of agents wait for each other.
func version(ctx context.Context, path string, env harness.Environ) (string, error) {
	if installed := harness.Installed(path, packageName); harness.LookPath("node", env) != "" && installed != "" {
		return installed, nil
	}
	return harness.Version(ctx, path, env.Finish(nil))
}

// Check implements harness.Harness. It looks for the version and for credentials of
// any provider: which one is needed depends on the model, and is only seen in a run.
func (Harness) Check(ctx context.Context, environ []string) harness.Check {
	check := commandLine.Find(ctx, environ)
	if check.Problem != "" {
		return check
	}
	env := harness.NewEnviron(environ)
	from := credentials(env, "")
	check.LoggedIn = from.is != none
	check.Credentials = from.String()
	switch from.is {
	case none:
		check.Problem = "pi has no credentials; set the variable with the key of the model's provider, such as ANTHROPIC_API_KEY, or use /login in pi"
	case stored, subscription:
		check.Note = fmt.Sprintf("no key of a provider is set: pi uses your own login by a link to %s, and renews it there; its settings and sessions are the execution's own", from.file)
	}
	return check
}

// CheckProvider implements harness.Broker. Only of providers whose variables are known is
// anything said, and of none that can have credentials in files of a cloud.
func (Harness) CheckProvider(name string, environ []string) (uses, problem string) {
	p := provider(name)
	names := keys(p)
	if p == "" || len(names) == 0 {
		return "", ""
	}
	from := credentials(harness.NewEnviron(environ), p)
	if from.is != none || cloudFiles[p] != nil {
		return from.String(), ""
	}
	return "", fmt.Sprintf("pi has no credentials for %s; set %s, or use /login in pi", p, names[len(names)-1])
}

// oldest is the first version that was tried. What older ones do with the options of
// Command is not known.
var oldest = []int{0, 73, 1}

// LoginFiles implements harness.Harness. A login is renewed in the user's file, beside
// which the agent makes a lock for that, so that it needs the directory. A key is never
// written.
func (Harness) LoginFiles(environ []string) []string {
	path := file(userDirectory(harness.NewEnviron(environ)), loginName)
	if path == "" {
		return nil
	}
	for _, e := range read(path) {
		if e.Type == "oauth" {
			return []string{filepath.Dir(path)}
		}
	}
	return nil
}
