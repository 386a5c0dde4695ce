package model

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"hank/internal/lazyregexp"
)

// Entry is a model of a list.
type Entry struct {
	Provider string  `json:"provider"`
	ID       string  `json:"id"`
	Name     string  `json:"name,omitzero"`
	Released string  `json:"released,omitzero"` // 2026-06-30, sometimes only 2026-06
	Cost     *Cost   `json:"cost,omitzero"`     // nil: not known
	Limits   *Limits `json:"limit,omitzero"`    // nil: not known
}

// ref is a reference to the model.
func (m *Entry) ref() Ref {
	return Ref{ProviderID: m.Provider, ModelID: m.ID, Name: m.Name, Cost: m.Cost, Limits: m.Limits}
}

// List is a list of models: prices in dollars per million tokens, limits in tokens.
type List struct {
	Source string  `json:"source,omitzero"` // where the facts come from
	Date   string  `json:"date,omitzero"`   // of what day they are
	Models []Entry `json:"models"`
}

// Origin says where models of a registry come from.
type Origin struct {
	Source string `json:"source"`
	Date   string `json:"date,omitempty"` // empty: not known
	Models int    `json:"models"`
}

// Registry is a list of models with the rules that find one by name. It never
// changes after it was made.
type Registry struct {
	Origins   []Origin // the list that is compiled in, and those laid over it
	Providers []string // sorted
	models    []Entry
	byID      map[string][]*Entry // by id, without provider
	parts     map[*Entry]parts
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

// Date returns the day of the list that is compiled in, without reading its models.
func Date() string {
	var l struct{ Source, Date string }
	if err := json.Unmarshal(snapshot, &l, json.MatchCaseInsensitiveNames(true)); err != nil {
		panic("model: the compiled-in registry is damaged: " + err.Error())
	}
	return cmp.Or(l.Date, day.FindString(l.Source))
}

// read reads a registry.
func read(data []byte) (*Registry, error) {
	var l List
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fmt.Errorf("read the list of models: %w", err)
	}
	return build(l), nil
}

var day = lazyregexp.New(`\d{4}-\d{2}-\d{2}`)

func build(l List) *Registry {
	if l.Date == "" {
		l.Date = day.FindString(l.Source)
	}
	r := &Registry{Origins: []Origin{{l.Source, l.Date, len(l.Models)}}, models: l.Models, byID: map[string][]*Entry{}, parts: map[*Entry]parts{}}
	for i := range r.models {
		m := &r.models[i]
		r.byID[m.ID] = append(r.byID[m.ID], m)
		r.parts[m] = split(m.ID)
		r.Providers = append(r.Providers, m.Provider)
	}
	slices.Sort(r.Providers)
	r.Providers = slices.Compact(r.Providers)
	return r
}

// With returns a registry with a list laid over this one: what the list says of a model
// holds, and what it does not say stays.
func (r *Registry) With(l List) *Registry {
	at := make(map[[2]string]int, len(r.models))
	all := slices.Clone(r.models)
	for i, m := range all {
		at[[2]string{m.Provider, m.ID}] = i
	}
	for _, m := range l.Models {
		i, known := at[[2]string{m.Provider, m.ID}]
		if !known {
			at[[2]string{m.Provider, m.ID}] = len(all)
			all = append(all, m)
			continue
		}
		old := &all[i]
		old.Name, old.Released = cmp.Or(m.Name, old.Name), cmp.Or(m.Released, old.Released)
		old.Cost, old.Limits = cmp.Or(m.Cost, old.Cost), cmp.Or(m.Limits, old.Limits)
	}
	with := build(List{Models: all})
	with.Origins = append(slices.Clone(r.Origins), Origin{l.Source, l.Date, len(l.Models)})
	return with
}

// Models lists all models, in no order that means anything.
func (r *Registry) Models() []Entry { return r.models }

// resellers offer models of others under the others' ids. A bare name means
// the maker's own offer, if there is one.
var resellers = []string{"amazon-bedrock", "azure", "google-vertex", "groq", "opencode", "openrouter"}

func firstHand(m *Entry) bool { return !slices.Contains(resellers, m.Provider) }

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

