package layout

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hank/internal/advice"
	"hank/internal/shell"
	"hank/internal/vfs"
	"hank/recovery/finding"
)

// NotFoundError says that there is no execution where one was looked for.
type NotFoundError struct {
	From  string // the directory
	Named bool   // the directory was named, so that no other was looked into
	Above string // one that is in a directory above a named one; empty: none is
	File  string // what is there and is no directory; empty: nothing is
}

func (e *NotFoundError) Error() string {
	switch {
	case e.File != "":
		return fmt.Sprintf("%s is not a directory: %s cannot hold an execution; name a directory with -e DIR", e.File, e.From)
	case e.Named:
		text := "there is no execution in " + e.From
		if e.Above != "" {
			text += "; the one above it is in " + e.Above
		}
		return text + "; to see all: `hank ls`; to start one there: " + advice.Quote("hank run HANK -e "+shell.Quote(e.From))
	}
	return fmt.Sprintf("no execution in %s or any parent directory; specify one with -e DIR, or start one with: `hank run HANK`", e.From)
}

// At returns the execution in the directory that the user has named, and no other:
// a command for one that is not there must not meet another. The errors are those
// of Find.
func At(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if Exists(abs) {
		return abs, nil
	}
	if odd := Obstructed(abs); odd != nil {
		return "", odd
	}
	above, _ := Find(filepath.Dir(abs))
	return "", &NotFoundError{From: abs, Named: true, Above: above}
}

// Find returns the execution at dir or in the nearest directory above it, as git
// finds .git. The error is a *NotFoundError, or says what has the name of hank's
// directory: see Obstructed.
func Find(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	var odd error
	for at := abs; ; at = filepath.Dir(at) {
		if Exists(at) {
			return at, nil
		}
		odd = cmp.Or(odd, Obstructed(at))
		if at == filepath.Dir(at) {
			return "", cmp.Or(odd, error(&NotFoundError{From: abs}))
		}
	}
}

// Obstructed says what is where an execution or hank's directory of one would be, and
// is no directory: a *NotFoundError, a *DecisionError, or nil. Hank does not follow a link there, for it
// could not know what it holds.
func Obstructed(root string) error {
	if fi, err := os.Stat(root); err == nil && !fi.IsDir() || errors.Is(err, syscall.ENOTDIR) {
		file := root
		for errors.Is(err, syscall.ENOTDIR) {
			file = filepath.Dir(file)
			_, err = os.Stat(file)
		}
		return &NotFoundError{From: root, File: file}
	}
	dir := Layout{Root: root}.Hankweave()
	fi, err := os.Lstat(dir)
	if err != nil || fi.IsDir() {
		return nil
	}
	options := []string{"move it away, and `hank run` begins a new execution"}
	to, err := filepath.EvalSymlinks(dir)
	if m, metaErr := ReadMetaFile(vfs.OS, Layout{Root: root}.Meta()); err == nil && metaErr == nil && vfs.SameFile(m.Root, root) { // else it may be anybody's
		options = append([]string{fmt.Sprintf("put the directory back where it was: rm %[1]s && mv %[2]s %[1]s", shell.Quote(dir), shell.Quote(to))}, options...)
	}
	return &finding.DecisionError{What: fmt.Sprintf("%s is %s and not the directory that hank keeps: something has replaced it", dir, What(dir, fi)), Options: options}
}

// Exists reports whether dir is an execution, perhaps a damaged one. Empty
// directories, which a creation that was interrupted leaves, are none.
func Exists(dir string) bool { return ExistsIn(vfs.OS, dir) }

// ExistsIn is Exists in a file system.
func ExistsIn(fsys vfs.FS, dir string) bool {
	l := Layout{Root: dir}
	if fi, err := fsys.Lstat(l.Hankweave()); err != nil || !fi.IsDir() {
		return false
	}
	for _, name := range []string{l.Meta(), l.State(), l.State() + ".bak", l.Store(), l.Importing()} {
		if _, err := fsys.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	for _, name := range []string{l.Events(), l.Runs()} {
		if list, err := fsys.ReadDir(name); err == nil && len(list) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}
