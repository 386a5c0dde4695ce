package model

import (
	"fmt"
	"iter"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Fallback is a model that a codon works with where its provider does not let it work with
// its own. In hank.json it is the name of a model, or an object with model and harness.
type Fallback struct {
	Model   Ref
	Harness string // the agent that works with it; empty: the usual one, or that of the name
	Unknown jsontext.Value
}

// fallbackFields is a Fallback as an object.
type fallbackFields struct {
	Model   Ref            `json:"model"`
	Harness string         `json:"harness,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

// MarshalJSONTo writes an object, or a string if there is only a name.
func (f Fallback) MarshalJSONTo(e *jsontext.Encoder) error {
	if f.Harness == "" && !f.Model.Resolved() && len(f.Unknown) == 0 {
		return json.MarshalEncode(e, f.Model)
	}
	return json.MarshalEncode(e, fallbackFields(f))
}

// UnmarshalJSONFrom reads an object, or a string as a name.
func (f *Fallback) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		return json.UnmarshalDecode(d, &f.Model)
	}
	var fields fallbackFields
	err := json.UnmarshalDecode(d, &fields)
	*f = Fallback(fields)
	return err
}

// FallbackError says that a codon cannot fall back to a model.
type FallbackError struct {
	Rule string // of the diagnostic
	why  string
}

func (e *FallbackError) Error() string { return e.why }

// ResolveFallbacks looks up the models that a codon falls back to, and reports for each by its
// index what is wrong with it: an error of lookup, or a *FallbackError; nil: nothing. own is
// the codon's model; overridden says that it is another one than the hank has.
func ResolveFallbacks(own Ref, list []Fallback, overridden bool, lookup func(name string) (Ref, error), report func(i int, err error)) {
	var seen []string
	if !overridden {
		seen = append(seen, own.String())
	}
	for i := range list {
		f := &list[i]
		ref, err := lookup(f.Model.ModelID)
		if err != nil {
			report(i, err)
			continue
		}
		if f.Harness != "" && ref.Kind().Name != f.Harness {
			ref.HarnessOverride = f.Harness
		}
		f.Model = ref
		switch {
		case !own.Kind().UsesModel || !ref.Kind().UsesModel:
			err = &FallbackError{"fallback-shell", fmt.Sprintf("it cannot fall back from %s to %s: a script is no prompt for an agent, and has no provider", own, ref)}
		case ref.Kind().NamesProgram && !own.Kind().NamesProgram:
			err = &FallbackError{"exec-program", fmt.Sprintf("it cannot fall back from %s to %s: the codon names no program for it", own, ref)}
		case slices.Contains(seen, ref.String()):
			err = &FallbackError{"fallback-twice", fmt.Sprintf("it works with %s already", ref)}
		}
		seen = append(seen, ref.String())
		report(i, err)
	}
}

// WithoutPrice are the models of a codon whose price is not known, its own and those that it
// falls back to, by their pointers in the codon.
func WithoutPrice(own Ref, list []Fallback) iter.Seq2[string, Ref] {
	return func(yield func(string, Ref) bool) {
		unknown := func(m Ref) bool { return m.Resolved() && m.Kind().UsesModel && m.Cost == nil }
		if unknown(own) && !yield("/model", own) {
			return
		}
		for i, f := range list {
			if unknown(f.Model) && !yield(fmt.Sprintf("/fallback/%d", i), f.Model) {
				return
			}
		}
	}
}
