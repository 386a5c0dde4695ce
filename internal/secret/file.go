package secret

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// privateNames are files that hold secrets and little else.
var privateNames = []string{".env", ".netrc", ".pgpass", ".git-credentials", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}

// IsPrivate reports whether a file of this name (no directory before it) is one that
// people keep secrets in. Templates of such files are none.
func IsPrivate(name string) bool {
	if name == "" || name[0] != '.' && name[0] != 'i' {
		return false // quickly: this is asked of every file of a workspace
	}
	if slices.Contains(privateNames, name) {
		return true
	}
	kind, isEnv := strings.CutPrefix(name, ".env.")
	return isEnv && !slices.Contains([]string{"example", "sample", "template", "dist", "defaults", "test"}, kind)
}

// PrivateFiles looks for such files in a directory and in those right below it,
// with slashes, sorted. What cannot be read holds none.
func PrivateFiles(dir string) []string {
	var found []string
	look := func(sub string) (dirs []string) {
		list, _ := os.ReadDir(filepath.Join(dir, sub)) // what was read of it counts
		for _, e := range list {
			switch {
			case e.IsDir() && e.Name() != ".git":
				dirs = append(dirs, e.Name())
			case e.Type().IsRegular() && IsPrivate(e.Name()):
				found = append(found, path.Join(sub, e.Name()))
			}
		}
		return dirs
	}
	for _, sub := range look("") {
		look(sub)
	}
	slices.Sort(found)
	return found
}
