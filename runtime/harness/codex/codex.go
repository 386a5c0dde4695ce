// Package codex is the harness for the Codex command line (@openai/codex). It was written
// against version 0.169.0; what that prints was recorded from the real program, see
// testdata.
//
//   - A thread is a session of the agent. Its id is in the first event.
//   - An item is something in a thread: a message, a command, a change of files.
//   - The rollout is the agent's own file of a thread. It alone has what each request to
//     the model used; the printed events have a sum over the whole thread, at the end of
//     a turn that ended well.
//
// The agent reports no money, so that what it costs is a matter of price lists.
package codex

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"hank/runtime/harness"
)

// Name is the harness's word in records.
const Name = "codex"

// Harness drives the Codex command line.
type Harness struct{}

var _ harness.Harness = Harness{}

// Name implements harness.Harness.
func (Harness) Name() string { return Name }

// maxArgument is the longest single argument that Linux takes (MAX_ARG_STRLEN,
// 32 pages) with its NUL.
const maxArgument = 32*4096 - 1

// Command implements harness.Harness. The directories Home and Temp must exist. The
// agent's own directory in Home is made, and the user's login linked into it.
//
//  1. The prompt goes through the standard input, which the agent reads to its end.
//  2. A thread is continued by its id, never by "the last one": with nothing to continue
//     the agent would silently begin a new one.
//  3. The system prompt is added to the agent's own as a message of the developer. A thread
//     that is continued hears another one with the prompt.
//  4. Every command and change is allowed, outside of the workspace too: the run is not
//     interactive, and what the agent's sandbox refuses shows in no event.
func (Harness) Command(req harness.Request) (harness.Command, error) {
	switch {
	case req.Workspace == "":
		return harness.Command{}, errors.New("codex: the request names no workspace")
	case strings.TrimSpace(req.Prompt) == "":
		return harness.Command{}, errors.New("codex: the prompt is empty, and the agent would refuse to start; write one")
	}
	env, from := environ(req)
	settings := append([]string{}, quiet...)
	if base := over(env, req)[baseVariable]; base != "" && from.is != userLogin {
		settings = append(settings, gateway(base)...)
	}
	if !req.AutoCompact {
		settings = append(settings, "model_auto_compact_token_limit=9223372036854775807")
	}
	if req.Effort != "" {
		settings = append(settings, "model_reasoning_effort="+quoted(req.Effort))
	}
	if req.SystemPrompt != "" {
		setting := "developer_instructions=" + quoted(req.SystemPrompt)
		if len(setting) > maxArgument {
			return harness.Command{}, fmt.Errorf("codex: the system prompt has %d bytes as an argument; the maximum argument size is %d; move text into the prompt", len(setting), maxArgument)
		}
		settings = append(settings, setting)
	}
	args := []string{
		program(req, env),
		"exec", "--json", "--ignore-user-config", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
	}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	if req.Model != "" {
		args = append(args, "--model", req.Model)
	}
	if req.Session != "" {
		args = append(args, "resume", req.Session)
	}
	if err := prepare(req, from); err != nil {
		return harness.Command{}, err
	}
	return harness.Command{
		Args:       append(args, "-"),
		Env:        env.Finish(req.Env),
		Dir:        req.Workspace,
		Stdin:      []byte(prompt(req)),
		StopSignal: syscall.SIGINT, // ends its commands too; after SIGTERM they go on
		StopGrace:  5 * time.Second,
	}, nil
}

// quiet keeps the agent from talking to anybody but its provider. What is not a request
// of the thread would be in no account of it.
var quiet = []string{
	"analytics.enabled=false", "check_for_update_on_startup=false",
	"features.plugins=false", "features.apps=false", "features.remote_plugin=false", "features.multi_agent=false",
}

// baseVariable is the address of a gateway that has the API of the provider. It counts
// where there is a key: a login is for the provider itself.
const baseVariable = "OPENAI_BASE_URL"

// gateway is a provider with an address of the environment. The agent itself does not
// look there.
func gateway(base string) []string {
	const provider = "model_providers.hank."
	return []string{
		"model_provider=" + quoted("hank"),
		provider + "name=" + quoted(baseVariable),
		provider + "base_url=" + quoted(base),
		provider + "wire_api=" + quoted("responses"),
		provider + "env_key=" + quoted(keyVariable),
	}
}

// quoted is a text as TOML, the language of the agent's settings. A string of JSON is
// one, but for DEL.
func quoted(text string) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(strings.ToValidUTF8(text, "\uFFFD")) // a string can be encoded
	return strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\x7f", `\u007f`)
}

// program is what to start: what preflight found, else what the environment
// says, else the usual name.
func program(req harness.Request, env harness.Environ) string {
	return cmp.Or(req.Agent.Path, req.Env[executableVariable], env[executableVariable], "codex")
}

// executableVariable chooses another binary than the codex on the PATH.
const executableVariable = "CODEX_PATH_TO_CODEX_EXECUTABLE"

// nested are the variables that tell the agent that another one started it.
// hank may well run inside an agent; the agents of its codons do not.
var nested = []string{
	"CODEX_THREAD_ID", "CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
	"CODEX_MANAGED_BY_NPM", "CODEX_MANAGED_BY_BUN",
}

// environ is the agent's environment without the codon's own variables, and where its
// credentials come from.
func environ(req harness.Request) (harness.Environ, source) {
	env := harness.BaseEnviron(req)
	for _, name := range nested {
		delete(env, name)
	}
	if req.Provider == loginProvider { // a key is another account
		delete(env, keyVariable)
		delete(env, otherKeyVariable)
	}
	merged := over(env, req)
	from := credentials(merged)
	if from.is == otherKey {
		env[keyVariable] = merged[otherKeyVariable]
	}
	if req.Home != "" {
		env["HOME"], env["CODEX_HOME"] = req.Home, ownDirectory(req)
	}
	return env, from
}

// over is an environment with the codon's own variables.
func over(env harness.Environ, req harness.Request) harness.Environ {
	return harness.NewEnviron(env.Finish(req.Env))
}

// LoginFiles implements harness.Harness: the file that the agent renews its login in.
func (Harness) LoginFiles(environ []string) []string {
	if from := credentials(harness.NewEnviron(environ)); from.is == userLogin {
		return []string{from.where}
	}
	return nil
}

// remedy is what the user can do about a key or login that is refused.
func remedy(req harness.Request) string {
	_, from := environ(req)
	switch from.is {
	case key, otherKey:
		return "set " + from.where + " to one that is accepted, or unset it and run codex login"
	}
	return "run codex login, or set " + keyVariable
}

// Permission implements harness.Harness.
func (Harness) Permission() string { return "dangerously-bypass-approvals-and-sandbox" }
