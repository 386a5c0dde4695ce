package report

import (
	"os"
	"slices"

	"hank/internal/sandbox"
	"hank/plan"
	"hank/plan/diagnostic"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/runtime/agents"
)

// Validation is what is wrong with a hank, and what it comes to on this machine.
type Validation struct {
	Schema      int                     `json:"schema"`
	Valid       bool                    `json:"valid"`
	Hank        string                  `json:"hank"`
	Codons      int                     `json:"codons"`
	Diagnostics []diagnostic.Diagnostic `json:"diagnostics"`
	Sandbox     *agents.Confinement     `json:"sandbox,omitempty"`
	Private     []string                `json:"private,omitempty"` // files for secrets that checkpoints would hold, with what to do

	OnlyStrict bool `json:"-"` // it is invalid because of warnings alone
}

// Validate judges a hank that was read with these diagnostics, in the execution that
// hank run would use. program is nil if it has errors; strict makes errors of
// warnings.
func Validate(path string, program *plan.Program, found []diagnostic.Diagnostic, at layout.Layout, strict bool) *Validation {
	v := &Validation{Schema: 1, Hank: path, Diagnostics: append([]diagnostic.Diagnostic{}, found...)}
	if program == nil {
		return v
	}
	v.Codons = len(program.Initial())
	v.Private = execution.WouldBePrivate(at.Workspace)
	v.Sandbox = agents.Confine(program, program.Settings.Sandbox, at, agents.Overlay(os.Environ()), sandbox.Kernel())
	warned := slices.ContainsFunc(found, func(d diagnostic.Diagnostic) bool { return d.Severity == diagnostic.Warning })
	v.OnlyStrict = strict && warned && v.Sandbox.Problem == ""
	v.Valid = v.Sandbox.Problem == "" && !v.OnlyStrict
	return v
}
