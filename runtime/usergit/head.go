package usergit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Head is the HEAD of the repository that a directory is the root of; empty if it is
// none.
func Head(workspace string) string {
	if _, err := os.Lstat(filepath.Join(workspace, ".git")); err != nil {
		return ""
	}
	git := exec.Command("git", "-C", workspace, "rev-parse", "--verify", "--quiet", "HEAD")
	git.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_CEILING_DIRECTORIES="+filepath.Dir(workspace))
	out, err := git.Output()
	if err != nil {
		return "" // no commit yet, or no git here: there is nothing to compare with later
	}
	return strings.TrimSpace(string(out))
}
