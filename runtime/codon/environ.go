package codon

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"hank/internal/sandbox"
	"hank/plan"
	"hank/plan/model"
	"hank/runtime/agents"
	"hank/runtime/harness"
	"hank/runtime/harness/claude"
	"hank/runtime/harness/replay"
	"hank/state"
)

// home makes the folder that the attempt's agent has for its own.
func (a *Attempt) home() (string, error) {
	home := filepath.Join(a.Layout.Homes(), a.harnessName())
	return home, sandbox.Folder(home)
}

func (a *Attempt) tempPath() string {
	return filepath.Join(a.Layout.Temps(), string(a.Run)+"-"+plan.SafeFileName(a.Entry.CodonID))
}

// temp makes the attempt's folder for temporary files.
func (a *Attempt) temp() (string, error) {
	temp := a.tempPath()
	return temp, sandbox.Folder(temp)
}

// writable is what the processes of the attempt may change; nil is anything.
func (a *Attempt) writable() ([]string, error) {
	if a.Confinement == nil {
		return nil, nil
	}
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	temp, err := a.temp()
	if err != nil {
		return nil, err
	}
	list := []string{sandbox.Real(a.Layout.Workspace), sandbox.Real(home), sandbox.Real(temp)}
	if a.harnessName() == claude.Name {
		list = append(list, claude.LoginFiles(agents.WithEnv(a.Environ, a.Entry.Codon.Env))...)
	}
	return list, nil
}

// commandEnviron is what scripts, rigs and checks get. Confined ones have home
// and temp folder where they can write; programs keep caches there.
func (a *Attempt) commandEnviron() []string {
	environ := a.agentEnviron()
	if a.Confinement == nil {
		return environ
	}
	env := harness.NewEnviron(environ)
	env["HOME"] = filepath.Join(a.Layout.Homes(), a.harnessName())
	env["TMPDIR"] = a.tempPath()
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		delete(env, name) // they lead to the user's
	}
	return env.Finish(nil)
}

// dropTemp removes the attempt's temporary files.
func (a *Attempt) dropTemp() { _ = os.RemoveAll(a.tempPath()) }

// harnessName is what goes into the record.
func (a *Attempt) harnessName() string {
	if a.Replay != nil {
		return replay.Name
	}
	name, _ := a.Entry.Codon.Model.Harness() // preflight has looked at it
	return name
}

func (a *Attempt) harness() (harness.Harness, error) {
	if a.Replay != nil {
		return a.Replay.harness(a.Entry.CodonID)
	}
	return agents.Harnesses[a.harnessName()], nil
}

// agentEnviron is what every agent gets, with what one codon is told. A workspace inside a user's own
// repository must not make its agents act on that repository by accident:
// git looks no further up than the workspace.
func (a *Attempt) agentEnviron() []string {
	env := harness.NewEnviron(a.Environ)
	env["HANK_CODON"] = string(a.Entry.CodonID)
	env["HANK_ATTEMPT"] = a.id
	env["HANK_ATTEMPT_NUMBER"] = strconv.Itoa(a.Number)
	env["HANK_WORKSPACE"] = a.Layout.Workspace
	env["GIT_CEILING_DIRECTORIES"] = filepath.Dir(a.Layout.Workspace)
	delete(env, "HANK_ITERATION")
	if a.Entry.LoopContext != nil {
		env["HANK_ITERATION"] = fmt.Sprint(a.Entry.LoopContext.Iteration)
	}
	delete(env, "HANK_DATA")
	if a.HasData {
		env["HANK_DATA"] = a.Layout.Data()
	}
	if a.Settings.AnthropicBaseURL != "" {
		env["ANTHROPIC_BASE_URL"] = a.Settings.AnthropicBaseURL
	}
	return env.Finish(nil)
}

// priced is what a use cost: the agent's own figure, or the registry's price.
func (a *Attempt) priced(u harness.Usage) state.USD {
	if u.Priced {
		return u.Cost
	}
	nano, _ := a.Entry.Codon.Model.Price(model.Tokens{Input: u.Tokens.Input, Output: u.Tokens.Output, CacheRead: u.Tokens.CacheRead, CacheWrite: u.Tokens.CacheCreation})
	return state.USD(nano)
}
