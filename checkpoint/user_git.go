package checkpoint

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/index"
)

// userGitDir returns the git folder of the user's own repository that the
// workspace is the root of, and its common folder; "" if it is none. Both are
// only ever read.
func userGitDir(workspace string) (own, common string) {
	own = filepath.Join(workspace, ".git")
	fi, err := os.Lstat(own)
	if err != nil {
		return "", ""
	}
	if fi.Mode().IsRegular() { // a linked worktree or a submodule
		text, err := os.ReadFile(own)
		target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
		if err != nil || !ok {
			return "", ""
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(workspace, target)
		}
		own = target
	}
	common = own
	if text, err := os.ReadFile(filepath.Join(own, "commondir")); err == nil {
		if common = strings.TrimSpace(string(text)); !filepath.IsAbs(common) {
			common = filepath.Join(own, common)
		}
	}
	return own, common
}

// userExclude is the user's info/exclude.
func userExclude(workspace string) string {
	_, common := userGitDir(workspace)
	return filepath.Join(common, "info", "exclude")
}

// userIndex returns the paths in the user's own index: to git they are not
// ignored, whatever the rules say. An index that cannot be read (there are
// forms that go-git does not know) adds nothing.
func userIndex(workspace string) map[string]bool {
	tracked := map[string]bool{}
	own, _ := userGitDir(workspace)
	f, err := os.Open(filepath.Join(own, "index"))
	if own == "" || err != nil {
		return tracked
	}
	defer f.Close()
	var idx index.Index
	if index.NewDecoder(f).Decode(&idx) != nil {
		return tracked
	}
	for _, e := range idx.Entries {
		tracked[e.Name] = true
	}
	return tracked
}
