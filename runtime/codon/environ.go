package codon

import (
	"fmt"
	"os"
	"path/filepath"

	"hank/internal/sandbox"
	"hank/plan"
	"hank/plan/model"
	"hank/plan/variables"
	"hank/runtime/harness"
	"hank/runtime/metering"
)

// home makes the directory that the attempt's agent has for its own.
func (a *attempt) home() (string, error) {
	home := filepath.Join(a.Layout.Homes(), a.Harness.Name())
	return home, sandbox.Directory(home)
}

func (a *attempt) tempPath() string {
	return filepath.Join(a.Layout.Temps(), string(a.Run)+"-"+plan.SafeFileName(a.Entry.CodonID))
}

// temp makes the attempt's directory for temporary files.
func (a *attempt) temp() (string, error) {
	temp := a.tempPath()
	return temp, sandbox.Directory(temp)
}

// writable is what the processes of the attempt may change; nil is anything.
func (a *attempt) writable() ([]string, error) {
	if !a.Confined {
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
	return append([]string{sandbox.Real(a.Layout.Workspace), sandbox.Real(home), sandbox.Real(temp)}, a.Writable...), nil
}

// commandEnviron is what scripts, rigs and checks get. Confined ones have home
// and temp directory where they can write; programs keep caches there.
func (a *attempt) commandEnviron() []string {
	environ := a.agentEnviron()
	if !a.Confined {
		return environ
	}
	env := harness.NewEnviron(environ)
	env["HOME"] = filepath.Join(a.Layout.Homes(), a.Harness.Name())
	env["TMPDIR"] = a.tempPath()
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		delete(env, name) // they lead to the user's
	}
	return env.Finish(nil)
}

// dropTemp removes the attempt's temporary files.
func (a *attempt) dropTemp() { _ = os.RemoveAll(a.tempPath()) }

// withEnv lays a codon's variables over an environment.
func withEnv(environ []string, over map[string]string) []string {
	return harness.NewEnviron(environ).Finish(over)
}

// agentEnviron is what every agent gets, with what one codon is told. A workspace inside a user's own
// repository must not make its agents act on that repository by accident:
// git looks no further up than the workspace.
func (a *attempt) agentEnviron() []string {
	env := harness.NewEnviron(a.Environ)
	variables.Apply(a.Program.Variables(a.Entry, a.vars()), env)
	env["HANK_ATTEMPT"] = a.ID
	env["GIT_CEILING_DIRECTORIES"] = filepath.Dir(a.Layout.Workspace)
	if a.Settings.AnthropicBaseURL != "" {
		env["ANTHROPIC_BASE_URL"] = a.Settings.AnthropicBaseURL
	}
	return env.Finish(nil)
}

// charged is a use of the running turn with its price.
func (a *attempt) charged(u harness.Usage) harness.Usage {
	return metering.Charged(a.Entry.Codon.Model, a.usage, u)
}

// unpriced is how many tokens of the attempt have no price, and what a person is told of it.
func (a *attempt) unpriced() (tokens int64, notes []string) {
	if tokens = a.total().Tokens.Sum(); tokens == 0 || a.pricing().Source != pricedByNobody {
		return 0, nil
	}
	return tokens, []string{fmt.Sprintf("no price is known for the model %s: what the attempt cost (%d tokens) is in no figure; give its price under \"prices\" in hankweave.json", a.Entry.Codon.Model, tokens)}
}

// pricing is where a cost comes from, with the prices that were used.
type pricing struct {
	Source string      `json:"source"` // one of the next three
	Model  string      `json:"model,omitempty"`
	Prices *model.Cost `json:"prices,omitempty"` // dollars per million tokens
}

const (
	pricedByAgent  = "agent"   // it is the agent's own figure
	pricedByList   = "list"    // it is computed from the prices
	pricedByNobody = "unknown" // there is no price, and the cost is 0
)

// pricing is how the cost of the running turn is computed.
func (a *attempt) pricing() pricing {
	m := a.Entry.Codon.Model
	switch _, known := m.Price(model.Tokens{}); {
	case a.usage.Priced || !m.Kind().UsesModel:
		return pricing{Source: pricedByAgent}
	case known:
		return pricing{pricedByList, m.String(), m.Cost}
	}
	return pricing{Source: pricedByNobody, Model: m.String()}
}
