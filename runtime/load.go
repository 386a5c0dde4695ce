package runtime

import (
	"fmt"
	"os"
	"path/filepath"

	"hank/plan"
	"hank/runtime/exitcode"
)

// LoadHank reads and checks a hank, given as its file or its folder, and
// writes nothing. The diagnostics name files relative to the folder of the
// hank; the program is nil if there is an error among them.
func LoadHank(path string, layers plan.Layers) (*plan.Program, []plan.Diagnostic, error) {
	file, err := HankFile(path)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, nil, &exitcode.UsageError{Why: fmt.Sprintf("the folder of the hank cannot be read: %v", err)}
	}
	program, found := plan.LoadWith(dir.FS(), filepath.Base(file), layers)
	return program, found, nil
}

// HankFile returns the absolute path of the hank that path names: itself, or
// the hank.json in it. The file may be missing where the folder is not.
func HankFile(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	fi, err := os.Stat(abs)
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
