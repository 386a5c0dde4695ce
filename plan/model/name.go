package model

import (
	"slices"
	"strings"

	"hank/plan/kind"
)

// A name as people write it: [AGENT/][PROVIDER/]MODEL[-EFFORT].
type name struct {
	whole    string
	agent    string // the name of a harness; empty is the usual one of the provider
	provider string // as the list has it; empty is any
	says     string // provider as it was written, where that is more than another spelling
	id       string
}

// spellings are other names of providers in the list.
var spellings = map[string]string{
	"bedrock": "amazon-bedrock", "vertex": "google-vertex", "mistralai": "mistral", "x-ai": "xai", "z-ai": "zai",
}

// moonshot is the maker whose models are had from openrouter, as in the compatible
// system, unless moonshotai is written.
const moonshot = "moonshot"

// parse takes a name apart. What it cannot tell without the providers of a list, it leaves
// in id.
func parse(text string, providers []string) name {
	n := name{whole: text, id: text}
	if agent, rest, ok := strings.Cut(text, "/"); ok {
		if _, known := kind.Agent(agent); known && rest != "" {
			n.agent, n.id = agent, rest
		}
	}
	agent, _ := kind.Agent(n.agent)
	switch before, after, ok := strings.Cut(n.id, "/"); {
	case (!ok || after == "") && agent.OwnOffer:
		n.agent, n.provider = "", agent.Name
	case !ok || after == "":
		n.provider = agent.Provider
	case slices.Contains(providers, before):
		n.provider, n.id = before, after
	case spellings[before] != "":
		n.provider, n.id = spellings[before], after
	case logins[before] != "":
		n.provider, n.says, n.id = logins[before], before, after
	case before == moonshot:
		n.provider, n.id = "openrouter", "moonshotai/"+after
	case n.agent != "": // only the agent knows it
		n.provider, n.id = before, after
	}
	return n
}

// efforts are the suffixes that say how much a model is to think.
var efforts = []string{"minimal", "low", "medium", "high", "xhigh", "max"}

// withoutEffort takes the effort off the end of an id.
func withoutEffort(id string) (rest, effort string) {
	if i := strings.LastIndexByte(id, '-'); i > 0 && slices.Contains(efforts, id[i+1:]) {
		return id[:i], id[i+1:]
	}
	return id, ""
}

// unlisted is a model that only the agent knows that the name begins with. Without a
// provider there is none: no agent could tell whose it is.
func (n name) unlisted() (Ref, bool) {
	if n.provider == "" || n.id == "" || n.agent == "" && !kind.Of(n.provider).OwnOffer || strings.ContainsFunc(n.whole, notInNames) {
		return Ref{}, false
	}
	id, effort := withoutEffort(n.id)
	if effort == "max" || effort == "minimal" { // rather a part of the name: qwen-max
		id, effort = n.id, ""
	}
	ref := n.dress(Ref{ProviderID: n.provider, ModelID: id, Effort: effort, unlisted: true})
	if agent, ok := kind.Agent(n.agent); ok && agent.Driven && !agent.OwnOffer {
		ref.HarnessOverride = n.agent // without it the name would be none
	}
	return ref, true
}

// notInNames reports whether a character is in no id of a model that agents take.
func notInNames(c rune) bool { return c <= ' ' || c == 0x7f || c == '"' || c == '\'' || c == '\\' }

// dress gives a model what its name says beside: the agent, and the login.
func (n name) dress(ref Ref) Ref {
	if n.says != "" {
		ref.ProviderID = n.says
	}
	if n.agent != ref.ProviderID && !n.isUsual(ref.ProviderID) {
		ref.HarnessOverride = n.agent
	}
	return ref
}

// isUsual reports whether the agent is the one that models of a provider have anyway.
func (n name) isUsual(provider string) bool {
	usual, ok := kind.Usual(maker(provider))
	return ok && n.agent == usual.Name
}
