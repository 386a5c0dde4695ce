package machine

import (
	"context"
	"fmt"
	"slices"

	"hank/plan"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/runtime/harness"
)

// Refused says what no process of entries of a plan could begin with: scripts and commands that
// sh cannot parse, and environments that are too long for any program.
func Refused(ctx context.Context, p *plan.Program, rest []plan.Entry, environ []string) []diagnostic.Diagnostic {
	due := owners(rest)
	all := slices.DeleteFunc(p.Scripts(), func(s plan.Script) bool { return !due[s.Owner] })
	return append(scripts(ctx, p, all, environ), longEnvironments(p, environ, room(), func(c *plan.Codon) bool { return due[c.ID] })...)
}

// Unpriced says which codons of entries of a plan have a limit in dollars, of their own or of the
// execution (limited), on a model without a price, where the settings require prices.
func Unpriced(p *plan.Program, rest []plan.Entry, settings config.Settings, limited bool) []diagnostic.Diagnostic {
	due := owners(rest)
	found := p.PricesRequired(settings, limited, func(c *plan.Codon) bool { return due[c.ID] })
	for i := range found {
		found[i].Hint += "; an execution that is there takes it over with --adopt"
	}
	return found
}

// owners are the codons and loops that entries are of.
func owners(rest []plan.Entry) map[plan.CodonID]bool {
	due := map[plan.CodonID]bool{}
	for _, e := range rest {
		due[e.Codon.ID] = true
		if e.LoopContext != nil {
			due[e.LoopContext.LoopID] = true
		}
	}
	return due
}

// longEnvironments says which codons have variables that no process can get, beside those of an
// environment. What hank adds for an attempt is not counted: it is not known yet.
func longEnvironments(p *plan.Program, environ []string, room uint64, due func(*plan.Codon) bool) (found []diagnostic.Diagnostic) {
	size := func(name, value string) uint64 { return uint64(len(name) + len(value) + 2 + 8) } // =, NUL and a pointer
	env, all := harness.NewEnviron(environ), uint64(0)
	for name, value := range p.Hank.Variables {
		env["HANK_VAR_"+name] = value
	}
	for name, value := range env {
		all += size(name, value)
	}
	p.Hank.EachCodon(func(pointer string, c *plan.Codon) {
		total := all
		for name, value := range c.Env {
			if before, is := env[name]; is {
				total -= size(name, before)
			}
			total += size(name, value)
		}
		what, arguments := "the environment of codon %q has at least %d bytes, and a process of this machine may have %d: none of its processes can start", uint64(0)
		if c.Model.Kind().NamesProgram {
			for _, argument := range c.Exec {
				arguments += uint64(len(argument) + 1 + 8)
			}
		}
		if total <= room {
			what, total = "the environment and the arguments of codon %q have together at least %d bytes, and a process of this machine may have %d: its program cannot start", total+arguments
		}
		if total > room && due(c) {
			found = append(found, p.Diagnose(pointer, "environment-long", "put long values into files", fmt.Sprintf(what, c.ID, total, room)))
		}
	})
	return found
}
