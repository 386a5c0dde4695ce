//go:build unix

package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lookup finds the program file for a command name. A name without a slash is
// looked for in the absolute directories of PATH only: a relative one would mean
// the workspace, where an agent could put a program of that name.
func lookup(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if err := executable(path); err != nil {
			return "", fmt.Errorf("the program %s cannot be started: %w", path, err)
		}
		return path, nil
	}
	search := ""
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			search = value
		}
	}
	var refused error
	for _, directory := range filepath.SplitList(search) {
		if !filepath.IsAbs(directory) {
			continue
		}
		path := filepath.Join(directory, name)
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if _, missing := os.Stat(path); refused == nil && missing == nil {
			refused = fmt.Errorf("%s: %w", path, err)
		}
	}
	if refused != nil {
		return "", fmt.Errorf("the program %q is on the PATH, but cannot be started: %w", name, refused)
	}
	return "", fmt.Errorf("the program %q: %w (PATH=%s); install it or add its directory to the PATH", name, errNoProgram, search)
}

// errNoProgram is the cause of Start's error if the program is not on the PATH.
var errNoProgram = errors.New("not found on the PATH")

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return cause(err)
	case info.IsDir():
		return syscall.EISDIR
	case info.Mode()&0o111 == 0:
		return errors.New("the file is not executable")
	}
	return nil
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("the working directory %s cannot be entered: %w", dir, cause(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("the working directory %s is not a directory", dir)
	}
	return nil
}

// cause strips the operation and path that the message already has.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
