// Package kind is the table of harnesses: for each its name, the models that it takes, and
// what can be asked of it.
//
// A hank is validated, and an execution is read, where no harness is there to be asked.
// What they and the runtime must know is in the table, so that nobody compares names.
// What the runtime alone asks is in the interface of package runtime/harness.
//
// Replay and noop have no row. They replace the harness of a codon for one run, and the
// kind of the codon stays the same.
//
// A new harness is a package in runtime/harness, its row here, and its line in
// runtime/agents.
package kind

import (
	"iter"
	"slices"
)

// Harness is a row of the table.
type Harness struct {
	// Name is the word in records. The name of a harness that uses models can also precede
	// the name of a model in hank.json.
	Name string
	// Provider is whose models it takes; empty is any provider.
	Provider string
	// OwnOffer is set if it also has models of its own, of a provider with its name. A model
	// that its name precedes without a provider is one of these.
	OwnOffer bool
	// Driven is set if hank has the harness. Of the others only the name is known.
	Driven bool
	// Choice is what a message proposes as the model of a codon for this harness. Only those
	// that hank has are proposed.
	Choice string

	// RunsScript is set if the prompt is a script for sh, and not a text for a model.
	RunsScript bool
	// HasSessions is set if its agent has sessions, which a later codon can continue.
	HasSessions bool
	// NamesProgram is set if the codon names the program that is its agent, in the field exec.
	NamesProgram bool
	// ReportsLate is set if its agent may report what it has used only at its end, when a limit
	// cannot end it any more.
	ReportsLate bool
	// TakesRest is set if it takes the models of the providers that no other has of its own.
	TakesRest bool
	// SystemArgument is set if its agent is given the system prompt as an argument.
	SystemArgument bool
	// SystemSetting is what precedes it there, as a setting with a string of TOML; empty: nothing
	// does, and the argument is the prompt as it is.
	SystemSetting string
	// UsesModel is set if its agent works with the model of a provider. A model has a price,
	// its answers are waited for, and the provider can refuse.
	UsesModel bool
}

var table = []Harness{
	{Name: "claude", Provider: "anthropic", Driven: true, Choice: "an anthropic model", SystemArgument: true, HasSessions: true, UsesModel: true},
	{Name: "codex", Provider: "openai", Driven: true, Choice: "an openai model", SystemArgument: true, SystemSetting: "developer_instructions=", HasSessions: true, UsesModel: true},
	{Name: "gemini", Provider: "google", Driven: true, Choice: "a google model", HasSessions: true, UsesModel: true},
	{Name: "opencode", OwnOffer: true, Driven: true, Choice: `"opencode/PROVIDER/MODEL"`, HasSessions: true, UsesModel: true},
	{Name: "pi", TakesRest: true, Driven: true, Choice: `"pi/PROVIDER/MODEL"`, HasSessions: true, UsesModel: true},
	{Name: "exec", OwnOffer: true, NamesProgram: true, ReportsLate: true, Driven: true, Choice: `"exec/MODEL" with a program of yours`, HasSessions: true, UsesModel: true},
	{Name: "shell", Driven: true, Choice: `"shell"`, RunsScript: true},
}

// unknown is what counts for a harness without a row. It is that of an agent.
var unknown = Harness{HasSessions: true, UsesModel: true}

// All are the rows of the table.
func All() iter.Seq[Harness] { return slices.Values(table) }

// Of is the harness with a name. Records of another version or system may have names that
// are not in the table.
func Of(name string) Harness {
	if h, ok := find(func(h Harness) bool { return h.Name == name }); ok {
		return h
	}
	return unknown
}

// Agent is the harness with a name that can precede the name of a model.
func Agent(name string) (h Harness, ok bool) {
	return find(func(h Harness) bool { return h.Name == name && h.UsesModel })
}

// Usual is the harness for a model of a provider where no agent precedes the name.
func Usual(provider string) (h Harness, ok bool) {
	return find(func(h Harness) bool {
		own := h.Provider == provider && provider != "" || h.OwnOffer && h.Name == provider
		return own && h.Driven && h.UsesModel
	})
}

// Rest is the harness for a model of a provider that no harness has of its own.
func Rest() Harness {
	h, _ := find(func(h Harness) bool { return h.TakesRest })
	return h
}

func find(is func(Harness) bool) (Harness, bool) {
	if i := slices.IndexFunc(table, is); i >= 0 {
		return table[i], true
	}
	return Harness{}, false
}
