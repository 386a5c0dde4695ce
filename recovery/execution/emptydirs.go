package execution

import (
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/recovery/layout"
)

// Git holds no empty directories, but a codon may count on one: a script that
// writes into a directory that the codon before it has made. A checkpoint names
// them in a line of its message, and moving the tree there makes them again.
const emptyDirsTrailer = "Hank-Empty-Folders: "

// maxEmptyDirs bounds that line.
const maxEmptyDirs = 2000

// RecordedDirs are those of the empty directories that a checkpoint names: a
// message is text, and not too much of it.
func RecordedDirs(empty []string) []string {
	kept := slices.DeleteFunc(slices.Clone(empty), func(name string) bool { return !utf8.ValidString(name) })
	return kept[:min(len(kept), maxEmptyDirs)]
}

func emptyDirsLine(empty []string) string {
	kept := RecordedDirs(empty)
	if len(kept) == 0 {
		return ""
	}
	line, err := json.Marshal(kept)
	if err != nil {
		return "" // a list of valid strings can always be written
	}
	return emptyDirsTrailer + string(line) + "\n"
}

// EmptyDirs are those that a checkpoint names in its message.
func EmptyDirs(info checkpoint.Info) []string { return emptyDirs(info.Message) }

// emptyDirs reads what emptyDirsLine has written.
func emptyDirs(message string) []string {
	at := strings.LastIndex(message, "\n"+emptyDirsTrailer)
	if at < 0 {
		return nil
	}
	line, _, _ := strings.Cut(message[at+1+len(emptyDirsTrailer):], "\n")
	var names []string
	if json.Unmarshal([]byte(line), &names) != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return !fs.ValidPath(name) || name == "." })
}

// DirsWithin are those of the directories that are at or below one of the paths; no
// path at all, and the root, is every one.
func DirsWithin(dirs, paths []string) []string {
	if len(paths) == 0 || slices.Contains(paths, ".") {
		return dirs
	}
	return slices.DeleteFunc(slices.Clone(dirs), func(name string) bool {
		return !slices.ContainsFunc(paths, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
	})
}

// dirsOf are those of the directories that a move of paths is about: not those of
// the execution itself.
func dirsOf(l layout.Layout, dirs, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(DirsWithin(dirs, paths)), l.Apart())
}
