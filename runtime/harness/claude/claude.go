// Package claude is the harness for the Claude Code command line. It was
// written against version 2.1.329 and also understands 2.1.197; what they
// print was recorded from the real program, see testdata.
package claude

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hank/runtime/harness"
)

// Name is the harness's word in records.
const Name = "claude"

// Harness drives the Claude Code command line.
type Harness struct{}

var _ harness.Harness = Harness{}

// Name implements harness.Harness.
func (Harness) Name() string { return Name }

// maxArgument is the longest single argument that Linux takes (MAX_ARG_STRLEN,
// 32 pages) with its NUL.
const maxArgument = 32*4096 - 1

// Command implements harness.Harness. The directories Home and Temp must exist.
//
//  1. The prompt goes through the standard input, which has no limit of
//     length; the system prompt is an argument.
//  2. A session is continued by its id, never by "the last one": with nothing
//     to continue the agent would silently begin a new one.
//  3. From 2.1.329 on, the agent keeps the system prompt that a session began
//     with, whatever it is given later, unless it is told not to.
//  4. Every tool is allowed (bypassPermissions): the run is not interactive, and a
//     refused tool call would end in a "success" that did nothing.
func (Harness) Command(req harness.Request) (harness.Command, error) {
	switch {
	case req.Workspace == "":
		return harness.Command{}, errors.New("claude: the request names no workspace")
	case strings.TrimSpace(req.Prompt) == "":
		return harness.Command{}, errors.New("claude: the prompt is empty, and the agent would refuse to start; write one")
	case len(req.SystemPrompt) > maxArgument:
		return harness.Command{}, fmt.Errorf("claude: the system prompt has %d bytes; the maximum argument size is %d; move text into the prompt", len(req.SystemPrompt), maxArgument)
	}
	env := environ(req)
	args := []string{
		program(req, env),
		"-p", "--output-format", "stream-json", "--verbose", // stream-json needs verbose
		"--permission-mode", "bypassPermissions",
	}
	if req.Model != "" {
		args = append(args, "--model", req.Model)
	}
	if req.Effort != "" {
		args = append(args, "--effort", req.Effort)
	}
	if req.SystemPrompt != "" {
		args = append(args, "--append-system-prompt", req.SystemPrompt)
	}
	if req.Session != "" {
		args = append(args, "--resume", req.Session)
		if harness.AtLeast(req.Agent.Version, 2, 1, 329) {
			args = append(args, "--system-prompt-snapshot", "off")
		}
	}
	return harness.Command{
		Args:       args,
		Env:        env.Finish(req.Env),
		Dir:        req.Workspace,
		Stdin:      []byte(req.Prompt),
		StopSignal: syscall.SIGTERM, // ends its tools too, and keeps the session
		StopGrace:  5 * time.Second,
	}, nil
}

// program is what to start: what preflight found, else what the environment
// says, else the usual name.
func program(req harness.Request, env harness.Environ) string {
	if req.Agent.Path != "" {
		return req.Agent.Path
	}
	for _, path := range []string{req.Env[executableVariable], env[executableVariable]} {
		if path != "" {
			return path
		}
	}
	return "claude"
}

// executableVariable chooses another binary than the claude on the PATH.
const executableVariable = "CLAUDE_PATH_TO_CLAUDE_EXECUTABLE"

// nested are the variables that tell the agent that another one started it.
// hank may well run inside an agent; the agents of its codons do not.
var nested = []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"}

// quiet keeps the agent from talking to anybody but its provider, and from
// replacing itself in the middle of a run.
var quiet = []string{
	"DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
}

// environ is the agent's environment without the codon's own variables.
func environ(req harness.Request) harness.Environ {
	env := harness.BaseEnviron(req)
	for _, name := range nested {
		delete(env, name)
	}
	for _, name := range quiet {
		env.Default(name, "1")
	}
	if req.Temp != "" {
		env["CLAUDE_CODE_TMPDIR"] = req.Temp
	}
	if !req.AutoCompact {
		env["DISABLE_AUTO_COMPACT"] = "1"
	}
	if os.Geteuid() == 0 {
		// As root the agent refuses bypassPermissions unless it is told that
		// it is contained. It is: by the keeper.
		env["IS_SANDBOX"] = "1"
	}
	isolate(req, env)
	return env
}

// isolate gives the agent a configuration of its own, so that neither the
// user's settings change a run nor a run the user's sessions. A login cannot
// be moved: where the credentials are the user's login, so is the
// configuration. Cloud credentials live in the home directory, which then stays.
func isolate(req harness.Request, env harness.Environ) {
	if req.Home == "" {
		return
	}
	merged := harness.NewEnviron(env.Finish(req.Env))
	switch source, _ := credentials(merged); source {
	case userLogin:
		return
	case cloud:
		env["CLAUDE_CONFIG_DIR"] = filepath.Join(req.Home, ".claude")
	default:
		env["HOME"] = req.Home
		env["CLAUDE_CONFIG_DIR"] = filepath.Join(req.Home, ".claude")
	}
}

// LoginFiles implements harness.Harness. There are none if the agent has a key, and so a
// home of its own.
func (Harness) LoginFiles(environ []string) []string {
	env := harness.NewEnviron(environ)
	if from, _ := credentials(env); from != userLogin {
		return nil
	}
	dir := env["CLAUDE_CONFIG_DIR"]
	if dir != "" {
		return []string{dir}
	}
	files := []string{filepath.Join(env["HOME"], ".claude"), filepath.Join(env["HOME"], ".claude.json")}
	return slices.DeleteFunc(files, func(name string) bool {
		_, err := os.Stat(name)
		return err != nil
	})
}

// Permission implements harness.Harness.
func (Harness) Permission() string { return "bypassPermissions" }

// SessionFiles implements harness.Remembering: the conversation, and those of the agents
// that it has started.
func (Harness) SessionFiles(req harness.Request, session string) (string, []string, error) {
	dir := directory(req)
	names, err := sessionFiles(dir, session)
	return dir, names, err
}

// directory is the agent's directory for a request.
func directory(req harness.Request) string {
	env := harness.NewEnviron(environ(req).Finish(req.Env))
	return cmp.Or(env["CLAUDE_CONFIG_DIR"], filepath.Join(env["HOME"], ".claude"))
}

// sessionFiles are the names of the files of a session in the agent's directory.
func sessionFiles(dir, session string) ([]string, error) {
	id := harness.Literal(session)
	return harness.FilesIn(dir, "projects/*/"+id+".jsonl", "projects/*/"+id)
}
