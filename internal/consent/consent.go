// Package consent remembers what a user has once allowed agents to do on this machine.
//
// A consent is a file in the user's state directory, beside the registry of executions:
// consents/NAME.json. It has no content that decides anything: it is there or not, and
// deleting it takes the consent back. The package knows no agents and asks nobody.
package consent

import (
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/registry"
	"hank/internal/vfs"
)

// file is that of a consent.
func file(name string) (string, error) {
	dir, err := registry.Dir()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(dir), "consents", name+".json"), nil
}

// Given reports whether the user has given the consent of a name.
func Given(name string) bool {
	path, err := file(name)
	if err != nil {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// Give remembers a consent.
func Give(name string, at time.Time) error {
	path, err := file(name)
	if err != nil || Given(name) {
		return err
	}
	if err := vfs.MkdirAll(vfs.OS, filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(struct {
		Given time.Time `json:"given"`
	}{at.UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	err = vfs.ReplaceFile(vfs.OS, path, append(text, '\n'), 0o600, vfs.Durable)
	if err != nil && Given(name) { // another run has given it at the same moment
		return nil
	}
	return err
}
