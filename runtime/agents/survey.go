package agents

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
// own model, or, where that cannot be used and a fallback can, the agent of the fallback. Of an
// agent that is needed it tells what a codon finds that cannot begin, or else the first codon
// that needs it, with the variables that the codon sets.
func Survey(ctx context.Context, p *plan.Program, environ []string) (all []Surveyed) {
	found := Found{}
	for name, h := range Harnesses {
		if h.Permission() != "" && !kind.Of(name).NamesProgram {
			found[seat{agent: name}] = h.Check(ctx, environ)
		}
	}
	rows := map[string]Surveyed{} // of needed agents
	if p != nil {
		look := func(c *plan.Codon) {
			if h, _, err := Of(c); err == nil && h.Permission() != "" {
				_, _, _ = found.CheckOf(ctx, c, environ) // it has an agent
			}
		}
		EachCodon(p, func(c *plan.Codon) {
			look(c)
			for _, f := range c.Fallback {
				look(With(c, f.Model))
			}
		})
		EachCodon(p, func(c *plan.Codon) {
			problem := found.Problem(c, environ)
			if m, can := found.Instead(c, environ); can && problem != "" {
				c, problem = With(c, m), ""
			}
			h, name, err := Of(c)
			if err != nil || h.Permission() == "" {
				return
			}
			uses := ""
			if b, is := h.(harness.Broker); is {
				uses, _ = b.CheckProvider(c.Model.ProviderID, WithEnv(environ, c.Env))
			}
			if row, known := rows[name]; known && (problem == "" || row.Problem != "") {
				if problem == "" && uses != "" && !slices.Contains(strings.Split(row.Credentials, ", "), uses) {
					row.Credentials += ", " + uses
					rows[name] = row
				}
				return
			}
			row := surveyed(name, found.Of(c))
			row.Credentials = cmp.Or(uses, row.Credentials)
			if row.Needed, row.Problem = true, problem; found[seat{agent: name}].Problem != "" && problem == "" && len(c.Env) > 0 {
				row.Note = strings.TrimPrefix(fmt.Sprintf("%s; with the variables that codon %s sets (env)", row.Note, c.ID), "; ")
			}
			rows[name] = row
		})
	}
	for at, check := range found {
		if _, known := rows[at.agent]; !known && (at.env == "" || !found.has(seat{agent: at.agent})) {
			rows[at.agent] = surveyed(at.agent, check)
		}
	}
	all = slices.Collect(maps.Values(rows))
	slices.SortFunc(all, func(a, b Surveyed) int { return strings.Compare(a.Agent, b.Agent) })
	return all
}

// surveyed is what was found of an agent.
func surveyed(name string, c harness.Check) Surveyed {
	return Surveyed{Agent: name, Found: c.Found, Path: c.Path, Version: c.Version, LoggedIn: c.LoggedIn,
		Credentials: c.Credentials, Permission: permissionOf(name), Allowed: allowed(name), Problem: c.Problem, Note: c.Note}
}
