package machine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hank/internal/sandbox"
	"hank/plan"
	"hank/plan/diagnostic"
	"hank/recovery"
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
	found = append(found, lookForFallbacks(p, here)...)
	unanswered := sentinel.Unanswered(p, here.Observe)
	p.Hank.EachCodon(func(pointer string, c *plan.Codon) {
		for _, l := range unanswered(c) {
			rule, what := "sentinel-not-loaded", "it will not observe codon"
			if l.Required && c.Failure() != plan.Ignore {
				rule, what = "sentinel-required", "a run does not start without it (failCodonIfNotLoaded): codon"
			}
			found = append(found, p.Diagnose(pointer+"/sentinels", rule, "", fmt.Sprintf("sentinel %s cannot be loaded here, %s %q: %s", l.Name, what, c.ID, l.Why)))
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
	if err := closed(p, here.Layout, p.Settings.OutputDirectory); err != nil {
		found = append(found, p.Diagnose("", "place-closed", "", err.Error()))
	} else if !layout.Exists(here.Layout.Root) {
		if what := recovery.Remains(here.Layout.Root, here.Layout.Workspace != layout.DefaultWorkspace(here.Layout.Root)); what != "" {
			found = append(found, p.Diagnose("", "place-taken", "--fresh has all codons run on what is there", "there is no execution in "+here.Layout.Root+", but "+what))
		}
	}
	found = append(found, blockedCopies(p, here.Layout)...)
	found = append(found, targets(p, here.Layout)...)
	found = append(found, longEnvironments(p, here.Environ, room(), func(*plan.Codon) bool { return true })...)
	return append(found, scripts(ctx, p, p.Scripts(), here.Environ)...), c
}

// lookForAgents looks for the agents of all codons and of their fallbacks. What is missing is
// said once, at the first codon that needs it; a codon that can begin with a fallback does
// not need its own.
func lookForAgents(ctx context.Context, p *plan.Program, here Place) (found []diagnostic.Diagnostic) {
	said := map[string]bool{}
	p.Hank.EachCodon(func(pointer string, codon *plan.Codon) {
		if _, _, err := here.Known.CheckOf(ctx, codon, here.Environ); err != nil { // no-harness says it
			return
		}
		for _, f := range codon.Fallback {
			other := *codon
			other.Model = f.Model
			_, _, _ = here.Known.CheckOf(ctx, &other, here.Environ) // no-harness says it
		}
		problem := here.Known.Problem(codon, here.Environ)
		instead, can := here.Known.Instead(codon, here.Environ)
		switch {
		case problem == "":
		case can:
			found = append(found, p.Diagnose(pointer+"/model", "fallback-begins", "", fmt.Sprintf("codon %q begins with its fallback %s, because its own model %s cannot be used here: %s", codon.ID, instead, codon.Model, problem)))
		case !said[problem]:
			said[problem] = true
			found = append(found, p.Diagnose(pointer+"/model", "missing-agent", "", fmt.Sprintf("codon %q cannot start: %s", codon.ID, problem)))
		}
	})
	return found
}

// lookForFallbacks says what codons cannot fall back to, after lookForAgents has looked; what
// is missing for the own model of a codon is not said again.
func lookForFallbacks(p *plan.Program, here Place) (found []diagnostic.Diagnostic) {
	said := map[string]bool{}
	p.Hank.EachCodon(func(_ string, codon *plan.Codon) { said[here.Known.Problem(codon, here.Environ)] = true })
	p.Hank.EachCodon(func(pointer string, codon *plan.Codon) {
		for i, f := range codon.Fallback {
			other := *codon
			other.Model = f.Model
			if _, err := f.Model.Harness(); err != nil { // no-harness says it
				continue
			}
			if problem := here.Known.Problem(&other, here.Environ); problem != "" && !said[problem] {
				said[problem] = true
				found = append(found, p.Diagnose(fmt.Sprintf("%s/fallback/%d", pointer, i), "fallback-agent", "", fmt.Sprintf("codon %q cannot fall back to %s: %s", codon.ID, f.Model, problem)))
			}
		}
	})
	return found
}

// closed is what cannot be used of an execution, or cannot be made where there is none.
func closed(p *plan.Program, l layout.Layout, setting string) error {
	if err := layout.Obstructed(l.Root); err != nil {
		return err
	}
	if setting != "" {
		setting, _ = filepath.Abs(setting)
	}
	if !layout.Exists(l.Root) {
		return Places(l, setting)
	}
	if err := layout.CheckOwner(l); err != nil {
		return err
	}
	meta, _ := layout.ReadMeta(l.Root) // what is wrong with it hank doctor says
	if ask := cmp.Or(layout.ClosedWorkspace(l), meta.OtherOwner(l)); ask != nil {
		return ask
	}
	copies := false
	p.Hank.EachCodon(func(_ string, c *plan.Codon) { copies = copies || len(c.OutputFiles) > 0 })
	if copies && (setting == "" || BadOutput(l.Root, setting) == "") { // else output-place says it
		return CopiesTo(l.Root, "", setting)
	}
	return nil
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
