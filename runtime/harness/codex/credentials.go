package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hank/runtime/harness"
)

const (
	// keyVariable is the key that the agent takes before any login.
	keyVariable = "CODEX_API_KEY"
	// otherKeyVariable is the usual variable of the provider. The agent does not read it;
	// hank passes it on where there is nothing else.
	otherKeyVariable = "OPENAI_API_KEY"
	// loginProvider is the provider's name for models by a ChatGPT login.
	loginProvider = "openai-codex"
)

// kind is where credentials come from.
type kind int

const (
	none      kind = iota
	key            // keyVariable
	userLogin      // what `codex login` left in the user's directory
	otherKey       // otherKeyVariable
)

// source is where the agent's credentials come from, with the name of the variable or
// the path of the file.
type source struct {
	is    kind
	where string
}

// credentials finds them offline, in the order in which they count.
func credentials(env harness.Environ) source {
	if env[keyVariable] != "" {
		return source{key, keyVariable}
	}
	if file := loginFile(env); file != "" {
		return source{userLogin, file}
	}
	if env[otherKeyVariable] != "" {
		return source{otherKey, otherKeyVariable}
	}
	return source{}
}

// loginFile is the user's file with a login or a key, or empty.
func loginFile(env harness.Environ) string {
	dir := env["CODEX_HOME"]
	if dir == "" {
		if env["HOME"] == "" {
			return ""
		}
		dir = filepath.Join(env["HOME"], ".codex")
	}
	file, err := filepath.EvalSymlinks(filepath.Join(dir, loginName))
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	var login struct {
		Key    string          `json:"OPENAI_API_KEY"`
		Tokens json.RawMessage `json:"tokens"`
	}
	if json.Unmarshal(text, &login) != nil || login.Key == "" && (len(login.Tokens) == 0 || string(login.Tokens) == "null") {
		return ""
	}
	return file
}

// loginName is the name of the file with the login in the agent's directory.
const loginName = "auth.json"

// ownDirectory is the agent's directory in its home.
func ownDirectory(req harness.Request) string { return filepath.Join(req.Home, ".codex") }

// prepare makes the agent's own directory. The agent wants it to be there.
//
// A login is shared by a link: the agent renews it by writing into the file, through the
// link, so that the user's own sessions keep the login. A copy would be renewed alone, and
// the one that it was made of would stop working.
func prepare(req harness.Request, from source) error {
	if req.Home == "" {
		return nil
	}
	if err := os.MkdirAll(ownDirectory(req), 0o700); err != nil {
		return fmt.Errorf("codex: %w", err)
	}
	link := filepath.Join(ownDirectory(req), loginName)
	if from.is == userLogin && from.where == link {
		return nil // the environment already leads there
	}
	switch info, err := os.Lstat(link); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("codex: %w", err)
	case info.Mode()&fs.ModeSymlink == 0 && from.is == userLogin:
		return fmt.Errorf("codex: %s should be a link to your login %s and is a file of its own; if it is newer, move it there, or delete it", link, from.where)
	case info.Mode()&fs.ModeSymlink == 0:
		return nil // with a key the agent does not look at it
	default:
		if target, err := os.Readlink(link); err == nil && target == from.where {
			return nil
		}
		if err := os.Remove(link); err != nil {
			return fmt.Errorf("codex: %w", err)
		}
	}
	if from.is != userLogin {
		return nil
	}
	if err := os.Symlink(from.where, link); err != nil {
		return fmt.Errorf("codex: %w", err)
	}
	return nil
}
