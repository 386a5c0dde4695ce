// Package pi is the harness for the pi command line (@mariozechner/pi-coding-agent). It
// was written against version 0.73.1; what that prints was recorded from the real
// program, see testdata.
//
//   - pi works with the models of many providers, each with its own API and credentials.
//     Request.Provider is therefore needed.
//   - A session is a file of the agent. Its first line has the id and the directory that
//     the session belongs to.
//   - The events repeat themselves: see reader.Repeats.
//   - The exit status says nothing about the provider: it is 0 whatever the provider has
//     answered. The last message of the model has the reason why it stopped.
package pi

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"hank/runtime/harness"
)

// Name is the harness's word in records.
const Name = "pi"

// Harness drives the pi command line.
type Harness struct{}

var _ harness.Harness = Harness{}

// Name implements harness.Harness.
func (Harness) Name() string { return Name }

// Permission implements harness.Harness. The agent has no other mode.
func (Harness) Permission() string { return "without permissions" }

// Command implements harness.Harness. The directories Home and Temp must exist. The
// agent's own directory in Home is made, and the user's login and models are linked into
// it.
//
//  1. The prompt goes through the standard input, which the agent reads to its end.
//  2. A session is continued by its file. By an id the agent takes any session that
//     begins with it, and asks a question on the standard input if the session belongs to
//     another directory.
//  3. The system prompt is a file: an argument is limited in size, is in the list of
//     processes, and is taken for the name of a file if there is one.
//  4. Extensions of the user or the workspace are not loaded: they can change what the
//     agent prints and does. Nor are templates, which can replace a prompt that begins with "/".
//  5. The agent has no permissions: every tool may be used.
func (Harness) Command(req harness.Request) (harness.Command, error) {
	switch {
	case req.Workspace == "":
		return harness.Command{}, errors.New("pi: the request names no workspace")
	case strings.TrimSpace(req.Prompt) == "":
		return harness.Command{}, errors.New("pi: the prompt is empty, and the agent would end without a word; write one")
	case req.Home == "":
		return harness.Command{}, errors.New("pi: the request names no home")
	}
	env, from := environ(req)
	own, err := prepare(req, env, from)
	if err != nil {
		return harness.Command{}, err
	}
	args := []string{
		program(req, env),
		"--print", "--mode", "json", "--no-extensions", "--no-prompt-templates", "--no-themes", "--session-dir", own.sessions(),
	}
	if own.gateway != "" {
		args = append(args, "--extension", own.gateway)
	}
	if req.Provider != "" {
		args = append(args, "--provider", provider(req.Provider))
	}
	if req.Model != "" {
		args = append(args, "--model", req.Model)
	}
	if req.Effort != "" {
		args = append(args, "--thinking", thinking(req.Effort))
	}
	if own.system != "" {
		args = append(args, "--append-system-prompt", own.system)
	}
	if req.Session != "" {
		session, err := own.session(req)
		if err != nil {
			return harness.Command{}, err
		}
		args = append(args, "--session", session)
	}
	return harness.Command{
		Args:       args,
		Env:        env.Finish(req.Env),
		Dir:        req.Workspace,
		Stdin:      []byte(req.Prompt),
		StopSignal: syscall.SIGTERM, // ends its commands too; after SIGINT they go on
		StopGrace:  5 * time.Second,
	}, nil
}

// thinking is an effort in the agent's words. It has none for the greatest, and would
// ignore what it does not know.
func thinking(effort string) string {
	if effort == "max" {
		return "xhigh"
	}
	return effort
}

// program is what to start: what preflight found, else what the environment
// says, else the usual name.
func program(req harness.Request, env harness.Environ) string {
	return cmp.Or(req.Agent.Path, req.Env[executableVariable], env[executableVariable], "pi")
}

// executableVariable chooses another binary than the pi on the PATH.
const executableVariable = "PI_PATH_TO_PI_EXECUTABLE"

const (
	// sessionsVariable would lead to sessions in another place.
	sessionsVariable = "PI_CODING_AGENT_SESSION_DIR"
	// nestedVariable is what the agent sets for what it starts. hank may well run inside of it;
	// the agents of its codons do not.
	nestedVariable = "PI_CODING_AGENT"
)

// environ is the agent's environment without the codon's own variables, and where its
// credentials come from.
func environ(req harness.Request) (harness.Environ, source) {
	env := harness.BaseEnviron(req)
	delete(env, nestedVariable)
	delete(env, sessionsVariable)
	env["PI_OFFLINE"], env["PI_TELEMETRY"] = "1", "0"
	from := credentials(over(env, req), provider(req.Provider))
	for name, path := range cloudFiles[provider(req.Provider)] {
		if path := file(env["HOME"], path); path != "" {
			env.Default(name, path)
		}
	}
	env["HOME"], env[directoryVariable] = req.Home, filepath.Join(req.Home, ".pi", "agent")
	return env, from
}

// cloudFiles are files with credentials in the user's home, which the agent does not find
// in its own, with the variables that lead there.
var cloudFiles = map[string]map[string]string{
	"amazon-bedrock": {"AWS_CONFIG_FILE": ".aws/config", "AWS_SHARED_CREDENTIALS_FILE": ".aws/credentials"},
	"google-vertex":  {"GOOGLE_APPLICATION_CREDENTIALS": ".config/gcloud/application_default_credentials.json"},
}

// remedy is what the user can do about a key or login that is refused.
func remedy(req harness.Request) string {
	_, from := environ(req)
	if from.is == key {
		return "set " + from.name + " to one that is accepted, or unset it and use /login in pi"
	}
	if names := keys(provider(req.Provider)); req.Provider != "" && len(names) > 0 {
		return "use /login in pi, or set " + names[len(names)-1]
	}
	return "use /login in pi, or correct " + modelsName
}
