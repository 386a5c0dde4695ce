// Package emptydirs records directories without files. Git holds none, but a codon may
// count on one: a script that writes into a directory that the codon before it has made. A
// checkpoint names them in a line of its message, and moving the tree there makes them
// again. It touches no file.
package emptydirs

import (
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
)

// trailer begins the line.
const trailer = "Hank-Empty-Folders: "

// most bounds that line.
const most = 2000

// Recorded are those of the empty directories that a checkpoint names: a
// message is text, and not too much of it.
func Recorded(empty []string) []string {
	kept := slices.DeleteFunc(slices.Clone(empty), func(name string) bool { return !utf8.ValidString(name) })
	return kept[:min(len(kept), most)]
}

// Left are the empty directories that a checkpoint does not name.
func Left(empty []string) (left []string) {
	kept := 0
	for _, name := range empty {
		if utf8.ValidString(name) && kept < most {
			kept++
			continue
		}
		left = append(left, name)
	}
	return left
}

// Line is the line of a message that names them; empty if there are none.
func Line(empty []string) string {
	kept := Recorded(empty)
	if len(kept) == 0 {
		return ""
	}
	line, err := json.Marshal(kept)
	if err != nil {
		return "" // a list of valid strings can always be written
	}
	return trailer + string(line) + "\n"
}

// Of are those that a checkpoint names in its message.
func Of(info checkpoint.Info) []string { return In(info.Message) }

// In reads what Line has written.
func In(message string) []string {
	at := strings.LastIndex(message, "\n"+trailer)
	if at < 0 {
		return nil
	}
	line, _, _ := strings.Cut(message[at+1+len(trailer):], "\n")
	var names []string
	if json.Unmarshal([]byte(line), &names) != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return !fs.ValidPath(name) || name == "." })
}

// Within are those of the directories that are at or below one of the paths; no
// path at all, and the root, is every one.
func Within(dirs, paths []string) []string {
	if len(paths) == 0 || slices.Contains(paths, ".") {
		return dirs
	}
	return slices.DeleteFunc(slices.Clone(dirs), func(name string) bool {
		return !slices.ContainsFunc(paths, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
	})
}