// Lookup finds the model of a name, [AGENT/][PROVIDER/]MODEL[-EFFORT]. The first rule
// that fits decides:
//
//  1. "shell" is the shell.
//  2. PROVIDER/MODEL, with the exact id of that provider.
//  3. An exact id without provider: the maker's own offer. Where only others offer it under
//     this id, what the maker has by rule 4, or by rule 6 with more behind the id (-preview);
//     where that is nothing, the only one.
//  4. An id with a date after it (-20250929) of a model that is listed
//     without: that model, under the dated id; without provider only if its
//     maker lists it. And the other way round: an id that is listed only with a date.
//  5. A name that ends with an effort (-high), without it, by rules 2 to 4.
//  6. Words and a version, such as sonnet, opus-4.5 or "gemini flash": among
//     the makers' own models that have all the words and that version, those
//     with the fewest other words, and of these the newest; then the same
//     without the effort.
//  7. AGENT/PROVIDER/MODEL that no list has: a model that only the agent knows,
//     without a price.
//
// A name with provider stays with that provider in all of them. The error is an
// *UnknownError or an *AmbiguousError.
func (r *Registry) Lookup(text string) (Ref, error) {
	return Lookup(func() *Registry { return r }, text)
}

// Lookup is the method of a registry that is only made for what is no script.
func Lookup(registry func() *Registry, text string) (Ref, error) {
	if text == Shell {
		return Ref{ProviderID: Shell, ModelID: Shell, Name: "Shell script"}, nil
	}
	r := registry()
	n := parse(text, r.Providers)
	ref, ok, err := r.find(n)
	if !ok && err == nil {
		err = &UnknownError{text, r.near(n)}
	}
	return ref, err
}

// find is Lookup of what is no script; without ok nothing fits.
func (r *Registry) find(n name) (Ref, bool, error) {
	id, effort := withoutEffort(n.id)
	for _, find := range []func(name) (Ref, bool, error){r.listed, r.likely} {
		ref, ok, err := find(n)
		if !ok && effort != "" {
			base := n
			base.id = id
			ref, ok, err = find(base)
			ref.Effort = effort
		}
		if err != nil {
			return Ref{}, false, err
		}
		if ok && !(ref.Effort == "minimal" && ref.ProviderID == "anthropic") { // Claude has none
			return n.dress(ref), true, nil
		}
	}
	ref, ok := n.unlisted()
	return ref, ok, nil
}

// in tells which models a name without them can mean.
func (n name) in(m *Entry) bool { return m.Provider == n.provider || n.provider == "" }

// listed is rules 2 to 4 of Lookup.
func (r *Registry) listed(n name) (Ref, bool, error) {
	if refs := r.exact(n.id, n.in); len(refs) > 0 {
		if n.provider == "" && !slices.ContainsFunc(refs, firstHand) {
			if ref, ok := r.dated(n.id, false, firstHand); ok {
				return ref, true, nil
			}
			if ref, ok, err := r.likely(n); ok && err == nil && strings.HasPrefix(ref.ModelID, n.id+"-") {
				return ref, true, nil
			}
		}
		ref, err := choose(n.whole, refs)
		return ref, true, err
	}
	ref, ok := r.dated(n.id, n.provider != "", n.in)
	if !ok {
		if _, resold := r.dated(n.id, true, n.in); resold { // rule 6 would give another version
			return Ref{}, false, &UnknownError{n.whole, r.near(n)}
		}
	}
	return ref, ok, nil
}

// likely is rule 6 of Lookup.
func (r *Registry) likely(n name) (Ref, bool, error) {
	in, want := n.in, split(n.id)
	if n.provider == "" {
		in = firstHand
		if maker := families[strings.ToLower(want.first())]; maker != "" {
			in = func(m *Entry) bool { return m.Provider == maker }
		}
	}
	fits := r.fitting(want, in)
	if len(fits) == 0 {
		return Ref{}, false, nil
	}
	ref, err := choose(n.whole, fits)
	return ref, true, err
}

// choose takes the only model, or the only one of a maker.
func choose(name string, fits []*Entry) (Ref, error) {
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

func filter(models []*Entry, keep func(*Entry) bool) (kept []*Entry) {
	for _, m := range models {
		if keep(m) {
			kept = append(kept, m)
		}
	}
	return kept
}

func (r *Registry) exact(id string, in func(*Entry) bool) []*Entry {
	return filter(r.byID[id], in)
}

// dated is rule 4 of Lookup. Whether a reseller has an id with a date that is not listed is
// not known: it is that of a reseller only where that is named.
func (r *Registry) dated(id string, named bool, in func(*Entry) bool) (Ref, bool) {
	if i := strings.LastIndexByte(id, '-'); i > 0 && isDate(id[i+1:]) {
		if fits := r.exact(id[:i], func(m *Entry) bool { return in(m) && (named || firstHand(m)) }); len(fits) > 0 {
			ref, err := choose(id, fits)
			ref.ModelID = id
			return ref, err == nil
		}
		return Ref{}, false
	}
	var fits []*Entry
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
