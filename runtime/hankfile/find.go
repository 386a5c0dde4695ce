package hankfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hank/recovery/layout"
	"hank/runtime/exitcode"
)

// Find tells hanks from settings among paths, and looks for the hanks in a directory that
// is not that of one: those below it, in the order of their names. One without any stands
// for itself, and its hank is missing. Hidden directories are left out, and executions.
func Find(paths []string) (hanks, settings []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, nil, &exitcode.UsageError{Why: fmt.Sprintf("the hank %s cannot be read: %v", path, err)}
		case !info.IsDir() && filepath.Base(path) == "hankweave.json":
			settings = append(settings, path)
			continue
		case !info.IsDir() || Is(path):
			hanks = append(hanks, path)
			continue
		}
		below, err := below(path)
		if err != nil {
			return nil, nil, &exitcode.UsageError{Why: fmt.Sprintf("the directory %s cannot be searched for hanks: %v", path, err)}
		}
		if len(below) == 0 {
			below = []string{path}
		}
		hanks = append(hanks, below...)
	}
	return hanks, settings, nil
}

func below(dir string) (hanks []string, err error) {
	root := strings.TrimSuffix(dir, "/") + "/" // with the slash, a link is what it leads to
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || layout.Exists(path)):
			return filepath.SkipDir
		case !entry.IsDir() && (name == "hank.json" || name == "strand.json" && hankIn(filepath.Dir(path)) == path):
			hanks = append(hanks, path)
		}
		return nil
	})
	return hanks, err
}
