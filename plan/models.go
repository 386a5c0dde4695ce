package plan

import (
	"errors"
	"strings"

	"hank/plan/diagnostic"
	"hank/plan/jsonshape"
	"hank/plan/model"
)

// override is a model that all codons use instead of their own, and the place
// that asks for it: a pointer into hank.json, or else the name of another
// source.
type override struct {
	model   string
	pointer string
	source  string
}

func overrideOf(h *Hank) override {
	if h.Overrides == nil {
		return override{}
	}
	return override{model: h.Overrides.Model, pointer: "/overrides/model"}
}

// resolve replaces the model names of all codons by models. An override holds
// for every codon but the shell codons: a script is no prompt for an agent,
// and a prompt is no script.
func (h *Hank) resolve(over override, lookup func(string) (model.Ref, error), out *diagnostic.Reporter) {
	var instead model.Ref
	if over.model != "" {
		ref, err := lookup(over.model)
		switch {
		case err != nil:
			rule, hint := modelProblem(err)
			h.reportModel(out, over, rule, hint, err.Error())
		case ref.IsShell():
			h.reportModel(out, over, "shell-override", "set model to shell in the codons that are scripts",
				"with the model shell for all codons, prompts that were written for an agent would run as scripts")
		default:
			instead = ref
		}
	}
	cache := map[string]model.Ref{}
	for _, p := range h.places {
		if p.codon == nil || p.codon.Model.ModelID == "" {
			continue
		}
		named := p.codon.Model.ModelID
		ref, known := cache[named]
		if instead.Resolved() && named != model.Shell {
			ref, known = instead, true
		}
		if !known {
			var err error
			if ref, err = lookup(named); err != nil {
				rule, hint := modelProblem(err)
				h.report(out, p.pointer+"/model", rule, hint, "%v", err)
				continue
			}
			cache[named] = ref
		}
		p.codon.Model = ref
		if _, err := ref.Harness(); err != nil {
			h.report(out, p.pointer+"/model", "no-harness", "", "%v", err)
		}
	}
}

// modelProblem says what is to be reported for a model that was not found.
func modelProblem(err error) (rule, hint string) {
	var unknown *model.UnknownError
	var ambiguous *model.AmbiguousError
	switch {
	case errors.As(err, &ambiguous):
		return "ambiguous-model", "name one of " + strings.Join(ambiguous.Fits, ", ")
	case errors.As(err, &unknown) && len(unknown.Near) > 0:
		return "unknown-model", "did you mean " + strings.Join(unknown.Near, ", ") + "?"
	}
	return "unknown-model", ""
}

// reportModel reports a model at the place that names it.
func (h *Hank) reportModel(out *diagnostic.Reporter, at override, rule, hint, message string) {
	if at.pointer == "" {
		out.At(&jsonshape.Document{File: at.source}, 0, "", rule, message, hint)
		return
	}
	h.report(out, at.pointer, rule, hint, "%s", message)
}
