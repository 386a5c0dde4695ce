package opencode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hank/runtime/harness"
)

// keys is the name of a variable that has the key of some provider; empty if there is none.
// There are more than a hundred providers; nearly all call it NAME_API_KEY. CODEX_API_KEY is
// read by Codex alone.
func keys(env harness.Environ) string {
	others := []string{
		"AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GITHUB_TOKEN", "GITLAB_TOKEN", "HF_TOKEN", "OPENCODE_AUTH_CONTENT",
	}
	var found []string
	for name, value := range env {
		if value != "" && (strings.HasSuffix(name, "_API_KEY") && name != "CODEX_API_KEY" || slices.Contains(others, name)) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

// userDirectory is a directory of the agent in the user's home, or where a variable of the
// base directories leads.
func userDirectory(env harness.Environ, variable, usual string) string {
	if base := env[variable]; base != "" {
		return filepath.Join(base, Name)
	}
	if env["HOME"] == "" {
		return ""
	}
	return filepath.Join(env["HOME"], usual)
}

const loginName = "auth.json"

// loginFile is the user's file with logins and keys, or empty.
func loginFile(env harness.Environ) string {
	file, text := readThrough(userDirectory(env, "XDG_DATA_HOME", dataDirectory), loginName)
	var logins map[string]json.RawMessage
	if json.Unmarshal(text, &logins) != nil || len(logins) == 0 {
		return ""
	}
	return file
}

// configNames are the names of the user's configuration. The agent reads all that are
// there.
var configNames = []string{"config.json", "opencode.json", "opencode.jsonc"}

// configurations are the user's files with the configuration.
func configurations(env harness.Environ) (files []string) {
	for _, name := range configNames {
		if file, _ := readThrough(userDirectory(env, "XDG_CONFIG_HOME", configDirectory), name); file != "" {
			files = append(files, file)
		}
	}
	if file, _ := readThrough("", env["OPENCODE_CONFIG"]); file != "" {
		files = append(files, file)
	}
	return files
}

// readThrough reads a file, and returns its path with links followed. Both are empty if it
// cannot be read.
func readThrough(dir, name string) (string, []byte) {
	if dir == "" && !filepath.IsAbs(name) {
		return "", nil
	}
	file, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if err != nil {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", nil
	}
	return file, text
}

// namesHome is the first of the files that refers to another file in the home.
func namesHome(files []string) string {
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte("{file:~")) {
			return file
		}
	}
	return ""
}

// LoginFiles implements harness.Harness: the file that the agent renews its logins in.
func (Harness) LoginFiles(environ []string) []string {
	if file := loginFile(harness.NewEnviron(environ)); file != "" {
		return []string{file}
	}
	return nil
}

// prepare makes what the agent finds in its home: the user's login and configuration as
// links, the observer, the system prompt.
//
// A login is shared by a link: the agent renews it by writing into the file, through the
// link, so that the user's own sessions keep the login. A copy would be renewed alone, and
// the one that it was made of would stop working.
func prepare(req harness.Request, now time.Time) error {
	if req.Home == "" {
		return nil
	}
	if err := checkDirectory(req, now); err != nil {
		return err
	}
	data, config := filepath.Join(req.Home, dataDirectory), filepath.Join(req.Home, configDirectory)
	plugins := filepath.Join(config, "plugin")
	for _, dir := range []string{data, plugins, filepath.Join(config, "node_modules")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	user := source(req)
	if err := link(filepath.Join(data, loginName), loginFile(user)); err != nil {
		return err
	}
	theirs := userDirectory(user, "XDG_CONFIG_HOME", configDirectory)
	for _, name := range configNames {
		file, _ := readThrough(theirs, name)
		if err := link(filepath.Join(config, name), file); err != nil {
			return err
		}
	}
	if err := keep(filepath.Join(plugins, "hank.js"), observer); err != nil {
		return err
	}
	if err := keep(filepath.Join(config, "package-lock.json"), installed); err != nil {
		return err
	}
	if req.SystemPrompt == "" {
		return nil
	}
	return keep(instructions(req), req.SystemPrompt)
}

// installed is a lock file that says that the agent's package for plugins is there. Without
// it the agent fetches that and 60 more from the registry of npm, 20 s at the first start;
// the observer uses none of them.
const installed = `{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}` + "\n"

// keep writes a file of hank's own. One that is the same already is left alone.
func keep(file, text string) error {
	if old, err := os.ReadFile(file); err == nil && string(old) == text {
		return nil
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

// link makes a link lead to a file of the user's; without one there is to be no link. A file
// in the place of the link may be a login that somebody needs.
func link(path, file string) error {
	if file == path {
		return nil // the environment already leads there
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink == 0 && file != "":
		return fmt.Errorf("%s should be a link to your file %s and is a file of its own; if it is newer, move it there, or delete it", path, file)
	case info.Mode()&fs.ModeSymlink == 0:
		return nil
	default:
		if target, err := os.Readlink(path); err == nil && target == file {
			return nil
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	if file == "" {
		return nil
	}
	return os.Symlink(file, path)
}
