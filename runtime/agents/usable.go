package agents

import (
	"context"
	"fmt"

	"hank/plan"
	"hank/plan/model"
	"hank/runtime/harness"
)

// With is a codon as it is with another model.
func With(c *plan.Codon, m model.Ref) *plan.Codon {
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
	check, known := a[seatOf(name, c)]
	if !known {
		return name + " was not looked for"
	}
	if b, is := h.(harness.Broker); is && check.Problem == "" {
		_, problem := b.CheckProvider(c.Model.ProviderID, WithEnv(environ, c.Env))
		return problem
	}
	return check.Problem
}

// Usable reports for each model whether a codon can work with it here, as far as its agent was
// looked for.
func (a Found) Usable(c *plan.Codon, environ []string) func(model.Ref) bool {
	return func(m model.Ref) bool { return a.Problem(With(c, m), environ) == "" }
}

// Instead is the first fallback of a codon that can be used here; ok is false if there is
// none.
func (a Found) Instead(c *plan.Codon, environ []string) (m model.Ref, ok bool) {
	for _, f := range c.Fallback {
		if a.Problem(With(c, f.Model), environ) == "" {
			return f.Model, true
		}
	}
	return model.Ref{}, false
}

// CheckOf looks for the agent of a codon, in the environment that the codon gives it, if that
// was not done yet.
func (a Found) CheckOf(ctx context.Context, c *plan.Codon, environ []string) (name string, check harness.Check, err error) {
	h, name, err := Of(c)
	if err != nil {
		return "", check, err
	}
	check, known := a[seatOf(name, c)]
	if !known {
		check = h.Check(ctx, WithEnv(environ, c.Env))
		a[seatOf(name, c)] = check
	}
	return name, check, nil
}

// looker looks for the agents of codons, each once.
type looker struct {
	found      Found
	before     Found // what was known before
	environ    []string
	say        func(line string)
	looked     map[seat]bool
	done       map[string]bool // codons, and what was said
	own, aside []string        // agents that were not known before and can be used: of codons, and of fallbacks alone
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
		other := With(c, f.Model)
		fresh, _ := l.look(ctx, other) // Problem has the error
		l.aside = append(l.aside, fresh...)
		line := fmt.Sprintf("codon %s cannot fall back to %s: %s", c.ID, f.Model, l.found.Problem(other, l.environ))
		if l.found.Problem(other, l.environ) != "" && !l.done[line] && !l.isSaid(other) {
			l.say("warning: " + line)
		}
		l.done[line] = true
	}
	return nil
}

// look looks for an agent that is not known, or was missing before. It returns its name if
// it was looked for now and can be used.
func (l *looker) look(ctx context.Context, c *plan.Codon) (fresh []string, err error) {
	_, name, err := Of(c)
	if err != nil {
		return nil, err
	}
	at, known := seatOf(name, c), l.found.canBeUsed(name)
	if l.looked[at] || l.found[at].Problem == "" && l.found.has(at) {
		return nil, nil
	}
	l.looked[at] = true
	delete(l.found, at)
	_, check, err := l.found.CheckOf(ctx, c, l.environ)
	if err != nil || check.Problem != "" {
		return nil, err
	}
	if check.Note != "" && !l.done[check.Note] {
		l.say(check.Note)
	}
	if l.done[check.Note] = true; known {
		return nil, nil
	}
	return []string{name}, nil
}

// isSaid reports whether an earlier look has found out what there is to say of a codon's agent.
func (l *looker) isSaid(c *plan.Codon) bool {
	_, name, _ := Of(c) // without an agent there is no name
	return l.before.has(seatOf(name, c))
}

func (a Found) has(at seat) bool { _, is := a[at]; return is }

// canBeUsed reports whether an agent was found that some codon can use.
func (a Found) canBeUsed(agent string) bool {
	for at, check := range a {
		if at.agent == agent && check.Problem == "" {
			return true
		}
	}
	return false
}
