package layout

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"hank/internal/vfs"
	"hank/state"
)

// ResetPrefix begins the names of the directories that hold what a reset has moved
// out of the way; the time follows.
const ResetPrefix = "hank-reset-"

// Reset is the record of a reset, from when its first file moves until the last one
// has been moved back.
type Reset struct {
	Schema int        `json:"schema"`
	From   string     `json:"from"`  // the execution's directory
	To     string     `json:"to"`    // the name in it of the directory that things move to
	Names  []string   `json:"names"` // what moves, in this order; hank's own directory moves after it
	Time   state.Time `json:"time"`
	Undo   bool       `json:"undo"` // it is being undone
}

// Reset is where the record of a reset is.
func (l Layout) Reset() string { return l.Hank("reset.json") }

// ReadReset returns the record of the reset that has moved the execution in root, or
// is moving it; false if there is none.
func ReadReset(fsys vfs.FS, root string) (Reset, bool) {
	var r Reset
	text, err := vfs.ReadFile(fsys, Layout{Root: root}.Reset())
	if err != nil || json.Unmarshal(text, &r) != nil || !isResetName(r.To) || slices.ContainsFunc(r.Names, leadsElsewhere) {
		return Reset{}, false
	}
	return r, true
}

// leadsElsewhere reports whether a name is none of something in the execution's
// directory: no reset has written it.
func leadsElsewhere(name string) bool {
	return filepath.Base(name) != name || !filepath.IsLocal(name) || name == "."
}

// WasReset reports whether a reset has moved the execution to root.
func WasReset(fsys vfs.FS, root string) bool {
	if !isResetName(filepath.Base(root)) {
		return false
	}
	r, found := ReadReset(fsys, root)
	return found && r.To == filepath.Base(root)
}

// SetAside reports whether the user has moved the execution in root out of the way by a
// reset, and nobody has begun to move it back.
func SetAside(fsys vfs.FS, root string) bool {
	if !WasReset(fsys, root) {
		return false
	}
	r, _ := ReadReset(fsys, root)
	return !r.Undo
}

// Resetting reports whether a reset of the execution in root, or the undo of one, was
// interrupted.
func Resetting(fsys vfs.FS, root string) (Reset, bool) {
	r, found := ReadReset(fsys, root)
	if !found {
		return r, false
	}
	_, err := fsys.Lstat(filepath.Join(root, r.To))
	return r, err == nil || vfs.SameFile(r.From, root)
}

func isResetName(name string) bool {
	return strings.HasPrefix(name, ResetPrefix) && filepath.Base(name) == name
}

// ResetFiles are the files that a reset puts into its directory, root, besides an
// execution: its rule for git, and the logs of detached runs. None if it is no such
// directory.
func ResetFiles(root string) []string {
	if !isResetName(filepath.Base(root)) {
		return nil
	}
	logs, _ := filepath.Glob(filepath.Join(root, "hank-*Z*.log"))
	return append(logs, filepath.Join(root, ".gitignore"))
}

// ResetDirs are the directories in root that resets have moved executions to, the
// oldest first.
func ResetDirs(root string) []string {
	entries, _ := os.ReadDir(root) // what cannot be read has none that anybody could use
	var dirs []string
	for _, e := range entries {
		if dir := filepath.Join(root, e.Name()); isResetName(e.Name()) && e.IsDir() && Exists(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
