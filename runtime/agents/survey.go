package agents

import (
	"context"
	"slices"
	"strings"

	"hank/plan"
	"hank/plan/kind"
	"hank/runtime/harness"
)

// Surveyed is what is known of an agent on this machine.
type Surveyed struct {
	Agent       string `json:"agent"`
	Needed      bool   `json:"needed"` // by the hank
	Found       bool   `json:"found"`
	Path        string `json:"path,omitempty"`
	Version     string `json:"version,omitempty"`
	LoggedIn    bool   `json:"loggedIn"`
	Credentials string `json:"credentials,omitempty"` // the variable or the login that it will use
	Permission  string `json:"permissionMode"`
	Allowed     bool   `json:"allowed"` // the user has once allowed it to work in this mode
	Problem     string `json:"problem,omitempty"`
	Note        string `json:"note,omitempty"`
}

// Usable reports whether a codon can run with the agent.
func (s Surveyed) Usable() bool { return s.Problem == "" }

// Survey looks for all agents in an environment, and for the programs that a hank names. p is
// the hank that needs some of them; it may be nil.
func Survey(ctx context.Context, p *plan.Program, environ []string) (all []Surveyed) {
	look := func(name string, h harness.Harness, needed bool) {
		c := h.Check(ctx, environ)
		all = append(all, Surveyed{Agent: name, Needed: needed, Found: c.Found, Path: c.Path, Version: c.Version, LoggedIn: c.LoggedIn,
			Credentials: c.Credentials, Permission: h.Permission(), Allowed: allowed(name), Problem: c.Problem, Note: c.Note})
	}
	needed := map[string]harness.Harness{}
	if p != nil {
		EachCodon(p, func(c *plan.Codon) {
			if h, name, err := Of(c); err == nil {
				needed[name] = h
			}
		})
	}
	for name, h := range Harnesses {
		if h.Permission() != "" && !kind.Of(name).NamesProgram {
			_, is := needed[name]
			look(name, h, is)
		}
	}
	for name, h := range needed {
		if Harnesses[name] == nil {
			look(name, h, true)
		}
	}
	slices.SortFunc(all, func(a, b Surveyed) int { return strings.Compare(a.Agent, b.Agent) })
	return all
}
