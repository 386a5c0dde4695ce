package validation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hank/internal/secret"
	"hank/internal/term"
	"hank/plan"
	"hank/plan/diagnostic"
	"hank/plan/diagnostic/format"
	"hank/recovery/execution"
	"hank/runtime/agents"
	"hank/runtime/machine"
)

// Validation is what is wrong with hanks and settings, and what the hanks come to on this
// machine. Hank, Sandbox and Private are those of the only hank.
type Validation struct {
	Schema      int                     `json:"schema"`
	Valid       bool                    `json:"valid"`
	Hank        *string                 `json:"hank"` // null: there are several, or none
	Codons      int                     `json:"codons"`
	Diagnostics []diagnostic.Diagnostic `json:"diagnostics"` // of the settings, and of all hanks
	Sandbox     *agents.Confinement     `json:"sandbox,omitempty"`
	Private     []string                `json:"private,omitempty"` // files for secrets that checkpoints would hold, with what to do
	Hanks       []*Hank                 `json:"hanks"`
	Summary     Summary                 `json:"summary"`

	settings []diagnostic.Diagnostic
}

// Hank is the verdict on one hank.
type Hank struct {
	Path   string `json:"path"` // as it was given
	Name   string `json:"name,omitempty"`
	Valid  bool   `json:"valid"`
	Codons int    `json:"codons"`
	Counts

	Program     *plan.Program           `json:"-"` // nil: it could not be read
	Diagnostics []diagnostic.Diagnostic `json:"-"`
	Sandbox     *agents.Confinement     `json:"-"`
	Private     []string                `json:"-"`
	OnlyStrict  bool                    `json:"-"` // it is invalid because of warnings alone
}

// Counts are how many diagnostics there are of each severity.
type Counts struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
}

// Summary is the whole in figures.
type Summary struct {
	Hanks   int `json:"hanks"`
	Valid   int `json:"valid"`
	Invalid int `json:"invalid"`
	Counts
}

// Options say how severe one is.
type Options struct {
	Strict  bool // warnings about the hank and its settings are errors
	Machine bool // so are those about the machine for which a run does not begin
}

// judge makes a diagnostic as severe as the options have it, and names the page of its
// rule. Keys are not in it any more.
func (o Options) judge(d diagnostic.Diagnostic) diagnostic.Diagnostic {
	if rule := diagnostic.Of(d.Rule); d.Severity == diagnostic.Warning && (rule.Machine && o.Machine && !rule.Begins || !rule.Machine && o.Strict) {
		d.Severity = diagnostic.Error
	}
	d.Help = "docs/rules.md#" + d.Rule
	d.Message = secret.Text(d.Message)
	return d
}

func (o Options) judgeAll(found []diagnostic.Diagnostic) []diagnostic.Diagnostic {
	out := make([]diagnostic.Diagnostic, len(found))
	for i, d := range found {
		out[i] = o.judge(d)
	}
	return out
}

// New judges the settings, with what was found in them.
func New(settings []diagnostic.Diagnostic, o Options) *Validation {
	v := &Validation{Schema: 1, Valid: true, Diagnostics: []diagnostic.Diagnostic{}, Hanks: []*Hank{}, settings: o.judgeAll(settings)}
	v.take(v.settings)
	return v
}

func (v *Validation) take(found []diagnostic.Diagnostic) {
	v.Diagnostics = append(v.Diagnostics, found...)
	counts := count(found)
	v.Summary.Errors += counts.Errors
	v.Summary.Warnings += counts.Warnings
	v.Summary.Infos += counts.Infos
	v.Valid = v.Summary.Errors == 0
}

func count(found []diagnostic.Diagnostic) (c Counts) {
	for _, d := range found {
		switch d.Severity {
		case diagnostic.Error:
			c.Errors++
		case diagnostic.Warning:
			c.Warnings++
		default:
			c.Infos++
		}
	}
	return c
}

