package model

import (
	"slices"
	"strings"
)

// A name as people write it: [AGENT/][PROVIDER/]MODEL[-EFFORT].
type name struct {
	whole    string
	agent    string // claude, codex, gemini, opencode, pi; empty is the usual one of the provider
	provider string // as the list has it; empty is any
	says     string // provider as it was written, where that is more than another spelling
	id       string
}

// agents are the harness prefixes, with the provider whose models an agent takes
// where a name has none; empty is any.
var agents = map[string]string{"claude": "anthropic", "codex": "openai", "gemini": "google", "opencode": "", "pi": ""}

// IsAgent reports whether a name can begin with this agent.
func IsAgent(name string) bool { _, ok := agents[name]; return ok }

// spellings are other names of providers in the list.
var spellings = map[string]string{
	"bedrock": "amazon-bedrock", "vertex": "google-vertex", "mistralai": "mistral", "x-ai": "xai", "z-ai": "zai",
}

// logins are providers that sell another provider's models by subscription. They keep
// their name: the agent must be told which login it is.
var logins = map[string]string{"openai-codex": "openai"}

// moonshot is the maker whose models are had from openrouter, as in the compatible
// system, unless moonshotai is written.
const moonshot = "moonshot"

// parse takes a name apart. What it cannot tell without the providers of a list, it leaves
// in id.
func parse(text string, providers []string) name {
	n := name{whole: text, id: text}
	if agent, rest, ok := strings.Cut(text, "/"); ok {
		if _, known := agents[agent]; known && rest != "" {
			n.agent, n.id = agent, rest
		}
	}
	switch before, after, ok := strings.Cut(n.id, "/"); {
	case !ok || after == "":
		n.provider = agents[n.agent]
		if n.agent == "opencode" { // its own offer has the name of the agent
			n.agent, n.provider = "", "opencode"
		}
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
	if n.provider == "" || n.id == "" || n.agent == "" && n.provider != "opencode" || strings.ContainsFunc(n.whole, notInNames) {
		return Ref{}, false
	}
	id, effort := withoutEffort(n.id)
	if effort == "max" || effort == "minimal" { // rather a part of the name: qwen-max
		id, effort = n.id, ""
	}
	ref := n.dress(Ref{ProviderID: n.provider, ModelID: id, Effort: effort, unlisted: true})
	if n.agent == "claude" {
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
	if n.agent != ref.ProviderID && !(n.agent == "claude" && ref.ProviderID == "anthropic") {
		ref.HarnessOverride = n.agent
	}
	return ref
}
