package claude

import (
	"context"
	"fmt"

	"hank/runtime/harness"
)

// commandLine is the agent as its user installs it.
var commandLine = harness.Program{Name: Name, Package: "@anthropic-ai/claude-code", Variable: executableVariable, Version: func(ctx context.Context, path string, env harness.Environ) (string, error) {
	return harness.Version(ctx, path, env.Finish(map[string]string{"DISABLE_AUTOUPDATER": "1"}))
}}

// Check implements harness.Harness. It starts `claude --version` and looks for
// credentials; whether the provider accepts them is only seen in a run.
func (Harness) Check(ctx context.Context, environ []string) harness.Check {
	check := commandLine.Find(ctx, environ)
	if check.Problem != "" {
		return check
	}
	env := harness.NewEnviron(environ)
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
