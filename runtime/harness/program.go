package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Program is the command line of an agent, as its user installs and names it.
type Program struct {
	Name     string // of the command
	Package  string // of npm
	Variable string // that names another program than the one on the PATH
	Oldest   []int  // version that can be driven; nil: any
	// Version asks the program; nil starts it with --version in its user's environment.
	Version func(ctx context.Context, path string, env Environ) (string, error)
}

// Find looks for the program and its version. The Check has a Problem if it cannot be
// driven; credentials are for the caller to look for.
func (p Program) Find(ctx context.Context, environ []string) Check {
	install := "npm install -g " + p.Package
	env := NewEnviron(environ)
	name := cmp.Or(env[p.Variable], p.Name)
	path := LookPath(name, env)
	if path == "" {
		if name != p.Name {
			return Check{Problem: fmt.Sprintf("%s names %s, which is not an executable file; correct or unset it", p.Variable, name)}
		}
		return Check{Problem: fmt.Sprintf("the %s command is not on the PATH; install it with %s, or name it in %s", p.Name, install, p.Variable)}
	}
	check := Check{Found: true, Path: path}
	ask := p.Version
	if ask == nil {
		ask = func(ctx context.Context, path string, _ Environ) (string, error) { return Version(ctx, path, environ) }
	}
	version, err := ask(ctx, path, env)
	var late *lateError
	switch {
	case errors.As(err, &late):
		check.Problem = fmt.Sprintf("%s --version: %v; try again when the machine is less busy, or see what the program waits for", path, err)
		return check
	case err != nil:
		check.Problem = fmt.Sprintf("%s --version failed (%v); reinstall it with %s", path, err, install)
		return check
	}
	if check.Version = version; p.Oldest != nil && !AtLeast(version, p.Oldest...) {
		check.Problem = fmt.Sprintf("%s is version %s, and hank needs %s or later; update it with %s", path, version, dotted(p.Oldest), install)
	}
	return check
}

// Installed is the version of a package of npm that a program belongs to, from its
// manifest, without starting it; empty if it is in no such package.
func Installed(path, pkg string) string {
	program, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(program), "..", "package.json"))
	var manifest struct{ Name, Version string }
	if err != nil || json.Unmarshal(text, &manifest) != nil || manifest.Name != pkg {
		return ""
	}
	return manifest.Version
}

func dotted(version []int) (text string) {
	for i, n := range version {
		if i > 0 {
			text += "."
		}
		text += fmt.Sprint(n)
	}
	return text
}
