// Package model knows the language models that a hank can name: which exact
// model a name stands for, what it costs and how much it can read.
//
// A Registry is made of lists. The first is a snapshot of models.dev (MIT licence) that is
// compiled in, so that the same binary means the same model by the same name; users lay
// their own over it.
package model

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan/kind"
)

// Shell is the provider and the model of codons whose prompt is a script for
// sh. It needs no key and costs nothing.
const Shell = "shell"

// Ref is a model that a codon uses, as it is stored in a plan entry
// (compatible system: ModelInfo). A Ref without ProviderID is a name that was
// not resolved; its JSON is the plain string of hank.json.
type Ref struct {
	ProviderID string  `json:"providerId"`
	ModelID    string  `json:"modelId"`
	Name       string  `json:"name,omitzero"`
	Cost       *Cost   `json:"cost,omitzero"`   // nil: the price is not known
	Limits     *Limits `json:"limits,omitzero"` // nil: not known
	// HarnessOverride is the agent that the name of the model asks for, where that is not
	// the usual one of the provider.
	HarnessOverride string         `json:"harnessOverride,omitzero"`
	Effort          string         `json:"effort,omitzero"` // how much it is to think; empty leaves it to the agent
	Unknown         jsontext.Value `json:",embed"`

	unlisted bool
}

// Unlisted reports whether the model is one that no list has, and an agent may know.
func (r Ref) Unlisted() bool { return r.unlisted }

// Limits are a model's sizes in tokens; 0 is unknown.
type Limits struct {
	Context int64          `json:"context,omitzero"` // input and output of one request together
	Input   int64          `json:"input,omitzero"`   // input of one request, where it is limited apart
	Output  int64          `json:"output,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

// named is a reference to a name that is not resolved yet.
func named(name string) Ref { return Ref{ModelID: name} }

// Resolved reports whether the reference names a provider.
func (r Ref) Resolved() bool { return r.ProviderID != "" }

// isShell reports whether the reference is to the shell. It is also true before
// resolution.
func (r Ref) isShell() bool {
	return r.ModelID == Shell && (r.ProviderID == Shell || r.ProviderID == "")
}

// logins are providers that sell another provider's models by subscription. They keep
// their name: the agent must be told which login it is.
var logins = map[string]string{"openai-codex": "openai"}

// maker is the provider whose models a provider has.
func maker(provider string) string { return cmp.Or(logins[provider], provider) }

// Kind is the harness that works with the model, whether hank has it or not. Before
// resolution it is only known whether it runs scripts.
func (r Ref) Kind() kind.Harness {
	if r.isShell() {
		return kind.Of(Shell)
	}
	if agent, ok := kind.Agent(r.HarnessOverride); ok {
		return agent
	}
	if usual, ok := kind.Usual(maker(r.ProviderID)); ok && r.HarnessOverride == "" {
		return usual
	}
	if r.Resolved() && r.ProviderID != Shell && r.HarnessOverride == "" { // as in the compatible system
		return kind.Rest()
	}
	return kind.Of("")
}

// String returns provider/model, with the agent and the effort that it is used with, or
// the bare name before resolution.
func (r Ref) String() string {
	if r.ProviderID == "" || r.isShell() {
		return r.ModelID
	}
	text := r.ProviderID + "/" + r.ModelID
	if r.HarnessOverride != "" {
		text = r.HarnessOverride + "/" + text
	}
	if r.Effort != "" {
		text += "-" + r.Effort
	}
	return text
}

// WithoutEffort is the model alone: a session of it can be continued with another effort.
func (r Ref) WithoutEffort() Ref { r.Effort = ""; return r }

// refFields is Ref without its methods.
type refFields Ref

// MarshalJSONTo writes an object, or a string if the reference is only a name.
func (r Ref) MarshalJSONTo(e *jsontext.Encoder) error {
	if !r.Resolved() && r.Name == "" && r.Cost == nil && r.Limits == nil && r.HarnessOverride == "" && r.Effort == "" && len(r.Unknown) == 0 {
		return e.WriteToken(jsontext.String(r.ModelID))
	}
	return json.MarshalEncode(e, refFields(r))
}

// UnmarshalJSONFrom reads an object, or a string as a name.
func (r *Ref) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		var name string
		if err := json.UnmarshalDecode(d, &name); err != nil {
			return err
		}
		*r = named(name)
		return nil
	}
	var f refFields
	if err := json.UnmarshalDecode(d, &f); err != nil {
		return err
	}
	*r = Ref(f)
	return nil
}

// NoHarnessError says that hank cannot drive the agent of a model, or has none for its
// provider.
type NoHarnessError struct{ Model Ref }

func (e *NoHarnessError) Error() string {
	why := fmt.Sprintf("no harness for provider %q yet", e.Model.ProviderID)
	if agent := e.Model.HarnessOverride; agent != "" && !e.Model.Kind().Driven {
		why = fmt.Sprintf("hank cannot drive the agent %q yet", agent)
	}
	return fmt.Sprintf("%s (model %s): use %s", why, e.Model, choices())
}

// choices are what models can be instead of one that hank has no harness for.
func choices() string {
	var all []string
	for h := range kind.All() {
		if h.Driven {
			all = append(all, h.Choice)
		}
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// Harness returns the name of the harness that drives the model. The error is
// a *NoHarnessError.
func (r Ref) Harness() (string, error) {
	if h := r.Kind(); h.Driven && (h.Provider == "" || h.Provider == maker(r.ProviderID)) {
		return h.Name, nil
	}
	return "", &NoHarnessError{r}
}

// Price returns what one request costs in billionths of a dollar, rounded half
// to even, and whether the price is known. Sums of requests are not priced as one:
// tiers depend on the size of a single request. Negative counts are 0, and a
// price that does not fit is the largest that does.
func (r Ref) Price(t Tokens) (nanoDollars int64, known bool) {
	if !r.Kind().UsesModel {
		return 0, true
	}
	if r.Cost == nil {
		return 0, false
	}
	return r.Cost.price(t), true
}
