package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"hank/internal/sandbox"
	"hank/plan"
	"hank/plan/model"
	"hank/runtime/harness"
	"hank/runtime/harness/claude"
	"hank/runtime/harness/replay"
	"hank/state"
)

// home makes the folder that the attempt's agent has for its own.
func (a *attempt) home() (string, error) {
	home := filepath.Join(a.layout.Homes(), a.harnessName())
	return home, sandbox.Folder(home)
}

func (a *attempt) tempPath() string {
	return filepath.Join(a.layout.Temps(), string(a.run)+"-"+plan.SafeFileName(a.entry.CodonID))
}

// temp makes the attempt's folder for temporary files.
func (a *attempt) temp() (string, error) {
	temp := a.tempPath()
	return temp, sandbox.Folder(temp)
}

// writable is what the processes of the attempt may change; nil is anything.
func (a *attempt) writable() ([]string, error) {
	if a.confinement == nil {
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
	list := []string{sandbox.Real(a.layout.Workspace), sandbox.Real(home), sandbox.Real(temp)}
	if a.harnessName() == claude.Name {
		list = append(list, claude.LoginFiles(withEnv(a.environ, a.entry.Codon.Env))...)
	}
	return list, nil
}

// commandEnviron is what scripts, rigs and checks get. Confined ones have home
// and temp folder where they can write; programs keep caches there.
func (a *attempt) commandEnviron() []string {
	environ := a.agentEnviron()
	if a.confinement == nil {
		return environ
	}
	env := harness.NewEnviron(environ)
	env["HOME"] = filepath.Join(a.layout.Homes(), a.harnessName())
	env["TMPDIR"] = a.tempPath()
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		delete(env, name) // they lead to the user's
	}
	return env.Finish(nil)
}

// dropTemp removes the attempt's temporary files.
func (a *attempt) dropTemp() { _ = os.RemoveAll(a.tempPath()) }

// harnessName is what goes into the record.
func (a *attempt) harnessName() string {
	if a.replay != nil {
		return replay.Name
	}
	name, _ := a.entry.Codon.Model.Harness() // preflight has looked at it
	return name
}

func (a *attempt) harness() (harness.Harness, error) {
	if a.replay != nil {
		return a.replay.harness(a.entry.CodonID)
	}
	return harnesses[a.harnessName()], nil
}

// agentEnviron is what every agent gets, with what one codon is told. A workspace inside a user's own
// repository must not make its agents act on that repository by accident:
// git looks no further up than the workspace.
func (a *attempt) agentEnviron() []string {
	env := harness.NewEnviron(a.environ)
	env["HANK_CODON"] = string(a.entry.CodonID)
	env["HANK_ATTEMPT"] = a.id
	env["HANK_ATTEMPT_NUMBER"] = strconv.Itoa(a.number)
	env["HANK_WORKSPACE"] = a.layout.Workspace
	env["GIT_CEILING_DIRECTORIES"] = filepath.Dir(a.layout.Workspace)
	delete(env, "HANK_ITERATION")
	if a.entry.LoopContext != nil {
		env["HANK_ITERATION"] = fmt.Sprint(a.entry.LoopContext.Iteration)
	}
	delete(env, "HANK_DATA")
	if a.hasData {
		env["HANK_DATA"] = a.layout.Data()
	}
	if a.settings.AnthropicBaseURL != "" {
		env["ANTHROPIC_BASE_URL"] = a.settings.AnthropicBaseURL
	}
	return env.Finish(nil)
}

// priced is what a use cost: the agent's own figure, or the registry's price.
func (a *attempt) priced(u harness.Usage) state.USD {
	if u.Priced {
		return u.Cost
	}
	nano, _ := a.entry.Codon.Model.Price(model.Tokens{Input: u.Tokens.Input, Output: u.Tokens.Output, CacheRead: u.Tokens.CacheRead, CacheWrite: u.Tokens.CacheCreation})
	return state.USD(nano)
}
