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

// Git holds no empty folders, but a codon may count on one: a script that
// writes into a folder that the codon before it has made. A checkpoint names
// them in a line of its message, and moving the tree there makes them again.
const foldersTrailer = "Hank-Empty-Folders: "

// maxFolders bounds that line.
const maxFolders = 2000

// KeptFolders are those of the empty folders that a checkpoint names: a
// message is text, and not too much of it.
func KeptFolders(empty []string) []string {
	kept := slices.DeleteFunc(slices.Clone(empty), func(name string) bool { return !utf8.ValidString(name) })
	return kept[:min(len(kept), maxFolders)]
}

func foldersLine(empty []string) string {
	kept := KeptFolders(empty)
	if len(kept) == 0 {
		return ""
	}
	line, err := json.Marshal(kept)
	if err != nil {
		return "" // a list of valid strings can always be written
	}
	return foldersTrailer + string(line) + "\n"
}

// EmptyFolders are those that a checkpoint names in its message.
func EmptyFolders(info checkpoint.Info) []string { return emptyFolders(info.Message) }

// emptyFolders reads what foldersLine has written.
func emptyFolders(message string) []string {
	at := strings.LastIndex(message, "\n"+foldersTrailer)
	if at < 0 {
		return nil
	}
	line, _, _ := strings.Cut(message[at+1+len(foldersTrailer):], "\n")
	var names []string
	if json.Unmarshal([]byte(line), &names) != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return !fs.ValidPath(name) || name == "." })
}

// FoldersWithin are those of the folders that are at or below one of the paths; no
// path at all, and the root, is every one.
func FoldersWithin(folders, paths []string) []string {
	if len(paths) == 0 || slices.Contains(paths, ".") {
		return folders
	}
	return slices.DeleteFunc(slices.Clone(folders), func(name string) bool {
		return !slices.ContainsFunc(paths, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
	})
}

// foldersFor are those of the folders that a move of paths is about: not those of
// the execution itself.
func foldersFor(l layout.Layout, folders, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(FoldersWithin(folders, paths)), l.Apart())
}
