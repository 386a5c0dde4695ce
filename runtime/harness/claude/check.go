package claude

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"time"

	"hank/runtime/harness"
)

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
