package opencode

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"hank/runtime/harness"
)

// inlineVariable has the inline configuration of the agent.
const inlineVariable = "OPENCODE_CONFIG_CONTENT"

// agentName is the agent that hank defines. What the user allows or forbids to agents of
// other names stays out of it.
const agentName = "hank"

// loginProvider is hank's word for the models of OpenAI by a ChatGPT login. The agent has
// both logins and keys under the name of the provider.
const loginProvider = "openai-codex"

// providerOf is the provider as the agent calls it.
func providerOf(req harness.Request) string {
	if req.Provider == loginProvider {
		return "openai"
	}
	return req.Provider
}

// permissions let the agent do everything but three things. A question has nobody to answer
// it. Helpers (task) would be in no account of the run. The last rule that fits counts.
var permissions = map[string]any{
	"*": "allow", "doom_loop": "allow", "external_directory": "allow",
	"question": "deny", "task": "deny",
}

// settings is the inline configuration: that of the environment, and over it what hank
// wants.
func settings(req harness.Request, env harness.Environ) (string, error) {
	own := map[string]any{
		"autoupdate": false,
		"share":      "disabled",
		"snapshot":   false, // hank's checkpoints are more
		"agent": map[string]any{agentName: map[string]any{
			"description": "Works through a codon.", "mode": "primary", "permission": permissions,
		}},
	}
	if !req.AutoCompact {
		own["compaction"] = map[string]any{"auto": false}
	}
	if base := address(providerOf(req), env); base != "" {
		own["provider"] = map[string]any{providerOf(req): map[string]any{"options": map[string]any{"baseURL": base}}}
	}
	if req.SystemPrompt != "" && req.Home != "" {
		own["instructions"] = []any{instructions(req)}
	}
	all := map[string]any{}
	if theirs := env[inlineVariable]; theirs != "" {
		if err := json.Unmarshal([]byte(theirs), &all); err != nil {
			return "", fmt.Errorf("opencode: %s is no JSON (%w), and hank has to add to it; correct it, or write the configuration into a file that OPENCODE_CONFIG names", inlineVariable, err)
		}
	}
	if agents, is := all["agent"].(map[string]any); is {
		delete(agents, agentName)
	}
	text, err := json.Marshal(merge(all, own))
	if err != nil {
		return "", fmt.Errorf("opencode: %w", err)
	}
	return string(text), nil
}

// merge lays settings over others. Lists are joined.
func merge(under, over map[string]any) map[string]any {
	for key, value := range over {
		switch old := under[key].(type) {
		case map[string]any:
			if value, is := value.(map[string]any); is {
				under[key] = merge(old, value)
				continue
			}
		case []any:
			if value, is := value.([]any); is {
				under[key] = append(old, value...)
				continue
			}
		}
		under[key] = value
	}
	return under
}

// address is what the variable NAME_BASE_URL of a provider says: that of a gateway, or of a
// stand-in. The agent itself reads it for few providers, and where it does, in a form of its
// own: it wants the version in the address, which the variables of Anthropic and Google are
// written without.
func address(provider string, env harness.Environ) string {
	name, version := variable(provider)+"_BASE_URL", ""
	switch provider {
	case "anthropic":
		version = "/v1"
	case "google":
		name, version = "GOOGLE_GEMINI_BASE_URL", "/v1beta"
	}
	base := strings.TrimRight(env[name], "/")
	if u, err := url.Parse(base); base == "" || err == nil && strings.HasSuffix(u.Path, version) {
		return base
	}
	return base + version
}

// variable is how the names of a provider's variables begin.
func variable(provider string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(provider))
}

// instructions is the file with the system prompt. Its name is said to the model: one that
// changed with each attempt would be a new beginning for the provider's cache.
func instructions(req harness.Request) string {
	return filepath.Join(req.Home, "instructions.md")
}
