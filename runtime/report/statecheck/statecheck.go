// Package statecheck judges the state of an execution as hank validate judges a hank: by
// rules, with diagnostics.
//
// A rule is a type of the compatible system's state validation (missing_run,
// orphaned_folder), one of hank's own (unclosed_run), or the severity of a finding of hank
// doctor (blocked, lost). A state that is whole is valid, also where the execution waits for
// somebody: at a gate, held, at a budget. The judgement is that of hank doctor in another form; the package
// looks at nothing by itself and changes nothing.
package statecheck

import (
	"context"
	"slices"

	"hank/plan/diagnostic"
	"hank/recovery/finding"
	"hank/recovery/load"
	"hank/runtime/report"
	"hank/state/consistency"
)

// Check is what is wrong with the state of an execution.
type Check struct {
	Schema      int                     `json:"schema"`
	Valid       bool                    `json:"valid"` // no error among the diagnostics: the state is whole, also where it waits for somebody
	Execution   string                  `json:"execution"`
	Condition   report.Condition        `json:"condition"` // as hank doctor has it
	Diagnostics []diagnostic.Diagnostic `json:"diagnostics"`
	Next        string                  `json:"next"` // as hank doctor has it
}

// stateFile is where the state of an execution is, relative to it.
const stateFile = ".hankweave/state.json"

// Of checks an execution. option is what a command needs to find it, see report.ReadStatus.
func Of(ctx context.Context, root string, in report.Settings, option string) *Check {
	return of(report.Examine(ctx, root, in, nil, option))
}

func of(d *report.Diagnosis) *Check {
	c := &Check{Schema: 1, Execution: d.Execution, Condition: d.Condition, Diagnostics: []diagnostic.Diagnostic{}, Next: d.Next}
	add := func(s diagnostic.Severity, rule, message string) {
		c.Diagnostics = append(c.Diagnostics, diagnostic.Diagnostic{Severity: s, Rule: rule, File: stateFile, Message: message})
	}
	if v := d.Validation; v != nil {
		for _, i := range v.Errors {
			add(diagnostic.Error, string(i.Type), i.Message)
		}
		for _, i := range v.Warnings {
			add(diagnostic.Warning, string(i.Type), i.Message)
		}
	}
	for _, f := range d.Findings {
		switch {
		case load.IsDamage(f):
			add(diagnostic.Error, string(consistency.CorruptedData), f.What)
		case f.Asked:
			add(diagnostic.Info, string(f.Severity), f.What)
		default:
			add(severity(f.Severity), string(f.Severity), f.What)
		}
	}
	if d.Store != nil {
		for _, problem := range d.Store.Problems {
			add(diagnostic.Error, string(finding.Blocked), "the checkpoint store is damaged: "+problem)
		}
	}
	c.Valid = !slices.ContainsFunc(c.Diagnostics, func(d diagnostic.Diagnostic) bool { return d.Severity == diagnostic.Error })
	return c
}

// severity is that of a finding: damage that needs somebody's decision is an error, and what the
// next command repairs, or what is lost for good, is none.
func severity(s finding.Severity) diagnostic.Severity {
	switch s {
	case finding.Blocked:
		return diagnostic.Error
	case finding.Note:
		return diagnostic.Info
	}
	return diagnostic.Warning
}
