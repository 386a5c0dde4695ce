package claude

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"hank/runtime/harness"
)

// source is where the agent's credentials come from.
type source int

const (
	none      source = iota
	key              // a key or token in the environment
	cloud            // a cloud provider's own credentials
	userLogin        // what `claude /login` left in the user's configuration
)

// credentials finds them offline, and says where.
func credentials(env harness.Environ) (source, string) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"} {
		if env[name] != "" {
			return key, name
		}
	}
	for _, name := range []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"} {
		if v := env[name]; v != "" && v != "0" && v != "false" {
			return cloud, name
		}
	}
	if path := loginFile(env); path != "" {
		return userLogin, path
	}
	return none, ""
}

// loginFile is the file that shows a login of the user, or empty. On macOS the
// token itself is in the keychain; the account's name is in .claude.json.
func loginFile(env harness.Environ) string {
	dir, account := env["CLAUDE_CONFIG_DIR"], ""
	switch {
	case dir != "":
		account = filepath.Join(dir, ".claude.json")
	case env["HOME"] != "":
		dir = filepath.Join(env["HOME"], ".claude")
		account = filepath.Join(env["HOME"], ".claude.json")
	default:
		return ""
	}
	if path := filepath.Join(dir, ".credentials.json"); hasKey(path, "claudeAiOauth") {
		return path
	}
	if hasKey(account, "oauthAccount") || hasKey(account, "primaryApiKey") {
		return account
	}
	if path := filepath.Join(dir, "settings.json"); hasKey(path, "apiKeyHelper") {
		return path
	}
	return ""
}

// hasKey reports whether a file is a JSON object with a key that is not null.
func hasKey(path, key string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var object map[string]json.RawMessage
	return json.Unmarshal(text, &object) == nil && len(object[key]) > 0 && !bytes.Equal(object[key], []byte("null"))
}
