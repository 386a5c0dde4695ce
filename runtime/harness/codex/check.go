package codex

import (
	"cmp"
	"context"
	"fmt"

	"hank/runtime/harness"
)

// Check implements harness.Harness. It starts `codex --version` and looks for
// credentials; whether the provider accepts them is only seen in a run.
func (Harness) Check(ctx context.Context, environ []string) harness.Check {
	const install = "npm install -g @openai/codex"
	env := harness.NewEnviron(environ)
	name := cmp.Or(env[executableVariable], "codex")
	path := harness.LookPath(name, env)
	if path == "" {
		if name != "codex" {
			return harness.Check{Problem: fmt.Sprintf("%s names %s, which is not an executable file; correct or unset it", executableVariable, name)}
		}
		return harness.Check{Problem: "the codex command is not on the PATH; install it with " + install + ", or name it in " + executableVariable}
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
	from := credentials(env)
	check.LoggedIn = from.is != none
	switch check.Credentials = from.where; from.is {
	case none:
		check.Problem = "codex has no credentials; set CODEX_API_KEY or OPENAI_API_KEY, or run codex login"
	case userLogin:
		check.Credentials = "your login (" + from.where + ")"
		check.Note = fmt.Sprintf("no %s is set: codex uses your own login by a link to %s, and renews it there; its settings and sessions are the execution's own", keyVariable, from.where)
	}
	return check
}

// oldest is the first version that was tried. Options of Command are newer than the agent
// itself, and one that it does not know would stop it.
var oldest = []int{0, 169, 0}

const oldestText = "0.169.0"
