package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hank/internal/lazyregexp"
	"hank/runtime/harness"
)

// keyVariable is the key that the agent takes.
const keyVariable = "GEMINI_API_KEY"

// kind is where credentials come from.
type kind int

const (
	none      kind = iota
	key            // keyVariable
	keyFile        // keyVariable in the user's .env file for the agent
	storedKey      // the key that the agent keeps in a file of its own
	cloud          // Google Cloud (Vertex AI)
	token          // an access token in the environment
	userLogin      // what a login has left in the user's directory
)

// source is where the agent's credentials come from, with the name of the variable or
// the path of the file.
type source struct {
	is    kind
	where string
	key   string // of keyFile
}

// authTypes are the agent's words for what it logs in with. It wants to be told.
var authTypes = map[kind]string{
	none: "gemini-api-key", key: "gemini-api-key", keyFile: "gemini-api-key", storedKey: "gemini-api-key",
	cloud: "vertex-ai", token: "oauth-personal", userLogin: "oauth-personal",
}

// credentials finds them offline, in the order in which they count. What variables ask for
// comes first, as for the agent itself.
func credentials(env harness.Environ) source {
	switch {
	case env["GOOGLE_GENAI_USE_GCA"] == "true" && env["GOOGLE_CLOUD_ACCESS_TOKEN"] != "":
		return source{is: token, where: "GOOGLE_CLOUD_ACCESS_TOKEN"}
	case env["GOOGLE_GENAI_USE_VERTEXAI"] == "true" && (env["GOOGLE_API_KEY"] != "" || env["GOOGLE_CLOUD_PROJECT"] != "" && env["GOOGLE_CLOUD_LOCATION"] != ""):
		return source{is: cloud, where: "GOOGLE_GENAI_USE_VERTEXAI"}
	case env[keyVariable] != "":
		return source{is: key, where: keyVariable}
	}
	dir := userDirectory(env)
	if dir == "" {
		return source{}
	}
	if path := filepath.Join(dir, loginName); holds(path, "refresh_token", "access_token") {
		return source{is: userLogin, where: resolved(path)}
	}
	path := filepath.Join(dir, ".env")
	if text, err := os.ReadFile(path); err == nil {
		if m := keyLine.FindStringSubmatch(string(text)); m != nil {
			return source{is: keyFile, where: path, key: m[1]}
		}
	}
	if path := filepath.Join(dir, storedName); chosen(dir) == authTypes[storedKey] && resolved(path) != "" {
		return source{is: storedKey, where: resolved(path)}
	}
	return source{}
}

// keyLine is where an .env file sets the key.
var keyLine = lazyregexp.New(`(?m)^[ \t]*(?:export[ \t]+)?GEMINI_API_KEY[ \t]*=[ \t]*["']?([^"'\s#]+)`)

// Names of files in the agent's directory.
const (
	loginName    = "oauth_creds.json"        // a login with a Google account
	accountsName = "google_accounts.json"    // which account that is
	storedName   = "gemini-credentials.json" // keys, encrypted
	settingsName = "settings.json"
)

// userDirectory is the user's own directory of the agent; empty if there is none.
func userDirectory(env harness.Environ) string {
	home := env["GEMINI_CLI_HOME"]
	if home == "" {
		home = env["HOME"]
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".gemini")
}

// resolved is a file without links in its path; empty if it is not there.
func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
}

// holds reports whether a file is a JSON object with one of some texts.
func holds(path string, names ...string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var object map[string]any
	if json.Unmarshal(text, &object) != nil {
		return false
	}
	for _, name := range names {
		if value, is := object[name].(string); is && value != "" {
			return true
		}
	}
	return false
}

// chosen is what the user has chosen to log in with.
func chosen(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, settingsName))
	if err != nil {
		return ""
	}
	var settings struct {
		Security struct {
			Auth struct {
				Type string `json:"selectedType"`
			} `json:"auth"`
		} `json:"security"`
	}
	parse(text, &settings)
	return settings.Security.Auth.Type
}

// links are the user's files that the agent's directory has links to.
func (s source) links() []string {
	switch s.is {
	case storedKey:
		return []string{s.where}
	case userLogin:
		files := []string{s.where}
		if accounts := resolved(filepath.Join(filepath.Dir(s.where), accountsName)); accounts != "" {
			files = append(files, accounts)
		}
		return files
	}
	return nil
}

// ownDirectory is the agent's directory in its home.
func ownDirectory(req harness.Request) string { return filepath.Join(req.Home, ".gemini") }

// link makes a path a link to a file of the user, or no link if there is none. A file in
// the place of the link stays; if it could hold a login, that is an error.
func link(path, target string, secret bool) error {
	if path == target {
		return nil // the environment already leads there
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink == 0 && target != "" && secret:
		return fmt.Errorf("%s should be a link to your login %s and is a file of its own; if it is newer, move it there, or delete it", path, target)
	case info.Mode()&fs.ModeSymlink == 0:
		return nil
	default:
		if now, err := os.Readlink(path); err == nil && now == target {
			return nil
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	if target == "" {
		return nil
	}
	return os.Symlink(target, path)
}
