package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hank/internal/sandbox"
	"hank/plan"
	"hank/plan/diagnostic"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/sentinel"
)

// Place is what a hank would meet.
type Place struct {
	Environ []string // of the agents
	Observe []string // of the sentinels
	Layout  layout.Layout
	Kernel  sandbox.Support
	Known   agents.Found // agents that were looked for; what is found is added
}

// Look says what of a program cannot be run here, or not as it seems.
func Look(ctx context.Context, p *plan.Program, here Place) (found []diagnostic.Diagnostic, c *agents.Confinement) {
	for _, lack := range agents.Lacking(p.Hank, here.Environ) {
		pointer, rule, hint := fmt.Sprintf("/requirements/env/%d", lack.Index), "missing-variable", "set it where hank runs: "+lack.Name+", or HANKWEAVE_"+lack.Name+" for the agents alone"
		if lack.Program {
			pointer, rule, hint = fmt.Sprintf("/requirements/tools/%d", lack.Index), "missing-program", "install it, or add its directory to the PATH"
		}
		found = append(found, p.Diagnose(pointer, rule, hint, lack.String()+" is not here"))
	}
	found = append(found, lookForAgents(ctx, p, here)...)
	found = append(found, lookForFallbacks(ctx, p, here)...)
	p.Hank.EachCodon(func(pointer string, c *plan.Codon) {
		_, lost := sentinel.Load(p, plan.Entry{CodonID: c.ID, Codon: c}, here.Observe)
		for _, l := range lost {
			what := "it will not observe codon"
			if l.Required && c.Failure() != plan.Ignore {
				what = "a run does not start without it (failCodonIfNotLoaded): codon"
			}
			found = append(found, p.Diagnose(pointer+"/sentinels", "sentinel-not-loaded", "", fmt.Sprintf("sentinel %s cannot be loaded here, %s %q: %s", l.Name, what, c.ID, l.Why)))
		}
	})
	c = agents.Confine(p, p.Settings.Sandbox, here.Layout, here.Environ, here.Kernel)
	if err := c.Refusal(); err != nil {
		rule := "sandbox-missing"
		if c.Problem != "" {
			rule = "sandbox-place"
		}
		found = append(found, p.Diagnose("/overrides/sandbox", rule, "", err.Error()))
	}
	found = append(found, targets(p, here.Layout)...)
	return append(found, scripts(ctx, p, here.Environ)...), c
}

// lookForAgents looks for each agent once; the first codon that needs it is named.
func lookForAgents(ctx context.Context, p *plan.Program, here Place) (found []diagnostic.Diagnostic) {
	said := map[string]bool{}
	p.Hank.EachCodon(func(pointer string, codon *plan.Codon) {
		h, name, err := agents.Of(codon)
		if err != nil || said[name] { // no-harness says it
			return
		}
		said[name] = true
		check, known := here.Known[name]
		if !known {
			check = h.Check(ctx, here.Environ)
			here.Known[name] = check
		}
		if check.Problem != "" {
			found = append(found, p.Diagnose(pointer+"/model", "missing-agent", "", fmt.Sprintf("codon %q cannot start: %s", codon.ID, check.Problem)))
		}
	})
	return found
}

// lookForFallbacks looks for the agents that codons fall back to, and that no codon has as
// its own; each is said once.
func lookForFallbacks(ctx context.Context, p *plan.Program, here Place) (found []diagnostic.Diagnostic) {
	said := map[string]bool{}
	p.Hank.EachCodon(func(_ string, codon *plan.Codon) {
		if name, err := codon.Model.Harness(); err == nil {
			said[name] = true
		}
	})
	p.Hank.EachCodon(func(pointer string, codon *plan.Codon) {
		for i, f := range codon.Fallback {
			name, err := f.Model.Harness()
			if err != nil || said[name] {
				continue
			}
			said[name] = true
			check, known := here.Known[name]
			if !known {
				check = agents.Harnesses[name].Check(ctx, here.Environ)
				here.Known[name] = check
			}
			if check.Problem != "" {
				found = append(found, p.Diagnose(fmt.Sprintf("%s/fallback/%d", pointer, i), "fallback-agent", "", fmt.Sprintf("codon %q cannot fall back to %s: %s", codon.ID, f.Model, check.Problem)))
			}
		}
	})
	return found
}

// targets are the copies that would replace what is in a workspace that no run has been
// in: there it is nobody's work but the user's.
func targets(p *plan.Program, l layout.Layout) (found []diagnostic.Diagnostic) {
	if layout.Exists(l.Root) {
		return nil
	}
	p.Hank.EachCodon(func(pointer string, codon *plan.Codon) {
		for i, r := range codon.RigSetup {
			if r.Copy == nil {
				continue
			}
			if _, err := os.Lstat(filepath.Join(l.Workspace, filepath.FromSlash(r.Copy.To))); err == nil {
				found = append(found, p.Diagnose(fmt.Sprintf("%s/rigSetup/%d/copy/to", pointer, i), "target-exists", "choose another target, if what is there is to stay",
					fmt.Sprintf("%q is in the workspace already, and this copy replaces it", r.Copy.To)))
			}
		}
	})
	return found
}
