// Package registry remembers where this machine's executions are, so that they
// can be listed. It is best effort: nothing depends on it, every entry has to
// be checked against its directory, and deleting all of it is safe.
//
// The registry is a directory of one small file per execution, named after the
// execution's path, so that writers never meet.
package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hank/internal/vfs"
)

// Entry is one execution.
type Entry struct {
	Root     string    `json:"root"`
	Lineage  string    `json:"lineage"`
	Hank     string    `json:"hank,omitempty"`
	Created  time.Time `json:"created"`
	LastUsed time.Time `json:"lastUsed"`
}

// Dir is the registry's directory: $HANK_STATE_DIR, else hank/executions in the
// user's state directory ($XDG_STATE_HOME, ~/.local/state, on macOS
// ~/Library/Application Support).
func Dir() (string, error) {
	if dir := os.Getenv("HANK_STATE_DIR"); dir != "" {
		return filepath.Join(dir, "executions"), nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hank", "executions"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "hank", "executions"), nil
	}
	return filepath.Join(home, ".local", "state", "hank", "executions"), nil
}

func file(dir, root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])+".json")
}

// Add remembers an execution, or that it was used again.
func Add(e Entry) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	if err := vfs.MkdirAll(vfs.OS, dir, 0o700); err != nil {
		return err
	}
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return vfs.ReplaceFile(vfs.OS, file(dir, e.Root), append(text, '\n'), 0o600, vfs.Durable)
}

// List returns what is remembered. Files that cannot be read are left out.
func List() ([]Entry, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, name := range names {
		text, err := vfs.ReadFile(vfs.OS, name)
		var e Entry
		if err == nil && json.Unmarshal(text, &e) == nil && filepath.IsAbs(e.Root) {
			out = append(out, e)
		}
	}
	return out, nil
}

// Remove forgets an execution.
func Remove(root string) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	if err := os.Remove(file(dir, root)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
