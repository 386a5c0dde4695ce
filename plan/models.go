package plan

import (
	"errors"
	"fmt"
	"strings"

	"hank/plan/model"
)

// override is a model that all codons use instead of their own, and the place
// that asks for it: a pointer into hank.json, or the name of another source.
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
func (h *Hank) resolve(over override, lookup func(string) (model.Ref, error), out *reporter) {
	var instead model.Ref
	if over.model != "" {
		ref, err := lookup(over.model)
		switch {
		case err != nil:
			h.reportModel(out, over, err)
		case ref.IsShell():
			h.reportOverride(out, over, "shell-override", "prompts that were written for an agent would run as scripts", "set model to shell in the codons that are scripts")
		default:
			instead = ref
		}
	}
	cache := map[string]model.Ref{}
	for _, p := range h.places() {
		if p.codon == nil || p.codon.Model.ModelID == "" {
			continue
		}
		named := p.codon.Model.ModelID
		ref, known := cache[named]
		if !known {
			var err error
			if ref, err = lookup(named); err != nil {
				h.reportModel(out, override{model: named, pointer: p.pointer + "/model"}, err)
				continue
			}
			cache[named] = ref
		}
		if instead.Resolved() && !ref.IsShell() {
			ref = instead
		}
		p.codon.Model = ref
		if _, err := ref.Harness(); err != nil {
			h.report(out, p.pointer+"/model", "no-harness", "", "%v", err)
		}
	}
}

// reportModel reports a model that was not found, and what may have been meant.
func (h *Hank) reportModel(out *reporter, at override, err error) {
	var unknown *model.UnknownError
	var ambiguous *model.AmbiguousError
	switch {
	case errors.As(err, &unknown):
		hint := ""
		if len(unknown.Near) > 0 {
			hint = "did you mean " + strings.Join(unknown.Near, ", ") + "?"
		}
		h.reportOverride(out, at, "unknown-model", err.Error(), hint)
	case errors.As(err, &ambiguous):
		h.reportOverride(out, at, "ambiguous-model", err.Error(), "name one of "+strings.Join(ambiguous.Fits, ", "))
	default:
		h.reportOverride(out, at, "unknown-model", err.Error(), "")
	}
}

func (h *Hank) reportOverride(out *reporter, at override, rule, message, hint string) {
	if at.source != "" {
		out.at(&document{file: at.source}, 0, "", rule, fmt.Sprintf("model %q: %s", at.model, message), hint)
		return
	}
	h.report(out, at.pointer, rule, hint, "%s", message)
}
