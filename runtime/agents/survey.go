package agents

import (
	"cmp"
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
// the hank that needs some of them; it may be nil. A hank needs of each codon the agent of its
// own model, or, where that cannot be used and a fallback can, the agent of the fallback.
func Survey(ctx context.Context, p *plan.Program, environ []string) (all []Surveyed) {
	found := Found{}
	look := func(name string, h harness.Harness) {
		if _, known := found[name]; !known {
			found[name] = h.Check(ctx, environ)
		}
	}
	for name, h := range Harnesses {
		if h.Permission() != "" && !kind.Of(name).NamesProgram {
			look(name, h)
		}
	}
	needed := map[string]bool{}
	lacks := map[string]string{} // by needed agents: why a codon cannot begin
	if p != nil {
		each := func(do func(c *plan.Codon, name string)) {
			EachCodon(p, func(c *plan.Codon) {
				if h, name, err := Of(c); err == nil && h.Permission() != "" {
					look(name, h)
					do(c, name)
				}
			})
		}
		each(func(*plan.Codon, string) {})
		each(func(c *plan.Codon, name string) {
			problem := found.Problem(c, environ)
			if m, can := found.Instead(c, environ); can && problem != "" {
				_, name, _ = Of(with(c, m)) // one that can be used has an agent
				problem = ""
			}
			needed[name] = true
			lacks[name] = cmp.Or(lacks[name], problem)
		})
	}
	for name, c := range found {
		s := Surveyed{Agent: name, Needed: needed[name], Found: c.Found, Path: c.Path, Version: c.Version, LoggedIn: c.LoggedIn,
			Credentials: c.Credentials, Permission: permissionOf(name), Allowed: allowed(name), Problem: cmp.Or(c.Problem, lacks[name]), Note: c.Note}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Surveyed) int { return strings.Compare(a.Agent, b.Agent) })
	return all
}
