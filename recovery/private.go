package recovery

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"hank/checkpoint"
	"hank/internal/secret"
)

// warnOfPrivate says which files that people keep secrets in are in a
// checkpoint for the first time, and how to keep such files out.
func (x *Execution) warnOfPrivate(snap *checkpoint.Snapshot) {
	for i, path := range snap.Private {
		if i == maxNotes {
			x.opts.Warn(fmt.Sprintf("warning: and %d more files for secrets", len(snap.Private)-maxNotes))
			break
		}
		x.opts.Warn("warning: " + privateWarning(path, "goes into the checkpoints"))
		_ = x.Note("checkpoint.private", map[string]any{"path": path, "ignore": "/" + path}) // as driver.note
	}
}

// privateWarning is the sentence about one file, with the line that keeps it out.
func privateWarning(path, what string) string {
	return fmt.Sprintf("%s %s, and files of this name hold secrets; the line /%s in .gitignore, before the first checkpoint, keeps it out", path, what, path)
}

// WouldBePrivate says which files for secrets a first checkpoint of a workspace
// would hold. It looks at the two upper levels, and at the rules of the upper
// folder.
func WouldBePrivate(workspace string) []string {
	rules, _ := os.ReadFile(filepath.Join(workspace, ".gitignore")) // none ignore nothing
	var patterns []gitignore.Pattern
	for line := range strings.Lines(string(rules)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && line[0] != '#' {
			patterns = append(patterns, gitignore.ParsePattern(line, nil))
		}
	}
	ignored := gitignore.NewMatcher(patterns)
	var found []string
	for _, name := range secret.PrivateFiles(workspace) {
		if !ignored.Match(strings.Split(name, "/"), false) {
			found = append(found, privateWarning(name, "would go into the checkpoints"))
		}
	}
	return found
}

// WarnOfPrivate adds a finding for each file for secrets that is in the newest
// checkpoint. It looks at the two upper levels of the workspace.
func (v *View) WarnOfPrivate() {
	found := secret.PrivateFiles(v.Layout.Workspace)
	if len(found) == 0 {
		return
	}
	store, err := v.Store()
	if err != nil {
		return // whoever needs checkpoints says so
	}
	defer store.Close()
	info, err := store.CommitInfo(checkpoint.SHA(Head(v.State)))
	if err != nil {
		return
	}
	for _, path := range found {
		if store.HasFile(info.Tree, path) {
			v.Report.add(Warning, "%s is in the checkpoints, and files of this name hold secrets; keep exports of them private, or change those secrets and begin a new execution with the line /%s in .gitignore", path, path)
		}
	}
}
