// Package opencode is the harness for the opencode command line (opencode-ai). It was
// written against version 1.18.33; what that prints was recorded from the real program, see
// testdata.
//
//   - A step is one request to the model with the tools that it calls. Each has its own
//     account of tokens and money.
//   - The observer is a plugin of hank's inside of the agent. It tells on the standard error
//     what the agent's own lines leave out.
//   - The inline configuration is what hank wants of the agent. It is in the environment, and
//     counts more than the user's own configuration, which stays in force for the rest.
//
// The agent prints neither a beginning nor an end: a turn has ended well if its last step has.
package opencode

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"hank/runtime/harness"
)

// Name is the harness's word in records.
const Name = "opencode"

// Harness drives the opencode command line.
type Harness struct{}

var _ harness.Harness = Harness{}

// Name implements harness.Harness.
func (Harness) Name() string { return Name }

// Permission implements harness.Harness.
func (Harness) Permission() string { return "auto, with permission for all tools" }

// Command implements harness.Harness. The directories Home and Temp must exist. The agent's
// own directories in Home are made, and the user's login and configuration linked into them.
//
//  1. The prompt goes through the standard input, which the agent reads to its end.
//  2. A session is continued by its id, never as "the last one": with nothing to continue the
//     agent would silently begin a new one.
//  3. A session has a title from the beginning. For one without, the agent asks a model, and
//     that request is in no account.
//  4. The system prompt is a file that the agent adds to its own instructions with every
//     request, also in a session that is continued.
//  5. Every tool is allowed, outside of the workspace too: the run is not interactive, and
//     the agent answers a question by refusing.
//  6. Its log of errors goes to the standard error: the printed events call much of what
//     goes wrong an "unexpected server error".
func (Harness) Command(req harness.Request) (harness.Command, error) {
	switch {
	case req.Workspace == "":
		return harness.Command{}, errors.New("opencode: the request names no workspace")
	case strings.TrimSpace(req.Prompt) == "":
		return harness.Command{}, errors.New("opencode: the prompt is empty, and the agent would refuse to start; write one")
	}
	env, err := environ(req)
	if err != nil {
		return harness.Command{}, err
	}
	args := []string{
		cmp.Or(req.Agent.Path, over(env, req)[executableVariable], Name),
		"run", "--format", "json", "--thinking", "--auto", "--agent", agentName, "--print-logs", "--log-level", "ERROR",
	}
	if req.Model != "" {
		args = append(args, "--model", providerOf(req)+"/"+req.Model)
	}
	if req.Effort != "" {
		args = append(args, "--variant", req.Effort)
	}
	if req.Session == "" {
		args = append(args, "--title", cmp.Or(req.Attempt, "hank"))
	} else {
		args = append(args, "--session", req.Session)
	}
	if err := prepare(req, time.Now()); err != nil {
		return harness.Command{}, fmt.Errorf("opencode: %w", err)
	}
	own := maps.Clone(req.Env) // wins over everything; its inline configuration is in hank's
	delete(own, inlineVariable)
	return harness.Command{
		Args:       args,
		Env:        env.Finish(own),
		Dir:        req.Workspace,
		Stdin:      []byte(req.Prompt),
		StopSignal: syscall.SIGTERM,
		StopGrace:  5 * time.Second,
		Session:    req.Session,
	}, nil
}

// executableVariable chooses another binary than the opencode on the PATH.
const executableVariable = "OPENCODE_PATH_TO_OPENCODE_EXECUTABLE"

// nested are the variables that tell the agent that another one started it. hank may well
// run inside an agent; the agents of its codons do not.
var nested = []string{"OPENCODE", "OPENCODE_PID", "OPENCODE_RUN_ID", "OPENCODE_PROCESS_ROLE", "OPENCODE_CLIENT"}

// quiet keeps the agent from talking to anybody but its provider. A user can set one of them
// to 0: the models that the agent knows are then those of today.
var quiet = []string{"OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD"}

// environ is the agent's environment without the codon's own variables.
func environ(req harness.Request) (harness.Environ, error) {
	env := harness.BaseEnviron(req)
	for _, name := range nested {
		delete(env, name)
	}
	for _, name := range quiet {
		env.Default(name, "1")
	}
	if req.Provider == loginProvider {
		delete(env, "OPENAI_API_KEY") // a key is another account
	}
	if req.Home != "" {
		env["HOME"] = req.Home
		for _, name := range baseDirectories {
			delete(env, name)
		}
	}
	inline, err := settings(req, over(env, req))
	if err != nil {
		return nil, err
	}
	env[inlineVariable] = inline
	return env, nil
}

// baseDirectories are the variables by which a user moves the directories of programs out
// of their places in the home.
var baseDirectories = []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"}

// over is an environment with the codon's own variables.
func over(env harness.Environ, req harness.Request) harness.Environ {
	return harness.NewEnviron(env.Finish(req.Env))
}

// source is the environment of the user: that of the request before its home is replaced.
func source(req harness.Request) harness.Environ {
	if req.Environ == nil {
		return harness.NewEnviron(os.Environ())
	}
	return harness.NewEnviron(req.Environ)
}

// The agent's directories in a home.
var (
	configDirectory = filepath.Join(".config", "opencode")
	dataDirectory   = filepath.Join(".local", "share", "opencode")
)
