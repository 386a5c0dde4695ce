package hankfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hank/internal/term"
	"hank/plan"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/request"
)

// Load reads and checks a hank, given as its file or its directory, and
// writes nothing. The diagnostics name files relative to the directory of the
// hank; the program is nil if there is an error among them.
func Load(path string, layers config.Layers) (*plan.Program, []diagnostic.Diagnostic, error) {
	file, err := File(path)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, nil, &exitcode.UsageError{Why: fmt.Sprintf("the directory of the hank cannot be read: %v", err)}
	}
	program, found := plan.LoadWith(dir.FS(), filepath.Base(file), layers)
	return program, found, nil
}

// File returns the absolute path of the hank that path names: itself, or
// the hank.json in it. The file may be missing where the directory is not, and so may be
// what a link leads to.
func File(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	fi, err := os.Stat(abs)
	if err != nil {
		fi, err = os.Lstat(abs)
	}
	if err != nil {
		return "", &exitcode.UsageError{Why: fmt.Sprintf("the hank %s cannot be read: %v", path, err)}
	}
	if fi.IsDir() {
		abs = hankIn(abs)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	return abs, nil // missing: the diagnostics say so
}

// Origin is where a hank was read from.
type Origin struct {
	Path string // of the file, absolute
	Data string // absolute; may be empty

	Found []diagnostic.Diagnostic // of a hank that is valid
}

// LoadFor reads the author's hank: the one that is named, or the one of the
// execution, or hank.json here; with the settings that hold.
func LoadFor(root string, r request.Request, layers config.Layers) (*plan.Program, Origin, error) {
	var from Origin
	path := r.Hank
	if path == "" && layout.Exists(root) {
		if view, err := layout.ReadMeta(root); err == nil {
			path = view.HankPath
		}
	}
	if path == "" {
		path = "."
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, from, err
	}
	fi, err := os.Stat(abs)
	if err != nil {
		return nil, from, fmt.Errorf("the hank %s cannot be read: %w", path, err)
	}
	if fi.IsDir() {
		abs = hankIn(abs)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		if r.Hank == "" && layout.Exists(root) { // it has a frozen one
			return nil, from, fmt.Errorf("there is no hank.json in %s: %w", path, os.ErrNotExist)
		}
		return nil, from, &exitcode.UsageError{Why: fmt.Sprintf("there is no hank.json in %s; make one with: hank init", path)}
	}
	from.Path = abs
	if r.Data != "" {
		if from.Data, err = filepath.Abs(r.Data); err != nil {
			return nil, from, err
		}
		if _, err := os.Stat(from.Data); err != nil {
			return nil, from, &exitcode.UsageError{Why: fmt.Sprintf("the data %s cannot be read: %v", r.Data, err)}
		}
	}
	dir, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return nil, from, err
	}
	if meta, err := layout.ReadMeta(root); err == nil {
		layers.AnyIDs = meta.Foreign()
	}
	program, diagnostics := plan.LoadWith(dir.FS(), filepath.Base(abs), layers)
	if program == nil {
		return nil, from, Invalid(abs, diagnostics)
	}
	from.Found = diagnostics
	return program, from, nil
}

// Invalid is the error of a hank that cannot be run. Files are named from here, so that a
// click opens them.
func Invalid(file string, found []diagnostic.Diagnostic) error {
	for i, d := range found {
		found[i].File = term.ShortPath(d.In(filepath.Dir(file)))
	}
	return &exitcode.InvalidError{Diagnostics: found}
}

// hankIn returns the hank's file in a directory; strand.json is its older name.
func hankIn(dir string) string {
	for _, name := range []string{"hank.json", "strand.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
	}
	return filepath.Join(dir, "hank.json")
}

// Arguments tells hank from data: one argument is the data if it is not a
// hank and an execution or a hank is here.
func Arguments(args []string) (hank, data string) {
	switch len(args) {
	case 2:
		return args[0], args[1]
	case 1:
		if Is(args[0]) || !Is(".") {
			return args[0], ""
		}
		return "", args[0]
	}
	return "", ""
}

// Is reports whether a path is that of a hank, or of a directory that has one.
func Is(path string) bool {
	if strings.HasSuffix(path, ".json") {
		return true
	}
	for _, name := range []string{"hank.json", "strand.json"} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return true
		}
	}
	return false
}
