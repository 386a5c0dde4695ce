// Package models is what hank models tells, as data: the models of a registry with their
// prices, or what names stand for, and where the facts come from.
//
// It reads a registry, and decides nothing.
package models

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"hank/plan/kind"
	"hank/plan/model"
)

// ModelList is the JSON form of hank models: a list that "models" of hankweave.json takes,
// and where its facts come from.
type ModelList struct {
	Schema  int            `json:"schema"`
	Date    string         `json:"date,omitempty"` // of the newest of the lists
	Source  string         `json:"source"`
	Models  []ListedModel  `json:"models"`
	Origins []model.Origin `json:"origins"`
}

// ListedModel is a model of the list.
type ListedModel struct {
	Provider string        `json:"provider"`
	ID       string        `json:"id"`
	Name     string        `json:"name,omitempty"`
	Released string        `json:"released,omitempty"`
	Cost     *model.Cost   `json:"cost,omitempty"`
	Limits   *model.Limits `json:"limit,omitempty"`
}

// ListModels lists all models of a registry by provider and id.
func ListModels(r *model.Registry) ModelList {
	list := ModelList{Schema: 1, Source: "hank models", Models: []ListedModel{}, Origins: r.Origins}
	for _, o := range r.Origins {
		list.Date = max(list.Date, o.Date)
	}
	for _, m := range r.Models() {
		list.Models = append(list.Models, ListedModel(m))
	}
	slices.SortFunc(list.Models, func(a, b ListedModel) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// ModelNames is the JSON form of hank models NAME...
type ModelNames struct {
	Schema  int            `json:"schema"`
	Names   []NamedModel   `json:"names"`
	Origins []model.Origin `json:"origins"`

	Wrong int `json:"-"` // names that stand for no model
}

// NamedModel is what a name stands for.
type NamedModel struct {
	Name   string        `json:"name"`             // as it was given
	Model  string        `json:"model,omitempty"`  // in full
	Agent  string        `json:"agent,omitempty"`  // that the name asks for, or that hank takes; "none" where hank has none for it yet
	Drives bool          `json:"drives"`           // hank can run it
	Effort string        `json:"effort,omitempty"` // how much it is to think
	Listed bool          `json:"listed"`           // false: only the agent knows whether it exists
	Cost   *model.Cost   `json:"cost"`             // null: not known
	Limits *model.Limits `json:"limit"`            // null: not known
	Error  string        `json:"error,omitempty"`
	Near   []string      `json:"near,omitempty"` // what an unknown or ambiguous name was perhaps meant to be
}

// NamedModels looks names up.
func NamedModels(r *model.Registry, names []string) ModelNames {
	all := ModelNames{Schema: 1, Origins: r.Origins}
	for _, name := range names {
		n := NamedModel{Name: name}
		ref, err := r.Lookup(name)
		var unknown *model.UnknownError
		var ambiguous *model.AmbiguousError
		switch {
		case err != nil:
			n.Error = err.Error()
			if errors.As(err, &unknown) {
				n.Near = unknown.Near
			} else if errors.As(err, &ambiguous) {
				n.Near = ambiguous.Fits
			}
			all.Wrong++
		default:
			harness, err := ref.Harness()
			n.Model, n.Effort, n.Cost, n.Limits, n.Listed, n.Drives = ref.String(), ref.Effort, ref.Cost, ref.Limits, !ref.Unlisted(), err == nil
			n.Agent = cmp.Or(harness, ref.HarnessOverride, "none")
		}
		all.Names = append(all.Names, n)
	}
	return all
}

// Cells are the name in a table, as PriceCells are of a model. What uses no model costs nothing.
func (n NamedModel) Cells() []any {
	price := PriceCells(n.Cost, n.Limits)
	if !kind.Of(n.Agent).UsesModel {
		price = []any{"-", "-", "-"}
	}
	return append([]any{n.Name, n.Model, n.Agent, cmp.Or(n.Effort, "-")}, price...)
}

// PriceCells are the price for input and output and the context of a model, for a table.
func PriceCells(c *model.Cost, l *model.Limits) []any {
	input, output, context := "unknown", "unknown", "unknown"
	if c != nil {
		input, output = perMillion(c.Input), perMillion(c.Output)
	}
	if l != nil && l.Context > 0 {
		context = humanize.Comma(l.Context)
	}
	return []any{input, output, context}
}

func perMillion(r model.Rate) string {
	text, _ := r.MarshalJSON()
	if f, err := strconv.ParseFloat(string(text), 64); err == nil && len(text) <= 4 {
		return "$" + strconv.FormatFloat(f, 'f', 2, 64)
	}
	return "$" + string(text)
}

// OriginSentence names a list of models and its day.
func OriginSentence(o model.Origin) string {
	if strings.Contains(o.Source, o.Date) {
		return o.Source
	}
	return o.Source + ", of " + o.Date
}
