package harness

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Remembering is a Harness whose agent keeps what it remembers of a session in files.
type Remembering interface {
	// SessionFiles returns the directory that the files of a session are below, absolute,
	// and their names in it, slash-separated; no names where there are none, or the
	// directory is not there. What the agent knows of a session is in these files alone.
	// The request is one that the agent is, or was, started with.
	SessionFiles(req Request, session string) (root string, names []string, err error)
}

// Placed is a Harness whose agent continues a session only in the directory in which it began.
type Placed interface {
	// SessionPlace returns that directory of a session, absolute; empty where it is not known.
	// The request is one that the agent would be started with. Nothing is written.
	SessionPlace(req Request, session string) string
}

// FilesIn returns the regular files below a directory that patterns of fs.Glob name, and
// those below the directories that they name. No symbolic link leads out of the directory.
func FilesIn(dir string, patterns ...string) (names []string, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	fsys := root.FS()
	for _, pattern := range patterns {
		found, err := fs.Glob(fsys, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if fi, err := root.Lstat(name); err != nil || !fi.Mode().IsRegular() && !fi.IsDir() {
				continue // it is gone, or a link
			}
			err := fs.WalkDir(fsys, name, func(name string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					names = append(names, name)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Literal makes the name of a file match itself alone in a pattern. Anything else matches
// nothing.
func Literal(name string) string {
	if name == "" || path.Base(name) != name || name == "." || name == ".." {
		return "[^\x00-\U0010FFFF]"
	}
	return special.Replace(name)
}

var special = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`)