// Add judges a hank that was read with some diagnostics; program is nil if it could not be
// read. dir is where the files lie that diagnostics name.
func (v *Validation) Add(ctx context.Context, path, dir string, program *plan.Program, found []diagnostic.Diagnostic, here machine.Place, o Options) *Hank {
	h := &Hank{Path: path, Program: program}
	if program != nil {
		h.Name, h.Codons = program.Hank.Title(), len(program.Initial())
		facts, confinement := machine.Look(ctx, program, here)
		found = slices.DeleteFunc(slices.Concat(found, facts), func(d diagnostic.Diagnostic) bool { // the workspace is known: it is no guess
			return d.Rule == "target-parent" && slices.ContainsFunc(facts, func(f diagnostic.Diagnostic) bool { return f.Rule == "target-blocked" && f.Pointer == d.Pointer })
		})
		h.Sandbox = confinement
		if here.Layout.Root != "" {
			h.Private = execution.WouldBePrivate(here.Layout.Workspace)
		}
	}
	strictAlone := !diagnostic.HasErrors(o.without(found))
	h.Diagnostics = o.judgeAll(found)
	main := ""
	if program != nil {
		main = program.Name
	}
	slices.SortStableFunc(h.Diagnostics, func(a, b diagnostic.Diagnostic) int {
		if a.File != b.File && (a.File == main || b.File == main) {
			if a.File == main {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	for i := range h.Diagnostics {
		h.Diagnostics[i].File = term.ShortPath(h.Diagnostics[i].In(dir))
	}
	h.Counts = count(h.Diagnostics)
	h.Valid = h.Errors == 0
	h.OnlyStrict = !h.Valid && strictAlone

	v.Hanks = append(v.Hanks, h)
	v.take(h.Diagnostics)
	v.Codons += h.Codons
	v.Summary.Hanks++
	v.Hank, v.Sandbox, v.Private = &h.Path, h.Sandbox, h.Private
	if len(v.Hanks) > 1 {
		v.Hank, v.Sandbox, v.Private = nil, nil, nil
	}
	if h.Valid {
		v.Summary.Valid++
	} else {
		v.Summary.Invalid++
	}
	return h
}

// without are the diagnostics as they are without --strict.
func (o Options) without(found []diagnostic.Diagnostic) []diagnostic.Diagnostic {
	return Options{Machine: o.Machine}.judgeAll(found)
}

// Groups are the diagnostics by where they come from.
func (v *Validation) Groups() (groups []format.Group) {
	for _, d := range v.settings {
		if n := len(groups); n > 0 && groups[n-1].Name == d.File {
			groups[n-1].Found = append(groups[n-1].Found, d)
		} else {
			groups = append(groups, format.Group{Name: d.File, Found: []diagnostic.Diagnostic{d}})
		}
	}
	for _, h := range v.Hanks {
		groups = append(groups, format.Group{Name: h.Path, Found: h.Diagnostics})
	}
	return groups
}

// Verdict is the verdict on a hank in words.
func (h *Hank) Verdict() string {
	switch {
	case h.OnlyStrict:
		return "invalid with --strict"
	case !h.Valid:
		return "invalid"
	}
	return "valid"
}

// Sentence is the whole in a line.
func (v *Validation) Sentence() string {
	s := v.Summary
	which, verdict := "the settings", "valid"
	if s.Hanks > 0 {
		which = term.Count(s.Hanks, "hank")
	}
	settings := count(v.settings).Errors > 0
	switch {
	case s.Invalid > 0 && s.Valid > 0:
		verdict = fmt.Sprintf("%d valid, %d invalid", s.Valid, s.Invalid)
	case s.Invalid > 0 || s.Hanks == 0 && settings:
		verdict = "invalid"
	}
	if settings && s.Valid > 0 {
		verdict += ", but the settings are invalid"
	}
	return which + ": " + verdict + "; " + strings.Join([]string{term.Count(s.Errors, "error"), term.Count(s.Warnings, "warning"), term.Count(s.Infos, "info")}, ", ")
}
