// Package gemini is the harness for the Gemini command line (@google/gemini-cli). It was
// written against version 0.61.0; what that prints was recorded from the real program, see
// testdata.
//
//   - A session is a conversation. Its id is in the first event.
//   - A record is a line of the agent's own file of a session. It alone has what each
//     request to the model used; the printed events have a sum, at the end.
//
// The agent reports no money, so that what it costs is a matter of price lists.
package gemini

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"hank/runtime/harness"
)

// Name is the harness's word in records.
const Name = "gemini"

// Harness drives the Gemini command line.
type Harness struct{}

var _ harness.Harness = Harness{}

// Name implements harness.Harness.
func (Harness) Name() string { return Name }

// Permission implements harness.Harness.
func (Harness) Permission() string { return "yolo" }

// maxPrompt is how much the agent reads of its standard input. It cuts off the rest and
// works with what it has.
const maxPrompt = 8 << 20

// Command implements harness.Harness. The directories Home and Temp must exist. The
// agent's own directory in Home is made, with its settings and a link to the user's login.
//
//  1. The prompt goes through the standard input, which the agent reads to its end.
//  2. A session is continued by its id, never by "latest": with nothing to continue the
//     agent would silently begin a new one.
//  3. The system prompt is the file that the agent takes for the user's own instructions,
//     which are a part of its system prompt. The variable that gives it a system prompt
//     takes the agent's own away.
//  4. Every tool is allowed (yolo): the run is not interactive, and a refused tool call
//     would end in a "success" that did nothing.
func (Harness) Command(req harness.Request) (harness.Command, error) {
	switch {
	case req.Workspace == "":
		return harness.Command{}, errors.New("gemini: the request names no workspace")
	case strings.TrimSpace(req.Prompt) == "":
		return harness.Command{}, errors.New("gemini: the prompt is empty, and the agent would refuse to start; write one")
	case len(req.Prompt) >= maxPrompt:
		return harness.Command{}, fmt.Errorf("gemini: the prompt has %d bytes, and the agent reads %d; move text into files", len(req.Prompt), maxPrompt-1)
	}
	env, from := environ(req)
	args := []string{program(req, env), "--output-format", "stream-json", "--approval-mode", Harness{}.Permission()}
	if req.Model != "" {
		args = append(args, "--model", req.Model)
	}
	if req.Session != "" {
		args = append(args, "--resume", req.Session)
	}
	if err := prepare(req, from); err != nil {
		return harness.Command{}, err
	}
	return harness.Command{
		Args:       args,
		Env:        env.Finish(req.Env),
		Dir:        req.Workspace,
		Stdin:      []byte(prompt(req)),
		StopSignal: syscall.SIGTERM, // keeps the session; the exit status is then 0
		StopGrace:  5 * time.Second,
	}, nil
}

// prompt is what the agent is told. One that begins with a slash would be a command of the
// agent, or of the workspace.
func prompt(req harness.Request) string {
	if strings.HasPrefix(req.Prompt, "/") {
		return "\n" + req.Prompt
	}
	return req.Prompt
}

// program is what to start: what preflight found, else what the environment
// says, else the usual name.
func program(req harness.Request, env harness.Environ) string {
	return cmp.Or(req.Agent.Path, req.Env[executableVariable], env[executableVariable], "gemini")
}

// executableVariable chooses another binary than the gemini on the PATH.
const executableVariable = "GEMINI_PATH_TO_GEMINI_EXECUTABLE"

// nested are the variables that tell the agent that another one started it.
// hank may well run inside an agent; the agents of its codons do not.
var nested = []string{
	"GEMINI_CLI", "SANDBOX", "GEMINI_CLI_IDE_SERVER_PORT", "GEMINI_CLI_IDE_WORKSPACE_PATH", "GEMINI_CLI_IDE_AUTH_TOKEN", "GEMINI_CLI_IDE_PID",
}

// fixed are the variables of every run.
var fixed = map[string]string{
	"GEMINI_CLI_NO_RELAUNCH":     "true",  // without it the agent is the child of a launcher
	"GEMINI_CLI_TRUST_WORKSPACE": "true",  // without it the agent refuses to start
	"GEMINI_SANDBOX":             "false", // the container would not have the agent's home
	"NO_BROWSER":                 "true",  // a login that is over ends the agent, and opens no page
	"NO_COLOR":                   "1",
}

// environ is the agent's environment without the codon's own variables, and where its
// credentials come from.
func environ(req harness.Request) (harness.Environ, source) {
	env := harness.BaseEnviron(req)
	for _, name := range nested {
		delete(env, name)
	}
	from := credentials(over(env, req))
	for name, value := range fixed {
		env[name] = value
	}
	waitForReader(env)
	if from.is == keyFile {
		env[keyVariable] = from.key
	}
	if req.Home != "" {
		env["GEMINI_CLI_HOME"] = req.Home
		if from.is != cloud { // whose credentials are in the user's home
			env["HOME"] = req.Home
		}
	}
	return env, from
}

// over is an environment with the codon's own variables.
func over(env harness.Environ, req harness.Request) harness.Environ {
	return harness.NewEnviron(env.Finish(req.Env))
}

// LoginFiles implements harness.Harness: the files that the agent renews its login in.
func (Harness) LoginFiles(environ []string) []string {
	return credentials(harness.NewEnviron(environ)).links()
}

// remedy is what the user can do about a key or login that is refused.
func remedy(req harness.Request) string {
	_, from := environ(req)
	switch from.is {
	case key, keyFile:
		return "set " + keyVariable + " to one that is accepted"
	case cloud:
		return "renew the credentials of Google Cloud that " + from.where + " asks for"
	}
	return "start gemini once and log in, or set " + keyVariable
}
