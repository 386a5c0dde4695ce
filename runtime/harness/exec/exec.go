// Package exec is the harness for programs of the user: any program that speaks the line
// protocol of docs/exec-harness.md, version 1. A codon with a model of it names the
// program in its field exec.
//
//   - hank writes one line of JSON to the standard input: the request. What a script
//     needs of it is in the environment, and the prompt in a file, too.
//   - The program prints one JSON object a line: an event. A line that is none, and an
//     event of an unknown type, mean nothing and stay in the transcript.
//   - A turn succeeds if its last event is a result that says so, the session is the one
//     that was asked for, and the program then ends with status 0.
//
// The package takes a program at its word for what it did and used. It looks into no file
// of the program, and knows no provider.
package exec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
const Name = "exec"

// protocol is the version of the protocol that hank speaks.
const protocol = 1

// Harness drives a program of the user.
type Harness struct {
	// Program is what to start, with its arguments. A Harness without one only reads.
	Program []string
}

var (
	_ harness.Harness     = Harness{}
	_ harness.Remembering = Harness{}
)

// Name implements harness.Harness.
func (Harness) Name() string { return Name }

// Permission implements harness.Harness. hank knows of nothing that confines the program,
// and answers none of its questions.
func (Harness) Permission() string { return "unrestricted" }

// LoginFiles implements harness.Harness. What a program needs of its user's is its own
// business.
func (Harness) LoginFiles([]string) []string { return nil }

// request is the line that the program reads.
type request struct {
	Protocol     int    `json:"protocol"`
	Type         string `json:"type"` // request
	Prompt       string `json:"prompt"`
	SystemPrompt string `json:"systemPrompt,omitempty"`
	Session      string `json:"session"` // to continue, or the one that is proposed
	Resume       bool   `json:"resume"`
	Model        string `json:"model"`
	Provider     string `json:"provider"`
	Effort       string `json:"effort,omitempty"`
	AutoCompact  bool   `json:"autoCompact"`
	Attempt      string `json:"attempt"`
	Turn         int    `json:"turn"` // of the attempt, from 0
	Workspace    string `json:"workspace"`
	Home         string `json:"home"` // kept between codons
	Temp         string `json:"temp"` // removed with the attempt
}

// Command implements harness.Harness. The directories Home and Temp must exist. The
// prompts are written into Temp, for programs that do not read JSON; they are no arguments,
// which everybody on the machine can see.
func (h Harness) Command(req harness.Request) (harness.Command, error) {
	switch {
	case len(h.Program) == 0:
		return harness.Command{}, errors.New("exec: the codon names no program")
	case req.Workspace == "" || req.Home == "" || req.Temp == "":
		return harness.Command{}, errors.New("exec: the request names no workspace, home or temporary directory")
	case req.Session != "" && !usable(req.Session):
		return harness.Command{}, fmt.Errorf("exec: %q is no id of a session", req.Session)
	}
	line, err := json.Marshal(request{
		Protocol: protocol, Type: "request", Prompt: req.Prompt, SystemPrompt: req.SystemPrompt, Session: session(req), Resume: req.Session != "",
		Model: req.Model, Provider: req.Provider, Effort: req.Effort, AutoCompact: req.AutoCompact, Attempt: req.Attempt, Turn: req.Turn,
		Workspace: req.Workspace, Home: req.Home, Temp: req.Temp,
	})
	if err != nil {
		return harness.Command{}, fmt.Errorf("exec: %w", err)
	}
	env, err := environ(req)
	if err != nil {
		return harness.Command{}, fmt.Errorf("exec: the prompt cannot be written to a file: %w", err)
	}
	args := slices.Clone(h.Program)
	if req.Agent.Path != "" {
		args[0] = req.Agent.Path
	}
	return harness.Command{
		Args: args, Env: env.Finish(req.Env), Dir: req.Workspace, Stdin: append(line, '\n'),
		StopSignal: syscall.SIGTERM, StopGrace: 5 * time.Second,
	}, nil
}

// environ is the environment without the codon's own variables. What the request has no
// value for is not set, also if hank itself runs in a codon.
func environ(req harness.Request) (harness.Environ, error) {
	env := harness.BaseEnviron(req)
	env["HANK_SESSION"] = session(req)
	resume := ""
	if req.Session != "" {
		resume = "1"
	}
	for name, value := range map[string]string{
		"HANK_RESUME": resume, "HANK_MODEL": req.Model, "HANK_EFFORT": req.Effort, "HANK_HOME": req.Home,
	} {
		if delete(env, name); value != "" {
			env[name] = value
		}
	}
	for name, text := range map[string]string{"HANK_PROMPT_FILE": req.Prompt, "HANK_SYSTEM_PROMPT_FILE": req.SystemPrompt} {
		if delete(env, name); text == "" && name != "HANK_PROMPT_FILE" {
			continue
		}
		file := filepath.Join(req.Temp, fmt.Sprintf("%s-%d", strings.ToLower(name), req.Turn))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		env[name] = file
	}
	return env, nil
}

// SessionFiles implements harness.Remembering: what is in Home under the session's id. It is
// all that hank knows of where a program keeps its sessions.
func (Harness) SessionFiles(req harness.Request, session string) (root string, names []string, err error) {
	names, err = harness.FilesIn(req.Home, harness.Literal(session))
	return req.Home, names, err
}

// session is the session to continue, or the id that is proposed for a new one: the same
// in every process that asks.
func session(req harness.Request) string {
	if req.Session != "" {
		return req.Session
	}
	sum := sha256.Sum256([]byte(req.Attempt))
	return "exec-" + hex.EncodeToString(sum[:8])
}

// Check implements harness.Harness. The program is not started: hank does not know what it
// would do.
func (h Harness) Check(_ context.Context, env []string) harness.Check {
	if len(h.Program) == 0 {
		return harness.Check{LoggedIn: true}
	}
	name := h.Program[0]
	path := harness.LookPath(name, harness.NewEnviron(env))
	switch {
	case path != "":
		return harness.Check{Found: true, Path: path, LoggedIn: true}
	case filepath.IsAbs(name):
		return harness.Check{LoggedIn: true, Problem: fmt.Sprintf(`%s is not an executable file; install it there, or correct "exec" of the codon`, name)}
	}
	return harness.Check{LoggedIn: true, Problem: fmt.Sprintf(`the program %s is not on the PATH; install it, or correct "exec" of the codon`, name)}
}
