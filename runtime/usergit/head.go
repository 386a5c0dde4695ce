package usergit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// HasRepository reports whether a workspace is the root of a repository or, if the user
// has named it, a directory of one. One that hank has chosen may be in a repository that it
// has nothing to do with.
func HasRepository(workspace string, named bool) bool {
	if real, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = real
	}
	for dir := workspace; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if !named || dir == filepath.Dir(dir) {
			return false
		}
	}
}

// Head is the HEAD of that repository; empty if there is none.
func Head(workspace string, named bool) string {
	if !HasRepository(workspace, named) {
		return ""
	}
	git := exec.Command("git", "-C", workspace, "rev-parse", "--verify", "--quiet", "HEAD")
	git.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	if !named {
		git.Env = append(git.Env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(workspace))
	}
	out, err := git.Output()
	if err != nil {
		return "" // no commit yet, or no git here: there is nothing to compare with later
	}
	return strings.TrimSpace(string(out))
}
