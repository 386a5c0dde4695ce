package config

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan/diagnostic"
	"hank/plan/fields"
	"hank/plan/jsonshape"
	"hank/plan/model"
)

// LargestModels is the size in bytes of the largest list of models that is read.
const LargestModels = 32 << 20

// ModelsFile is the file with a list of models that the settings name, relative to the
// file that they are in; empty if they name none.
func (s Settings) ModelsFile() string {
	var name string
	if s.Models.Kind() == '"' && json.Unmarshal(s.Models, &name) == nil {
		return name
	}
	return ""
}

// ParseModels reads a list of models: hank's own form, or that of
// https://models.dev/api.json. changed is the day of a list that does not tell its own.
// With an error among the problems the list is empty.
func ParseModels(file string, data []byte, changed time.Time) (model.List, []diagnostic.Diagnostic) {
	var out diagnostic.Reporter
	doc := jsonshape.Read(file, data, out.Problem)
	if doc.Root == nil {
		return model.List{}, out.Sorted(file)
	}
	var l model.List
	var err error
	if doc.Root.Step("models") != nil || doc.Root.Kind != '{' || len(doc.Root.Kids) == 0 {
		out.Check(doc, fields.Models)
		if !diagnostic.HasErrors(out.List) {
			err = json.Unmarshal(doc.Sound(), &l)
		}
	} else {
		out.Check(doc, fields.CatalogOfModelsDev)
		if !diagnostic.HasErrors(out.List) {
			l, err = fromModelsDev(doc.Sound())
		}
	}
	if err != nil {
		out.At(doc, 0, "", "syntax", err.Error(), "")
	}
	if diagnostic.HasErrors(out.List) {
		return model.List{}, out.Sorted(file)
	}
	if l.Source == "" {
		l.Source = file
	}
	if l.Date == "" && !changed.IsZero() {
		l.Date = changed.UTC().Format(time.DateOnly)
	}
	return l, out.Sorted(file)
}

// devPrice is a price as models.dev has it.
type devPrice struct {
	Input      model.Rate  `json:"input"`
	Output     model.Rate  `json:"output"`
	CacheRead  *model.Rate `json:"cache_read"`
	CacheWrite *model.Rate `json:"cache_write"`
	Large      *devPrice   `json:"context_over_200k"`
}

func fromModelsDev(data []byte) (model.List, error) {
	var catalog map[string]struct {
		Models map[string]struct {
			Name     string        `json:"name"`
			Released string        `json:"release_date"`
			Cost     *devPrice     `json:"cost"`
			Limit    *model.Limits `json:"limit"`
		} `json:"models"`
	}
	if err := json.Unmarshal(data, &catalog); err != nil {
		return model.List{}, err
	}
	l := model.List{Source: "models.dev"}
	for provider, p := range catalog {
		for id, m := range p.Models {
			e := model.Entry{Provider: provider, ID: id, Name: m.Name, Released: m.Released, Limits: m.Limit}
			if c := m.Cost; c != nil {
				e.Cost = &model.Cost{Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite}
				if t := c.Large; t != nil {
					e.Cost.Tiers = []model.Tier{{AboveInputTokens: 200_000, Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite}}
				}
			}
			l.Models = append(l.Models, e)
		}
	}
	slices.SortFunc(l.Models, func(a, b model.Entry) int {
		return strings.Compare(a.Provider+"/"+a.ID, b.Provider+"/"+b.ID)
	})
	return l, nil
}

// Registry is the list of models that is compiled in with what the settings say laid over
// it. list is what the file that they name has. file is the name of the settings.
func (s Settings) Registry(file string, list model.List) *model.Registry {
	r := model.Default()
	if len(list.Models) > 0 {
		r = r.With(list)
	}
	if s.Models.Kind() == '{' {
		var own model.List
		if json.Unmarshal(s.Models, &own) == nil { // Parse has checked it
			if own.Source == "" {
				own.Source = `"models" in ` + file
			}
			r = r.With(own)
		}
	}
	var prices map[string]model.Cost
	if s.Prices.Kind() == jsontext.Kind('{') && json.Unmarshal(s.Prices, &prices) == nil && len(prices) > 0 {
		own := model.List{Source: `"prices" in ` + file}
		for name, cost := range prices {
			provider, id, _ := strings.Cut(name, "/")
			own.Models = append(own.Models, model.Entry{Provider: provider, ID: id, Cost: &cost})
		}
		slices.SortFunc(own.Models, func(a, b model.Entry) int { return strings.Compare(a.Provider+"/"+a.ID, b.Provider+"/"+b.ID) })
		r = r.With(own)
	}
	return r
}
