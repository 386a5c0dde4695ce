package harness

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Environ is an environment on its way to a process. Names are case-sensitive.
type Environ map[string]string

// NewEnviron reads KEY=value strings; of a name that occurs twice the last
// one counts, as in os/exec.
func NewEnviron(env []string) Environ {
	e := make(Environ, len(env))
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			e[name] = value
		}
	}
	return e
}

// BaseEnviron is the caller's environment with what every agent is told:
// HANK_WORKSPACE, HANK_ATTEMPT, HANK_SESSION, PWD and TMPDIR. Settings of the
// runtime and keys of its sentinels (HANKWEAVE_RUNTIME_*, HANKWEAVE_SENTINEL_*)
// are no agent's business and not in it. Nor are the codon's own variables; see
// Finish.
func BaseEnviron(req Request) Environ {
	source := req.Environ
	if source == nil {
		source = os.Environ()
	}
	e := NewEnviron(source)
	maps.DeleteFunc(e, func(name, _ string) bool {
		return strings.HasPrefix(name, "HANKWEAVE_RUNTIME_") || strings.HasPrefix(name, "HANKWEAVE_SENTINEL_")
	})
	e.set("HANK_WORKSPACE", req.Workspace)
	e.set("HANK_ATTEMPT", req.Attempt)
	e.set("HANK_SESSION", req.Session)
	e.set("PWD", req.Workspace)
	if req.Temp != "" {
		e["TMPDIR"] = req.Temp
	}
	return e
}

// set sets or, if the value is empty, removes a variable: a hank that runs
// inside a codon must not hand its own on.
func (e Environ) set(name, value string) {
	if value == "" {
		delete(e, name)
		return
	}
	e[name] = value
}

// Default sets a variable that has no value yet.
func (e Environ) Default(name, value string) {
	if _, ok := e[name]; !ok {
		e[name] = value
	}
}

// Finish lays the codon's variables over the rest, and returns KEY=value
// strings in the order of the names.
func (e Environ) Finish(over map[string]string) []string {
	all := maps.Clone(e)
	maps.Copy(all, over)
	env := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, name+"="+all[name])
	}
	return env
}

// LookPath finds a program on the PATH of an environment, not on that of the
// calling process. A name with a slash is taken as it is. The result is empty
// if there is none.
func LookPath(name string, env Environ) string {
	if strings.ContainsRune(name, filepath.Separator) {
		if executable(name) {
			return name
		}
		return ""
	}
	for _, dir := range filepath.SplitList(env["PATH"]) {
		if path := filepath.Join(dir, name); filepath.IsAbs(path) && executable(path) {
			return path
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
