package model

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// entry is a model of the registry.
type entry struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	Name     string `json:"name"`
	Released string `json:"released"` // 2026-06-30, sometimes only 2026-06
	Cost     Cost   `json:"cost"`
	Limits   Limits `json:"limit"`
}

// ref is a reference to the model.
func (m *entry) ref() Ref {
	return Ref{ProviderID: m.Provider, ModelID: m.ID, Name: m.Name, Cost: &m.Cost, Limits: &m.Limits}
}

// Registry is a list of models with the rules that find one by name. It never
// changes after it was made.
type Registry struct {
	Source    string   // where the facts come from, and of what day they are
	Providers []string // sorted
	models    []entry
	byID      map[string][]*entry // by id, without provider
	parts     map[*entry]parts
}

//go:embed models.json
var snapshot []byte

// Default returns the registry that is compiled in.
var Default = sync.OnceValue(func() *Registry {
	r, err := read(snapshot)
	if err != nil {
		panic("model: the compiled-in registry is damaged: " + err.Error())
	}
	return r
})

// read reads a registry: {"source": …, "models": […]} with prices in dollars
// per million tokens and limits in tokens.
func read(data []byte) (*Registry, error) {
	var file struct {
		Source string  `json:"source"`
		Models []entry `json:"models"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read the list of models: %w", err)
	}
	r := &Registry{Source: file.Source, models: file.Models, byID: map[string][]*entry{}, parts: map[*entry]parts{}}
	for i := range r.models {
		m := &r.models[i]
		r.byID[m.ID] = append(r.byID[m.ID], m)
		r.parts[m] = split(m.ID)
		r.Providers = append(r.Providers, m.Provider)
	}
	slices.Sort(r.Providers)
	r.Providers = slices.Compact(r.Providers)
	return r, nil
}

// resellers offer models of others under the others' ids. A bare name means
// the maker's own offer, if there is one.
var resellers = []string{"amazon-bedrock", "azure", "google-vertex", "groq", "opencode", "openrouter"}

func firstHand(m *entry) bool { return !slices.Contains(resellers, m.Provider) }

// families are short names that would fit the models of several makers.
var families = map[string]string{
	"sonnet": "anthropic", "opus": "anthropic", "haiku": "anthropic", "fable": "anthropic",
	"flash": "google", "gemini": "google", "gpt": "openai", "codex": "openai",
	"grok": "xai", "glm": "zai", "kimi": "moonshotai",
}

// UnknownError says that no model has a name.
type UnknownError struct {
	Name string
	Near []string // names that are written nearly the same, best first
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown model %q", e.Name) }

// AmbiguousError says that several models fit a name equally well.
type AmbiguousError struct {
	Name string
	Fits []string // full names, sorted
}

func (e *AmbiguousError) Error() string { return fmt.Sprintf("ambiguous model %q", e.Name) }

// Lookup finds the model of a name. The first rule that fits decides:
//
//  1. "shell" is the shell.
//  2. provider/id, with the exact id of that provider.
//  3. An exact id without provider: the maker's own offer, or the only one.
//  4. An id with a date after it (-20250929) of a model that is listed
//     without: that model, under the dated id. And the other way round: an id
//     that is listed only with a date.
//  5. Words and a version, such as sonnet, opus-4.5 or "gemini flash": among
//     the makers' own models that have all the words and that version, those
//     with the fewest other words, and of these the newest.
//
// A name with provider stays with that provider in rules 4 and 5 too. The
// error is an *UnknownError or an *AmbiguousError.
func (r *Registry) Lookup(name string) (Ref, error) {
	if name == Shell {
		return Ref{ProviderID: Shell, ModelID: Shell, Name: "Shell script"}, nil
	}
	provider, id := "", name
	if before, after, ok := strings.Cut(name, "/"); ok && slices.Contains(r.Providers, before) {
		provider, id = before, after
	}
	in := func(m *entry) bool { return m.Provider == provider || provider == "" }
	if refs := r.exact(id, in); len(refs) > 0 {
		return choose(name, refs)
	}
	if ref, ok := r.dated(id, in); ok {
		return ref, nil
	}
	if provider == "" {
		in = firstHand
		if maker := families[strings.ToLower(split(id).first())]; maker != "" {
			in = func(m *entry) bool { return m.Provider == maker }
		}
	}
	fits := r.fitting(split(id), in)
	if len(fits) == 0 {
		return Ref{}, &UnknownError{name, r.near(name)}
	}
	return choose(name, fits)
}

// choose takes the only model, or the only one of a maker.
func choose(name string, fits []*entry) (Ref, error) {
	if own := filter(fits, firstHand); len(own) > 0 {
		fits = own
	}
	if len(fits) == 1 {
		return fits[0].ref(), nil
	}
	var names []string
	for _, m := range fits {
		names = append(names, m.Provider+"/"+m.ID)
	}
	slices.Sort(names)
	return Ref{}, &AmbiguousError{name, names}
}

func filter(models []*entry, keep func(*entry) bool) (kept []*entry) {
	for _, m := range models {
		if keep(m) {
			kept = append(kept, m)
		}
	}
	return kept
}

func (r *Registry) exact(id string, in func(*entry) bool) []*entry {
	return filter(r.byID[id], in)
}

// dated is rule 4 of Lookup.
func (r *Registry) dated(id string, in func(*entry) bool) (Ref, bool) {
	if i := strings.LastIndexByte(id, '-'); i > 0 && isDate(id[i+1:]) {
		if fits := r.exact(id[:i], in); len(fits) > 0 {
			ref, err := choose(id, fits)
			ref.ModelID = id
			return ref, err == nil
		}
		return Ref{}, false
	}
	var fits []*entry
	for i := range r.models {
		m := &r.models[i]
		if date, ok := strings.CutPrefix(m.ID, id+"-"); ok && isDate(date) && in(m) {
			fits = append(fits, m)
		}
	}
	if len(fits) == 0 {
		return Ref{}, false
	}
	if own := filter(fits, firstHand); len(own) > 0 {
		fits = own
	}
	ref, err := choose(id, newest(fits))
	return ref, err == nil
}
