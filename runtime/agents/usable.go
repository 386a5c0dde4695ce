package agents

import (
	"context"
	"fmt"

	"hank/plan"
	"hank/plan/model"
	"hank/runtime/harness"
)

// with is a codon as it is with another model.
func with(c *plan.Codon, m model.Ref) *plan.Codon {
	other := *c
	other.Model = m
	return &other
}

// Problem is why a codon cannot work with its model here, as far as its agent was looked for;
// empty: nothing is known that keeps it from it. What the agent needs for the model's provider
// is looked for in the environment with the codon's own variables.
func (a Found) Problem(c *plan.Codon, environ []string) string {
	h, name, err := Of(c)
	if err != nil {
		return err.Error()
	}
	check, known := a[name]
	if !known {
		return name + " was not looked for"
	}
	if b, is := h.(harness.Broker); is && check.Problem == "" {
		return b.CheckProvider(c.Model.ProviderID, WithEnv(environ, c.Env))
	}
	return check.Problem
}

// Usable reports for each model whether a codon can work with it here, as far as its agent was
// looked for.
func (a Found) Usable(c *plan.Codon, environ []string) func(model.Ref) bool {
	return func(m model.Ref) bool { return a.Problem(with(c, m), environ) == "" }
}

// Instead is the first fallback of a codon that can be used here; ok is false if there is
// none.
func (a Found) Instead(c *plan.Codon, environ []string) (m model.Ref, ok bool) {
	for _, f := range c.Fallback {
		if a.Problem(with(c, f.Model), environ) == "" {
			return f.Model, true
		}
	}
	return model.Ref{}, false
}

// CheckOf looks for the agent of a codon, if that was not done yet.
func (a Found) CheckOf(ctx context.Context, c *plan.Codon, environ []string) (name string, check harness.Check, err error) {
	h, name, err := Of(c)
	if err != nil {
		return "", check, err
	}
	check, known := a[name]
	if !known {
		check = h.Check(ctx, environ)
		a[name] = check
	}
	return name, check, nil
}

// looker looks for the agents of codons, each once.
type looker struct {
	found      Found
	before     Found // what was known before
	environ    []string
	say        func(line string)
	looked     map[string]bool
	own, aside []string // agents that were not known before and can be used: of codons, and of fallbacks alone
}

// lookFor looks for the agents that can work on a codon. A fallback that cannot is no reason
// not to begin; a run passes it over.
func (l *looker) lookFor(ctx context.Context, c *plan.Codon) error {
	fresh, err := l.look(ctx, c)
	if err != nil {
		return err
	}
	l.own = append(l.own, fresh...)
	for _, f := range c.Fallback {
		other := with(c, f.Model)
		fresh, _ := l.look(ctx, other) // Problem has the error
		l.aside = append(l.aside, fresh...)
		line := fmt.Sprintf("codon %s cannot fall back to %s: %s", c.ID, f.Model, l.found.Problem(other, l.environ))
		if l.found.Problem(other, l.environ) != "" && !l.looked[line] && !l.isSaid(other) {
			l.say("warning: " + line)
		}
		l.looked[line] = true
	}
	return nil
}

// look looks for an agent that is not known, or was missing before. It returns its name if
// it was looked for now and can be used.
func (l *looker) look(ctx context.Context, c *plan.Codon) (fresh []string, err error) {
	_, name, err := Of(c)
	if err != nil || l.looked[name] || l.found[name].Problem == "" && l.found.has(name) {
		return nil, err
	}
	l.looked[name] = true
	delete(l.found, name)
	_, check, err := l.found.CheckOf(ctx, c, l.environ)
	if err != nil || check.Problem != "" {
		return nil, err
	}
	if check.Note != "" {
		l.say(check.Note)
	}
	return []string{name}, nil
}

// isSaid reports whether an earlier look has found out what there is to say of a codon's agent.
func (l *looker) isSaid(c *plan.Codon) bool {
	_, name, _ := Of(c) // without an agent there is no name
	return l.before.has(name)
}

func (a Found) has(name string) bool { _, is := a[name]; return is }
