package agents

import (
	"context"
	"slices"
	"strings"

	"hank/internal/consent"
	"hank/plan"
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

// Survey looks for all agents in an environment. p is the hank that needs some of them; it
// may be nil.
func Survey(ctx context.Context, p *plan.Program, environ []string) (all []Surveyed) {
	var needed []string
	if p != nil {
		needed = harnessesOf(p)
	}
	for name, h := range Harnesses {
		mode := h.Permission()
		if mode == "" {
			continue
		}
		c := h.Check(ctx, environ)
		all = append(all, Surveyed{Agent: name, Needed: slices.Contains(needed, name), Found: c.Found, Path: c.Path, Version: c.Version, LoggedIn: c.LoggedIn,
			Credentials: c.Credentials, Permission: mode, Allowed: consent.Given(name), Problem: c.Problem, Note: c.Note})
	}
	slices.SortFunc(all, func(a, b Surveyed) int { return strings.Compare(a.Agent, b.Agent) })
	return all
}
