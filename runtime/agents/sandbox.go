package agents

import (
	"fmt"
	"path/filepath"
	"slices"

	"hank/internal/sandbox"
	"hank/plan"
	"hank/plan/config"
	"hank/plan/model"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
)

// Confinement is what the setting sandbox comes to for a hank, a place and a
// machine.
type Confinement struct {
	Sandbox config.Sandbox `json:"sandbox"`       // what is asked for
	InForce bool           `json:"inForce"`       // it is asked for, and this kernel does it
	ABI     int            `json:"abi"`           // of the kernel's Landlock; 0 is none
	Why     string         `json:"why,omitempty"` // why this kernel cannot
	// Problem is why the hank cannot be run like this anywhere, and what to do;
	// empty if it can.
	Problem string `json:"problem,omitempty"`
	// Writable is where agents, rigs and checks can write, links followed;
	// sandbox.Devices are left out. nil is anywhere.
	Writable []string `json:"writable,omitempty"`
}

// Confine works out what holds for a program in an execution. environ is what
// agents will get, kernel what can be confined. Nothing is written.
func Confine(p *plan.Program, wanted config.Sandbox, l layout.Layout, environ []string, kernel sandbox.Support) *Confinement {
	c := &Confinement{Sandbox: wanted, ABI: kernel.ABI, Why: kernel.Why}
	if wanted != config.WorkspaceSandbox {
		c.Sandbox = config.NoSandbox
		return c
	}
	c.Writable, c.Problem = allowList(l, harnessesOf(p, true), environ), checkApart(l)
	c.InForce = kernel.InForce() && c.Problem == ""
	return c
}

// allowList is where a hank that works with some harnesses can write. It is
// pure but for following links. Of the directories for temporary files, one for
// each codon, the pattern is in it.
func allowList(l layout.Layout, names, environ []string) []string {
	list := []string{sandbox.Real(l.Workspace)}
	for _, name := range names {
		list = append(list, sandbox.Real(filepath.Join(l.Homes(), name)))
	}
	list = append(list, filepath.Join(sandbox.Real(l.Temps()), "*"))
	for _, name := range names {
		list = append(list, Harnesses[name].LoginFiles(environ)...)
	}
	return list
}

// harnessesOf names the harnesses of a program's codons, in order, with those that they may
// fall back to if that is asked for. A model that hank cannot drive is for others to complain
// about.
func harnessesOf(p *plan.Program, fallbacks bool) []string {
	var names []string
	add := func(m model.Ref) {
		if name, err := m.Harness(); err == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	EachCodon(p, func(c *plan.Codon) {
		add(c.Model)
		for _, f := range c.Fallback {
			if fallbacks {
				add(f.Model)
			}
		}
	})
	slices.Sort(names)
	return names
}

// EachCodon calls do for each codon of a program, those in loops once.
func EachCodon(p *plan.Program, do func(*plan.Codon)) {
	for _, item := range p.Hank.Items {
		if item.Codon != nil {
			do(item.Codon)
			continue
		}
		for i := range item.Loop.Codons {
			do(&item.Loop.Codons[i])
		}
	}
}

// checkApart refuses a workspace that hank's own files lie in: what may be
// written there could not be told from what may not.
func checkApart(l layout.Layout) string {
	own, workspace := sandbox.Real(l.Hankweave()), sandbox.Real(l.Workspace)
	if !sandbox.Contains(workspace, own) {
		return ""
	}
	return fmt.Sprintf("sandbox: workspace lets agents write all of the workspace %s, and hank's own directory %s is inside it; keep the execution elsewhere: -e DIR with a directory outside, or give the agents a directory of their own: --workspace DIR (or disable it: --sandbox none)", workspace, own)
}

// Refusal is why a hank that asks for it is not run without it; nil if it can be
// run.
func (c *Confinement) Refusal() error {
	if c.Problem != "" {
		return &exitcode.UsageError{Why: c.Problem}
	}
	if c.Sandbox != config.WorkspaceSandbox || c.InForce {
		return nil
	}
	return &exitcode.AgentError{Why: "the hank asks for sandbox: workspace, which is not available here: " + c.Why + "; nothing was started; use a kernel that supports it, or, if you trust its agents with everything that you may write: --sandbox none"}
}
