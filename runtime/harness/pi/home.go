package pi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hank/runtime/harness"
)

// directory is the agent's own directory, with what hank has put there.
type directory struct {
	path    string
	gateway string // the file that leads to another address of the provider; empty: none is set
	system  string // the file with the system prompt; empty: there is none
}

func (d directory) sessions() string { return filepath.Join(d.path, "sessions") }

// prepare makes the agent's own directory. It is the same for each attempt of an
// execution; what an attempt needs of its own is written anew.
func prepare(req harness.Request, env harness.Environ, from source) (directory, error) {
	d := directory{path: filepath.Join(req.Home, ".pi", "agent")}
	if err := os.MkdirAll(d.sessions(), 0o700); err != nil {
		return d, fmt.Errorf("pi: %w", err)
	}
	theirs, login := userDirectory(over(harness.BaseEnviron(req), req)), ""
	if from.is != key { // with which the agent is not to find another account
		login = file(theirs, loginName)
	}
	for name, target := range map[string]string{loginName: login, modelsName: file(theirs, modelsName)} {
		if err := link(filepath.Join(d.path, name), target); err != nil {
			return d, err
		}
	}
	settings, _ := json.Marshal(map[string]any{ // a map of plain values
		"compaction": map[string]any{"enabled": req.AutoCompact}, "enableInstallTelemetry": false,
		"retry": map[string]any{"provider": map[string]any{"maxRetries": 0}}, // whose waits are not told
	})
	if err := write(filepath.Join(d.path, "settings.json"), settings); err != nil {
		return d, err
	}
	if address := gateway(over(env, req), provider(req.Provider)); address != "" && from.is != subscription {
		d.gateway = filepath.Join(d.path, "hank-provider.mjs")
		if err := write(d.gateway, redirect(provider(req.Provider), address)); err != nil {
			return d, err
		}
	}
	if req.SystemPrompt != "" {
		d.system = filepath.Join(cmp.Or(req.Temp, d.path), "hank-system-prompt.md")
		if err := write(d.system, []byte(req.SystemPrompt)); err != nil {
			return d, err
		}
	}
	return d, nil
}

// write puts a small file in the place of another.
func write(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return fmt.Errorf("pi: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("pi: %w", err)
	}
	return nil
}

// gateway is the address of the provider that the environment names; empty if it names
// none. The agent itself does not look there.
func gateway(env harness.Environ, provider string) string {
	switch provider {
	case "":
		return ""
	case "google":
		if address := env["GOOGLE_GEMINI_BASE_URL"]; address != "" { // which is without the version of the API
			return strings.TrimSuffix(address, "/") + "/v1beta"
		}
		return ""
	}
	return env[strings.ToUpper(strings.ReplaceAll(provider, "-", "_"))+"_BASE_URL"]
}

// redirect is an extension of the agent, which gives the models of a provider another
// address and leaves all else as it is. What the user says in models.json stays.
func redirect(provider, address string) []byte {
	quoted := func(text string) string {
		q, _ := json.Marshal(text) // a string can be encoded
		return string(q)
	}
	return []byte("export default function (pi) {\n\tpi.registerProvider(" + quoted(provider) + ", { baseUrl: " + quoted(address) + " });\n}\n")
}

// link makes a name lead to a file of the user, or to nothing if the file is empty.
//
// A login is shared by a link: the agent renews it by writing into the file, through the
// link, so that the user's own sessions keep the login. A copy would be renewed alone, and
// the one that it was made of would stop working.
func link(name, target string) error {
	if name == target {
		return nil // the environment already leads there
	}
	switch info, err := os.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("pi: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		if there, err := os.Readlink(name); err == nil && there == target {
			return nil
		}
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("pi: %w", err)
		}
	case target == "":
		return nil // the agent's own
	case len(read(name)) > 0:
		return fmt.Errorf("pi: %s should be a link to your %s and is a file of its own; if it is newer, move it there, or delete it", name, target)
	default: // the agent makes an empty one where it finds none
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("pi: %w", err)
		}
	}
	if target == "" {
		return nil
	}
	if err := os.Symlink(target, name); err != nil {
		return fmt.Errorf("pi: %w", err)
	}
	return nil
}

// over is an environment with the codon's own variables.
func over(env harness.Environ, req harness.Request) harness.Environ {
	return harness.NewEnviron(env.Finish(req.Env))
}
