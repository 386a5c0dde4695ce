package claude

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hank/runtime/harness"
)

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
	version, err := harness.Version(ctx, path, append(slices.Clone(environ), "DISABLE_AUTOUPDATER=1"))
	if err != nil {
		check.Problem = fmt.Sprintf("%s --version failed (%v); reinstall it with npm install -g @anthropic-ai/claude-code", path, err)
		return check
	}
	check.Version = version
	source, where := credentials(env)
	check.LoggedIn = source != none
	switch check.Credentials = where; source {
	case none:
		check.Problem = "claude has no credentials; set ANTHROPIC_API_KEY, or start claude once and use /login"
	case userLogin:
		check.Credentials = "your login (" + where + ")"
		check.Note = fmt.Sprintf("no ANTHROPIC_API_KEY is set: the agent uses your own login and settings (%s), and keeps its sessions there", where)
	}
	return check
}
