package pi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hank/runtime/harness"
)

// kind is where credentials come from.
type kind int

const (
	none         kind = iota
	key               // a variable with a key of the provider
	stored            // a key in the user's own file
	subscription      // what /login left in the user's own file; the agent renews it there
	custom            // the user's models.json, which can have keys of its own
)

// source is where the agent's credentials come from.
type source struct {
	is   kind
	name string // of the variable
	file string
}

const (
	// loginName is the name of the file with logins and keys in the agent's directory.
	loginName = "auth.json"
	// modelsName is the name of the file with the user's own models and providers.
	modelsName = "models.json"
)

// variables are those that the agent takes a provider's key from, the first that is set.
// A token of GitHub is in many environments that have no Copilot, so that it counts only
// under its own name.
var variables = map[string][]string{
	"anthropic": {"ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"}, "azure-openai-responses": {"AZURE_OPENAI_API_KEY"},
	"cerebras": {"CEREBRAS_API_KEY"}, "cloudflare-ai-gateway": {"CLOUDFLARE_API_KEY"}, "cloudflare-workers-ai": {"CLOUDFLARE_API_KEY"},
	"deepseek": {"DEEPSEEK_API_KEY"}, "fireworks": {"FIREWORKS_API_KEY"}, "github-copilot": {"COPILOT_GITHUB_TOKEN"},
	"google": {"GEMINI_API_KEY"}, "google-vertex": {"GOOGLE_CLOUD_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"}, "groq": {"GROQ_API_KEY"},
	"huggingface": {"HF_TOKEN"}, "kimi-coding": {"KIMI_API_KEY"}, "minimax": {"MINIMAX_API_KEY"}, "minimax-cn": {"MINIMAX_CN_API_KEY"},
	"mistral": {"MISTRAL_API_KEY"}, "moonshotai": {"MOONSHOT_API_KEY"}, "moonshotai-cn": {"MOONSHOT_API_KEY"}, "openai": {"OPENAI_API_KEY"},
	"opencode": {"OPENCODE_API_KEY"}, "opencode-go": {"OPENCODE_API_KEY"}, "openrouter": {"OPENROUTER_API_KEY"},
	"vercel-ai-gateway": {"AI_GATEWAY_API_KEY"}, "xai": {"XAI_API_KEY"}, "xiaomi": {"XIAOMI_API_KEY"}, "zai": {"ZAI_API_KEY"},
	"amazon-bedrock": {"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_WEB_IDENTITY_TOKEN_FILE"},
}

// String is what a person is told of it; empty if there is none.
func (s source) String() string {
	switch s.is {
	case custom:
		return "your models (" + s.file + ")"
	case stored, subscription:
		return "your login (" + s.file + ")"
	}
	return s.name
}

// credentials finds those for a provider offline, in the order in which they count. Without
// a provider it finds any.
func credentials(env harness.Environ, provider string) source {
	for _, name := range keys(provider) {
		if env[name] != "" {
			return source{is: key, name: name}
		}
	}
	dir := userDirectory(env)
	if path := file(dir, loginName); path != "" {
		found := source{}
		for name, e := range read(path) {
			switch {
			case provider != "" && name != provider:
			case e.Type == "oauth":
				return source{is: subscription, file: path}
			default:
				found = source{is: stored, file: path}
			}
		}
		if found.is != none {
			return found
		}
	}
	if path := file(dir, modelsName); path != "" {
		return source{is: custom, file: path}
	}
	return source{}
}

// keys are the variables for a provider; for none they are those for all, in order.
func keys(provider string) []string {
	if provider != "" {
		return variables[provider]
	}
	var all []string
	for _, names := range variables {
		all = append(all, names...)
	}
	slices.Sort(all)
	return all
}

// entry is a login or key in the user's file, by the name of its provider.
type entry struct {
	Type string `json:"type"` // oauth or api_key
}

// read reads the user's file. What is no list of entries has none.
func read(path string) (entries map[string]entry) {
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &entries) != nil {
		return nil
	}
	return entries
}

// directoryVariable is the agent's directory: settings, login, models, sessions.
const directoryVariable = "PI_CODING_AGENT_DIR"

// userDirectory is the user's directory of the agent; empty if there is none.
func userDirectory(env harness.Environ) string {
	dir, home := env[directoryVariable], env["HOME"]
	switch rest, ofHome := strings.CutPrefix(dir, "~/"); {
	case ofHome && home != "":
		return filepath.Join(home, rest)
	case dir != "":
		return dir
	case home != "":
		return filepath.Join(home, ".pi", "agent")
	}
	return ""
}

// file is the real path of a file in a directory, or empty.
func file(dir, name string) string {
	if dir == "" {
		return ""
	}
	path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return path
}

// provider is the agent's name for a provider of hank's lists.
func provider(name string) string {
	if name == "azure" {
		return "azure-openai-responses"
	}
	return name
}
