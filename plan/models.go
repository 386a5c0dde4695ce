package plan

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/plan/jsonshape"
	"hank/plan/kind"
	"hank/plan/model"
)

// override is a model that all codons use instead of their own, and the place
// that asks for it: a pointer into hank.json, or else the name of another
// source.
type override struct {
	model   string
	pointer string
	source  string
	doc     func() *jsonshape.Document // another file, into which the pointer is; nil: it is into hank.json
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
		case ref.Kind().RunsScript:
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
		if h.Overrides != nil {
			p.codon.OnStuck = cmp.Or(p.codon.OnStuck, h.Overrides.OnStuck)
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
		h.aboutModel(out, ref, p.pointer+"/model")
		model.ResolveFallbacks(ref, p.codon.Fallback, instead.Resolved(), lookup, func(i int, err error) {
			at := fmt.Sprintf("%s/fallback/%d", p.pointer, i)
			if err == nil {
				h.aboutModel(out, p.codon.Fallback[i].Model, at)
				return
			}
			rule, hint := modelProblem(err)
			h.report(out, at, rule, hint, "codon %q: %v", p.codon.ID, err)
		})
	}
}

// aboutModel says what is worth knowing of a model that a codon can have.
func (h *Hank) aboutModel(out *diagnostic.Reporter, ref model.Ref, at string) {
	if ref.Unlisted() && !(ref.Kind().NamesProgram && ref.ProviderID == ref.Kind().Name) { // what such a program has for a model is its own affair
		h.report(out, at, "unlisted-model", `if its price is known, name it under "prices" of hankweave.json`,
			"%s is not in the list of models (hank models): only the agent knows whether it exists, and its price is unknown", ref)
	}
	if _, err := ref.Harness(); err != nil {
		h.report(out, at, "no-harness", "", "%v", err)
	}
}

// priceRules reports limits in dollars on models, and fallbacks, without a price. settings are those that
// hold; everywhere says that an execution's own limit is on all of them. due: which codons count.
func (h *Hank) priceRules(settings config.Settings, everywhere bool, due func(*Codon) bool, out *diagnostic.Reporter) {
	rule, hint := "budget-no-price", `name it under "prices" of hankweave.json, or use maxTimeSeconds or maxOutputTokens too`
	if settings.RequirePrice != nil && *settings.RequirePrice {
		rule, hint = "price-required", `name it under "prices" of hankweave.json`
	}
	for _, p := range h.places {
		if p.codon == nil || !due(p.codon) || !everywhere && p.codon.Budget.dollars() == 0 && (settings.Budget == nil || settings.Budget.MaxDollars == 0) && (p.inside == nil || p.inside.Budget.dollars() == 0) {
			continue // without a limit in dollars
		}
		for at, m := range model.WithoutPrice(p.codon.Model, p.codon.Fallback) {
			h.report(out, p.pointer+at, rule, hint,
				"%q has a limit in dollars, and the price of %s is unknown: only costs that the agent itself reports count", p.codon.ID, m)
		}
	}
}

// PricesRequired reports what priceRules does where the settings require prices: a program that was
// stored has not been judged under them.
func (p *Program) PricesRequired(settings config.Settings, everywhere bool, due func(*Codon) bool) []diagnostic.Diagnostic {
	var out diagnostic.Reporter
	if settings.RequirePrice != nil && *settings.RequirePrice {
		p.Hank.priceRules(settings, everywhere, due, &out)
	}
	return out.List
}

// modelProblem says what is to be reported for a model that was not found.
func modelProblem(err error) (rule, hint string) {
	var unknown *model.UnknownError
	var ambiguous *model.AmbiguousError
	var fallback *model.FallbackError
	switch {
	case errors.As(err, &fallback):
		return fallback.Rule, "remove it"
	case errors.As(err, &ambiguous):
		return "ambiguous-model", "name one of " + strings.Join(ambiguous.Fits, ", ")
	case errors.As(err, &unknown) && len(unknown.Near) > 0:
		return "unknown-model", "did you mean " + strings.Join(unknown.Near, ", ") + "?"
	}
	if unknown != nil {
		before, _, ok := strings.Cut(unknown.Name, "/")
		if agent, known := kind.Agent(before); ok && known {
			return "unknown-model", "a model that only the agent knows is written " + agent.Name + "/PROVIDER/MODEL"
		}
	}
	return "unknown-model", `hank models lists those that there are; newer ones can be added under "models" of hankweave.json`
}

// reportModel reports a model at the place that names it.
func (h *Hank) reportModel(out *diagnostic.Reporter, at override, rule, hint, message string) {
	if at.pointer == "" {
		out.At(&jsonshape.Document{File: at.source}, 0, "", rule, message, hint)
		return
	}
	doc := h.doc
	if at.doc != nil {
		doc = at.doc()
	}
	out.At(doc, doc.Find(at.pointer), at.pointer, rule, message, hint)
}
