package pi

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"hank/runtime/harness"
)

// Check implements harness.Harness. It starts `pi --version` and looks for credentials of
// any provider: which one is needed depends on the model, and is only seen in a run.
func (Harness) Check(ctx context.Context, environ []string) harness.Check {
	const install = "npm install -g @mariozechner/pi-coding-agent"
	env := harness.NewEnviron(environ)
	name := cmp.Or(env[executableVariable], "pi")
	path := harness.LookPath(name, env)
	if path == "" {
		if name != "pi" {
			return harness.Check{Problem: fmt.Sprintf("%s names %s, which is not an executable file; correct or unset it", executableVariable, name)}
		}
		return harness.Check{Problem: "the pi command is not on the PATH; install it with " + install + ", or name it in " + executableVariable}
	}
	check := harness.Check{Found: true, Path: path}
	version, err := harness.Version(ctx, path, environ)
	if err != nil {
		check.Problem = fmt.Sprintf("%s --version failed (%v); reinstall it with %s", path, err, install)
		return check
	}
	check.Version = version
	if !harness.AtLeast(version, oldest...) {
		check.Problem = fmt.Sprintf("%s is version %s, and hank needs %s or later; update it with %s", path, version, oldestText, install)
		return check
	}
	from := credentials(env, "")
	check.LoggedIn = from.is != none
	check.Credentials = from.name
	switch from.is {
	case none:
		check.Problem = "pi has no credentials; set the variable with the key of the model's provider, such as ANTHROPIC_API_KEY, or use /login in pi"
	case custom:
		check.Credentials = "your models (" + from.file + ")"
	case stored, subscription:
		check.Credentials = "your login (" + from.file + ")"
		check.Note = fmt.Sprintf("no key of a provider is set: pi uses your own login by a link to %s, and renews it there; its settings and sessions are the execution's own", from.file)
	}
	return check
}

// oldest is the first version that was tried. What older ones do with the options of
// Command is not known.
var oldest = []int{0, 73, 1}

const oldestText = "0.73.1"

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
