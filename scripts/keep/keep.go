// Package keep copies what the commands of scripts keep of an execution as a fixture, and
// refuses what names the machine that made it. It changes no file, and knows nothing of what
// the files mean.
package keep

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files copies files and directories, which names are relative to from, into a directory that
// is new: what is there is deleted first. Empty directories are left out. The error names a file
// that has a name of this machine or of its user.
func Files(from, to string, names ...string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	for _, name := range names {
		if err := tree(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

func tree(from, to string) error {
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := foreign(text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		target := filepath.Join(to, rel)
		return errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, text, 0o644))
	})
}

// foreign refuses a text with a name of this machine or of its user.
func foreign(text []byte) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, name := range []string{host, here, os.Getenv("USER"), os.Getenv("HOME")} {
		if len(name) > 4 && bytes.Contains(text, []byte(name)) {
			return fmt.Errorf("it names %q", name)
		}
	}
	return nil
}
