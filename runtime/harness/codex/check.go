package codex

import (
	"context"
	"fmt"

	"hank/runtime/harness"
)

// commandLine is the agent as its user installs it.
var commandLine = harness.Program{Name: Name, Package: "@openai/codex", Variable: executableVariable, Oldest: oldest}

// Check implements harness.Harness. It starts `codex --version` and looks for
// credentials; whether the provider accepts them is only seen in a run.
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
